"""Starts Spark for the command line: checks what it needs, and keeps its log out of sight.

The log goes to a file in the folder given, for the errors of a start.
"""

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.core import signals
from tracehouse.core.errors import UsageError, UserError, not_installed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17

_PATIENCE_S = 5
_LOG = "spark.log"
_CALLED = "An error occurred while calling"
_STANDALONE = re.compile(r"spark://(?P<places>[^,:/]+:\d{1,5}(?:,[^,:/]+:\d{1,5})*)")
_OTHERS = re.compile(r"local(\[[^\]]+\])?|yarn|k8s://.+")
_JAVA_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
# What tells of every failed statement on standard error, which its caller is told already.
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger", "py4j")

# This process's own streams, while others write to a file instead.
_kept: dict[int, int] = {}


@contextmanager
def opened(master: str, scratch: Path, settings: Mapping[str, str]) -> Iterator["SparkSession"]:
    """A session at a master, stopped at the end. Raises UserError where what it needs is missing."""
    check_needs()
    _check_master(master)
    from pyspark.sql import SparkSession

    # Where the workers have another Python with this package, its user says so by the same variable.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(master).appName("tracehouse")
    for key, value in (_settings(master, scratch) | dict(settings)).items():
        builder = builder.config(key, value)
    log = scratch / _LOG
    # What Java still does at the end would make the folders anew that are being removed.
    with signals.before_the_end(end_java):
        with _streams_to(log):
            try:
                with errors_explained():
                    session = builder.getOrCreate()
            except UserError as error:
                raise UserError(f"Spark does not start at {master}: {_reason(error, log)}") from None
        for name in _LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        logging.getLogger().addFilter(_is_not_of_py4j)
        try:
            yield session
        finally:
            # Java may have gone already.
            with _streams_to(log), suppress(UserError), errors_explained():
                session.stop()


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Whether a record of the root logger is another's: py4j tells it of a Java that was ended on purpose."""
    return Path(record.pathname).parent.name != "py4j"


def end_java() -> None:
    """End the Java that was started, wherever it is, and let this process speak again."""
    from pyspark import SparkContext

    _give_streams_back()
    gateway = SparkContext._gateway
    if gateway is not None:
        # It is killed, as nothing that it may still do is wanted; the next session starts another.
        gateway.proc.kill()
        gateway.proc.wait()
        SparkContext._gateway = SparkContext._jvm = None


@contextmanager
def errors_explained() -> Iterator[None]:
    """Turn the errors of Spark, and of its way to Java, into a UserError of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException, PythonException

    try:
        yield
    except PythonException as error:
        # A traceback, whose last line says what went wrong.
        said = [line.strip() for line in str(error).splitlines() if line.strip()]
        raise UserError(f"a worker of Spark failed: {said[-1]}") from error
    except (PySparkException, Py4JError, ConnectionError) as error:
        # Where the first line names the method of Java's that was called, the second says what went wrong.
        lines = [line for line in str(error).strip().splitlines() if not line.startswith(_CALLED)]
        raise UserError(lines[0].removeprefix(": ") if lines else str(error)) from error


def _settings(master: str, scratch: Path) -> dict[str, str]:
    found = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(scratch / "spark-warehouse"),
        "spark.local.dir": str(scratch),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        # What stands in ${…} would be put into a statement before it is parsed.
        "spark.sql.variable.substitute": "false",
        # The whole answer is brought here, within the memory of this process.
        "spark.driver.maxResultSize": "0",
    }
    if master.startswith("local"):
        # More parts than cores cost a small question seconds.
        found["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
    return found


def check_needs() -> None:
    """Raise UserError where Spark or a Java that it runs on is missing, and say how to get it."""
    _check_spark()
    _check_java()


def _check_spark() -> None:
    if find_spec("pyspark") is None:
        raise not_installed("Spark needs", "pyspark", "spark")


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    advice = (
        f"Install Java {OLDEST_JAVA} or later (on Debian and Ubuntu: apt install openjdk-17-jre-headless), "
        "or set JAVA_HOME to the folder of one"
    )
    if java is None:
        raise UserError(f"Spark runs on Java, and there is none here. {advice}")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError) as error:
        raise UserError(f"{java}: Java, on which Spark runs, does not start ({error}). {advice}") from None
    version = _JAVA_VERSION.search(said)
    if version is None or int(version[1]) < OLDEST_JAVA:
        found = version[1] if version else next(iter(said.strip().splitlines()), "")
        raise UserError(f"{java}: Java {found} is too old for Spark. {advice}")


def _check_master(master: str) -> None:
    """Raise UsageError where a master is none, and UserError where one that has a place is silent."""
    if _OTHERS.fullmatch(master):
        return
    match = _STANDALONE.fullmatch(master)
    if match is None:
        raise UsageError(f"a master is local[N], spark://HOST:PORT, yarn or k8s://…, not {master!r}")
    for place in match["places"].split(","):
        host, port = place.rsplit(":", 1)
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=_PATIENCE_S):
            return
    raise UserError(
        f"no Spark master answers at {master}. Start one there, name another with --master, or leave it out "
        "to use this machine alone"
    )


def _reason(error: Exception, log: Path) -> str:
    """What went wrong, in a line: what Spark's log says last, or else the exception."""
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = [
        line.strip()
        for line in text.splitlines()
        if "Exception" in line or "ERROR" in line or "Error" in line
    ]
    return lines[-1] if lines else str(error).splitlines()[0]


@contextmanager
def _streams_to(log: Path) -> Iterator[None]:
    """Let what other programs and libraries write to the standard streams go to a file meanwhile."""
    sys.stdout.flush()
    sys.stderr.flush()
    with log.open("ab") as file:
        for number in (1, 2):
            _kept[number] = os.dup(number)
            os.dup2(file.fileno(), number)
        try:
            yield
        finally:
            _give_streams_back()


def _give_streams_back() -> None:
    while _kept:
        number, own = _kept.popitem()
        os.dup2(own, number)
        os.close(own)
