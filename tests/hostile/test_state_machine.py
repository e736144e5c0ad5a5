"""A Hypothesis state machine: commands on a warehouse, some killed at a step, compared with a model.

The model is the version of each raw file that the warehouse must have; after a kill, several are possible
until a command ends. It follows the documentation and uses no code of Tracehouse. The commands are those of a
package without views and queries, which they do not need.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

import duckdb
import hypothesis
import pytest
import suites
from command_line import Run, Server
from hostile.dumps import ARCHIVED, NARROW, UNTOUCHED, WIDE, Place, gz, raw_folder, tar
from hostile.expectations import manifest, opened, unsound
from hypothesis import HealthCheck, Phase, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)
from random_seed import DEPTH, SEED
from small_package import copy_package

OPERATIONS = 8
SEQUENCES = 40 * DEPTH if "hostile" in suites.REQUESTED else 2
# Each shard draws from its own seed, so that they can run at the same time.
MOST_IN_A_SHARD = 250
SHARDS = -(-SEQUENCES // MOST_IN_A_SHARD)
# A pod list, a table of one file, an archive, and two partitions of a wide table.
PLACES: Mapping[str, Place] = {
    "openb_pod_list_a.csv": NARROW[0],
    "summary_train.csv": NARROW[1],
    "pai_job_table.tar.gz": ARCHIVED[0],
    "seren/GPU_TEMP.csv": next(
        place for place in WIDE if (place.stem, place.folder) == ("GPU_TEMP", "seren")
    ),
    "kalos/GPU_TEMP.csv": next(
        place for place in WIDE if (place.stem, place.folder) == ("GPU_TEMP", "kalos")
    ),
}
FILES = tuple(PLACES)
TRACES = {place.table.partition(".")[0] for place in (UNTOUCHED, *PLACES.values())}
VERSIONS = (1, 2, 3)
DAMAGED = 0
State = dict[str, int]
"""The version of each raw file: absent files are not there."""

# An ingest of all files has about 40 steps, a vacuum 3.
STEPS = strategies.integers(1, 12) | strategies.integers(1, 40)
# The step of a kill (None: no kill), and whether it is after the step.
KILLS = strategies.none() | strategies.tuples(STEPS, strategies.booleans())


def rows_of(file: str, version: int) -> dict[str, float]:
    """Return the rows of a version. No two versions have a value in common."""
    names = PLACES[file].names("new", 10 + version)
    return {name: 10_000.0 * version + n for n, name in enumerate(names)}


def content_of(file: str, version: int) -> bytes:
    place = PLACES[file]
    if version == DAMAGED:
        return b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"
    text = place.text(rows_of(file, version))
    return gz(tar([(f"{place.stem}.csv", text)])) if file.endswith(".gz") else text


@cache
def server() -> tuple[Server, Path]:
    """Return the server of this process, which ends with the process, and its folder of temporary files."""
    folder = tempfile.TemporaryDirectory()
    package = copy_package(Path(folder.name) / "package", TRACES)
    temporary = Path(folder.name) / "temporary"
    temporary.mkdir()
    environment = {"XDG_CACHE_HOME": f"{folder.name}/cache", "TMPDIR": str(temporary)}
    started = Server(Path(folder.name), {"PYTHONPATH": str(package), **environment})
    atexit.register(folder.cleanup)
    atexit.register(started.close)
    return started, temporary


class WarehouseMachine(RuleBasedStateMachine):
    """Runs the commands that write, and knows what the warehouse must contain."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.raw, self.warehouse = raw_folder(self.folder / "raw"), self.folder / "warehouse"
        self.raw_state: State = {}
        self.state: State = {}
        self.possible: list[State] = [{}]
        self.connection: tuple[tuple[int, int], duckdb.DuckDBPyConnection] | None = None

    def teardown(self) -> None:
        self.disconnect()
        shutil.rmtree(self.folder)

    def connect(self) -> duckdb.DuckDBPyConnection | None:
        """Return a connection to the database, if there is one. It stays open until the file is replaced."""
        path = self.warehouse / "traces.duckdb"
        identity = (path.stat().st_ino, path.stat().st_mtime_ns) if path.exists() else None
        if self.connection and self.connection[0] != identity:
            self.disconnect()
        if identity and not self.connection:
            self.connection = identity, opened(self.warehouse)
        return self.connection[1] if self.connection else None

    def disconnect(self) -> None:
        if self.connection:
            self.connection[1].close()
        self.connection = None

    def run(self, *argv: object, kill: tuple[int, bool] | None = None, codes: Sequence[int] = (0, 1)) -> Run:
        """Run a command, and check that it ends with a plain error at worst."""
        request = {"kill_at_step": kill[0], "after_step": kill[1]} if kill else {}
        run = server()[0].run(*argv, "--warehouse", self.warehouse, **request)
        assert run.code == -9 or run.faults(codes) == [], run
        return run

    def write(self, file: str, version: int | None) -> None:
        path = self.raw / file
        if version is None:
            path.unlink(missing_ok=True)
            self.raw_state.pop(file, None)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content_of(file, version))
            self.raw_state[file] = version

    def expect(self, change: Callable[[State], State], run: Run) -> None:
        """Accept the changed state. After a kill, this and the next command may also show the old one."""
        changed = [change(state) for state in self.possible]
        shown = self.stored()
        assert shown in changed or (run.code == -9 and shown in self.possible), (shown, changed, run)
        if run.code == -9 and shown in self.possible:
            changed += self.possible
        else:
            # The database is renamed after everything else is in place.
            changed = [shown]
        self.state, self.possible = shown, changed
        connection = self.connect()
        assert connection and unsound(connection, self.warehouse) == []

    def stored(self) -> State:
        """Return the version of each raw file in the warehouse."""
        found: State = {}
        connection = self.connect()
        assert connection
        for file, place in PLACES.items():
            rows = dict(connection.execute(place.question).fetchall())
            versions = [version for version in VERSIONS if rows == rows_of(file, version)]
            assert versions or not rows, f"{file}: not the rows of one version: {rows}"
            found |= {file: versions[0]} if versions else {}
        return found

    @initialize(files=strategies.sets(strategies.sampled_from(FILES)))
    def start(self, files: set[str]) -> None:
        (self.raw / UNTOUCHED.path(".csv")).write_bytes(UNTOUCHED.text(UNTOUCHED.rows("new")))
        for file in files:
            self.write(file, 1)
        self.ingest(None)

    @rule(
        changes=strategies.dictionaries(
            strategies.sampled_from(FILES), strategies.sampled_from([*VERSIONS, DAMAGED, None]), max_size=3
        )
    )
    def change_raw_files(self, changes: dict[str, int | None]) -> None:
        for file, version in changes.items():
            self.write(file, version)

    @rule(kill=KILLS)
    def ingest(self, kill: tuple[int, bool] | None) -> None:
        """Ingest replaces files with a new version, and keeps the rows of refused and absent files."""
        run = self.run("ingest", "--raw", self.raw, kill=kill)
        good = {file: version for file, version in self.raw_state.items() if version != DAMAGED}
        refused = [file for file in self.raw_state if file not in good]
        assert run.code == -9 or run.code == bool(refused), run
        if run.code != -9:
            names = [PurePosixPath(file).name for file in refused]
            assert all(any(name in line for line in run.errors) for name in names), run
        self.expect(lambda state: state | good, run)

    @rule(number=strategies.integers(0, len(FILES)), kill=KILLS)
    def forget(self, number: int, kill: tuple[int, bool] | None) -> None:
        """Forget removes a file. After a kill, the warehouse may lack it although the database shows it."""
        # What rule is drawn, and from which numbers, must not depend on how far a killed command came.
        files = sorted(self.state) or FILES
        file = files[number % len(files)]
        run = self.run("forget", f"*{file}", kill=kill, codes=(0, 2))
        if run.code == 2:
            assert "no raw file in the warehouse is called" in run.stderr, run
            self.possible = [state for state in self.possible if file not in state]
        self.expect(lambda state: {name: state[name] for name in state if name != file}, run)

    @rule(kill=KILLS, days=strategies.sampled_from([0, 7]))
    def vacuum(self, kill: tuple[int, bool] | None, days: int) -> None:
        self.expect(dict, self.run("vacuum", "--older-than-days", days, kill=kill))

    @rule(kill=KILLS, is_deleted=strategies.booleans())
    def build(self, kill: tuple[int, bool] | None, is_deleted: bool) -> None:
        """A build restores a deleted database."""
        if is_deleted:
            (self.warehouse / "traces.duckdb").unlink()
        run = self.run("build", kill=kill)
        if run.code == -9:
            run = self.run("build")
        assert run.code == 0, run
        self.expect(dict, run)

    @rule(number=strategies.integers(0, 1_000))
    def damage_a_parquet_file(self, number: int) -> None:
        """`check` names the damaged file. Without it, an ingest reads the raw file again."""
        if len(self.possible) > 1:
            self.build(None, False)
        for file in FILES:
            self.write(file, self.state.get(file))
        paths = [path for path in manifest(self.warehouse) if path.startswith("parquet/")]
        damaged = paths[number % len(paths)]
        data = bytearray((self.warehouse / damaged).read_bytes())
        data[number % len(data)] ^= 1
        (self.warehouse / damaged).write_bytes(data)
        check = self.run("check", "--files")
        assert check.code == 1 and damaged in check.stdout + check.stderr, check
        (self.warehouse / damaged).unlink()
        again = self.run("ingest", "--raw", self.raw)
        assert again.code == 0, again
        self.expect(dict, again)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_sequences_of_commands(shard: int) -> None:
    run_state_machine_as_test(
        hypothesis.seed(SEED + 1_000_000_000 * shard)(WarehouseMachine),
        settings=hypothesis.settings(
            max_examples=-(-SEQUENCES // SHARDS),
            stateful_step_count=OPERATIONS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=(Phase.generate, Phase.shrink) if "hostile" in suites.REQUESTED else (Phase.generate,),
        ),
    )
    assert [*server()[1].iterdir()] == []
