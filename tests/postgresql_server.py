"""A PostgreSQL server on loopback with a temporary data folder, as a context manager."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OWNER, PASSWORD = "owner", "it's: a/se?cr%et@"


@dataclass(frozen=True)
class Server:
    """The server's address and credentials."""

    port: int

    def url(self, database: str = "postgres", user: str = OWNER) -> str:
        """The URL of a database, without a password."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def psql(self, sql: str, database: str = "postgres", user: str = OWNER) -> str:
        """Run statements, which must succeed. Return their rows as text, with `|` between columns."""
        command = ["psql", "--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", self.url(database, user)]
        done = subprocess.run(
            command,
            input=sql,
            capture_output=True,
            encoding="utf-8",
            env=os.environ | {"PGPASSWORD": PASSWORD},
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.rstrip("\n")


@contextmanager
def started() -> Iterator[Server]:
    """Start a server, and stop it at the end. It runs as `postgres` if this process is root's."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"))
    assert programs, "PostgreSQL is not installed: run `apt-get install postgresql`"
    program = programs[-1].parent
    folder = Path(tempfile.mkdtemp(prefix="tracehouse-postgresql-"))
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        shutil.chown(folder, "postgres", "postgres")

    def run(*command: object) -> None:
        subprocess.run(
            [str(part) for part in command], check=True, cwd=folder, stdout=subprocess.DEVNULL, **as_user
        )

    (folder / "password").write_text(PASSWORD, encoding="utf-8")
    (folder / "password").chmod(0o644)
    data = folder / "data"
    own = ["--username", OWNER, "--pwfile", folder / "password", "--auth", "scram-sha-256"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
    control = [program / "pg_ctl", "--pgdata", data, "--wait"]
    try:
        run(program / "initdb", "--pgdata", data, "--encoding", "UTF8", "--no-sync", *own)
        run(*control, "--log", folder / "log", "--options", options, "start")
        try:
            yield Server(port)
        finally:
            run(*control, "--mode", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
