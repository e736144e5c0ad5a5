"""Serves pages in which to ask the named queries, to this machine alone and to whoever has the token.

Every page is made here, without a script: a form sets the parameters, and its address can be kept. Questions
go the way of those on the command line, so that they are checked, limited and answered alike.
"""

import secrets
import shlex
import socket
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.duckdb.read import answer, describe, notes, sandbox
from tracehouse.engines.duckdb.read.binding import BoundQuery, bind_list, bind_query
from tracehouse.engines.duckdb.read.catalog import base_tables
from tracehouse.engines.duckdb.read.notes import Note
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.publish import answers, pages
from tracehouse.publish.formats import Format
from tracehouse.publish.inline_svg import inline_svg
from tracehouse.publish.plot import pictures
from tracehouse.sql.lists import Kind

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HOST = "127.0.0.1"
TEMPLATE = "explore.html.j2"
MOST_ROWS_SHOWN = 200
# A list of more values than these is typed into, with the first of them as proposals.
MOST_CHOICES, MOST_PROPOSED = 100, 1000
# Questions at a time: each may take half of the machine's memory.
MOST_AT_ONCE = 2

DOWNLOADS = {".csv": "text/csv", ".parquet": "application/vnd.apache.parquet", ".png": "image/png"}
FORMATS = {".csv": Format.CSV, ".parquet": Format.PARQUET}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Field:
    """A parameter in the form: what it may be, and what it is. Bounds are empty where there are none.

    The kind is choice, proposal, switch, or a type of `<input>`.
    """

    name: str
    meaning: str
    kind: str
    choices: Sequence[str]
    at_least: str
    at_most: str
    is_whole: bool
    default: str
    value: str


@dataclass(frozen=True)
class Shown:
    """An answer on a page; `picture` is an element of HTML, or `no_picture` says why there is none."""

    columns: Sequence[str]
    numeric: Sequence[bool]
    rows: Sequence[Sequence[Any]]
    row_count: int
    notes: Sequence[Note]
    sources: Sequence[dict[str, Any]]
    picture: str
    no_picture: str


@dataclass(frozen=True)
class Form:
    """A named query, its parameters, those not as by default, and what asks it on the command line."""

    facts: describe.Description
    fields: Sequence[Field]
    given: Mapping[str, str]
    command: str


def serve(warehouse: Path, limits: Limits, port: int, tell: Callable[[str], None]) -> None:
    """Serve the pages until a signal ends the process; `tell` is called with the address to open.

    A port of 0 is any that is free. Raises UserError where there is no warehouse, or the port is taken.
    """
    pages.check_installed("explore", "starlette", "uvicorn", "jinja2", "altair", "vl_convert")
    import uvicorn

    sandbox.run(warehouse, Limits(), lambda connection: None)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
        except OSError as error:
            raise UserError(
                f"port {port} cannot be had: {error.strerror}. Leave --port out for a free one"
            ) from None
        listening.listen()
        token = secrets.token_urlsafe(24)
        bound = listening.getsockname()[1]
        config = uvicorn.Config(
            application(warehouse, limits, token, bound),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
        )
        # Not in the main thread, where it would take over the signals, and wait for questions when they come.
        serving = threading.Thread(target=uvicorn.Server(config).run, args=([listening],), daemon=True)
        serving.start()
        tell(f"http://{HOST}:{bound}/?token={token}")
        serving.join()


