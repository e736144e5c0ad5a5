"""Sequences of changes to raw files and warehouses, with the expected state after each step."""

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hostile.dumps import ARCHIVED, FORMS, NARROW, ROW_COUNT, UNTOUCHED, WIDE, Place, Rows, gz, tar


@dataclass(frozen=True)
class Command:
    """A call of `traces`, and texts that its output must contain.

    The arguments may contain {raw}, {warehouse} and {folder}.
    """

    arguments: str
    codes: Sequence[int] = (0,)
    says: Sequence[str] = ()


@dataclass(frozen=True)
class Change:
    """A change of the folder that holds `raw` and `warehouse`."""

    change: Callable[[Path], object]


@dataclass(frozen=True)
class ExpectedRows:
    """The expected rows of some raw files in the warehouse."""

    rows: Mapping[Place, Rows]


@dataclass(frozen=True)
class Story:
    """A list of steps. They start with a warehouse of the old version of `PLACES`, or without a warehouse."""

    name: str
    steps: Sequence[Command | Change | ExpectedRows]
    over_none: bool = False


DEFAULT = replace(NARROW[0], picked="variant = 'default'")
CPU050 = replace(DEFAULT, stem="openb_pod_list_cpu050", picked="variant = 'cpu050'")
GPUSPEC = replace(DEFAULT, stem="openb_pod_list_gpuspec33", picked="variant = 'gpuspec33'")
TRAIN = NARROW[1]
A40 = replace(NARROW[2], picked="gpu = 'a40'")
V100 = replace(A40, stem="summary_power_v100", picked="gpu = 'v100'")
SEREN = replace(NARROW[5], picked="cluster = 'seren'")
KALOS = replace(SEREN, stem="trace_kalos", picked="cluster = 'kalos'")
WHOLE = next(place for place in WIDE if place.stem == "GPU_TEMP" and place.folder == "kalos")
APRIL = replace(WHOLE, stem="GPU_TEMP-2023-04", picked=f'{WHOLE.picked} and month("time") = 4')
MAY = replace(WHOLE, stem="GPU_TEMP-2023-05", picked=f'{WHOLE.picked} and month("time") = 5')
JOBS = ARCHIVED[0]

PLACES = (UNTOUCHED, TRAIN, JOBS)
OLD = ExpectedRows({place: place.rows("old") for place in PLACES})
NEW = ExpectedRows({place: place.rows("new") for place in PLACES})
INGEST = Command("ingest --raw {raw} --warehouse {warehouse}")


def ingest(*says: str, codes: Sequence[int] = (0,), more: str = "") -> Command:
    return Command(f"{INGEST.arguments} {more}".strip(), codes, says)


def form_of(place: Place) -> str:
    return "tar.gz" if place.published_header is False else "csv"


def files(*places: Place, version: str = "old", form: str = "", count: int = ROW_COUNT) -> Change:
    """Replace the content of the raw folder by these files."""

    def change(folder: Path) -> None:
        raw = folder / "raw"
        shutil.rmtree(raw, ignore_errors=True)
        raw.mkdir()
        (raw / "SYNTHETIC.txt").write_text("Made up for a test.\n")
        for place in places:
            FORMS[form or form_of(place)].write(place, place.text(place.rows(version, count)), raw)

    return Change(change)


def write(path: str, data: bytes | str) -> Change:
    """Write a file below the folder."""

    def change(folder: Path) -> None:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.encode() if isinstance(data, str) else data)

    return Change(change)


def rows(version: str, *places: Place, count: int = ROW_COUNT) -> dict[Place, Rows]:
    return {place: place.rows(version, count) for place in places}


NOTHING: Rows = {}

