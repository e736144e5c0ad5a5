"""Extract, change and pack the CSVs of a dump of PAI, so that benchmarks run on data of other shapes."""

import random
import shutil
import tarfile
from pathlib import Path

import duckdb

from tracehouse.bench.baselines import archives, csv_members

USERS = 1430


def extract(raw: Path, folder: Path) -> Path:
    """Extract the CSVs of all archives of a dump into a new folder, and return it."""
    folder.mkdir()
    for paths in archives(raw).values():
        for name, content in csv_members(paths):
            with (folder / name).open("wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
    return folder


def pack(csvs: Path, raw: Path, folder: Path) -> Path:
    """Write a dump like `raw` with the CSVs of a folder, and return its folder."""
    for paths in archives(raw).values():
        stem = paths[0].name.split(".tar.gz")[0]
        target = folder / paths[0].relative_to(raw).parent
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(target / f"{stem}.tar.gz", "w:gz", compresslevel=6) as tar:
            tar.add(csvs / f"{stem}.csv", f"{stem}.csv")
    for path in raw.rglob("*"):
        if path.is_file() and ".tar.gz" not in path.name:
            shutil.copy(path, folder / path.relative_to(raw))
    return folder


def shuffle(csvs: Path) -> None:
    """Shuffle the rows of each CSV in place."""
    for csv in csvs.iterdir():
        lines = csv.read_bytes().splitlines(keepends=True)
        random.Random(0).shuffle(lines)
        csv.write_bytes(b"".join(lines))


def make_even(csvs: Path) -> None:
    """Give each user about as many jobs, and no two instances of PAI the same worker name, in place.

    In a sample, few users have most jobs, and a worker that ran again has the same name twice.
    """
    for name, inst_id, user in (
        ("pai_job_table", "column1", "column2"),
        ("pai_group_tag_table", "column0", "column1"),
    ):
        _rewrite(
            csvs / f"{name}.csv",
            f"select * replace (sha256(cast(hash({inst_id}) % {USERS} as varchar))[:60] as {user}) from csv",
        )
    _rewrite(
        csvs / "pai_instance_table.csv",
        """
        select * exclude (line, run) replace (if(run = 1, column3, sha256(column3 || run)[:60]) as column3)
        from (
            select *, row_number() over (partition by column3 order by line) as run
            from (select *, row_number() over () as line from csv)
        )
        order by line
        """,
    )


def _rewrite(csv: Path, select: str) -> None:
    """Replace a CSV without a header by the rows of a select from it; all columns are text."""
    changed = csv.with_suffix(".changed")
    with duckdb.connect() as connection:
        connection.execute("set memory_limit = '8GB'")
        connection.execute(
            f"create view csv as from read_csv('{csv}', header = false, all_varchar = true, delim = ',')"
        )
        connection.execute(f"copy ({select}) to '{changed}' (header false, format csv)")
    changed.replace(csv)
