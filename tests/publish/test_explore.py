"""Tests of `traces explore`: access only with the token, and the same answers as the command line."""

import csv
import io
import json
import os
import signal
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from email.message import Message
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import command_line
import pyarrow.parquet as pq
import pytest
import suites
from explore_server import Server, interrupt, start
from non_empty import non_empty
from peak_memory import descendants, has_ended, watched

from tracehouse.engines.duckdb.write import database
from tracehouse.publish.site.contract import APPLICATION

pytestmark = suites.of("long")

SLOW = """-- Number of ordered pairs (never ends)
create or replace macro mine.slow() as table
select count(*) as pairs from range(10000000) as a, range(10000000) as b where a.range > b.range;
"""

ONE_JOB = """-- Run time of a job
create or replace macro mine.one_job(
    -- job ID [itp.raw_job.job_id]
    of_job varchar := null,
    -- only this cluster [itp.job.cluster]
    in_cluster varchar := null
) as table
select job_id, run_s from itp.job where job_id = of_job and (in_cluster is null or cluster = in_cluster);
"""


@dataclass(frozen=True)
class Reply:
    """The reply of a server."""

    status: int
    body: bytes
    headers: Message

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@pytest.fixture(scope="module")
def warehouse(sample_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of two synthetic traces and two local queries, one of which never ends."""
    folder = tmp_path_factory.mktemp("explore") / "warehouse"
    (folder / "local" / "sql" / "mine").mkdir(parents=True)
    (folder / "local" / "sql" / "mine" / "slow.sql").write_text(SLOW, encoding="utf-8")
    (folder / "local" / "sql" / "mine" / "one_job.sql").write_text(ONE_JOB, encoding="utf-8")
    assert not database.ingest([sample_raw], folder, ["itp", "openb"], lambda *_: None).problems
    return folder


@pytest.fixture(scope="module")
def served(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = start(warehouse, tmp_path_factory.mktemp("scratch"), "--timeout", "120")
    yield started
    interrupt(started)


def reply(opener: urllib.request.OpenerDirector, address: str, **headers: str) -> Reply:
    try:
        with opener.open(
            urllib.request.Request(address, headers=headers), timeout=command_line.TIMEOUT_S
        ) as got:
            return Reply(got.status, got.read(), got.headers)
    except urllib.error.HTTPError as error:
        return Reply(error.code, error.read(), error.headers)


@pytest.fixture(scope="module")
def visitor(served: Server) -> urllib.request.OpenerDirector:
    """A client that has opened the printed URL and keeps the cookie."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    assert reply(opener, served.address).status == 200
    return opener


def query_as_csv(warehouse: Path, *arguments: str) -> str:
    run = command_line.server().run("query", *arguments, "--format", "csv", "-w", warehouse)
    assert run.code == 0, run.stderr
    return run.stdout


JSON = "application/json"
DEEP = "[" * 3000 + "]" * 3000
# Requests, and a part of the error for each.
INVALID = {
    "": "query as JSON",
    "1": "query as JSON",
    "[]": "query as JSON",
    '{"given": 1}': "query as JSON",
    '{"given": null, "name": "itp.job"}': "query as JSON",
    '{"name": "itp.job"': "query as JSON",
    DEEP: "query as JSON",
    # Newer versions of Python read more levels.
    f'{{"name": {DEEP}}}': "",
    f'{{"name": "itp.gpu_hours", "given": {{"min_gpus": {DEEP}}}}}': "",
    '{"name": "itp.gpu_hours", "given": {"min_gpus": NaN}}': "NaN is not JSON",
    '{"name": "itp.gpu_hours", "given": {"min_gpus": -Infinity}}': "-Infinity is not JSON",
    f'{{"name": "itp.gpu_hours", "given": {{"min_gpus": 1{"0" * 5000}}}}}': "query as JSON",
    '{"name": "itp.gpu_hours", "given": {"min_gpus": null}}': "must be a string, a number or a boolean",
    '{"name": "itp.gpu_hours", "given": {"min_gpus": [1]}}': "must be a string, a number or a boolean",
    '{"name": "itp.gpu_hours", "given": {"min_gpus": 8, "min_gpus": 9}}': '"min_gpus" twice',
    '{"name": "itp.gpu_hours", "given": {"\\ud800": "8"}}': "name of a parameter: \\ud800 is not valid UTF-8",
    '{"name": "itp.gpu_hours", "given": {"min_gpus": "\\ud800"}}': "min_gpus: \\ud800 is not valid UTF-8",
    '{"name": "\\ud800"}': "name: \\ud800 is not valid UTF-8",
    '{"statement": "select \'\\ud800\'"}': "is not valid UTF-8",
    '{"name": 7}': "name must be a string",
    '{"name": null}': "name must be a string",
    '{"name": ["itp.job"]}': "name must be a string",
    '{"statement": 7}': "statement must be a string",
}
PAGES = [
    "/",
    "/api/list.json",
    "/api/verify.json",
    "/api/describe/itp.gpu_hours.json",
    "/api/run?query={}",
    "/?token=wrong",
]
Opener = urllib.request.OpenerDirector


def call(opener: Opener, served: Server, work: str, **query: object) -> Reply:
    return reply(opener, f"{served.root}/api/{work}?query={urllib.parse.quote(json.dumps(query))}&id=here")


def test_refuses_strangers(served: Server, visitor: Opener) -> None:
    stranger = urllib.request.build_opener()
    port = urllib.parse.urlsplit(served.address).port
    for page in PAGES:
        for headers in ({}, {"Cookie": f"tracehouse-{port}=wrong"}):
            refused = reply(stranger, served.root + page, **headers)
            assert refused.status == 403
            assert b"itp" not in refused.body and "Set-Cookie" not in refused.headers
    assert reply(visitor, served.root, Host="evil.example").status == 400
    with pytest.raises(urllib.error.HTTPError, match="405"):
        visitor.open(urllib.request.Request(f"{served.root}/api/run", data=b"query={}"))
    # It listens on this machine only.
    table = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text(encoding="utf-8").splitlines()[1:]]
    listening = [local for local, _, state in table if state == "0A" and local.endswith(f":{port:04X}")]
    assert listening == [f"0100007F:{port:04X}"]


