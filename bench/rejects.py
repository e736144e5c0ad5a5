"""Measure the processor time of reading CSVs with bad rows, compared with a CSV without bad rows.

`python -m tracehouse.bench.rejects`
"""

import io
import time

from tracehouse.bench.measure import Goal, Row, environment, write
from tracehouse.core.errors import RawFileError
from tracehouse.ingest.declarations import Column, Table
from tracehouse.ingest.readers import Content
from tracehouse.ingest.readers.formats.plain_csv import read

ROWS, ROUNDS = 300_000, 7
SHARES = (0.01, 0.05, 0.09, 0.095, 0.2, 0.5, 1)
TABLE = Table(
    name="job",
    comment="Jobs.",
    grain="one row per job",
    source="made up",
    file_name=r"job\.csv",
    columns=(
        Column("job_id", "VARCHAR", "Job"),
        Column("gpus", "BIGINT", "GPUs"),
        Column("share", "DOUBLE", "Share"),
        Column("submit_time", "TIMESTAMPTZ", "Submission"),
    ),
)
TIME = "2023-07-01 00:00:00+08:00"
BAD = {
    "an impossible time": "job,1,0.37,1066-07-01 00:00:00+08:00",
    "no number": f"job,x,0.37,{TIME}",
    "too few fields": "job,1,0.37",
    "an open quote": f'"job,1,0.37,{TIME}',
}


def csv_with_bad_rows(bad: str, share: float) -> bytes:
    """Return a CSV in which the given share of the rows, evenly spread, is `bad`."""
    rows = (
        bad if int(n * share) < int((n + 1) * share) else f"job{n},{n},{n * 0.37:.3f},{TIME}"
        for n in range(ROWS)
    )
    return "".join(f"{line}\n" for line in ("job_id,gpus,share,submit_time", *rows)).encode()


def read_seconds(data: bytes) -> tuple[float, float]:
    """Read a CSV until its end or its rejection, and return processor seconds and wall seconds."""
    begun, wall = time.process_time(), time.perf_counter()
    try:
        for _ in read(Content(io.BytesIO(data), TABLE, "job.csv")):
            pass
    except RawFileError:
        # The reader rejects a file if more than a tenth of its rows are bad.
        pass
    return time.process_time() - begun, time.perf_counter() - wall


def main() -> None:
    """Measure, print the results, and write them as a table and a chart."""
    good, rows = csv_with_bad_rows("", 0), []
    for name, bad in BAD.items():
        for share in SHARES:
            data = csv_with_bad_rows(bad, share)
            rounds = [(read_seconds(data), read_seconds(good)) for _ in range(ROUNDS)]
            seconds = {
                "bad": [ours[0] for ours, _ in rounds],
                "good": [theirs[0] for _, theirs in rounds],
                "bad wall": [ours[1] for ours, _ in rounds],
                "good wall": [theirs[1] for _, theirs in rounds],
            }
            rows.append(Row(f"{name}, {share:.1%}", seconds))
    notes = [f"{ROWS:,} rows, {ROUNDS} interleaved rounds; processor seconds", environment("pyarrow")]
    print(write("rejects", "Cost of bad rows", rows, [Goal("bad", "good", at_most=5)], notes))


if __name__ == "__main__":
    main()
