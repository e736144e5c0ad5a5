"""Run a standalone Spark cluster on localhost: a master, and workers with one core each."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

WORKERS = 2
TIMEOUT_S = 60


def home() -> Path:
    """Return the folder of the pyspark package, which contains Spark's programs."""
    found = find_spec("pyspark")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent


@dataclass
class Cluster:
    """A running Spark master, its URL, the folder of the logs, and its workers."""

    url: str
    folder: Path
    workers: list[subprocess.Popen] = field(default_factory=list)

    def add_worker(self) -> subprocess.Popen:
        """Start a worker with one core, and wait until the master has registered it."""
        number = len(self.workers)
        log = self.folder / f"worker{number}.log"
        work = self.folder / f"work{number}"
        options = ["--host", "127.0.0.1", "--cores", "1", "--memory", "2g", "--webui-port", "0"]
        worker = _deploy("worker.Worker", [*options, "--work-dir", str(work), self.url], log)
        wait_for_line(log, "Successfully registered with master", worker)
        self.workers.append(worker)
        return worker

    def kill(self, number: int) -> None:
        """Kill a worker and its child processes, to simulate a failed machine."""
        os.killpg(self.workers[number].pid, signal.SIGKILL)
        self.workers[number].wait()


def _deploy(name: str, options: Sequence[str], log: Path) -> subprocess.Popen:
    command = [str(home() / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
    with log.open("wb") as out:
        return subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=os.environ | {"SPARK_HOME": str(home())},
            start_new_session=True,
        )


def wait_for_line(log: Path, text: str, process: subprocess.Popen) -> None:
    """Wait until a process has written a text to its log. Fail if it ends first, or after `TIMEOUT_S`."""
    end_s = time.monotonic() + TIMEOUT_S
    while text not in log.read_text(encoding="utf-8", errors="replace"):
        assert process.poll() is None and time.monotonic() < end_s, log.read_text(
            errors="replace", encoding="utf-8"
        )
        time.sleep(0.1)


def free_port() -> int:
    """Return a port that no process listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running_cluster(folder: Path, workers: int = WORKERS) -> Iterator[Cluster]:
    """Start a cluster with its logs in `folder`, yield it, and kill it at the end of the block."""
    port, log = free_port(), folder / "master.log"
    options = ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]
    master = _deploy("master.Master", options, log)
    cluster = Cluster(f"spark://127.0.0.1:{port}", folder)
    try:
        wait_for_line(log, "New state: ALIVE", master)
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        for process in (*cluster.workers, master):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