def test_serves_the_built_pages_only(served: Server, visitor: Opener) -> None:
    for path in APPLICATION.rglob("*.*"):
        name = path.relative_to(APPLICATION).as_posix()
        assert reply(visitor, f"{served.root}/{name}").body == path.read_bytes()
    for name in ("..%2fcontract.py", "../contract.py", "nix.js"):
        assert reply(visitor, f"{served.root}/{name}").status == 404


def test_lists_objects_with_data_first(served: Server, visitor: Opener) -> None:
    listed = reply(visitor, f"{served.root}/api/list.json").json
    queries = [found for found in listed["objects"] if found["kind"] == "query"]
    assert len(queries) > 100
    assert queries[0]["name"].startswith(("itp.", "openb."))
    data = {found["name"]: found["data"] for found in queries}
    # These objects read the catalog, so they have data too.
    assert data["itp.gpu_hours"] == "all" and data["genai.requests_by_day"] == "none"
    assert data["unified.traces"] == "some"
    [itp] = [trace for trace in listed["traces"] if trace["name"] == "itp"]
    assert itp["jobs"] > 0 and itp["synthetic"]
    # The sizes of ITP's clusters are those of a simulation.
    assert itp["gpus"] is None


def test_figures_are_those_of_the_command_line(served: Server, visitor: Opener, warehouse: Path) -> None:
    run = command_line.server().run("verify", "--all", "--format", "csv", "-w", warehouse)
    expected = [(row["figure"], row["verdict"]) for row in csv.DictReader(io.StringIO(run.stdout))]
    figures = reply(visitor, f"{served.root}/api/verify.json").json["figures"]
    assert len(figures) > 300
    assert [(figure["figure"], figure["verdict"]) for figure in figures] == expected


