"""Tests of the web server: access only with the token, and the same answers as the command line."""

import csv
import html
import io
import os
import re
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from http.cookiejar import CookieJar
from pathlib import Path

import browser_tests
import command_line
import duckdb
import pyarrow.parquet as pq
import pytest

from tracehouse.engines.duckdb.write import database
from tracehouse.publish import explore

SLOW = """-- Number of ordered pairs (never ends)
create or replace macro mine.slow() as table
select count(*) as pairs from range(10000000) as a, range(10000000) as b where a.range > b.range;
"""

ONE_JOB = """-- Run time of a job
-- param: of_job: job ID
-- values: of_job: itp.raw_job.job_id
-- param: in_cluster: only this cluster
-- values: in_cluster: itp.job.cluster
create or replace macro mine.one_job(of_job varchar := null, in_cluster varchar := null) as table
select job_id, run_s from itp.job where job_id = of_job and (in_cluster is null or cluster = in_cluster);
"""


@dataclass(frozen=True)
class Server:
    """A server: its process, the URL that it printed, and its temporary folder."""

    process: subprocess.Popen[str]
    address: str
    scratch: Path

    @property
    def root(self) -> str:
        """The URL without the token and the final slash."""
        return self.address.partition("/?")[0]


@dataclass(frozen=True)
class Reply:
    """The reply of a server."""

    status: int
    body: bytes
    headers: Message

    @property
    def text(self) -> str:
        return html.unescape(self.body.decode())


