"""Web server for running named queries in the browser, on localhost and protected by a token.

The pages use no JavaScript: a form sets the parameters, and each answer has its own URL. Requests use the
same validation and limits as the command line.
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
# A parameter with more values than MOST_CHOICES is a text field that suggests the first MOST_SUGGESTED.
MOST_CHOICES, MOST_SUGGESTED = 100, 1000
# Each query may take half of the machine's memory.
MOST_CONCURRENT = 2

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
    """A parameter in the form, with its allowed values and its value. Missing bounds are empty.

    The kind is choice, suggestion, switch, or a type of `<input>`.
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
class AnswerView:
    """An answer on a page. `chart` is an HTML element; if it is empty, `no_chart` gives the reason."""

    columns: Sequence[str]
    numeric: Sequence[bool]
    rows: Sequence[Sequence[Any]]
    row_count: int
    notes: Sequence[Note]
    sources: Sequence[dict[str, Any]]
    chart: str
    no_chart: str


@dataclass(frozen=True)
class Form:
    """A named query, its parameters, those that differ from their defaults, and the command that runs it."""

    facts: describe.Description
    fields: Sequence[Field]
    given: Mapping[str, str]
    command: str


def serve(warehouse: Path, limits: Limits, port: int, report_address: Callable[[str], None]) -> None:
    """Serve the pages until a signal ends the process. Calls `report_address` with the URL to open.

    Port 0 selects a free port. Raises UserError if there is no warehouse, or if the port is in use.
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
                f"Cannot listen on port {port}: {error.strerror}. Omit --port to use a free port"
            ) from None
        listening.listen()
        token = secrets.token_urlsafe(24)
        bound = listening.getsockname()[1]
        config = uvicorn.Config(
            build_application(warehouse, limits, token, bound),
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
        )
        # In the main thread, uvicorn would replace the signal handlers and wait for running queries to end.
        serving = threading.Thread(target=uvicorn.Server(config).run, args=([listening],), daemon=True)
        serving.start()
        report_address(f"http://{HOST}:{bound}/?token={token}")
        serving.join()


def build_application(warehouse: Path, limits: Limits, token: str, port: int) -> "Starlette":
    """Build the ASGI application. The first request has the token in its URL, later ones in a cookie."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import Request
    from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route

    slots = threading.BoundedSemaphore(MOST_CONCURRENT)
    cookie = f"tracehouse-{port}"

    def require_token(page: "Callable[[Request], Response]") -> "Callable[[Request], Response]":
        def respond(request: Request) -> Response:
            given = request.query_params.get("token", "")
            if request.url.path == "/" and secrets.compare_digest(given.encode(), token.encode()):
                response: Response = RedirectResponse("/", 303)
                response.set_cookie(cookie, token, httponly=True, samesite="strict")
            elif not secrets.compare_digest(request.cookies.get(cookie, "").encode(), token.encode()):
                response = PlainTextResponse(
                    "Access denied. Open the URL that `traces explore` printed; it contains the token.\n", 403
                )
            else:
                with slots:
                    response = page(request)
            response.headers.update(HEADERS)
            return response

        return respond

    def search(request: Request) -> Response:
        words = request.query_params.get("search", "").strip()
        try:
            found, error = sandbox.run(warehouse, limits, lambda c: _search(c, words)), ""
        except UserError as failure:
            found, error = [], str(failure)
        return HTMLResponse(_render(words=words, found=found, error=error))

    def run_query(request: Request) -> Response:
        name, texts = request.path_params["name"], dict(request.query_params.multi_items())
        try:
            form = sandbox.run(warehouse, limits, lambda c: _form(c, name, texts))
        except UserError as error:
            return HTMLResponse(_render_error(str(error)), 404 if isinstance(error, UsageError) else 503)
        status = 200
        view, error_text = None, ""
        try:
            view = sandbox.run(warehouse, limits, lambda c: _answer_view(c, name, form.given))
        except UserError as error:
            status, error_text = 400 if isinstance(error, UsageError) else 503, str(error)
        values = {"form": form, "answer": view, "error": error_text, "texts": texts}
        return HTMLResponse(_render(**values), status)

    def download(request: Request) -> Response:
        name, ending = request.path_params["name"], f".{request.path_params['ending']}"
        if ending not in DOWNLOADS:
            return HTMLResponse(
                _render_error(f"{ending} is not a download format. Formats: {', '.join(DOWNLOADS)}"), 404
            )
        try:
            content = _download(warehouse, limits, name, dict(request.query_params.multi_items()), ending)
        except UserError as error:
            return HTMLResponse(_render_error(str(error)), 400 if isinstance(error, UsageError) else 503)
        headers = {"Content-Disposition": f'attachment; filename="{name}{ending}"'}
        return Response(content, media_type=DOWNLOADS[ending], headers=headers)

    return Starlette(
        routes=[
            Route("/", require_token(search)),
            Route("/query/{name}", require_token(run_query)),
            Route("/query/{name}/answer.{ending}", require_token(download)),
        ],
        # Protects against DNS rebinding by other web pages.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def _render(**values: Any) -> str:
    defaults: dict[str, Any] = {
        "words": "",
        "found": [],
        "error": "",
        "form": None,
        "answer": None,
        "texts": {},
    }
    return pages.render(TEMPLATE, **defaults | values)


def _render_error(error: str) -> str:
    return _render(error=error)


def _search(connection: duckdb.DuckDBPyConnection, words: str) -> list[dict[str, Any]]:
    """List the queries that match the words, best match first, or all queries, those with data first.

    `data` states how many of the tables that a query reads have rows: all, some or none.
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
    """Build the form of a named query. Raises UsageError if there is no such query."""
    _check_is_query(connection, name)
    fields = _fields(connection, name, texts)
    given = _changed_values(fields, texts)
    options = "".join(f" -p {shlex.quote(f'{key}={text}')}" for key, text in given.items())
    return Form(describe.describe(connection, name), fields, given, f"traces query {name}{options}")


def _check_is_query(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    known = connection.execute(
        "select 1 from catalog.queries where query_name = $name", {"name": name}
    ).fetchall()
    if not known:
        raise UsageError(f'No query named "{name}". List: `traces list queries`')


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
        values = list(choices or []) or (_distinct_values(connection, values_of) if values_of else [])
        fields.append(
            Field(
                name=parameter,
                meaning=meaning,
                kind=_kind(kind, values),
                # The default is always a choice, so that users can return to it.
                choices=list(dict.fromkeys([*values, default or ""])) if values else [],
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
        return "choice" if len(values) <= MOST_CHOICES else "suggestion"
    if kind == "BOOLEAN":
        return "switch"
    if kind == "VARCHAR":
        return "text"
    return "date" if kind == "DATE" else "number"


def _distinct_values(connection: duckdb.DuckDBPyConnection, values_of: str) -> list[str]:
    """Select the distinct values of a column (schema.table.column), as text."""
    table, _, column = values_of.rpartition(".")
    rows = connection.execute(
        f'select distinct cast("{column}" as varchar) from {table} where "{column}" is not null '
        f"order by all limit {MOST_SUGGESTED}"
    ).fetchall()
    return [value for (value,) in rows]


def _changed_values(fields: Sequence[Field], texts: Mapping[str, str]) -> dict[str, str]:
    """Select the parameters that differ from their defaults. A form sends all of them, even empty ones."""
    defaults = {field.name: field.default for field in fields}
    return {key: text for key, text in texts.items() if text not in ("", defaults.get(key))}


def _answer_view(connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str]) -> AnswerView:
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
        any(isinstance(row[column], int | float) and not isinstance(row[column], bool) for row in rows)
        for column in range(len(names))
    ]
    chart, no_chart = _chart(connection, name, given)
    sources = notes.sources(connection, [name]).to_pylist()
    return AnswerView(names, numeric, rows, count, query.notes, sources, chart, no_chart)


def _chart(connection: duckdb.DuckDBPyConnection, name: str, given: Mapping[str, str]) -> tuple[str, str]:
    """Draw the chart of an answer as an HTML element. The second text is the reason if there is none."""
    try:
        svg = pictures.render_svg(pictures.build_query_picture(connection, name, given))
    except UserError as error:
        return "", str(error)
    return inline_svg(svg, "chart", f"Chart of {name}", "The table below has the numbers."), ""


def _download(warehouse: Path, limits: Limits, name: str, texts: Mapping[str, str], ending: str) -> bytes:
    """Write the answer to a file as the command line does, and return its content."""

    def bind(connection: duckdb.DuckDBPyConnection) -> BoundQuery:
        _check_is_query(connection, name)
        given = _changed_values(_fields(connection, name, {}), texts)
        return bind_query(connection, name, given, for_chart=ending not in FORMATS)

    with tempfile.TemporaryDirectory(prefix=sandbox.PREFIX) as folder:
        path = Path(folder) / f"answer{ending}"
        if ending in FORMATS:
            answers.write_answer(bind, warehouse, limits, FORMATS[ending], path)
        else:
            answers.draw_to_file(bind, warehouse, limits, path, texts, pictures.ANY_SIZE)
        return path.read_bytes()
