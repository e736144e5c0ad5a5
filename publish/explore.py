"""Web server for running named queries and SQL in the browser, on localhost and protected by a token.

It serves the pages in `site/application` and the HTTP interface that they call. Requests use the same
validation and limits as the command line.
"""

import asyncio
import os
import secrets
import socket
import threading
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import duckdb

from tracehouse.core.errors import UsageError, UserError, check_installed, describe_error
from tracehouse.engines.duckdb.read import fork_server, sandbox
from tracehouse.engines.duckdb.read.binding import bind
from tracehouse.engines.duckdb.read.sandbox import Limits
from tracehouse.engines.names import DATABASE
from tracehouse.engines.request import NamedQuery, Request
from tracehouse.ingest.store.layout import resolve_warehouse
from tracehouse.publish import renderer
from tracehouse.publish.formats import OutputFormat
from tracehouse.publish.plot import pictures
from tracehouse.publish.serving import Queue
from tracehouse.publish.site import contract, request_json
from tracehouse.publish.site.contract import APPLICATION, Json
from tracehouse.publish.writers import FormatWriter

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request as HttpRequest
    from starlette.responses import Response

    Page = Callable[[HttpRequest], Awaitable[Response]]
    # Returns JSON, or a file to send.
    Work = Callable[[HttpRequest], Awaitable[bytes | IO[bytes]]]

HOST = "127.0.0.1"
# The largest number of rows on a page. Downloads have all rows.
MOST_ROWS_SHOWN = 10_000
_CHUNK_BYTES = 1 << 18

T = TypeVar("T")
FORMATS = {"csv": OutputFormat.CSV, "parquet": OutputFormat.PARQUET}
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def serve(warehouse: Path, limits: Limits, port: int, report_address: Callable[[str], None]) -> None:
    """Serve the pages until a signal ends the process. Calls `report_address` with the URL to open.

    Port 0 selects a free port. Raises UserError if there is no warehouse, or if the port is in use.
    """
    check_installed("The pages need", "explore", "starlette", "uvicorn")
    import uvicorn

    fork_server.start([__name__, "pyarrow"])
    sandbox.check(warehouse, limits)
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
            build_application(BrowserService(warehouse, limits), token, bound),
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


class BrowserService:
    """A warehouse, the queues of its queries and of quick requests, and the running requests by name."""

    def __init__(self, warehouse: Path, limits: Limits):
        self.warehouse = warehouse
        self.queries = Queue(warehouse, limits)
        self.quick = Queue(warehouse, limits)
        self.running: dict[str, set[asyncio.Task[Any]]] = defaultdict(set)
        self._stored: dict[str, tuple[int, bytes]] = {}

    async def run_named(self, name: str, work: Awaitable[T], is_gone: Awaitable[None]) -> T:
        """Do the work of a request. `cancel` with its name cancels it, or the end of another awaitable."""
        task, gone = asyncio.ensure_future(work), asyncio.ensure_future(is_gone)
        self.running[name].add(task)
        try:
            await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
            task.cancel()
            return await task
        finally:
            gone.cancel()
            self.running[name].discard(task)
            if not self.running[name]:
                del self.running[name]

    def cancel(self, name: str) -> None:
        """Cancel the running and waiting requests with a name."""
        for task in self.running.get(name, ()):
            task.cancel()

    async def run_once(self, queue: Queue, work: Callable[[duckdb.DuckDBPyConnection], bytes]) -> bytes:
        """The result of some work on the newest version of the warehouse, computed once for each version."""
        path = resolve_warehouse(self.warehouse) / DATABASE
        # Without a database, the work raises UserError.
        changed = path.stat().st_mtime_ns if path.exists() else 0
        known, found = self._stored.get(work.__name__, (0, b""))
        if not changed or known != changed:
            found = await queue.run(work)
            self._stored[work.__name__] = changed, found
        return found

    async def export(self, requested: Request, ending: str) -> IO[bytes]:
        """Write an answer to a file as the command line does, and return the open file, which has no name."""
        if ending not in FORMATS:
            raise UsageError(f"{ending} is not a download format. Formats: {', '.join(FORMATS)}")
        with sandbox.scratch_folder() as scratch:
            file, draft = scratch / "answer", scratch / "draft"
            for path in (file, draft):
                path.touch()
            writer = FormatWriter(FORMATS[ending])
            work = partial(renderer.render, request=requested, renderer=writer, file=file, draft=draft)
            await self.queries.run(work, [file, draft], scratch)
            return file.open("rb")


