"""Web server for running named queries and SQL in the browser, on localhost and protected by a token.

It serves the pages in `site/application` and the HTTP interface that they call. Requests use the same
validation and limits as the command line.
"""

import secrets
import socket
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from tracehouse.core.errors import UsageError, UserError, check_installed
from tracehouse.engines.duckdb.read import sandbox
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.names import DATABASE
from tracehouse.ingest.store.layout import resolve_warehouse
from tracehouse.publish import answers
from tracehouse.publish.formats import Format
from tracehouse.publish.plot import pictures
from tracehouse.publish.site import contract, request_json
from tracehouse.publish.site.contract import APPLICATION, Json, Request

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    Page = Callable[[HttpRequest], Response]
    Work = Callable[[HttpRequest], Any]

HOST = "127.0.0.1"
# The largest number of queries at a time: each may take half of the machine's memory.
MOST_CONCURRENT = 2
# The largest number of rows on a page. Downloads have all rows.
MOST_ROWS_SHOWN = 10_000

FORMATS = {"csv": Format.CSV, "parquet": Format.PARQUET}
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

T = TypeVar("T")


def serve(warehouse: Path, limits: Limits, port: int, report_address: Callable[[str], None]) -> None:
    """Serve the pages until a signal ends the process. Calls `report_address` with the URL to open.

    Port 0 selects a free port. Raises UserError if there is no warehouse, or if the port is in use.
    """
    check_installed("The pages need", "explore", "starlette", "uvicorn")
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
            build_application(Service(warehouse, limits), token, bound),
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


@dataclass(frozen=True)
class Service:
    """A warehouse, the limits of each query, and the connections of running queries by the name of each."""

    warehouse: Path
    limits: Limits
    running: dict[str, duckdb.DuckDBPyConnection] = field(default_factory=dict)
    slots: threading.BoundedSemaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MOST_CONCURRENT)
    )

    def run(self, work: Callable[[duckdb.DuckDBPyConnection], T], name: str = "") -> T:
        """Run some work on a connection. `cancel` with its name interrupts it. Raises UserError on errors."""

        def cancellable(connection: duckdb.DuckDBPyConnection) -> T:
            self.running[name] = connection
            try:
                return work(connection)
            finally:
                self.running.pop(name, None)

        with self.slots:
            return sandbox.run(self.warehouse, self.limits, cancellable)

    def cancel(self, name: str) -> None:
        """Interrupt the running work with a name, if there is any."""
        if connection := self.running.get(name):
            connection.interrupt()

    def export(self, requested: Request, ending: str) -> bytes:
        """Write the answer to a file as the command line does, and return its content."""
        if ending not in FORMATS:
            raise UsageError(f"{ending} is not a download format. Formats: {', '.join(FORMATS)}")
        with self.slots, tempfile.TemporaryDirectory(prefix=sandbox.PREFIX) as folder:
            path = Path(folder) / f"answer.{ending}"
            answers.write_answer(requested.bind, self.warehouse, self.limits, FORMATS[ending], path)
            return path.read_bytes()


def build_application(service: Service, token: str, port: int) -> "Starlette":
    """Build the ASGI application. The first request has the token in its URL, later ones in a cookie."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
    from starlette.routing import Route

    cookie = f"tracehouse-{port}"
    files = {path.relative_to(APPLICATION).as_posix(): path for path in APPLICATION.rglob("*.*")}

    def require_token(page: "Page") -> "Page":
        def respond(request: "HttpRequest") -> Response:
            given = request.query_params.get("token", "")
            if request.url.path == "/" and secrets.compare_digest(given.encode(), token.encode()):
                response: Response = RedirectResponse("/", 303)
                response.set_cookie(cookie, token, httponly=True, samesite="strict")
            elif not secrets.compare_digest(request.cookies.get(cookie, "").encode(), token.encode()):
                response = PlainTextResponse(
                    "Access denied. Open the URL that `traces explore` printed; it contains the token.\n", 403
                )
            else:
                response = page(request)
            response.headers.update(HEADERS)
            return response

        return respond

    def show_file(request: "HttpRequest") -> Response:
        path = files.get(request.path_params["path"] or "index.html")
        return FileResponse(path) if path else PlainTextResponse("Not found\n", 404)

    def call(work: "Work") -> "Page":
        """An endpoint that returns the result of some work as bytes or JSON, or the error as JSON."""

        def respond(request: "HttpRequest") -> Response:
            status = 200
            try:
                found = work(request)
            except UserError as error:
                found, status = {"error": str(error)}, 400 if isinstance(error, UsageError) else 503
            content = found if isinstance(found, bytes) else contract.as_json(found)
            kind = "application/octet-stream" if isinstance(found, bytes) else "application/json"
            return Response(content, status, media_type=kind)

        return require_token(respond)

    @lru_cache(maxsize=1)
    def list_version(_changed: int) -> Json:
        return service.run(contract.list_objects)

    def list_objects(request: "HttpRequest") -> Json:
        facts = {"engine": "local", "formats": list(FORMATS), "address": ""}
        return facts | list_version((resolve_warehouse(service.warehouse) / DATABASE).stat().st_mtime_ns)

    def describe_object(request: "HttpRequest") -> Json:
        name = request.path_params["name"]
        return service.run(lambda connection: contract.describe_object(connection, name))

    def bind(request: "HttpRequest") -> Json:
        service.run(_parse(request).bind)
        return {}

    def run(request: "HttpRequest") -> Json:
        requested, name = _parse(request), request.query_params.get("id", "")
        return service.run(lambda c: contract.answer_request(c, requested, MOST_ROWS_SHOWN), name)

    def draw(request: "HttpRequest") -> Json:
        requested, name = _parse(request), request.query_params.get("id", "")
        return service.run(lambda c: _draw(c, requested), name)

    def cancel(request: "HttpRequest") -> Json:
        service.cancel(request.query_params.get("id", ""))
        return {}

    def export(request: "HttpRequest") -> bytes:
        return service.export(_parse(request), request.path_params["ending"])

    return Starlette(
        routes=[
            Route("/api/list.json", call(list_objects)),
            Route("/api/describe/{name}.json", call(describe_object)),
            *(Route(f"/api/{work.__name__}", call(work)) for work in (bind, run, draw, cancel)),
            Route("/api/export/{ending}", call(export)),
            Route("/{path:path}", require_token(show_file)),
        ],
        # Protects against DNS rebinding by other web pages.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def _parse(request: "HttpRequest") -> Request:
    return request_json.parse_request(request.query_params.get("query", ""))


def _draw(connection: duckdb.DuckDBPyConnection, requested: Request) -> Json:
    """The specification of the chart in Vega-Lite, or the reason why there is none."""
    try:
        return {"spec": pictures.build_query_picture(connection, requested.name, requested.given)}
    except UserError as error:
        return {"no_chart": str(error)}