def application(warehouse: Path, limits: Limits, token: str, port: int) -> "Starlette":
    """The pages as an ASGI application, for who has the token: in the address once, then in a cookie."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route

    at_once = threading.BoundedSemaphore(MOST_AT_ONCE)
    cookie = f"tracehouse-{port}"

    def guarded(page: "Callable[[Request], Response]") -> "Callable[[Request], Response]":
        def answered(request: Request) -> Response:
            given = request.query_params.get("token", "")
            if request.url.path == "/" and secrets.compare_digest(given.encode(), token.encode()):
                response: Response = RedirectResponse("/", 303)
                response.set_cookie(cookie, token, httponly=True, samesite="strict")
            elif not secrets.compare_digest(request.cookies.get(cookie, "").encode(), token.encode()):
                response = PlainTextResponse(
                    "Open the address that `traces explore` printed: it has a token.\n", 403
                )
            else:
                with at_once:
                    response = page(request)
            response.headers.update(HEADERS)
            return response

        return answered

    def search(request: Request) -> Response:
        words = request.query_params.get("search", "").strip()
        try:
            found, error = sandbox.run(warehouse, limits, lambda c: _found(c, words)), ""
        except UserError as failure:
            found, error = [], str(failure)
        return HTMLResponse(_rendered(words=words, found=found, error=error))

    def ask(request: Request) -> Response:
        name, texts = request.path_params["name"], dict(request.query_params.multi_items())
        try:
            form = sandbox.run(warehouse, limits, lambda c: _form(c, name, texts))
        except UserError as error:
            return HTMLResponse(_failed(str(error)), 404 if isinstance(error, UsageError) else 503)
        status = 200
        shown, error_text = None, ""
        try:
            shown = sandbox.run(warehouse, limits, lambda c: _shown(c, name, form.given))
        except UserError as error:
            status, error_text = 400 if isinstance(error, UsageError) else 503, str(error)
        values = {"form": form, "answer": shown, "error": error_text, "texts": texts}
        return HTMLResponse(_rendered(**values), status)

    def download(request: Request) -> Response:
        name, ending = request.path_params["name"], f".{request.path_params['ending']}"
        if ending not in DOWNLOADS:
            return HTMLResponse(_failed(f"there is no download of the kind {ending}"), 404)
        try:
            content = _download(warehouse, limits, name, dict(request.query_params.multi_items()), ending)
        except UserError as error:
            return HTMLResponse(_failed(str(error)), 400 if isinstance(error, UsageError) else 503)
        attached = {"Content-Disposition": f'attachment; filename="{name}{ending}"'}
        return Response(content, media_type=DOWNLOADS[ending], headers=attached)

    return Starlette(
        routes=[
            Route("/", guarded(search)),
            Route("/query/{name}", guarded(ask)),
            Route("/query/{name}/answer.{ending}", guarded(download)),
        ],
        # A page elsewhere that gives this machine another name in the DNS is turned away.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def _rendered(**values: Any) -> str:
    nothing: dict[str, Any] = {
        "words": "",
        "found": [],
        "error": "",
        "form": None,
        "answer": None,
        "texts": {},
    }
    return pages.rendered(TEMPLATE, **nothing | values)


def _failed(error: str) -> str:
    return _rendered(error=error)


def _found(connection: duckdb.DuckDBPyConnection, words: str) -> list[dict[str, Any]]:
    """The queries that have all the words, the best first; without words all of them, those with data first.

    `data` says how many of the tables that each reads have rows: all, some or none.
    """
    listed = answer.read(connection, bind_list(connection, Kind.QUERIES, words=words)).read_all().to_pylist()
    tables = connection.execute("select table_name from catalog.tables where row_count > 0").fetchall()
    with_rows = {name for (name,) in tables}
    found = []
    for row in listed:
        reads = base_tables(connection, [row["query_name"]])
        data = "all" if reads <= with_rows else "some" if reads & with_rows else "none"
        found.append(row | {"data": data})
    return found if words else sorted(found, key=lambda row: row["data"] == "none")


def _form(connection: duckdb.DuckDBPyConnection, name: str, texts: Mapping[str, str]) -> Form:
    """A named query with its parameters as given. Raises UsageError where no query has the name."""
    _check_is_query(connection, name)
    fields = _fields(connection, name, texts)
    given = _given(fields, texts)
    options = "".join(f" -p {shlex.quote(f'{key}={text}')}" for key, text in given.items())
    return Form(describe.describe(connection, name), fields, given, f"traces query {name}{options}")


def _check_is_query(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    known = connection.execute(
        "select 1 from catalog.queries where query_name = $name", {"name": name}
    ).fetchall()
    if not known:
        raise UsageError(f"no query is called {name}")


def _fields(connection: duckdb.DuckDBPyConnection, name: str, texts: Mapping[str, str]) -> list[Field]:
    rows = connection.execute(
        """
        select parameter, meaning, type, default_value, choices, at_least, at_most, values_of
        from catalog.query_parameters where query_name = $name order by position
        """,
        {"name": name},
    ).fetchall()
    fields = []
    for parameter, meaning, kind, default_sql, choices, at_least, at_most, values_of in rows:
        [(default,)] = connection.execute(f"select cast(({default_sql}) as varchar)").fetchall()
        occurring = list(choices or []) or (_occurring(connection, values_of) if values_of else [])
        fields.append(
            Field(
                name=parameter,
                meaning=meaning,
                kind=_kind(kind, occurring),
                # The default is one of them, whether or not it occurs, so that there is a way back to it.
                choices=list(dict.fromkeys([*occurring, default or ""])) if occurring else [],
                at_least=at_least or "",
                at_most=at_most or "",
                is_whole="INT" in kind,
                default=default or "",
                value=texts.get(parameter) or default or "",
            )
        )
    return fields


def _kind(kind: str, values: Sequence[str]) -> str:
    if values:
        return "choice" if len(values) <= MOST_CHOICES else "proposal"
    if kind == "BOOLEAN":
        return "switch"
    if kind == "VARCHAR":
        return "text"
    return "date" if kind == "DATE" else "number"


def _occurring(connection: duckdb.DuckDBPyConnection, values_of: str) -> list[str]:
    """The values of a column, schema.table.column, as texts."""
    table, _, column = values_of.rpartition(".")
    rows = connection.execute(
        f'select distinct cast("{column}" as varchar) from {table} where "{column}" is not null '
        f"order by all limit {MOST_PROPOSED}"
    ).fetchall()
    return [value for (value,) in rows]


def _given(fields: Sequence[Field], texts: Mapping[str, str]) -> dict[str, str]:
    """The parameters that are not as by default: a form sends all, and an empty field says nothing."""
    defaults = {field.name: field.default for field in fields}
    return {key: text for key, text in texts.items() if text not in ("", defaults.get(key))}


def _shown(connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str]) -> Shown:
    query = answer.run(connection, bind_query(connection, name, given))
    reader = answer.read(connection, query)
    rows: list[Sequence[Any]] = []
    count = 0
    for batch in reader:
        count += batch.num_rows
        first = batch.slice(0, MOST_ROWS_SHOWN - len(rows))
        rows += [list(row.values()) for row in first.to_pylist()]
    names = reader.schema.names
    numeric = [
        any(isinstance(row[place], int | float) and not isinstance(row[place], bool) for row in rows)
        for place in range(len(names))
    ]
    picture, no_picture = _picture(connection, name, given)
    sources = notes.sources(connection, [name]).to_pylist()
    return Shown(names, numeric, rows, count, query.notes, sources, picture, no_picture)


def _picture(connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str]) -> tuple[str, str]:
    """The picture of an answer as an element of HTML, or why there is none."""
    try:
        svg = pictures.render_svg(pictures.build_query_picture(connection, name, given))
    except UserError as error:
        return "", str(error)
    return inline_svg(svg, "picture", f"Chart of {name}", "The table below has its numbers."), ""


def _download(warehouse: Path, limits: Limits, name: str, texts: Mapping[str, str], ending: str) -> bytes:
    """The answer as a file, the same that the command line writes."""

    def bind(connection: duckdb.DuckDBPyConnection) -> BoundQuery:
        _check_is_query(connection, name)
        given = _given(_fields(connection, name, {}), texts)
        return bind_query(connection, name, given, for_chart=ending not in FORMATS)

    with tempfile.TemporaryDirectory(prefix=sandbox.PREFIX) as folder:
        path = Path(folder) / f"answer{ending}"
        if ending in FORMATS:
            answers.write_answer(bind, warehouse, limits, FORMATS[ending], path)
        else:
            answers.draw_to_file(bind, warehouse, limits, path, texts, pictures.ANY_SIZE)
        return path.read_bytes()
