"""Messages of PostgreSQL errors."""

import os
import socket
from pathlib import Path

import command_line
import pytest

from tracehouse.core.errors import UsageError
from tracehouse.publish.bi import postgresql
from tracehouse.publish.bi.postgresql_address import read_address

OTHER = 'connection to server at "db" (10.0.0.1), port 5432 failed: '
AT = f"IO: [libpq] Failed to connect: {OTHER}"
NO_ENTRY = 'no pg_hba.conf entry for host "10.0.0.9", user "me", database "traces", '
ANSWERS = "\tIs the server running on that host and accepting TCP/IP connections?\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{AT}Connection refused\n{ANSWERS}", "Connection refused"),
        (
            f"{AT}Connection refused\n{ANSWERS}{OTHER}timeout expired\n",
            "Connection refused; timeout expired",
        ),
        (
            f"{AT}FATAL:  {NO_ENTRY}SSL encryption\n{OTHER}FATAL:  {NO_ENTRY}no encryption\n",
            f"{NO_ENTRY}SSL encryption; {NO_ENTRY}no encryption",
        ),
        (f'{AT}FATAL:  database "traces" does not exist\n', 'database "traces" does not exist'),
        (
            "INVALID_STATE: [libpq] Failed to execute query: ERROR:  cannot drop table a.b because other "
            "objects depend on it\nDETAIL:  view c.d depends on table a.b.\nHINT:  Use DROP ... CASCADE.\n",
            "cannot drop table a.b because other objects depend on it; "
            "DETAIL: view c.d depends on table a.b; HINT: Use DROP ... CASCADE",
        ),
        (f'{AT}FATAL:  role "se%cret" is gone\n', 'role "***" is gone'),
    ],
)
def test_reason_keeps_lines(text: str, reason: str) -> None:
    address = read_address("postgresql://me:se%25cret@db/traces")
    assert postgresql._reason(address, text) == reason


@pytest.mark.parametrize("url", ["postgresql://[::1/x", "postgresql://me@db:port/x", "https://db/x"])
def test_rejects_invalid_url(url: str) -> None:
    with pytest.raises(UsageError, match="URL"):
        read_address(url)


def test_unreachable_server_is_named(sample_warehouse: Path) -> None:
    with socket.socket() as bound:
        # The socket is bound and does not listen, so the connection is refused.
        bound.bind(("127.0.0.1", 0))
        url = f"postgresql://me@127.0.0.1:{bound.getsockname()[1]}/traces"
        run = command_line.by_itself(
            "publish", "--warehouse", sample_warehouse, "--to", url, env=os.environ | {"PGPASSWORD": "none"}
        )
    assert (run.code, run.stdout) == (1, "")
    assert run.stderr == (
        f"error: {url}: no PostgreSQL server answers (Connection refused). "
        "Check host and port, and that the server is running\n"
    )
