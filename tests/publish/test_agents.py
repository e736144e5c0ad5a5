"""Tests of the MCP server: the client of the mcp package calls the installed command."""

import asyncio
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import command_line
import duckdb
import pytest
import suites
from non_empty import non_empty

pytestmark = suites.of("long")

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

Call = Callable[[str, dict[str, Any]], Any]


OPTIONS = ("--max-rows", "10", "--timeout", "3", "--memory-limit", "300MB")


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def served(sample_warehouse: Path, runner: asyncio.Runner) -> Iterator[Call]:
    """Call the tools of one server, which runs for all tests of the module; `tools` lists them."""
    command = mcp.StdioServerParameters(
        command=str(command_line.TRACES),
        args=["mcp", "--warehouse", str(sample_warehouse), *OPTIONS],
        env=dict(os.environ),
    )
    calls: asyncio.Queue[Any] = asyncio.Queue()
    answers: asyncio.Queue[Any] = asyncio.Queue()

    async def serve() -> None:
        async with mcp.Client(command, read_timeout_seconds=command_line.TIMEOUT_S) as client:
            while (call := await calls.get()) is not None:
                tools = call[0] == "tools"
                await answers.put(await (client.list_tools() if tools else client.call_tool(*call)))

    async def start() -> Any:
        return asyncio.create_task(serve())

    async def ask(*call: Any) -> Any:
        await calls.put(call)
        return await answers.get()

    async def stop() -> None:
        await calls.put(None)
        await task

    task = runner.run(start())
    yield lambda tool, arguments: runner.run(ask(tool, arguments))
    runner.run(stop())


def test_agent_lists_describes_and_queries(served: Call, sample_warehouse: Path) -> None:
    listed = served("list", {"kind": "queries", "trace": "itp", "search": "gpu hours"})
    assert listed.structured_content["result"][0]["query_name"] == "itp.gpu_hours"
    described = served("describe", {"name": "itp.gpu_hours"}).structured_content
    assert described["parameters"][0]["parameter"] == "min_gpus"
    answer = served("query", {"name": "itp.gpu_hours", "parameters": {"min_gpus": 8}}).structured_content
    with duckdb.connect(str(sample_warehouse / "traces.duckdb"), read_only=True) as connection:
        rows = connection.execute("from itp.gpu_hours(min_gpus := 8)").fetchall()
    assert [tuple(row) for row in answer["rows"]] == rows and answer["is_cut"] is False
    assert answer["columns"][0] == {"name": "cluster", "type": "VARCHAR"}
    assert {"itp.min_duration_600", "synthetic data"} <= {note["name"] for note in answer["notes"]}
    assert {source["table_name"] for source in answer["sources"]} == {"itp.raw_job", "itp.elasticflow_job"}
    assert all(source["synthetic"] for source in answer["sources"])
    traces = served("list", {"kind": "traces"}).structured_content["result"]
    assert "itp" in {trace["trace"] for trace in traces}


def test_tools_are_read_only_and_document_their_parameters(served: Call) -> None:
    tools = {tool.name: tool for tool in served("tools", {}).tools}
    assert set(tools) == {"list", "describe", "query", "sql"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert tool.description
        for field in tool.input_schema["properties"].values():
            assert field.get("description") or "$ref" in str(field)


def test_errors_tell_agent_what_to_do(served: Call) -> None:
    # It never ends, and runs on one thread.
    slow = "with recursive t(n) as (select 1 union all select n + 1 from t) select count(*) from t"
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("query", {"name": "itp.gpu_hour"}, "Close matches: itp.gpu_hours."),
        ("query", {"name": "itp.gpu_hours", "parameters": {"min_gpus": "x"}}, "must be of type INTEGER"),
        (
            "query",
            {"name": "itp.gpu_hours", "parameters": {"gpus": 1}},
            "has no parameter gpus. Parameters of",
        ),
        # The SDK checks these.
        ("query", {"name": "itp.gpu_hours", "limit": 11}, "less than or equal to 10"),
        ("sql", {"statement": 5}, "Input should be a valid string"),
        ("sql", {}, "Field required"),
        ("list", {"kind": "nothing"}, "Input should be 'traces', 'tables', 'views' or 'queries'"),
        ("no_such", {}, "Unknown tool: no_such"),
        ("describe", {"name": "itp.no_such"}, 'No object named "itp.no_such"'),
        ("sql", {"statement": "drop view itp.job"}, "Only queries are allowed"),
        ("sql", {"statement": "copy (select 1) to '/tmp/x'"}, "Only queries are allowed"),
        ("sql", {"statement": "from read_csv('/etc/passwd')"}, "is not allowed"),
        ("sql", {"statement": "select nothing from itp.job"}, "nothing"),
        ("sql", {"statement": "explain select 1"}, "EXPLAIN is not supported here"),
        ("sql", {"statement": slow}, "No answer within 3 s"),
        ("sql", {"statement": "select len(range(700000000))"}, "needs more than the memory limit of 300MB"),
    ]
    for tool, arguments, message in non_empty(calls):
        result = served(tool, arguments)
        assert result.is_error and message in result.content[0].text, arguments


