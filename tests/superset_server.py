"""Run Superset on localhost with its own metadata database."""

import http.cookiejar
import json
import os
import socket
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).parents[1] / ".venv-superset" / "bin"
CONFIGURATION = """
SECRET_KEY = "of-a-test-that-keeps-nothing-secret"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db"
PREVENT_UNSAFE_DB_CONNECTIONS = False
FEATURE_FLAGS = {{"ENABLE_TEMPLATE_PROCESSING": True}}
"""


@dataclass
class Superset:
    """A running Superset: its URL, API and command line."""

    url: str
    environment: dict[str, str]
    _headers: dict[str, str] = field(default_factory=dict)

    def run(self, *command: object) -> str:
        """Run Superset's command, which must succeed, and return its output."""
        done = subprocess.run(
            [SCRIPTS / "superset", *map(str, command)],
            env=self.environment,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout + done.stderr

    def log_in(self) -> None:
        """Log in as admin."""
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(jar)
        self._headers = {"Content-Type": "application/json", "Referer": self.url}
        who = {"username": "admin", "password": "admin", "provider": "db", "refresh": False}
        self._headers["Authorization"] = f"Bearer {self.call('/security/login', who)['access_token']}"
        self._headers["X-CSRFToken"] = self.call("/security/csrf_token/")["result"]

    def call(self, path: str, body: Any = None) -> Any:
        """Call Superset's API, with POST if there is a body, and return the response."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/api/v1{path}", data, self._headers)
        try:
            with self._opener.open(request) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path}: {error.code} {error.read()[:2000]!r}") from None


@contextmanager
def started() -> Iterator[Superset]:
    """Set up a Superset, start it, and stop it at the end."""
    assert (SCRIPTS / "superset").exists(), "Superset is not installed: run `make tools-test`"
    with tempfile.TemporaryDirectory(prefix="tracehouse-superset-") as folder:
        configuration = Path(folder) / "superset_config.py"
        configuration.write_text(CONFIGURATION.format(folder=folder), encoding="utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {
            **os.environ,
            "SUPERSET_CONFIG_PATH": str(configuration),
            "SUPERSET_HOME": folder,
            "FLASK_APP": "superset",
        }
        superset = Superset(f"http://127.0.0.1:{port}", environment)
        superset.run("db", "upgrade")
        who = ["--username", "admin", "--firstname", "a", "--lastname", "b", "--email", "a@example.org"]
        superset.run("fab", "create-admin", *who, "--password", "admin")
        superset.run("init")
        command = [SCRIPTS / "superset", "run", "--port", str(port), "--with-threads"]
        with (
            (Path(folder) / "log").open("w", encoding="utf-8") as log,
            subprocess.Popen(command, env=environment, stdout=log, stderr=log) as process,
        ):
            try:
                while not _answers(port):
                    assert process.poll() is None, (Path(folder) / "log").read_text(encoding="utf-8")[-3000:]
                superset.log_in()
                yield superset
            finally:
                process.terminate()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False