ACCUMULATING = (
    Story(
        "one more list of pods leaves the others",
        [
            *(files(DEFAULT, CPU050), ingest(), files(GPUSPEC), ingest()),
            ExpectedRows(rows("old", DEFAULT, CPU050, GPUSPEC)),
        ],
        over_none=True,
    ),
    Story(
        "one more GPU's power leaves the others",
        [files(A40), ingest(), files(V100), ingest(), ExpectedRows(rows("old", A40, V100))],
        over_none=True,
    ),
    Story(
        "one more cluster's jobs leave the others",
        [files(SEREN), ingest(), files(KALOS), ingest(), ExpectedRows(rows("old", SEREN, KALOS))],
        over_none=True,
    ),
    Story(
        "one more month of telemetry leaves the others",
        [
            *(files(APRIL), ingest(), files(MAY, version="new"), ingest()),
            ExpectedRows({**rows("old", APRIL), **rows("new", MAY)}),
        ],
        over_none=True,
    ),
    Story(
        "a newer version of one list replaces it alone",
        [
            *(files(DEFAULT, CPU050), ingest(), files(DEFAULT, version="new", count=70), ingest()),
            ExpectedRows({**rows("new", DEFAULT, count=70), **rows("old", CPU050)}),
        ],
        over_none=True,
    ),
    Story(
        "a list that cannot be read keeps its rows, and the others are read",
        [
            *(files(DEFAULT, CPU050), ingest()),
            files(DEFAULT, CPU050, GPUSPEC, version="new"),
            write("raw/openb_pod_list_cpu050.csv", b"<html></html>"),
            ingest("openb_pod_list_cpu050.csv", codes=[1]),
            ExpectedRows({**rows("new", DEFAULT, GPUSPEC), **rows("old", CPU050)}),
        ],
        over_none=True,
    ),
    Story(
        "the same list, packed, is no second one",
        [
            *(files(DEFAULT), ingest(), files(DEFAULT, version="new", form="csv.gz"), ingest()),
            ExpectedRows(rows("new", DEFAULT)),
        ],
        over_none=True,
    ),
    Story(
        "what is forgotten leaves, and is named with its rows",
        [
            *(files(DEFAULT, CPU050), ingest()),
            Command(
                "forget openb_pod_list_cpu050.csv --warehouse {warehouse}",
                says=["openb_pod_list_cpu050.csv", "60"],
            ),
            ExpectedRows({**rows("old", DEFAULT), CPU050: NOTHING}),
            *(files(DEFAULT), ingest(), ExpectedRows({**rows("old", DEFAULT), CPU050: NOTHING})),
        ],
        over_none=True,
    ),
    Story(
        "what never was cannot be forgotten",
        [
            Command(
                "forget no_such_file.csv --warehouse {warehouse}", codes=[1, 2], says=["no_such_file.csv"]
            ),
            OLD,
        ],
    ),
    Story(
        "what is replaced leaves, and is named with its rows",
        [
            *(files(DEFAULT, CPU050), ingest()),
            files(GPUSPEC),
            ingest("openb_pod_list_cpu050.csv", "openb_pod_list_default.csv", more="--replace"),
            ExpectedRows({**rows("old", GPUSPEC), DEFAULT: NOTHING, CPU050: NOTHING}),
        ],
        over_none=True,
    ),
    Story(
        "raw files that are gone leave what they gave",
        [files(UNTOUCHED), INGEST, OLD],
    ),
    Story(
        "raw files in another folder are the same",
        [
            files(*PLACES),
            Change(lambda folder: shutil.move(folder / "raw", folder / "moved")),
            Command("ingest --raw {folder}/moved --warehouse {warehouse}", says=["3 tables unchanged"]),
            OLD,
        ],
    ),
    Story(
        "a file twice and the same is read once",
        [
            files(*PLACES, version="new"),
            Change(lambda folder: (folder / "raw" / "again").mkdir()),
            Change(
                lambda folder: shutil.copy(folder / "raw" / f"{TRAIN.stem}.csv", folder / "raw" / "again")
            ),
            *(ingest(f"{TRAIN.stem}.csv"), NEW),
        ],
    ),
    Story(
        "a file twice and different is refused, and both are named",
        [
            files(*PLACES, version="new"),
            write(f"raw/again/{TRAIN.stem}.csv", TRAIN.text(TRAIN.rows("old", 70))),
            ingest(f"raw/{TRAIN.stem}.csv", f"again/{TRAIN.stem}.csv", codes=[1]),
            ExpectedRows({**NEW.rows, TRAIN: TRAIN.rows("old")}),
        ],
    ),
    Story(
        "a header alone does not replace a table silently",
        [
            files(*PLACES, version="new"),
            write(f"raw/{TRAIN.stem}.csv", TRAIN.header + "\n"),
            ingest(TRAIN.stem, codes=[0, 1]),
        ],
    ),
)

