"""Start Spark for the command line: check requirements, and redirect its log to a file."""

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.core import signals
from tracehouse.core.errors import CHECK_FILES, Option, UsageError, UserError, check_installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17

_CONNECT_TIMEOUT_S = 5
_LOG = "spark.log"
_CALLED = "An error occurred while calling"
# Errors that only wrap another one, which the first line "Caused by" has.
_WRAPPER = "Exception thrown in awaitResult"
_DAMAGED = "[FAILED_READ_FILE"
_JAVA_CLASS = re.compile(r"^:? ?[\w.$]+\.\w+(Exception|Error): ?")
_STANDALONE = re.compile(r"spark://(?P<places>[^,:/]+:\d{1,5}(?:,[^,:/]+:\d{1,5})*)")
_OTHERS = re.compile(r"local(\[[^\]]+\])?|yarn|k8s://.+")
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
# These loggers print every failed statement on standard error; the caller already reports it.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")

# This process's own streams, while output is redirected to a file.
_kept: dict[int, int] = {}


@contextmanager
def open_session(master: str, scratch: Path, settings: Mapping[str, str]) -> Iterator["SparkSession"]:
    """Start a session at a master, and stop it after the block. Raises UserError without Spark or Java."""
    check_requirements()
    _check_master(master)
    from pyspark.sql import SparkSession

    # Users set this variable if the package is installed for another Python on the workers.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("tracehouse")
    for key, value in (_settings(master, scratch) | dict(settings)).items():
        builder = builder.config(key, value)
    log = scratch / _LOG
    # Java is killed before folders are removed, because it could create them again.
    with signals.clean_up_at_end(end_java):
        with _redirect_streams(log):
            try:
                with explain_errors(), _temporary_files_in(scratch):
                    session = builder.getOrCreate()
            except UserError as error:
                raise UserError(f"Spark does not start at {master}: {_reason(error, log)}") from None
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        logging.getLogger().addFilter(_is_not_from_py4j)
        # By default it prints a traceback if Java is killed.
        server = session.sparkContext._accumulatorServer
        server.handle_error = _ignore_error  # type: ignore[method-assign, assignment]
        try:
            yield session
        finally:
            # Java may have exited already.
            with _redirect_streams(log), suppress(UserError), explain_errors():
                session.stop()


def _ignore_error(*_: object) -> None:
    """Ignore an error of a server of PySpark: the thread that waits for Java reports it."""


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    """Create temporary files in a folder. A signal at the start of Java would leave those of PySpark."""
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


def _is_not_from_py4j(record: logging.LogRecord) -> bool:
    """Whether a log record is not from py4j, which logs an error if Java is killed on purpose."""
    return Path(record.pathname).parent.name != "py4j"


def end_java() -> None:
    """Kill the Java process, and restore this process's streams."""
    from pyspark import SparkContext

    _restore_streams()
    gateway = SparkContext._gateway
    if gateway is not None:
        # A normal stop would wait for work that is no longer needed. The next session starts a new Java.
        gateway.proc.kill()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def explain_errors() -> Iterator[None]:
    """Turn errors of Spark and of the connection to Java into a UserError of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException, PythonException

    try:
        yield
    except PythonException as error:
        # The last line of a traceback is the message.
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise UserError(f"a worker of Spark failed: {lines[-1]}") from error
    except (PySparkException, Py4JError, ConnectionError) as error:
        raise UserError(one_line(str(error))) from error


def one_line(text: str) -> str:
    """The message of an error of Spark, in one line, without Java's stack traces."""
    # If the first line names a Java method, the second is the message.
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(_CALLED)]
    causes = [line.removeprefix("Caused by: ") for line in lines[1:] if line.startswith("Caused by: ")]
    found = [_JAVA_CLASS.sub("", line) for line in (*lines[:1], *causes)]
    message = next((line for line in found if line and not line.startswith(_WRAPPER)), text)
    advice = f". {CHECK_FILES} lists damaged files" if _DAMAGED in message else ""
    return message.removesuffix("SQLSTATE: KD001").strip().rstrip(".") + advice if advice else message


def _settings(master: str, scratch: Path) -> dict[str, str]:
    found = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "spark-warehouse"),
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        # Otherwise Spark would substitute ${…} before it parses the statement.
        "spark.sql.variable.substitute": "false",
        # The whole answer is collected in this process's memory.
        "spark.driver.maxResultSize": "0",
    }
    if master.startswith("local"):
        # More partitions than cores would cost small queries seconds.
        found["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
    return found


def check_requirements() -> None:
    """Raise UserError with installation advice if Spark or a suitable Java is missing."""
    check_installed("Spark needs", "spark", "pyspark")
    _check_java()


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    advice = (
        f"Install Java {OLDEST_JAVA} or later (on Debian and Ubuntu: apt install openjdk-17-jre-headless), "
        "or set JAVA_HOME to the folder of one"
    )
    if java is None:
        raise UserError(f"Spark needs Java, which was not found. {advice}")
    try:
        output = subprocess.run([java, "-version"], capture_output=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(f"{java}: Java does not start ({error}). {advice}") from None
    version = _JAVA_VERSION.search(output.decode(errors="replace"))
    if version is None:
        raise UserError(f"{java}: `java -version` prints no version. {advice}")
    if int(version[1]) < OLDEST_JAVA:
        raise UserError(f"{java}: Java {version[1]} is too old for Spark. {advice}")


def _check_master(master: str) -> None:
    """Raise UsageError for an invalid master, and UserError if a standalone master does not answer."""
    if _OTHERS.fullmatch(master):
        return
    match = _STANDALONE.fullmatch(master)
    if match is None:
        raise UsageError(
            Option("master"), f" must be local[N], spark://HOST:PORT, yarn or k8s://…, not {master!r}"
        )
    for place in match["places"].split(","):
        host, port = place.rsplit(":", 1)
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT_S):
            return
    raise UserError(
        f"no Spark master answers at {master}. Start one there, name another with ",
        Option("master"),
        ", or omit it to use this machine",
    )


def _reason(error: Exception, log: Path) -> str:
    """Return the last error in Spark's log, or else the exception's message."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    lines = [line.strip() for line in text.splitlines() if re.search("Exception|ERROR|Error", line)]
    return lines[-1] if lines else str(error).splitlines()[0]


@contextmanager
def _redirect_streams(log: Path) -> Iterator[None]:
    """Redirect the standard streams of this process and its children to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        for number in (1, 2):
            _kept[number] = os.dup(number)
            os.dup2(file.fileno(), number)
        try:
            yield
        finally:
            _restore_streams()


def _restore_streams() -> None:
    while _kept:
        number, own = _kept.popitem()
        os.dup2(own, number)
        os.close(own)
