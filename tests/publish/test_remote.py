"""Queries over HTTP range requests without a browser: the DuckDB shell with the extension `httpfs`.

`make site-test` installs the shell and the extension.
"""

import re
import subprocess
from pathlib import Path

import command_line
import pytest
import site_server
import suites

REPOSITORY = Path(__file__).parents[2]
ENVIRONMENT = REPOSITORY / ".venv-httpfs"
SHELL = ENVIRONMENT / "bin" / "duckdb"
pytestmark = suites.of("site")
QUERY = ("itp.gpu_hours", "-p", "min_gpus=8")


def documented(heading: str) -> str:
    """Return the SQL of the command below a heading of docs/site.md."""
    [_, section] = (REPOSITORY / "docs" / "site.md").read_text(encoding="utf-8").split(f"## {heading}\n")
    found = re.search(r'^duckdb -c "(.*?)"$', section, re.M | re.S)
    assert found
    return found[1]


def ask(statements: str) -> str:
    """Run SQL in the DuckDB shell and return CSV. Without `load`, DuckDB downloads the extension."""
    [extension] = ENVIRONMENT.rglob("httpfs.duckdb_extension")
    command = [SHELL, "-no-init", "-csv", "-cmd", f"load '{extension}'", "-c", statements]
    run = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout


def expected(warehouse: Path) -> str:
    run = command_line.server().run("query", *QUERY, "--format", "csv", "-w", warehouse)
    assert run.code == 0, run.stderr
    return run.stdout.replace("\r\n", "\n")


def test_attached_file_answers_by_ranges(small_warehouse: Path, small_published: Path) -> None:
    with site_server.serve(small_published.parent) as served:
        answer = ask(documented("Attach a published file").replace("https://host", served.address))
        assert answer == expected(small_warehouse)
        assert 0 < served.sent["traces.duckdb"] < small_published.stat().st_size


def test_views_read_remote_parquet(small_warehouse: Path) -> None:
    with site_server.serve(small_warehouse) as served:
        answer = ask(documented("Share a warehouse").replace("https://host/warehouse", served.address))
        assert answer == expected(small_warehouse)
        sent = {name for name in served.sent if name.endswith(".parquet")}
        files = {path.name for path in (small_warehouse / "parquet" / "itp").rglob("*.parquet")}
        assert sent and sent <= files


def test_nothing_can_be_written(small_warehouse: Path, small_published: Path) -> None:
    for heading, folder in (
        ("Attach a published file", small_published.parent),
        ("Share a warehouse", small_warehouse),
    ):
        with site_server.serve(folder) as served:
            command = documented(heading).partition(";")[0]
            attach = re.sub(r"https://host(/warehouse)?", served.address, command)
            with pytest.raises(AssertionError, match="read-only"):
                ask(f"{attach}; create table traces.itp.mine (i integer)")