def start(warehouse: Path, scratch: Path, *options: str) -> Server:
    process = subprocess.Popen(
        [command_line.TRACES, "explore", "-w", warehouse, "--no-browser", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch), "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout
    line = process.stdout.readline()
    assert line.startswith("Open http://127.0.0.1:"), line + process.stdout.read()
    return Server(process, line.split()[1], scratch)


def interrupt(served: Server) -> int:
    served.process.send_signal(signal.SIGINT)
    return served.process.wait(120)


@pytest.fixture(scope="module")
def warehouse(sample_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of two synthetic traces and two local queries, one of which never ends."""
    folder = tmp_path_factory.mktemp("explore") / "warehouse"
    (folder / "local" / "sql" / "mine").mkdir(parents=True)
    (folder / "local" / "sql" / "mine" / "slow.sql").write_text(SLOW)
    (folder / "local" / "sql" / "mine" / "one_job.sql").write_text(ONE_JOB)
    assert not database.ingest([sample_raw], folder, ["itp", "openb"], lambda *_: None).problems
    return folder


@pytest.fixture(scope="module")
def served(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = start(warehouse, tmp_path_factory.mktemp("scratch"), "--timeout", "120")
    yield started
    interrupt(started)


def reply(opener: urllib.request.OpenerDirector, address: str, **headers: str) -> Reply:
    try:
        with opener.open(urllib.request.Request(address, headers=headers), timeout=150) as got:
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


PAGES = ["/", "/?search=wait", "/query/itp.gpu_hours", "/query/itp.gpu_hours/answer.csv", "/?token=wrong"]


@pytest.mark.parametrize("page", PAGES)
def test_refuses_requests_without_token(served: Server, page: str) -> None:
    stranger = urllib.request.build_opener()
    port = urllib.parse.urlsplit(served.address).port
    for headers in ({}, {"Cookie": f"tracehouse-{port}=wrong"}):
        refused = reply(stranger, served.root + page, **headers)
        assert refused.status == 403
        assert b"itp" not in refused.body and "Set-Cookie" not in refused.headers


def test_rejects_other_host_names(served: Server, visitor: urllib.request.OpenerDirector) -> None:
    assert reply(visitor, served.root, Host="evil.example").status == 400


def test_listens_on_loopback_only(served: Server) -> None:
    port = urllib.parse.urlsplit(served.address).port
    table = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [local for local, _, state in table if state == "0A" and local.endswith(f":{port:04X}")]
    assert listening == [f"0100007F:{port:04X}"]


def test_rejects_post_requests(served: Server, visitor: urllib.request.OpenerDirector) -> None:
    sent = urllib.request.Request(f"{served.root}/query/itp.gpu_hours", data=b"min_gpus=8")
    with pytest.raises(urllib.error.HTTPError, match="405"):
        visitor.open(sent)


def test_search_finds_queries_by_meaning(served: Server, visitor: urllib.request.OpenerDirector) -> None:
    everything = re.findall(r'href="/query/(.*?)"', reply(visitor, served.root).text)
    assert len(everything) > 100
    assert everything[0].startswith(("itp.", "openb.")), "those with data come first"
    found = reply(visitor, f"{served.root}/?search=queueing+delay").text
    assert "openb.waits" in re.findall(r'href="/query/(.*?)"', found)
    nothing = reply(visitor, f"{served.root}/?search=giraffe")
    assert "No queries match" in nothing.text


def test_query_that_reads_catalog_has_all_data(synthetic: duckdb.DuckDBPyConnection) -> None:
    listed = {row["query_name"]: row["data"] for row in explore._search(synthetic, "")}
    assert {listed[name] for name in ("acme.power_by_day", "genai.requests_by_day")} == {"all"}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("itp.gpu_hours", {"min_gpus": "8"}),
        # As the form sends it: all fields, and two values for a switch that is on.
        ("itp.gpu_hours", {"min_gpus": "1", "with_total": ["false", "true"]}),
        ("openb.request_tiers", {"in_variant": "default"}),
        ("unified.run_cdf", {}),
    ],
)
def test_answer_equals_that_of_command_line(
    name: str,
    options: dict[str, str | list[str]],
    served: Server,
    visitor: urllib.request.OpenerDirector,
    warehouse: Path,
) -> None:
    given = [f"{key}={text if isinstance(text, str) else text[-1]}" for key, text in options.items()]
    expected = query_as_csv(warehouse, name, *(part for pair in given for part in ("-p", pair)))
    address = f"{served.root}/query/{name}"
    options_text = urllib.parse.urlencode(options, doseq=True)

    download = reply(visitor, f"{address}/answer.csv?{options_text}")
    assert download.body.decode() == expected
    assert download.headers["Content-Disposition"] == f'attachment; filename="{name}.csv"'
    table = pq.read_table(io.BytesIO(reply(visitor, f"{address}/answer.parquet?{options_text}").body))
    rows = list(csv.reader(io.StringIO(expected)))
    assert [table.column_names, table.num_rows] == [rows[0], len(rows) - 1]
    assert reply(visitor, f"{address}/answer.png?{options_text}").body[:8] == b"\x89PNG\r\n\x1a\n"

    page = reply(visitor, f"{address}?{options_text}")
    assert page.status == 200
    assert f"<p>{len(rows) - 1} row" in page.text
    assert all(f"<td>{row[0]}</td>" in page.text for row in rows[1:])
    assert "synthetic data" in page.text and "Sources" in page.text and "create or replace macro" in page.text
    assert 'role="img"' in page.text


def test_form_has_widget_for_each_kind_of_parameter(
    served: Server, visitor: urllib.request.OpenerDirector
) -> None:
    numbers = reply(visitor, f"{served.root}/query/itp.gpu_hours").text
    assert re.search(r'name="min_gpus" value="1"[^>]*type="number" min="0" max="10000">', numbers)
    assert re.search(r'type="checkbox" role="switch" id="with_total"', numbers)
    [select] = re.findall(
        r'<select id="in_variant".*?</select>',
        reply(visitor, f"{served.root}/query/openb.request_tiers?in_variant=gpushare40").text,
        re.S,
    )
    assert '<option value="gpushare40" selected>' in select and '<option value="default">' in select


def test_long_list_becomes_text_field_and_empty_default_remains_a_choice(
    served: Server, visitor: urllib.request.OpenerDirector, warehouse: Path
) -> None:
    listed = query_as_csv(warehouse, "itp.raw_job", "--limit", "200").splitlines()
    job = listed[1].split(",")[listed[0].split(",").index("job_id")]
    page = reply(visitor, f"{served.root}/query/mine.one_job?of_job={job}&in_cluster=").text
    assert re.search(rf'name="of_job" value="{job}"[^>]*type="text" list="of_job-values">', page)
    assert page.count("<option value=") > 100 and f'<option value="{job}"></option>' in page
    assert '<option value="" selected>–</option>' in page
    assert f"<td>{job}</td>" in page
    again = reply(visitor, f"{served.root}/query/mine.one_job?in_cluster=cluster04").text
    assert '<option value="">–</option>' in again and '<option value="cluster04" selected>' in again


@pytest.mark.parametrize("ending", ["", "/answer.csv"])
def test_invalid_value_gives_error_of_command_line(
    ending: str, served: Server, visitor: urllib.request.OpenerDirector, warehouse: Path
) -> None:
    wrong = reply(visitor, f"{served.root}/query/itp.gpu_hours{ending}?min_gpus=%3Cb%3E")
    run = command_line.server().run("query", "itp.gpu_hours", "-p", "min_gpus=<b>", "-w", warehouse)
    assert run.code == 2
    assert wrong.status == 400
    assert run.errors[0].removeprefix("error: ") in wrong.text
    assert b"<b>" not in wrong.body and "Traceback" not in wrong.text


def test_unknown_names_give_404(served: Server, visitor: urllib.request.OpenerDirector) -> None:
    for name in ("itp.nix", "itp.raw_job", "itp.gpu_hours()%20union%20select%201"):
        assert reply(visitor, f"{served.root}/query/{name}").status == 404
    assert reply(visitor, f"{served.root}/query/itp.gpu_hours/answer.exe").status == 404


def test_stops_query_after_timeout(warehouse: Path, tmp_path: Path) -> None:
    started = start(warehouse, tmp_path, "--timeout", "1.5")
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    reply(opener, started.address)
    late = reply(opener, f"{started.root}/query/mine.slow")
    assert late.status == 503
    assert "No answer within 1.5 s. Request less data, or raise --timeout" in late.text
    assert interrupt(started) == 128 + signal.SIGINT
    # No temporary files remain, and the server printed only the URL.
    assert list(tmp_path.iterdir()) == []
    assert started.process.stdout and started.process.stdout.read() == "Stop with Ctrl-C\n"


def test_reports_port_in_use(served: Server, warehouse: Path) -> None:
    port = str(urllib.parse.urlsplit(served.address).port)
    run = command_line.server().run("explore", "--no-browser", "--port", port, "-w", warehouse)
    assert run.code == 1 and f"Cannot listen on port {port}" in run.stderr


def test_does_not_start_without_warehouse(tmp_path: Path) -> None:
    run = command_line.server().run("explore", "--no-browser", "-w", tmp_path)
    assert run.code == 1 and "no such database" in run.stderr


@browser_tests.in_browser
def test_in_a_browser(served: Server, warehouse: Path) -> None:
    with browser_tests.browser() as opened:
        page = opened.new_page(viewport={"width": 360, "height": 740})
        messages: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: messages.append(message.text))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(served.address)
        assert "token" not in page.url
        page.get_by_label("Search the queries").fill("gpu hours cluster itp")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name="itp.gpu_hours").click()
        page.get_by_label("min_gpus").fill("8")
        page.get_by_label("with_total").check()
        page.get_by_role("button", name="Run").click()
        page.wait_for_url("**min_gpus=8**")
        expected = query_as_csv(warehouse, "itp.gpu_hours", "-p", "min_gpus=8", "-p", "with_total=true")
        rows = list(csv.reader(io.StringIO(expected)))
        assert page.locator("#answer tbody tr").count() == len(rows) - 1
        assert page.locator("#answer tbody tr:last-child td").first.inner_text() == "all"
        assert page.get_by_role("img", name="Chart of itp.gpu_hours").is_visible()
        assert "min_gpus = 8" in page.locator("svg").text_content()
        assert "itp.min_duration_600" in page.locator(".note strong").all_inner_texts()
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        assert Path(download.value.path()).read_text() == expected
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert messages == []
        assert requests and all(url.startswith(served.root) for url in requests)