ITP_HEADER = "job_id,submission_time,duration,num_gpu"
CLUSTERS = tuple(
    Place(
        *("itp.raw_job", f"cluster0{n}", ITP_HEADER, "{name},5,600,{number}", "job_id", "num_gpu"),
        f"source_file = 'cluster0{n}'",
    )
    for n in (1, 2)
)


def clusters(*places: Place, version: str = "old") -> Change:
    """Write ITP's archive with these clusters."""
    members = [(f"{place.stem}.csv", place.text(place.rows(version))) for place in places]
    return write("raw/raw-traces.tar.gz", gz(tar(members)))


ACCUMULATING += (
    Story(
        "an archive that had two clusters and now has one says so",
        [
            *(files(), clusters(*CLUSTERS), ingest(), ExpectedRows(rows("old", *CLUSTERS))),
            *(clusters(CLUSTERS[0], version="new"), ingest("cluster02", "60", codes=[0, 1])),
        ],
        over_none=True,
    ),
    Story(
        "an archive cut behind its first member is refused",
        [
            *(files(), clusters(*CLUSTERS), ingest()),
            Change(lambda folder: _cut_behind_first(folder / "raw" / "raw-traces.tar.gz")),
            *(ingest("raw-traces.tar.gz", codes=[1]), ExpectedRows(rows("old", *CLUSTERS))),
        ],
        over_none=True,
    ),
)


def _cut_behind_first(path: Path) -> None:
    whole = tar([("cluster01.csv", CLUSTERS[0].text(CLUSTERS[0].rows("new")))])
    path.write_bytes(gz(whole.rstrip(b"\0") + bytes(-len(whole.rstrip(b"\0")) % 512)))


def find_parquet(place: Place, folder: Path) -> Path:
    """Return the path of the first Parquet file of a table."""
    return min((folder / "warehouse" / "parquet" / place.table.replace(".", "/")).glob("**/*.parquet"))


def change_parquet(change: Callable[[Path], object]) -> Change:
    """Change the Parquet file of `TRAIN`."""
    return Change(lambda folder: change(find_parquet(TRAIN, folder)))


def cut_in_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def lengthen(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"PAR1")


def garbage(path: Path) -> None:
    path.write_bytes(b"garbage" * 99)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


QUESTION = "sql from(openb.node)select(count(*)) --warehouse {warehouse}"
PARQUET_DAMAGE: dict[str, Callable[[Path], object]] = {
    "cut in half": cut_in_half,
    "empty": lambda path: os.truncate(path, 0),
    "longer": lengthen,
    "garbage": garbage,
    "gone": Path.unlink,
}


def parquet_stories() -> list[Story]:
    """Return stories in which a Parquet file is damaged, detected, and repaired from the raw files."""
    return [
        Story(
            f"a Parquet file that is {name}",
            [
                files(*PLACES),
                change_parquet(damage),
                Command("check --files --warehouse {warehouse}", [1], ["parquet/zeus/train/"]),
                # `build` reports the damaged file as an error.
                Command("build --warehouse {warehouse}", [1], ["parquet/zeus/train/"]),
                # Every ingest checks, repeats damaged conversions, and reports them.
                ingest("zeus.train"),
                OLD,
                Command("check --files --warehouse {warehouse}"),
                Command("build --warehouse {warehouse}"),
                OLD,
            ],
        )
        for name, damage in PARQUET_DAMAGE.items()
    ]


def folder_in_the_way() -> Story:
    """Return a story in which a folder with the name of a Parquet file is an error until it is removed."""
    return Story(
        "a folder in a Parquet file's place",
        [
            files(*PLACES),
            change_parquet(replace_by_folder),
            Command("check --files --warehouse {warehouse}", [1], ["parquet/zeus/train/"]),
            Command(INGEST.arguments, [1], ["is in the way: move it away"]),
            change_parquet(Path.rmdir),
            ingest("zeus.train"),
            OLD,
        ],
    )


