"""A Hypothesis state machine: operations on raw files and a warehouse, compared with a model after each one.

Some operations are killed at a step or fill the disk, and others damage the raw folder or the warehouse.
"""

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
from command_line import Run
from hostile.dumps import Place, raw_folder, stored, wanted
from hostile.stories import cut_in_half, garbage, lengthen
from hostile.warehouse_model import (
    CUT,
    FEW_LINES,
    FILES,
    HALF,
    KALOS,
    LEFT,
    PLACES,
    POINTER,
    RIGHT,
    SEREN,
    VERSIONS,
    A,
    B,
    Content,
    Outcome,
    Version,
    Versions,
    bytes_of,
    file_of,
    group_of,
    ingest_outcomes,
    trace_of,
)
from hostile.warehouse_worker import Kill, Worker
from hypothesis import strategies
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

SEQUENCES_RUN, OPERATIONS_RUN = "sequences of operations on a warehouse", "operations in them"
DISK_MB = 16

SIDE, TOTAL = "jobs.side_v1", "power.total_v1"
# The places that each view reads, one tuple for each of its Parquet files.
MATERIALIZED = {SIDE: ((LEFT, RIGHT),), TOTAL: ((KALOS,), (SEREN,))}


def _summaries(versions: Versions, names: Mapping[str, Place]) -> list[tuple]:
    return [
        (name, versions[place].count, max(versions[place].rows(place).values()))
        for name, place in names.items()
        if place in versions
    ]


VIEWS: dict[str, tuple[str, Callable[[Versions], list[tuple]]]] = {
    SIDE: (
        "select * from jobs.side_v1 where entries > 0 order by side",
        lambda versions: _summaries(versions, {"left": LEFT, "right": RIGHT}),
    ),
    TOTAL: (
        "select * from power.total_v1 order by cluster",
        lambda versions: _summaries(versions, {"kalos": KALOS, "seren": SEREN}),
    ),
    "jobs.half_v1": (
        "select name, half from jobs.half_v1 order by all",
        lambda versions: sorted(
            (name, number / 2)
            for place in (A, B)
            if place in versions
            for name, number in versions[place].rows(place).items()
        ),
    ),
}

# Kinds of database, by the option that builds them: it reads materialized views, computes all views, or
# contains tables.
READS, COMPUTES, CONTAINS = "", "--no-stored", "--materialize"


@dataclass(frozen=True)
class FullDisk:
    """A disk with this much free space."""

    free_kib: int


Disturbance = Kill | FullDisk | None
KILLS = strategies.one_of(
    strategies.builds(Kill, strategies.integers(1, 60), strategies.booleans()),
    strategies.builds(Kill, strategies.integers(1, 25), strategies.booleans(), strategies.just(True)),
)
# Two databases take 0.5 MB.
FULL_DISKS = strategies.builds(FullDisk, strategies.integers(0, 800))
DISTURBANCES: strategies.SearchStrategy[Disturbance] = strategies.sampled_from(
    [strategies.none(), strategies.none(), strategies.none(), KILLS, KILLS, FULL_DISKS]
).flatmap(lambda chosen: chosen)
RARELY = strategies.sampled_from([False, False, False, True])
CHANGES = strategies.fixed_dictionaries(
    {},
    optional={
        file: strategies.sampled_from([*VERSIONS, None, CUT, HALF if len(places) > 1 else POINTER])
        for file, places in FILES.items()
    },
)
NUMBERS = strategies.integers(0, 1 << 20)

FLIP = "a flipped bit"
DAMAGES: dict[str, Callable[[Path, int], object]] = {
    FLIP: lambda path, number: flip(path, number),
    "cut": lambda path, _: cut_in_half(path),
    "longer": lambda path, _: lengthen(path),
    "garbage": lambda path, _: garbage(path),
    "gone": lambda path, _: path.unlink(),
}
ANOTHER, NO_CHECKSUM = "another file", "no checksum"
KINDS = strategies.sampled_from([*DAMAGES])


