"""Tests of the MCP server: the client of the mcp package calls the installed command."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import command_line
import duckdb
import pytest

mcp = pytest.importorskip("mcp", reason="needs the extra mcp")

Talk = Callable[[Any], Awaitable[Any]]


def talk(warehouse: Path, conversation: Talk, *more: str) -> Any:
    """Start the server, run a conversation, and stop the server."""

    async def run() -> Any:
        command = mcp.StdioServerParameters(
            command=str(command_line.TRACES),
            args=["mcp", "--warehouse", str(warehouse), *more],
            env=dict(os.environ),
        )
        async with mcp.Client(command, read_timeout_seconds=command_line.TIMEOUT_S) as client:
            return await conversation(client)

    return asyncio.run(run())


def call(warehouse: Path, calls: list[tuple[str, dict[str, Any]]], *more: str) -> list[Any]:
    async def conversation(client: Any) -> list[Any]:
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    return talk(warehouse, conversation, *more)


def test_agent_lists_describes_and_queries(sample_warehouse: Path) -> None:
    listed, described, answered, traces = call(
        sample_warehouse,
        [
            ("list", {"kind": "queries", "trace": "itp", "search": "gpu hours"}),
            ("describe", {"name": "itp.gpu_hours"}),
            ("query", {"name": "itp.gpu_hours", "parameters": {"min_gpus": 8}}),
            ("list", {"kind": "traces"}),
        ],
    )
    assert listed.structured_content["result"][0]["query_name"] == "itp.gpu_hours"
    assert described.structured_content["parameters"][0]["parameter"] == "min_gpus"
    answer = answered.structured_content
    with duckdb.connect(str(sample_warehouse / "traces.duckdb"), read_only=True) as connection:
        rows = connection.execute("from itp.gpu_hours(min_gpus := 8)").fetchall()
    assert [tuple(row) for row in answer["rows"]] == rows
    assert answer["has_more_rows"] is False
    assert {caveat["name"] for caveat in answer["caveats"]} == {"itp.min_duration_600", "synthetic data"}
    assert {source["table_name"] for source in answer["sources"]} == {"itp.raw_job", "itp.elasticflow_job"}
    assert all(source["synthetic"] for source in answer["sources"])
    assert "itp" in {trace["trace"] for trace in traces.structured_content["result"]}


def test_tools_are_read_only_and_document_their_parameters(sample_warehouse: Path) -> None:
    async def conversation(client: Any) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in talk(sample_warehouse, conversation)}
    assert set(tools) == {"list", "describe", "query", "sql"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert tool.description
        for field in tool.input_schema["properties"].values():
            assert field.get("description") or "$ref" in str(field)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("query", {"name": "itp.gpu_hour"}, "Close matches: itp.gpu_hours."),
        (
            "query",
            {"name": "itp.gpu_hours", "parameters": {"min_gpus": "x"}},
            "min_gpus must be of type INTEGER",
        ),
        (
            "query",
            {"name": "itp.gpu_hours", "parameters": {"gpus": 1}},
            "has no parameter gpus. Parameters of",
        ),
        ("query", {"name": "itp.gpu_hours", "limit": 11}, "less than or equal to 10"),
        ("describe", {"name": "itp.no_such"}, 'No object named "itp.no_such"'),
        ("sql", {"statement": "drop view itp.job"}, "Only queries are allowed"),
        ("sql", {"statement": "copy (select 1) to '/tmp/x'"}, "Only queries are allowed"),
        ("sql", {"statement": "from read_csv('/etc/passwd')"}, "is not allowed"),
        ("sql", {"statement": "select nothing from itp.job"}, "nothing"),
        ("sql", {"statement": "explain select 1"}, "EXPLAIN is not supported here"),
    ],
)
def test_errors_tell_agent_what_to_do(
    tool: str, arguments: dict[str, Any], message: str, served: Callable[[str, dict[str, Any]], Any]
) -> None:
    result = served(tool, arguments)
    assert result.is_error
    assert message in result.content[0].text


def test_stops_query_after_timeout(sample_warehouse: Path) -> None:
    statement = "select sum(a.range * b.range) from range(10000000) a, range(10000000) b"
    [result] = call(sample_warehouse, [("sql", {"statement": statement})], "--timeout", "3")
    assert result.is_error and "No answer within 3 s" in result.content[0].text


@pytest.fixture(scope="module")
def served(sample_warehouse: Path) -> Any:
    """Call the tools of one server, which runs for all tests of the module."""
    with asyncio.Runner() as runner:
        command = mcp.StdioServerParameters(
            command=str(command_line.TRACES),
            args=["mcp", "--warehouse", str(sample_warehouse), "--max-rows", "10"],
            env=dict(os.environ),
        )
        calls: asyncio.Queue[Any] = asyncio.Queue()
        answers: asyncio.Queue[Any] = asyncio.Queue()

        async def serve() -> None:
            async with mcp.Client(command, read_timeout_seconds=command_line.TIMEOUT_S) as client:
                while (call := await calls.get()) is not None:
                    await answers.put(await client.call_tool(*call))

        async def ask(tool: str, arguments: dict[str, Any]) -> Any:
            await calls.put((tool, arguments))
            return await answers.get()

        async def start() -> Any:
            return asyncio.create_task(serve())

        task = runner.run(start())
        yield lambda tool, arguments: runner.run(ask(tool, arguments))

        async def stop() -> None:
            await calls.put(None)
            await task

        runner.run(stop())


def test_limits_number_of_rows(served: Callable[[str, dict[str, Any]], Any]) -> None:
    whole = served("query", {"name": "itp.job"}).structured_content
    assert (len(whole["rows"]), whole["has_more_rows"]) == (10, True)
    none = served("query", {"name": "itp.job", "limit": 0}).structured_content
    assert (none["rows"], none["has_more_rows"]) == ([], True)
    exact = served("sql", {"statement": "from range(10)"}).structured_content
    assert (len(exact["rows"]), exact["has_more_rows"]) == (10, False)


def test_converts_values_that_json_lacks(served: Callable[[str, dict[str, Any]], Any]) -> None:
    statement = """
        select
            date '2020-02-29', timestamptz '2020-02-29 12:00:00+00',
            170141183460469231731687303715884105::hugeint, 1.5::decimal(4, 2), 'nan'::double, 'inf'::double,
            [1, null], {'a': date '2020-01-01'}, '\\xAA'::blob, interval 1 day, null, true
    """
    [row] = served("sql", {"statement": statement}).structured_content["rows"]
    assert row == [
        *(
            "2020-02-29",
            "2020-02-29T12:00:00+00:00",
            170141183460469231731687303715884105,
            "1.50",
            None,
            None,
        ),
        *([1, None], {"a": "2020-01-01"}, "aa"),
        *(row[9], None, True),
    ]
    assert "1" in str(row[9])


def test_converts_times_outside_of_pythons_years(served: Callable[[str, dict[str, Any]], Any]) -> None:
    statement = """
        select date '290000-01-01', timestamp '290000-01-01 12:00:00', date '0044-03-15 (BC)',
            [date '290000-01-01'], {'a': timestamptz '290000-01-01 00:00:00+00'}, '101'::bit, ['10'::bit],
            'infinity'::date, '-infinity'::timestamp, timestamp '0001-03-15 (BC) 01:00:00',
            [{'a BIT "b"': '11'::bit}]
    """
    [row] = served("sql", {"statement": statement}).structured_content["rows"]
    assert row[:3] == ["290000-01-01", "290000-01-01T12:00:00.000000", "0044-03-15 (BC)"]
    assert row[3:5] == [["290000-01-01"], {"a": "290000-01-01T00:00:00.000000"}]
    assert row[5:10] == ["101", ["10"], "infinity", "-infinity", "0001-03-15T01:00:00.000000 (BC)"]
    assert row[10] == [{'a BIT "b"': "11"}]


def test_limits_bytes(served: Callable[[str, dict[str, Any]], Any]) -> None:
    long = served("sql", {"statement": "select repeat('x', 5000000) as text"}).structured_content
    [[text]] = long["rows"]
    assert (len(text), text[-22:]) == (20_024, "… (5,000,000 characters)"[-22:])
    assert (long["has_more_rows"], long["cut"]) == (False, "")
    wide = "select repeat('x', 15000) as a" + ", a" * 9 + " from range(10)"
    many = served("sql", {"statement": wide}).structured_content
    assert (len(many["rows"]), many["has_more_rows"]) == (6, True)
    assert many["cut"] == "Only 6 rows are returned: the answer exceeds 1,000,000 bytes"


def test_does_not_start_without_warehouse(tmp_path: Path) -> None:
    run = command_line.by_itself("mcp", "--warehouse", tmp_path)
    assert (run.code, run.stdout) == (1, "")
    assert "no such database" in run.stderr