DATABASE_DAMAGE = {
    "cut in half": cut_in_half,
    "empty": lambda path: os.truncate(path, 0),
    "garbage": garbage,
    "gone": Path.unlink,
}


def database_stories() -> list[Story]:
    """Return stories in which a damaged database is reported, and rebuilt from the Parquet files."""
    of_database = "warehouse/traces.duckdb"
    return [
        Story(
            f"a database that is {name}",
            [
                Change(lambda folder, damage=damage: damage(folder / of_database)),
                Command("list traces --warehouse {warehouse}", [1], ["traces.duckdb"]),
                Command("build --warehouse {warehouse}"),
                OLD,
            ],
        )
        for name, damage in DATABASE_DAMAGE.items()
    ] + [
        Story(
            "a database that is garbage, and an ingest",
            [
                files(*PLACES, version="new"),
                Change(lambda f: garbage(f / of_database)),
                ingest("traces.duckdb"),
                NEW,
            ],
        ),
        Story(
            "a database that is a folder",
            [
                Change(lambda folder: replace_by_folder(folder / of_database)),
                Command("list traces --warehouse {warehouse}", [1], ["traces.duckdb"]),
                Command("build --warehouse {warehouse}", [1], ["traces.duckdb"]),
            ],
        ),
    ]


def delete_conversions(path: Path) -> None:
    package = json.loads(path.read_text())
    del package["records"]
    path.write_text(json.dumps(package))


def write_other_version(path: Path) -> None:
    package = json.loads(path.read_text())
    package["records"] = [{"trace": "openb"}]
    path.write_text(json.dumps(package))


MANIFEST_DAMAGE: dict[str, Callable[[Path], object]] = {
    "gone": Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "cut in half": cut_in_half,
    "garbage": garbage,
    "a list": lambda path: path.write_text("[]"),
    "nothing": lambda path: path.write_text("null"),
    "without conversions": delete_conversions,
    "of another version": write_other_version,
    "no UTF-8": lambda path: path.write_bytes(b"\xff\xfe{}"),
}


def check_parquet_exists(folder: Path) -> None:
    """Assert that every Parquet file that `note_parquet` listed in the file `kept` still exists."""
    names = (folder / "kept").read_text().splitlines()
    lost = [name for name in names if not (folder / "warehouse" / name).exists()]
    assert lost == [], f"deleted: {lost}"


def note_parquet(folder: Path) -> None:
    warehouse = folder / "warehouse"
    names = sorted(path.relative_to(warehouse).as_posix() for path in warehouse.glob("parquet/**/*.parquet"))
    (folder / "kept").write_text("\n".join(names))


def manifest_stories() -> list[Story]:
    """Return stories with a damaged manifest, after which no Parquet file is lost."""
    return [
        Story(
            f"a manifest that is {name}",
            [
                Change(note_parquet),
                Change(lambda folder, damage=damage: damage(folder / "warehouse" / "datapackage.json")),
                files(UNTOUCHED),
                # A user may run this after the error message, here with a raw folder that has one table only.
                ingest(codes=[0, 1]),
                Change(check_parquet_exists),
                Change(lambda folder: (folder / "warehouse" / "datapackage.json").unlink(missing_ok=True)),
                ingest(codes=[0, 1]),
                Change(check_parquet_exists),
            ],
        )
        for name, damage in MANIFEST_DAMAGE.items()
    ]


FOREIGN = (
    *("warehouse/notes.txt", "warehouse/parquet/notes.txt", "warehouse/parquet/mine.parquet"),
    *("warehouse/parquet/openb/node/mine.parquet", "warehouse/parquet/openb/node/0123456789abcdef.parquet"),
    *("warehouse/parquet/mine/fedcba9876543210.parquet", "warehouse/mine/0123456789abcdef.parquet"),
)


def check_foreign_files_exist(folder: Path) -> None:
    lost = [name for name in FOREIGN if not (folder / name).exists()]
    assert lost == [], f"deleted: {lost}"


