"""An older DuckDB opens the file that the newest one built, and gives the golden answers.

    .venv-older/bin/pytest tests/clients/test_older_duckdb.py

The environment `.venv` builds the file; this process is the client.
"""

import subprocess
from pathlib import Path

import duckdb
import goldens
import pytest

REPOSITORY = Path(__file__).parents[2]
BUILDER = REPOSITORY / ".venv" / "bin" / "python"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not duckdb.__version__.startswith("1."):
        pytest.skip("this environment has the DuckDB that builds")
    if not BUILDER.exists():
        pytest.skip("no environment builds the file: run `make .venv/ready`")
    warehouse = tmp_path_factory.mktemp("built") / "warehouse"
    raw = ["--raw", REPOSITORY / "tests" / "fixture", "--warehouse", warehouse]
    subprocess.run([BUILDER, "-m", "tracehouse", "ingest", *raw], capture_output=True, cwd=REPOSITORY)
    return warehouse / "traces.duckdb"


def test_older_client_gives_the_golden_answers(built: Path) -> None:
    with duckdb.connect() as connection:
        # A client may attach the file under any name.
        connection.execute(f"attach '{built}' as renamed (read_only); use renamed")
        different = [
            (statement, found[:300])
            for statement, found in goldens.differences(connection)
            if not (found.startswith("  ") and statement.startswith(goldens.ROUNDED))
        ]
    assert different == []
