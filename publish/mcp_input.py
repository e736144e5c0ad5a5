"""Answer the requests that the MCP SDK refuses to parse.

The SDK drops a line that is not a valid message, and its sender would wait forever. Here such a line becomes
a request with the same id, to which the server answers with an error.
"""

import io
import json
import os
import re
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from mcp.server import MCPServer

_METHOD = "tracehouse/refused"
# The longest line, in bytes.
_LONGEST = 16 << 20
# A text may lack its end. The possessive quantifiers keep the time linear.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[\]{}:,]|[^\s\[\]{}:,"]++')
_NOT_A_REQUEST = (
    "Not a request of JSON-RPC 2.0: the id must be a string or a whole number, the method a string, and "
    "params an object"
)


def answer_refused_requests(server: "MCPServer") -> None:
    """Let the server answer requests on standard input that the SDK refuses. Call it before `server.run`."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import INVALID_REQUEST

    async def refuse(ctx: Any, call_next: Any) -> Any:
        if ctx.method == _METHOD:
            raise MCPError(INVALID_REQUEST, ctx.params["reason"])
        return await call_next(ctx)

    server.middleware.append(refuse)
    # As the SDK does, so that no other code reads the requests.
    wire = os.fdopen(os.dup(0), "rb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Requests(wire)), encoding="utf-8")


class _Requests(io.RawIOBase):
    """The lines of a stream, of which refused ones are replaced."""

    def __init__(self, wire: BinaryIO):
        self._wire = wire
        self._pending = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._pending:
            self._pending = self._read_line()
        count = min(len(buffer), len(self._pending))
        buffer[:count], self._pending = self._pending[:count], self._pending[count:]
        return count

    def _read_line(self) -> bytes:
        line = rest = self._wire.readline(_LONGEST)
        while len(rest) == _LONGEST and not rest.endswith(b"\n"):
            rest = self._wire.readline(_LONGEST)
        reason = f"The request is longer than {_LONGEST:,} bytes" if rest is not line else _why_refused(line)
        return _refuse(line, reason) if reason else line


def _why_refused(line: bytes) -> str:
    """Why the SDK refuses a line; empty if it does not."""
    from mcp.types import jsonrpc_message_adapter
    from pydantic import ValidationError

    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return first["msg"] if first["type"] == "json_invalid" else _NOT_A_REQUEST
    return ""


def _refuse(line: bytes, reason: str) -> bytes:
    """Requests with the ids of a refused line, which the server answers; without ids, the line itself."""
    requests = [
        b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}\n'
        % (number, _METHOD.encode(), json.dumps({"reason": reason}).encode())
        for number in _find_ids(line)
    ]
    return b"".join(requests) or line


def _find_ids(line: bytes) -> list[bytes]:
    """The ids of a request or a list of requests, also in a line that is no JSON."""
    # The number of brackets around the keys of a request.
    wanted = 2 if line.lstrip().startswith(b"[") else 1
    depth, ids = 0, []
    before = (b"", b"")
    for found in _TOKEN.finditer(line):
        token = found[0]
        if depth == wanted and before == (b'"id"', b":"):
            ids.append(token)
        depth += (token in (b"{", b"[")) - (token in (b"}", b"]"))
        before = (before[1], token)
    return ids