def journal(text: str) -> Change:
    return write("warehouse/.ingest/finished/openb.node.json", text)


OTHER = (
    Story(
        "a Parquet file in whose place a folder is",
        [
            files(*PLACES),
            change_parquet(replace_by_folder),
            Command("check --files --warehouse {warehouse}", [1], ["parquet/zeus/train/"]),
            # Tracehouse does not delete foreign folders.
            ingest("parquet/zeus/train/", codes=[1]),
        ],
    ),
    Story(
        "foreign files stay, regardless of their names",
        [
            *(write(name, "mine") for name in FOREIGN),
            *(files(*PLACES, version="new"), INGEST, NEW, Change(check_foreign_files_exist)),
            *(Command("vacuum --warehouse {warehouse}", codes=[0]), Change(check_foreign_files_exist)),
            *(Command("build --warehouse {warehouse}"), NEW, Change(check_foreign_files_exist)),
        ],
    ),
    Story(
        "a vacuum removes no file that readers need",
        [
            *(files(*PLACES, version="new"), INGEST, Command("vacuum --warehouse {warehouse}"), NEW),
            Command("check --files --warehouse {warehouse}"),
        ],
    ),
    *(
        Story(
            f"a journal that holds {name}",
            [
                journal(text),
                files(*PLACES, version="new"),
                ingest(codes=[0, 1]),
                Command("build --warehouse {warehouse}", [0, 1]),
            ],
        )
        for name, text in (
            ("garbage", "garbage"),
            ("nothing", ""),
            ("a list", "[]"),
            ("half an entry", '{"trace": "openb"'),
            ("no conversion", '{"trace": "openb"}'),
            ("a NUL", "\0"),
        )
    ),
    Story(
        "a warehouse that is a file",
        [
            *(files(*PLACES), write("file", "no folder")),
            Command("ingest --raw {raw} --warehouse {folder}/file", [1], ["file"]),
            Command("build --warehouse {folder}/file", [1], ["file"]),
            Command("list --warehouse {folder}/file", [1], ["file"]),
        ],
        over_none=True,
    ),
    Story(
        "a folder for Parquet that is a file",
        [
            *(files(*PLACES), write("warehouse/parquet", "no folder")),
            ingest("parquet", codes=[1]),
        ],
        over_none=True,
    ),
    Story(
        "a work folder that is a file",
        [
            *(files(*PLACES), write("warehouse/.ingest", "no folder")),
            ingest(".ingest", codes=[1]),
        ],
        over_none=True,
    ),
    Story(
        "raw files below the warehouse",
        [
            files(UNTOUCHED),
            Command("ingest --raw {raw} --warehouse {raw}"),
            Command("ingest --raw {raw} --warehouse {raw}"),
        ],
        over_none=True,
    ),
    Story(
        "no raw folder", [Command("ingest --raw {raw}/none --warehouse {warehouse}", [1], ["raw/none"]), OLD]
    ),
    Story("an empty raw folder", [files(), ingest(codes=[1]), OLD]),
    Story(
        "a raw folder that is a file",
        [
            Command("ingest --raw {warehouse}/traces.duckdb --warehouse {warehouse}", [1], ["traces.duckdb"]),
            OLD,
        ],
    ),
    Story(
        "times that are none of a cluster",
        [
            files(SEREN),
            Change(
                lambda folder: (folder / "raw" / "trace_seren.csv").write_text(
                    (folder / "raw" / "trace_seren.csv")
                    .read_text()
                    .replace("2023-03-01 00:00:00+08:00", "0000-01-01 00:00:00+00:00", 1)
                )
            ),
            ingest(codes=[0, 1]),
            *(
                Command(f"query {name} --warehouse {{warehouse}}")
                for name in ("acme.arrivals", "unified.traces")
            ),
        ],
    ),
)

STORIES = (
    *ACCUMULATING,
    *parquet_stories(),
    folder_in_the_way(),
    *database_stories(),
    *manifest_stories(),
    *OTHER,
)
IN_PART = frozenset({"an archive cut behind its first member is refused", "a database that is cut in half"})