def build_application(service: BrowserService, token: str, port: int) -> "Starlette":
    """Build the ASGI application. The first request has the token in its URL, later ones in a cookie."""
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import (
        FileResponse,
        PlainTextResponse,
        RedirectResponse,
        Response,
        StreamingResponse,
    )
    from starlette.routing import Route

    cookie = f"tracehouse-{port}"
    files = {path.relative_to(APPLICATION).as_posix(): path for path in APPLICATION.rglob("*.*")}

    def require_token(page: "Page") -> "Page":
        async def respond(request: "HttpRequest") -> Response:
            given = request.query_params.get("token", "")
            if request.url.path == "/" and secrets.compare_digest(given.encode(), token.encode()):
                response: Response = RedirectResponse("/", 303)
                response.set_cookie(cookie, token, httponly=True, samesite="strict")
            elif not secrets.compare_digest(request.cookies.get(cookie, "").encode(), token.encode()):
                response = PlainTextResponse(
                    "Access denied. Open the URL that `traces explore` printed; it contains the token.\n", 403
                )
            else:
                response = await page(request)
            response.headers.update(HEADERS)
            return response

        return respond

    async def show_file(request: "HttpRequest") -> Response:
        path = files.get(request.path_params["path"] or "index.html")
        return FileResponse(path) if path else PlainTextResponse("Not found\n", 404)

    def call(work: "Work") -> "Page":
        """An endpoint that returns the result of some work as JSON or a file, or the error as JSON."""

        async def respond(request: "HttpRequest") -> Response:
            name = request.query_params.get("id", "")
            status = 200
            try:
                found = await service.run_named(name, work(request), _until_closed(request))
            except (UserError, OSError) as error:
                status = 400 if isinstance(error, UsageError) else 503
                found = contract.as_json({"error": describe_error(error)}).encode()
            except asyncio.CancelledError:
                found, status = contract.as_json({"error": "Cancelled"}).encode(), 503
            if isinstance(found, bytes):
                return Response(found, status, media_type="application/json")
            size = {"Content-Length": str(os.fstat(found.fileno()).st_size)}
            return StreamingResponse(
                iter(partial(found.read, _CHUNK_BYTES), b""),
                headers=size,
                media_type="application/octet-stream",
            )

        return require_token(respond)

    async def list_objects(_: "HttpRequest") -> bytes:
        return await service.run_once(service.quick, _list_objects)

    async def verify(_: "HttpRequest") -> bytes:
        return await service.run_once(service.queries, _list_figures)

    async def describe_object(request: "HttpRequest") -> bytes:
        return await service.quick.run(partial(_describe_object, name=request.path_params["name"]))

    async def check(request: "HttpRequest") -> bytes:
        return await service.quick.run(partial(_check, requested=_parse(request)))

    async def run(request: "HttpRequest") -> bytes:
        requested = replace(_parse(request), limit=MOST_ROWS_SHOWN)
        return await service.queries.run(partial(_answer, requested=requested))

    async def draw(request: "HttpRequest") -> bytes:
        return await service.queries.run(partial(_draw, requested=_parse(request)))

    async def cancel(request: "HttpRequest") -> Response:
        service.cancel(request.query_params.get("id", ""))
        return Response("{}", media_type="application/json")

    async def export(request: "HttpRequest") -> IO[bytes]:
        return await service.export(_parse(request), request.path_params["ending"])

    return Starlette(
        routes=[
            Route("/api/list.json", call(list_objects)),
            Route("/api/verify.json", call(verify)),
            Route("/api/describe/{name}.json", call(describe_object)),
            Route("/api/bind", call(check)),
            *(Route(f"/api/{work.__name__}", call(work)) for work in (run, draw)),
            Route("/api/cancel", require_token(cancel)),
            Route("/api/export/{ending}", call(export)),
            Route("/{path:path}", require_token(show_file)),
        ],
        # Protects against DNS rebinding by other web pages.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])],
    )


def _parse(request: "HttpRequest") -> Request:
    return request_json.parse_request(request.query_params.get("query", ""))


async def _until_closed(request: "HttpRequest") -> None:
    """Wait until the browser closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


# The children of the fork server run these functions. They encode the answers: this process stays small.


def _list_objects(connection: duckdb.DuckDBPyConnection) -> bytes:
    facts = {"engine": "local", "formats": list(FORMATS), "address": ""}
    return _encode(facts | contract.list_objects(connection))


def _list_figures(connection: duckdb.DuckDBPyConnection) -> bytes:
    return _encode(contract.list_figures(connection))


def _describe_object(connection: duckdb.DuckDBPyConnection, name: str) -> bytes:
    return _encode(contract.describe_object(connection, name))


def _check(connection: duckdb.DuckDBPyConnection, requested: Request) -> bytes:
    bind(connection, requested)
    return _encode({})


def _answer(connection: duckdb.DuckDBPyConnection, requested: Request) -> bytes:
    return _encode(contract.answer_request(connection, requested))


def _draw(connection: duckdb.DuckDBPyConnection, requested: Request) -> bytes:
    """The specifications of the chart in Vega-Lite, or the reason why there is none."""
    try:
        if not isinstance(requested.what, NamedQuery):
            raise UsageError("Only named queries have charts here")
        context = pictures.describe_query(connection, requested.what.name, requested.what.given)
    except UserError as error:
        return _encode({"no_chart": contract.explain_no_chart(error)})
    return _encode(pictures.build_for_page(context))


def _encode(found: Json) -> bytes:
    return contract.as_json(found).encode()