def test_answer_equals_the_command_lines(served: Server, visitor: Opener, warehouse: Path) -> None:
    calls: list[tuple[str, dict[str, str]]] = [
        ("itp.gpu_hours", {"min_gpus": "8", "with_total": "true"}),
        ("unified.run_cdf", {}),
        ("itp.job", {}),
    ]
    for name, given in non_empty(calls):
        options = [part for key, text in given.items() for part in ("-p", f"{key}={text}")]
        expected = query_as_csv(warehouse, name, *options)
        assert call(visitor, served, "bind", name=name, given=given).json == {}
        assert call(visitor, served, "export/csv", name=name, given=given).body.decode() == expected
        parquet = call(visitor, served, "export/parquet", name=name, given=given).body
        rows = list(csv.reader(io.StringIO(expected)))
        table = pq.read_table(io.BytesIO(parquet))
        assert [table.column_names, table.num_rows] == [rows[0], len(rows) - 1]
        ran = call(visitor, served, "run", name=name, given=given)
        # A browser must not run values that look like markup.
        assert (ran.headers["Content-Type"], ran.headers["X-Content-Type-Options"]) == (JSON, "nosniff")
        found = ran.json
        assert [column["name"] for column in found["columns"]] == rows[0]
        assert [row[0] for row in found["rows"]] == [row[0] for row in rows[1:]]
        assert "synthetic data" in {note["name"] for note in found["notes"]} and found["sources"]
        drawn = call(visitor, served, "draw", name=name, given=given).json
        assert "has no chart" in drawn["no_chart"] if name == "itp.job" else drawn["spec"]["data"]["values"]
        # The narrow picture for phones gets the same rows in the page.
        assert "no_chart" in drawn or ("vconcat" in drawn["narrow"] and "data" not in drawn["narrow"])


def test_statement_has_caveats_of_its_columns(served: Server, visitor: Opener) -> None:
    statement = "select median(run_s) as median_run_s from itp.job"
    found = call(visitor, served, "run", statement=statement).json
    assert found["columns"] == [{"name": "median_run_s", "type": "DOUBLE"}]
    assert "itp.min_duration_600" in {note["name"] for note in found["notes"]}
    for wrong in ("drop table itp.raw_job", "copy itp.job to 'x.csv'", "select 1; select 2"):
        assert call(visitor, served, "run", statement=wrong).status in (400, 503)


def test_description_has_parameters_of_each_kind(served: Server, visitor: Opener, warehouse: Path) -> None:
    def parameters(name: str) -> dict[str, dict]:
        described = reply(visitor, f"{served.root}/api/describe/{name}.json").json
        return {parameter["name"]: parameter for parameter in described["parameters"]}

    number = parameters("itp.gpu_hours")["min_gpus"]
    assert [number[key] for key in ("type", "default", "at_least", "at_most")] == [
        "INTEGER",
        "1",
        "0",
        "10000",
    ]
    assert parameters("itp.gpu_hours")["with_total"]["type"] == "BOOLEAN"
    assert "gpushare40" in parameters("openb.request_tiers")["in_variant"]["choices"]
    local = parameters("mine.one_job")
    listed = query_as_csv(warehouse, "itp.raw_job", "--limit", "200").splitlines()
    assert listed[1].split(",")[listed[0].split(",").index("job_id")] in local["of_job"]["choices"]
    assert local["of_job"]["default"] is None and len(local["of_job"]["choices"]) > 100


