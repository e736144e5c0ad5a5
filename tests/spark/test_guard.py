"""The guard of Spark finds the relations that a query reads, and refuses other statements."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from tracehouse.core.errors import UsageError, UserError
from tracehouse.engines.spark import guard
from tracehouse.engines.spark.guard import Statement, build_call
from tracehouse.engines.spark.register import unsupported_queries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


OfText = Callable[[str], Statement]


@pytest.fixture
def check_statement(spark: "SparkSession") -> OfText:
    """The guard, with the session whose parser it uses."""
    return partial(guard.check_statement, spark)


@pytest.mark.parametrize(
    ("name", "limit", "sql"),
    [
        ("itp.job", None, "select * from itp.job"),
        ("itp.job_v1", 5, "select * from itp.job_v1 limit 5"),
        ("itp.raw_job", 0, "select * from itp.raw_job limit 0"),
        ("itp.gpu_hours", None, "select * from itp.gpu_hours()"),
        ("itp.gpu_hours", 3, "select * from itp.gpu_hours() limit 3"),
    ],
)
def test_call_of_a_name_selects_its_rows(name: str, limit: int | None, sql: str) -> None:
    statement = build_call(name, {}, limit)
    assert statement.sql == sql
    assert statement.reads == {name}


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (8, "8"),
        (-1, "-1"),
        (2**63 - 1, "9223372036854775807"),
        (True, "TRUE"),
        (False, "FALSE"),
        (0.5, "0.5"),
        (1e-7, "1e-07"),
        ("cluster01", "'cluster01'"),
        ("it's", r"'it\'s'"),
        ("a\\b", r"'a\\b'"),
        ("\\", r"'\\'"),
        ("' or 1 = 1 --", r"'\' or 1 = 1 --'"),
        (date(2023, 3, 1), "CAST('2023-03-01' AS DATE)"),
        (datetime(2023, 3, 1, 8, tzinfo=UTC), "CAST('2023-03-01 08:00:00+00:00' AS TIMESTAMP)"),
        (
            datetime(2023, 3, 1, 8, 0, 0, 250000, timezone(timedelta(hours=8))),
            "CAST('2023-03-01 08:00:00.250000+08:00' AS TIMESTAMP)",
        ),
        (
            # The second 01:30 of the day on which daylight saving time ends.
            datetime(2023, 11, 5, 1, 30, tzinfo=ZoneInfo("America/New_York"), fold=1),
            "CAST('2023-11-05 01:30:00-05:00' AS TIMESTAMP)",
        ),
    ],
)
def test_a_value_is_a_literal_of_its_type(value: Any, written: str) -> None:
    assert (
        build_call("itp.gpu_hours", {"x": value}, None).sql == f"select * from itp.gpu_hours(x => {written})"
    )


def test_values_are_named_in_their_order() -> None:
    statement = build_call("itp.gpu_hours", {"min_gpus": 8, "on_cluster": "a"}, 2)
    assert statement.sql == "select * from itp.gpu_hours(min_gpus => 8, on_cluster => 'a') limit 2"


@given(st.text())
def test_a_text_stays_one_literal(text: str) -> None:
    tree = sqlglot.parse_one(build_call("itp.gpu_hours", {"x": text}, None).sql, dialect="spark")
    [literal] = tree.find_all(exp.Literal)
    assert literal.is_string and literal.this == text


def test_unsupported_query_gets_reason_and_advice() -> None:
    assert unsupported_queries()
    for name, reason in unsupported_queries().items():
        with pytest.raises(UserError) as refused:
            build_call(name, {}, None)
        for message in (name, "does not run on Spark", reason, "Omit --engine"):
            assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("select 1", set()),
        ("SELECT 1;", set()),
        ("  -- a comment\n select 1 /* another */ ;", set()),
        ("select * from itp.job", {"itp.job"}),
        ("from itp.job", {"itp.job"}),
        ("from itp.job select cluster limit 1", {"itp.job"}),
        ("(select * from itp.job)", {"itp.job"}),
        ("select * from `itp`.`job`", {"itp.job"}),
        ("with a as (select * from itp.job) select * from a", {"itp.job"}),
        ("with job as (select 1 as x) select * from job", set()),
        (
            "select 1 union all select 2 from pai.task intersect select 3 from pai.job",
            {"pai.task", "pai.job"},
        ),
        ("select * from itp.job as a join openb.pod as b on a.x = b.x", {"itp.job", "openb.pod"}),
        ("select (select max(x) from itp.job) where exists (select 1 from pai.job)", {"itp.job", "pai.job"}),
        ("select * from itp.gpu_hours(min_gpus => 1)", {"itp.gpu_hours"}),
        (
            "select * from itp.gpu_hours() as a, itp.job, lateral (select * from pai.job)",
            {"itp.gpu_hours", "itp.job", "pai.job"},
        ),
        ("select transform(array(1), x -> x + 1), filter(array(1), x -> x > 0)", set()),
        ("select * from itp.job lateral view explode(array(1)) t as x", {"itp.job"}),
        ("select sum(y) over (order by x) from itp.job qualify rank() over (order by x) = 1", {"itp.job"}),
        (
            "select 'insert into itp.job', 'drop table x; reflect(1)' as `create table` from itp.job",
            {"itp.job"},
        ),
    ],
)
def test_finds_the_relations_that_a_query_reads(text: str, reads: set[str], check_statement: OfText) -> None:
    statement = check_statement(text)
    assert statement.reads == reads
    # Spark runs the text that was checked.
    assert statement.sql == text


@pytest.mark.parametrize(
    "text",
    [
        "select * from parquet.`/etc/x`",
        "select * from PARQUET.`/etc/x`",
        "select * from spark_catalog.parquet.`/etc/x`",
        "with a as (select * from parquet.`/etc/x`) select * from a",
        "with `/etc/x` as (select 1) select * from parquet.`/etc/x`",
        "select 1 where 2 in (select 2 from parquet.`/etc/x`)",
        "select * from itp.job, lateral (select * from parquet.`/etc/x`)",
        "select 1 union all select * from parquet.`/etc/x`",
    ],
)
def test_finds_files_as_relations_that_do_not_exist(text: str, check_statement: OfText) -> None:
    assert any(name.lower().endswith("parquet./etc/x") for name in check_statement(text).reads)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ";",
        "-- nothing",
        "select 1; select 2",
        "select 1; drop table itp.job",
        "insert into itp.job select 1",
        "insert overwrite directory '/x' select 1",
        "from itp.job insert into itp.other select *",
        "with a as (select 1) insert into itp.job select * from a",
        "create table itp.x as select 1",
        "create or replace temporary view x as select 1",
        "create function f as 'x.Y' using jar '/x.jar'",
        "drop table itp.job",
        "truncate table itp.job",
        "delete from itp.job",
        "update itp.job set x = 1",
        "merge into itp.job using itp.x on 1 = 1 when matched then delete",
        "alter table itp.job rename to itp.x",
        "set spark.sql.ansi.enabled = false",
        "reset",
        "cache table itp.job",
        "uncache table itp.job",
        "refresh table itp.job",
        "refresh '/x'",
        "use itp",
        "add jar '/x.jar'",
        "load data inpath '/x' into table itp.job",
        "call system.x()",
        "execute immediate 'drop table itp.job'",
        "describe itp.job",
        "explain select 1",
        "show tables",
    ],
)
def test_refuses_anything_but_a_single_query(text: str, check_statement: OfText) -> None:
    with pytest.raises(UserError, match=r"only queries are allowed|this is not a single query"):
        check_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "selec 1",
        "select (",
        "select 'a",
        "select * from (insert into itp.job values (1))",
        "from itp.job |> insert into itp.x",
        "select \"reflect\"('java.lang.Math', 'random')",
    ],
)
def test_reports_invalid_sql_in_one_line(text: str, check_statement: OfText) -> None:
    with pytest.raises(UsageError, match=r"\Athis is not a single query in Spark SQL: [^\n]+\Z"):
        check_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        "select * from job",
        "select 1 from itp.job join pod on true",
        "with a as (select * from b) select 1 from a",
    ],
)
def test_a_table_without_its_schema_is_refused(text: str, check_statement: OfText) -> None:
    with pytest.raises(UserError, match=r"^\w+: add its schema"):
        check_statement(text)


@pytest.mark.parametrize("function", ["reflect", "REFLECT", "`Reflect`", "java_method", "Try_Reflect"])
@pytest.mark.parametrize(
    "text",
    [
        "select {}",
        "select builtin.{}",
        "select system.builtin.{}",
        "select {} over ()",
        "select upper(concat('a', {}))",
        "select 1 from itp.job where {} = 'a'",
        "select 1 from itp.job order by {}",
        "select 1 from itp.job group by {} having {} > ''",
        "select * from (select {} as x)",
        "with a as (select {} as x) select * from a",
        "select 1 union all select {}",
        "select 1 where exists (select {})",
        "select * from itp.gpu_hours(on_cluster => {})",
        "select * from itp.job lateral view explode(array({})) t as x",
        "select transform(array(1), x -> {})",
        "select case when {} = 'a' then 1 end",
        "select * from values ({}) as t(x)",
        "select * from itp.job pivot (max({}) for x in (1))",
    ],
)
def test_refuses_functions_with_side_effects_in_any_position(
    text: str, function: str, check_statement: OfText
) -> None:
    with pytest.raises(UserError, match="is not allowed: it may do more than read"):
        check_statement(text.replace("{}", f"{function}('java.lang.Math', 'random')"))


@pytest.mark.parametrize(
    "text",
    [
        "select transform(x) using 'cat' from itp.job",
        "select TRANSFORM(x, y) using 'cat' as (a, b) from itp.job",
        "from itp.job select transform(x) using 'cat'",
        "select * from (select transform(x) using 'cat' from itp.job)",
        "with a as (select transform(x) using 'cat' from itp.job) select * from a",
        "select 1 union all select transform(x) using 'cat' from itp.job",
    ],
)
def test_refuses_transform_with_a_program(text: str, check_statement: OfText) -> None:
    with pytest.raises(UserError, match=r"only queries are allowed .* contains ScriptTransformation"):
        check_statement(text)


@pytest.mark.parametrize(
    "text",
    [
        # Spark uses the result as a name, which may be that of a file.
        "select * from identifier('text.`/etc/hostname`')",
        "select * from identifier('te' || 'xt.`/etc/hostname`')",
        "with x as (select 1 as a) select * into x from x",
        "with a as (insert into itp.job values (1)) select * from a",
        "with a as (delete from itp.job) select * from a",
        "select * from itp.f(table(text.`/etc/hostname`))",
        "with `text./etc/hostname` as (select 1) select * from text.`/etc/hostname`",
        "select count(*) over w from range(1) window w as (order by (select 1 from text.`/etc/hostname`))",
        "select count(*) over w from range(1) window w as (partition by reflect('a.B', 'c'))",
        "select from_xml('<p/>', 'a string', map('rowValidationXSDPath', '/etc/hostname'))",
    ],
)
def test_refuses_or_finds_hidden_reads_and_writes(text: str, check_statement: OfText) -> None:
    with suppress(UserError):
        assert "text./etc/hostname" in check_statement(text).reads


@pytest.mark.parametrize(
    "text",
    [
        "begin select 1; end",
        "begin insert into itp.job values (1); end",
        "from itp.job map a using 'cat' as b",
        "from itp.job reduce a using 'cat'",
        "select * from stream itp.job",
        "select * from itp.job version as of 1",
        "select :name",
        "select ?",
        "execute immediate 'select 1'",
        "select identifier('reflect')('java.lang.Math', 'random')",
    ],
)
def test_refuses_statements_that_are_known_only_at_run_time(text: str, check_statement: OfText) -> None:
    with pytest.raises(UserError):
        check_statement(text)


def test_a_comment_may_follow_the_semicolon(check_statement: OfText) -> None:
    assert check_statement("select 1; -- that is all").reads == frozenset()