def test_malformed_messages_do_not_stop_the_server(sample_warehouse: Path) -> None:
    """The SDK skips a line that is not a message, and the server answers the next one."""
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%s}'
    lines = [call % part for part in ("[1,2]", "[" * 3000, '{"name":"\\ud800"}', f"1{'0' * 5000}", "")]
    lines += ["", "no json", "[]", '{"jsonrpc":"2.0","id":2,"method":"ping"}']
    command = [command_line.TRACES, "mcp", "--warehouse", sample_warehouse]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes) as server:
        assert server.stdin and server.stdout and server.stderr
        server.stdin.write("".join(f"{line}\n" for line in lines).encode())
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
        server.stdin.close()
        errors = server.stderr.read()
        assert server.wait(command_line.TIMEOUT_S) == 0
    assert (answer["id"], answer["result"]) == (2, {})
    assert b"Traceback" not in errors


def test_limits_rows_and_bytes(served: Call) -> None:
    whole = served("query", {"name": "itp.job"}).structured_content
    assert (len(whole["rows"]), whole["is_cut"]) == (10, True)
    none = served("query", {"name": "itp.job", "limit": 0}).structured_content
    assert (none["rows"], none["is_cut"]) == ([], True)
    exact = served("sql", {"statement": "from range(10)"}).structured_content
    assert (len(exact["rows"]), exact["is_cut"]) == (10, False)
    long = served("sql", {"statement": "select repeat('x', 5000000) as text"}).structured_content
    [[text]] = long["rows"]
    assert (len(text), text[-22:]) == (20_024, "… (5,000,000 characters)"[-22:])
    assert (long["is_cut"], long["cut"]) == (False, "")
    wide = "select repeat('x', 15000) as a" + ", a" * 9 + " from range(10)"
    many = served("sql", {"statement": wide}).structured_content
    assert (len(many["rows"]), many["is_cut"]) == (6, True)
    assert many["cut"] == "Only 6 rows are returned: the answer exceeds 1,000,000 bytes"


def test_values_that_json_lacks_are_texts(served: Call) -> None:
    statement = """
        select
            date '2020-02-29', timestamptz '2020-02-29 12:00:00+00', 'infinity'::date, date '0044-03-15 (BC)',
            170141183460469231731687303715884105::hugeint, 1.5::decimal(4, 2), 'nan'::double, '101'::bit,
            [1, null], {'a': date '2020-01-01'}, null, true
    """
    [row] = served("sql", {"statement": statement}).structured_content["rows"]
    assert row == [
        *("2020-02-29", "2020-02-29 12:00:00+00", "infinity", "0044-03-15 (BC)"),
        *("170141183460469231731687303715884105", "1.50", "nan", "101"),
        *("[1, NULL]", "{'a': 2020-01-01}", None, True),
    ]


def test_does_not_start_without_warehouse(tmp_path: Path) -> None:
    run = command_line.by_itself("mcp", "--warehouse", tmp_path)
    assert (run.code, run.stdout) == (1, "")
    assert "no such database" in run.stderr


def test_does_not_start_without_standard_input(sample_warehouse: Path) -> None:
    command = f'exec "{command_line.TRACES}" mcp --warehouse "{sample_warehouse}" <&-'
    ended = subprocess.run(["sh", "-c", command], capture_output=True, encoding="utf-8")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert (
        ended.stderr == "error: The MCP server needs standard input and output, and one of them is closed\n"
    )