def test_invalid_requests_are_errors(served: Server, visitor: Opener, warehouse: Path) -> None:
    run = command_line.server().run("query", "itp.gpu_hours", "-p", "min_gpus=<b>", "-w", warehouse)
    assert run.code == 2
    for work in ("bind", "run", "export/csv"):
        wrong = call(visitor, served, work, name="itp.gpu_hours", given={"min_gpus": "<b>"})
        assert wrong.status == 400
        assert wrong.json["error"].startswith(run.errors[0].removeprefix("error: "))
    for query, message in INVALID.items():
        for work in ("run", "bind", "draw", "export/csv"):
            wrong = reply(visitor, f"{served.root}/api/{work}?query={urllib.parse.quote(query)}")
            assert wrong.status == 400 and message in wrong.json["error"], query[:80]
    for name in ("itp.nix", "itp.gpu_hours() union select 1", "a\0b"):
        assert call(visitor, served, "run", name=name).status == 400
        assert reply(visitor, f"{served.root}/api/describe/{urllib.parse.quote(name)}.json").status == 400
    assert call(visitor, served, "export/exe", name="itp.gpu_hours").status == 400


def test_stops_query_after_timeout(warehouse: Path, tmp_path: Path) -> None:
    started = start(warehouse, tmp_path, "--timeout", "0.5")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    reply(opener, started.address)
    late = call(opener, started, "run", name="mine.slow")
    assert late.status == 503
    assert "No answer within 0.5 s. Request less data, or raise --timeout" in late.json["error"]
    assert interrupt(started) == 128 + signal.SIGINT
    # No temporary files remain, and the server printed only the URL.
    assert list(tmp_path.iterdir()) == []
    assert started.process.stdout and started.process.stdout.read() == "Stop with Ctrl-C\n"


def test_cancel_interrupts_the_query(served: Server, visitor: Opener) -> None:
    replies: list[Reply] = []
    slow = threading.Thread(target=lambda: replies.append(call(visitor, served, "run", name="mine.slow")))
    slow.start()
    while slow.is_alive():
        reply(visitor, f"{served.root}/api/cancel?id=here")
        time.sleep(0.2)
    assert (replies[0].status, replies[0].json) == (503, {"error": "Cancelled"})


def test_answers_other_requests_while_many_queries_run(warehouse: Path, tmp_path: Path) -> None:
    """Of 60 slow queries, two run, twenty wait and the others are refused. All can be cancelled."""
    started = start(warehouse, tmp_path, "--timeout", "3000")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    reply(opener, started.address)
    query = urllib.parse.quote(json.dumps({"name": "mine.slow"}))
    with ThreadPoolExecutor(60) as threads:
        calls = [
            threads.submit(reply, opener, f"{started.root}/api/run?query={query}&id={number}")
            for number in range(60)
        ]
        refused, open_calls = wait_for(calls, 38)
        assert {call.result().status for call in refused} == {503}
        assert all("The server is busy: 2 queries" in call.result().json["error"] for call in refused)
        for page in ("/", "/api/list.json", "/api/describe/itp.gpu_hours.json"):
            assert reply(opener, started.root + page).status == 200
        assert call(opener, started, "bind", name="itp.gpu_hours").json == {}
        for number in range(60):
            reply(opener, f"{started.root}/api/cancel?id={number}")
        wait(open_calls, command_line.TIMEOUT_S)
        assert [call.result().json for call in open_calls] == [{"error": "Cancelled"}] * 22
    assert call(opener, started, "run", statement="select 1 as x").json["rows"] == [[1]]
    assert interrupt(started) == 128 + signal.SIGINT
    assert list(tmp_path.iterdir()) == []


def wait_for(calls: list[Future], count: int) -> tuple[list[Future], list[Future]]:
    """Wait until `count` calls are done. Returns these, and the others."""
    end_s = time.monotonic() + command_line.TIMEOUT_S
    while sum(call.done() for call in calls) < count:
        assert time.monotonic() < end_s
        time.sleep(0.01)
    return [call for call in calls if call.done()], [call for call in calls if not call.done()]