def flip(path: Path, number: int) -> None:
    data = bytearray(path.read_bytes())
    data[number // 8 % len(data)] ^= 1 << number % 8
    path.write_bytes(data)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, or an empty string if there is no file."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


@cache
def versions_by_checksum() -> dict[str, Version]:
    every = (*VERSIONS, *(Version(version.number, FEW_LINES) for version in VERSIONS))
    return {
        hashlib.sha256(bytes_of(file, version)).hexdigest(): version for file in FILES for version in every
    }


class WarehouseMachine(RuleBasedStateMachine):
    """A raw folder and a warehouse, and the versions that they must contain."""

    worker: Worker
    connection: duckdb.DuckDBPyConnection
    folder: Path
    prepared: Path
    is_small_disk: bool
    counts: Counter[str]

    raw: dict[str, Content]
    # The versions of the last readable manifest, and of the database. None if the database is damaged.
    published: dict[Place, Version]
    shown: dict[Place, Version] | None

    @initialize(is_new=RARELY, is_calm=RARELY)
    def start(self, is_new: bool, is_calm: bool) -> None:
        self.warehouse, self.raw_path = self.folder / "warehouse", self.folder / "raw"
        for path in (self.warehouse, self.raw_path):
            shutil.rmtree(path, ignore_errors=True)
        if is_new:
            raw_folder(self.raw_path)
        else:
            shutil.copytree(self.prepared, self.folder, dirs_exist_ok=True)
        # Some sequences have no kills and full disks, so that more operations finish.
        self.is_calm = is_calm
        first = {} if is_new else dict.fromkeys(PLACES, VERSIONS[0])
        self.raw = {} if is_new else dict.fromkeys(FILES, VERSIONS[0])
        self.published = dict(first)
        self.shown = None if is_new else dict(first)
        # The checksum of a damaged database. Failed operations must not change it.
        self.unreadable = ""
        self.is_lost = False
        self.modes = {READS}
        # Versions that an interrupted ingest may have finished, and versions that the records may contain.
        self.unpublished: dict[str, set[Version]] = {}
        self.records: dict[Place, set[Version | None]] = {place: {first.get(place)} for place in PLACES}
        # Size and checksum of each Parquet file of a base table so far, and the files of each version.
        self.written: dict[str, tuple[int, str]] = {}
        self.files: dict[tuple[Place, Version], list[str]] = {}
        # Damaged files that were not repaired, with the kind of damage.
        self.damaged: dict[str, str] = {}
        self.unlisted: set[str] = set()
        self.kept_databases = 0
        # Whether a user wrote into the database. None if it was damaged afterwards.
        self.is_foreign: bool | None = False
        self.changes = 0
        # Whether something changed since the last comparison of the database.
        self.is_touched = True
        self.counts[SEQUENCES_RUN] += 1
        # The invariant counts each check as an operation, also the one after this start.
        self.counts[OPERATIONS_RUN] -= 1
        self.read_manifest()

    # Read the disk.

    def read_manifest(self) -> dict[Place, Version] | None:
        """Return the versions in the manifest, or None if it cannot be read."""
        path = self.warehouse / "datapackage.json"
        if not path.exists():
            return None if self.is_lost else {}
        try:
            package = json.loads(path.read_text())
        except ValueError:
            return None
        found: dict[Place, Version] = {}
        for entry in self.read_records(package["records"]):
            place, version = self.place_and_version(entry)
            assert place not in found, f"{place.stem} is published twice"
            found[place] = version
            files = [*entry["files"], *entry["rejected"]]
            self.written |= {file["path"]: (file["bytes"], file["sha256"]) for file in files}
            paths = [file["path"] for file in files]
            assert self.files.setdefault((place, version), paths) == paths
        return found

    def read_records(self, names: Iterable[str]) -> list[dict[str, Any]]:
        return [json.loads((self.warehouse / "records" / name).read_text()) for name in names]

    def place_and_version(self, entry: dict[str, Any]) -> tuple[Place, Version]:
        [source] = entry["sources"]
        [place] = [
            place for place in FILES[source["file"]] if place.table == f"{entry['trace']}.{entry['table']}"
        ]
        version = versions_by_checksum().get(entry["sha256"])
        assert version, f"{source['file']} is published but must be refused"
        return place, version

    def is_wrong(self, path: str) -> bool:
        """Return whether a Parquet file is damaged, or the file of a view lacks its checksum."""
        file = self.warehouse / path
        if path in self.written:
            return sha256(file) != self.written[path][1]
        checksum = file.with_suffix(".sha256")
        return not checksum.exists() or sha256(file) != checksum.read_text().split()[0]

    def wrong_places(self, versions: Versions) -> set[Place]:
        return {
            place
            for place, version in versions.items()
            if any(map(self.is_wrong, self.files[place, version]))
        }

    def broken_places(self) -> set[Place]:
        """Return the published places with a file that is missing or has another size."""
        return {
            place
            for place, version in self.published.items()
            for path in self.files[place, version]
            if not (self.warehouse / path).is_file()
            or (self.warehouse / path).stat().st_size != self.written[path][0]
        }

    def listed(self) -> set[str]:
        """Return the Parquet files of base tables that a record or the manifest lists."""
        package = json.loads((self.warehouse / "datapackage.json").read_text())
        entries = self.read_records(path.name for path in self.warehouse.glob("records/*.json"))
        files = [file for entry in entries for file in (*entry["files"], *entry["rejected"])]
        return {file["path"] for file in (*files, *package["superseded"])}

    def in_folder(self, name: str) -> set[str]:
        return {self.below(path) for path in (self.warehouse / name).rglob("*.parquet")}

    def below(self, path: Path) -> str:
        return path.relative_to(self.warehouse).as_posix()

    # Invariants.

    def query(self, sql: str) -> list[tuple]:
        return self.connection.execute(sql).fetchall()

    def faults(self, versions: Versions) -> list[str]:
        """Return the differences between the database and some versions."""
        try:
            with attached(self.connection, self.warehouse / "traces.duckdb"):
                return list(self.differences(versions))
        except duckdb.Error as error:
            return [str(error)]

    def differences(self, versions: Versions) -> Iterator[str]:
        wrong = self.wrong_places(versions)
        skipped = {place.table for place in wrong}
        for place in PLACES:
            rows = versions[place].rows(place) if place in versions else {}
            if place.table not in skipped and (found := stored(self.connection, place)) != wanted(rows):
                yield f"{place.stem}: {len(found)} rows, not {len(rows)}, or others: {found[:2]}"
        sources = self.query(
            "select file, rows_read, rows_kept, rows_rejected from catalog.sources order by all"
        )
        expected = [(file_of(place), v.lines, v.count, v.bad) for place, v in versions.items()]
        if sources != sorted(expected):
            yield f"catalog.sources has {sources}, not {sorted(expected)}"
        bad: Counter[str] = Counter()
        for place, version in versions.items():
            bad[file_of(place)] += version.bad
        rejected = "select file, count(*) from catalog.rejected_rows group by file order by file"
        if not wrong and self.query(rejected) != sorted((+bad).items()):
            yield "catalog.rejected_rows has other rows"
        listed = dict(self.query("select versioned_name, stored_files from catalog.views"))
        for name, (sql, rows_of) in VIEWS.items():
            if not wrong and not any(map(self.is_wrong, listed[name])):
                answer = self.query(sql)
                if answer != rows_of(versions):
                    yield f"{name}: {answer[:3]}, not {rows_of(versions)[:3]}"

    @invariant()
    def warehouse_equals_model(self) -> None:
        self.counts[OPERATIONS_RUN] += 1
        self.check_damage()
        if self.is_touched and self.shown is not None:
            assert self.faults(self.shown) == []
        self.is_touched = False

    def check_damage(self) -> None:
        """Assert that all damaged files were damaged by this machine."""
        self.damaged = {path: kind for path, kind in self.damaged.items() if self.is_wrong(path)}
        if not self.is_lost and self.published:
            assert self.wrong_files() <= self.damaged.keys()

    def wrong_files(self) -> set[str]:
        listed = {path for place in self.published.items() for path in self.files[place]}
        checksums = self.warehouse.glob("stored/*/*/*.sha256")
        listed |= {self.below(path.with_suffix(".parquet")) for path in checksums}
        return {path for path in listed if self.is_wrong(path)}

    def check_files(self) -> dict[str, str]:
        """Assert that `traces check --files` names exactly the damaged files, and return its advice."""
        wrong = self.wrong_files()
        run = self.run("check --files --warehouse {warehouse}")
        assert run.faults([1 if wrong else 0]) == []
        lines = [line for line in run.stdout.splitlines() if line.startswith("damaged: ")]
        advice = {path: line for path in wrong for line in lines if path in line}
        assert advice.keys() == wrong and len(lines) == len(wrong), run.stdout
        return advice

    def teardown(self) -> None:
        if not self.is_lost and self.published:
            self.check_files()

    def check_tidy(self) -> None:
        """Assert that a successful operation left no temporary or unlisted files."""
        left = [*self.warehouse.glob(".ingest/staging"), *self.warehouse.rglob("*.half")]
        assert left == []
        unlisted = self.in_folder("parquet") - self.listed()
        assert unlisted <= self.unlisted, "unlisted files"

    def check_mode(self, modes: set[str]) -> None:
        """Assert that the database is of one of these kinds."""
        with attached(self.connection, self.warehouse / "traces.duckdb"):
            views = dict(self.query("select versioned_name, stored_files from catalog.views where stored"))
            has_tables = bool(
                self.query(
                    "select * from duckdb_tables() where database_name = 'w' and table_name = 'task'"
                    " and schema_name = 'jobs'"
                )
            )
        needed = {name for name in MATERIALIZED if self.parts_of(name)}
        wrong = {path for files in views.values() for path in files if self.is_wrong(path)}
        assert {self.damaged[path] for path in wrong} <= {FLIP}, "files with detectable damage"
        self.modes = {mode for mode in modes if mode == CONTAINS} if has_tables else modes - {CONTAINS}
        if needed:
            self.modes = {mode for mode in self.modes if views.keys() == (needed if mode == READS else set())}
        assert self.modes, f"contains tables: {has_tables}; materialized: {views}; expected: {modes}"

    def parts_of(self, view: str) -> int:
        """Return how many files a materialized view has."""
        return sum(any(place in self.published for place in places) for places in MATERIALIZED[view])

    def check_kept(self) -> None:
        """Assert that the replaced database was kept if and only if a user wrote into it."""
        kept = sorted(self.warehouse.glob("traces-kept-*.duckdb"))
        if self.is_foreign is not None:
            assert len(kept) == self.kept_databases + self.is_foreign
        if self.is_foreign:
            with attached(self.connection, kept[-1]):
                assert self.query("from mine") == [(42,)]
        self.kept_databases, self.is_foreign = len(kept), False

    # Run operations.

    def run(self, command: str, disturbance: Disturbance = None) -> Run:
        command = command.format(raw=self.raw_path, warehouse=self.warehouse)
        self.is_touched = True
        if isinstance(disturbance, Kill):
            return self.worker.run(command, kill=disturbance)
        if not disturbance:
            return self.worker.run(command)
        if not self.is_small_disk:
            return self.worker.run(command, largest_file_bytes=max(1, disturbance.free_kib) << 10)
        filling = self.folder / "filling"
        free = shutil.disk_usage(self.folder).free
        with filling.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, free - (disturbance.free_kib << 10)))
        try:
            # A DuckDB instance is unusable after a failed write, so the worker ends.
            return self.worker.run(command, ends=True)
        finally:
            filling.unlink()

    def perform(
        self, command: str, outcomes: Sequence[Outcome], modes: set[str], disturbance: Disturbance = None
    ) -> bool:
        """Run a command, assert that it has one of these outcomes, and return whether it published a version.

        `modes` are the kinds of database that the command may build.
        """
        disturbance = None if self.is_calm else disturbance
        run = self.run(command, disturbance)
        is_killed = run.code == -9
        assert run.faults([-9] if is_killed else [0, 1, 2]) == []
        if is_killed or (run.code == 1 and disturbance and "Free disk space" in run.stderr):
            self.end_interrupted(outcomes, modes)
            return False
        return self.end(run, outcomes, modes, isinstance(disturbance, FullDisk))

    def end_interrupted(self, outcomes: Sequence[Outcome], modes: set[str]) -> None:
        """Assert that manifest and database each have the previous versions, or those of an outcome."""
        before, published = None if self.is_lost else self.published, self.read_manifest()
        allowed = [before, *(one.published for one in outcomes if one.published is not None)]
        assert published in allowed, f"neither the previous versions nor an outcome: {published}"
        self.modes = self.modes | modes | ({COMPUTES} if CONTAINS in self.modes | modes else set())
        for place in PLACES:
            self.records[place] |= {(published or {}).get(place)}
        kept = len([*self.warehouse.glob("traces-kept-*.duckdb")])
        if kept > self.kept_databases:
            assert self.is_foreign is not False
            self.kept_databases, self.is_foreign = kept, None
        self.set_published(published, [self.shown, published])

    def end(self, run: Run, outcomes: Sequence[Outcome], modes: set[str], is_full: bool) -> bool:
        """Assert that an outcome occurred, and return whether it published a version."""
        before, published = None if self.is_lost else self.published, self.read_manifest()
        same = [
            one
            for one in outcomes
            if one.code == run.code and published == (before if one.published is None else one.published)
        ]
        assert same, f"exit code {run.code}, {published}; allowed: {outcomes}; {run.stdout}{run.stderr}"
        unchanged = [self.shown for one in same if one.published is None]
        self.set_published(published, [*unchanged[:1], *([published] if len(unchanged) < len(same) else [])])
        if len(unchanged) == len(same) or self.shown != published:
            return False
        self.records = {place: {self.published.get(place)} for place in PLACES}
        self.check_tidy()
        self.check_kept()
        if is_full or self.wrong_places(self.published):
            self.modes = modes
        else:
            self.check_mode(modes)
        return True

    def set_published(
        self, published: dict[Place, Version] | None, shown: Sequence[dict[Place, Version] | None]
    ) -> None:
        """Record the versions in the manifest, and which of the `shown` versions the database has."""
        self.is_lost = published is None
        self.published = self.published if published is None else published
        self.shown = self.choose_shown(shown)

    def choose_shown(self, versions: Sequence[dict[Place, Version] | None]) -> dict[Place, Version] | None:
        """Return the versions that the database has, among those given. Fail if it has none of them."""
        if None in versions and sha256(self.warehouse / "traces.duckdb") == self.unreadable:
            return None
        faults = {}
        for number, one in enumerate(versions):
            if one is not None:
                faults[number] = self.faults(one)
                if not faults[number]:
                    self.is_touched = False
                    return one
        raise AssertionError(f"the database shows none of {versions}: {faults}")

    def with_failure(self, outcomes: Sequence[Outcome]) -> list[Outcome]:
        """Add the failure that a damaged manifest or a damaged file of unchanged size may cause."""
        failure = Outcome(1, None)
        if self.is_lost:
            return [failure]
        return [*outcomes, failure] if self.wrong_places(self.published) else list(outcomes)

    def modes_after(self, mode: str = READS) -> set[str]:
        """Return the possible kinds after the database was replaced by one of the same kind, or of `mode`."""
        return {COMPUTES if before == READS and mode == COMPUTES else before for before in self.modes}

    def has_warehouse(self) -> bool:
        return (self.warehouse / ".ingest").is_dir()

    # Operations.

    def change_raw(self, file: str, content: Content | None) -> None:
        """Write this content to a raw file, or remove the file if it is None."""
        path = self.raw_path / file
        before = self.raw.pop(file, VERSIONS[0])
        path.unlink(missing_ok=True)
        if content is None:
            return
        if content == CUT and file.endswith(".csv"):
            # A CSV that is cut after a line cannot be distinguished from a shorter version.
            content = Version(before.number if isinstance(before, Version) else 1, FEW_LINES)
        self.raw[file] = content
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes_of(file, content))
        # Ingest caches the checksum of a file only if the file was last modified at least a few seconds ago.
        self.changes += 1
        os.utime(path, (self.changes, self.changes))

    @rule(changes=CHANGES, disturbance=DISTURBANCES)
    def ingest(
        self,
        changes: Mapping[str, Content | None],
        disturbance: Disturbance = None,
        trace: str = "",
        is_replacing: bool = False,
        is_computed: bool = False,
    ) -> None:
        for file, content in changes.items():
            self.change_raw(file, content)
        raw = {
            place: content
            for file, content in self.raw.items()
            for place in FILES[file]
            if trace in ("", trace_of(place))
        }
        outcomes = ingest_outcomes(raw, self.published, self.unpublished, self.broken_places(), is_replacing)
        options = [trace, "--replace" * is_replacing, "--no-stored" * is_computed]
        has_published = self.perform(
            f"ingest --raw {{raw}} --warehouse {{warehouse}} {' '.join(options)}",
            self.with_failure(list(outcomes)),
            self.modes_after(COMPUTES if is_computed else READS),
            disturbance,
        )
        claims = {place: content for place, content in raw.items() if content != POINTER}
        if has_published:
            groups = {group_of(place) for place in claims}
            self.unpublished = {
                file: left
                for file, left in self.unpublished.items()
                if groups.isdisjoint(map(group_of, FILES[file]))
            }
        else:
            for place, content in claims.items():
                if isinstance(content, Version):
                    self.unpublished.setdefault(file_of(place), set()).add(content)

    @rule(
        changes=CHANGES,
        disturbance=DISTURBANCES,
        trace=strategies.sampled_from(["", *sorted({trace_of(place) for place in PLACES})]),
        is_replacing=strategies.booleans(),
        is_computed=RARELY,
    )
    def ingest_with_options(self, **options: Any) -> None:
        self.ingest(**options)

    @precondition(has_warehouse)
    @rule(pattern=strategies.sampled_from(["*", "jobs/*", "power/*", *FILES]), disturbance=DISTURBANCES)
    def forget(self, pattern: str, disturbance: Disturbance = None) -> None:
        removed = {place for place in self.published if fnmatchcase(file_of(place), pattern)}
        left = {place: version for place, version in self.published.items() if place not in removed}
        outcome = Outcome(0, left) if removed else Outcome(2, None)
        if removed and self.broken_places() - removed:
            outcome = Outcome(1, None)
        command = f"forget {pattern} --warehouse {{warehouse}}"
        if self.perform(command, self.with_failure([outcome]), self.modes_after(), disturbance):
            files = {file_of(place) for place in removed}
            self.unpublished = {file: left for file, left in self.unpublished.items() if file not in files}

    def unchanged(self) -> list[Outcome]:
        """Return the outcomes of an operation that publishes the same versions again."""
        return self.with_failure([Outcome(1, None) if self.broken_places() else Outcome(0, self.published)])

    @precondition(has_warehouse)
    @rule(is_complete=strategies.booleans(), disturbance=DISTURBANCES)
    def vacuum(self, is_complete: bool, disturbance: Disturbance) -> None:
        options = "--older-than-days 0 --keep-versions 0" if is_complete else ""
        command = f"vacuum {options} --warehouse {{warehouse}}"
        done = self.perform(command, self.unchanged(), self.modes_after(), disturbance)
        if done and is_complete and not self.unpublished and not self.wrong_places(self.published):
            assert json.loads((self.warehouse / "datapackage.json").read_text())["superseded"] == []
            if len(self.modes) == 1 and not isinstance(disturbance, FullDisk):
                parts = sum(map(self.parts_of, MATERIALIZED)) if self.modes == {READS} else 0
                assert len(self.in_folder("stored")) == parts

    @precondition(has_warehouse)
    @rule(mode=strategies.sampled_from([READS, READS, COMPUTES, CONTAINS]), disturbance=DISTURBANCES)
    def build(self, mode: str, disturbance: Disturbance = None) -> None:
        self.perform(f"build {mode} --warehouse {{warehouse}}", self.unchanged(), {mode}, disturbance)

    # Damage.

    @precondition(has_warehouse)
    @rule(kind=KINDS, number=NUMBERS)
    def damage_database(self, kind: str, number: int) -> None:
        path = self.warehouse / "traces.duckdb"
        if path.exists():
            DAMAGES[kind](path, number)
            self.unreadable, self.shown, self.is_foreign = sha256(path), None, None
            self.modes = self.modes | ({COMPUTES} if CONTAINS in self.modes else set())

    @rule(
        folder=strategies.sampled_from(["parquet", "stored"]),
        kind=strategies.one_of(KINDS, strategies.sampled_from([ANOTHER, NO_CHECKSUM])),
        number=NUMBERS,
    )
    def damage_parquet(self, folder: str, kind: str, number: int) -> None:
        """Damage a Parquet file, replace it by another file, or delete its checksum."""
        listed = {path for place in self.published.items() for path in self.files[place]}
        paths = listed if folder == "parquet" else self.in_folder("stored")
        existing = sorted(path for path in paths if (self.warehouse / path).is_file())
        if not existing:
            return
        path = existing[number % len(existing)]
        other = existing[(number + 1) % len(existing)]
        self.damaged[path] = kind
        self.is_touched = True
        if kind == ANOTHER:
            data = (self.warehouse / other).read_bytes()
            (self.warehouse / path).write_bytes(data)
        elif kind == NO_CHECKSUM:
            (self.warehouse / path).with_suffix(".sha256").unlink(missing_ok=True)
        else:
            DAMAGES[kind](self.warehouse / path, number // len(existing))

    @precondition(lambda self: self.damaged and self.published and not self.is_lost)
    @rule()
    def follow_advice(self) -> None:
        """Delete the files that `traces check --files` says to delete, and run the commands that it names."""
        for path, advice in self.check_files().items():
            if "elete it" in advice:
                (self.warehouse / path).unlink(missing_ok=True)
            (self.warehouse / path).with_suffix(".sha256").unlink(missing_ok=True)
        self.ingest({})
        if not self.is_lost and not self.broken_places():
            self.build(READS)
            assert self.check_files() == {}

    @precondition(lambda self: self.shown is not None)
    @rule(command=strategies.sampled_from(["build", "vacuum", "ingest --raw {raw}"]))
    def write_while_open(self, command: str) -> None:
        """Add a table while an operation fails because the database is open for writing."""
        with attached(self.connection, self.warehouse / "traces.duckdb", "read_write"):
            run = self.run(f"{command} --warehouse {{warehouse}}")
            assert run.faults([1]) == []
            assert "open for writing" in run.stderr or self.is_lost
            self.connection.execute("create or replace table mine as select 42 as answer")
        self.is_foreign = True


@contextmanager
def attached(
    connection: duckdb.DuckDBPyConnection, database: Path, access: str = "read_only"
) -> Iterator[None]:
    """Attach a database to this connection. A new connection would take longer to open than to use."""
    connection.execute(f"attach '{database}' as w ({access}); use w")
    try:
        yield
    finally:
        connection.execute("use memory; detach w")