def test_closed_page_ends_its_query(served: Server, visitor: Opener) -> None:
    cookies = next(one for one in visitor.handlers if isinstance(one, urllib.request.HTTPCookieProcessor))
    header = "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies.cookiejar)
    query = urllib.parse.quote(json.dumps({"name": "mine.slow"}))
    port = urllib.parse.urlsplit(served.address).port
    pages = [socket.create_connection(("127.0.0.1", port)) for _ in range(2)]
    for page in pages:
        host = f"Host: 127.0.0.1:{port}"
        page.sendall(f"GET /api/run?query={query} HTTP/1.1\r\n{host}\r\nCookie: {header}\r\n\r\n".encode())
    # The server, its fork server and two queries.
    wait_until(lambda: len(descendants(served.process.pid)) == 4)
    for page in pages:
        page.close()
    wait_until(lambda: len(descendants(served.process.pid)) == 2)


def wait_until(condition: Callable[[], bool]) -> None:
    end_s = time.monotonic() + command_line.TIMEOUT_S
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def test_query_stays_within_its_memory_limit(warehouse: Path, tmp_path: Path) -> None:
    started = start(warehouse, tmp_path, "--memory-limit", "300MB")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    reply(opener, started.address)
    with watched(started.process.pid) as peaks:
        for work in ("run", "export/csv"):
            found = call(opener, started, work, statement="select len(range(700000000))")
            assert found.status == 503
            assert "needs more than the memory limit of 300MB" in found.json["error"]
        large = "select repeat('x', 20000) as text from range(10000)"
        assert "The answer " in call(opener, started, "run", statement=large).json["error"]
        assert len(call(opener, started, "export/csv", statement=large).body) == 5 + 20_001 * 10_000
    assert max(peaks.values()) < 600
    assert peaks[started.process.pid] < 300
    # If the server is killed, its fork server ends too.
    _, fork_server = descendants(started.process.pid)
    started.process.send_signal(signal.SIGKILL)
    started.process.wait()
    wait_until(lambda: has_ended(fork_server))


def test_missing_files_are_errors_of_requests(served: Server, visitor: Opener, warehouse: Path) -> None:
    """The database and the folder of temporary files are removed, and come back."""
    for path, text in ((warehouse / database.DATABASE, "no such database"), (served.scratch, "No such file")):
        hidden = path.rename(path.with_name("hidden"))
        try:
            replies = [
                reply(visitor, f"{served.root}/api/{page}.json") for page in ("list", "describe/itp.job")
            ]
            replies += [call(visitor, served, work, name="itp.job") for work in ("run", "export/csv")]
        finally:
            hidden.rename(path)
        found = [(one.status, one.json["error"]) for one in replies if one.status != 200]
        assert [status for status, _ in found] == [503] * (
            4 if path.name == database.DATABASE else len(found)
        )
        assert found and all(text in error for _, error in found), found
        assert call(visitor, served, "run", statement="select 1 as x").json["rows"] == [[1]]
    assert reply(visitor, f"{served.root}/api/list.json").status == 200


def test_first_request_after_the_end_of_the_fork_server(served: Server, visitor: Opener) -> None:
    _, fork_server = descendants(served.process.pid)
    os.kill(fork_server, signal.SIGKILL)
    wait_until(lambda: has_ended(fork_server))
    assert call(visitor, served, "run", statement="select 1 as x").json["rows"] == [[1]]
    _, fork_server = descendants(served.process.pid)
    # A stopped server does not end before the request is on its way.
    os.kill(fork_server, signal.SIGSTOP)
    later = threading.Timer(0.5, os.kill, (fork_server, signal.SIGKILL))
    later.start()
    assert call(visitor, served, "run", statement="select 1 as x").json["rows"] == [[1]]
    later.join()


def test_does_not_start_without_port_or_warehouse(served: Server, warehouse: Path, tmp_path: Path) -> None:
    port = str(urllib.parse.urlsplit(served.address).port)
    run = command_line.server().run("explore", "--no-browser", "--port", port, "-w", warehouse)
    assert run.code == 1 and f"Cannot listen on port {port}" in run.stderr
    run = command_line.server().run("explore", "--no-browser", "-w", tmp_path)
    assert run.code == 1 and "no such database" in run.stderr
