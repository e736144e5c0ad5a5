"""SQL that is translated to Spark gives the values of DuckDB, also for edge values, or is refused."""

import math
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest
import sqlglot
import suites
from duckdb import DuckDBPyConnection
from sqlglot import exp

from tracehouse.core.errors import DefinitionError, UserError
from tracehouse.definitions.macros import macros_sql
from tracehouse.definitions.query_files import QueryFile, parse_query_file, query_files
from tracehouse.definitions.view_files import view_files
from tracehouse.engines.spark import dialect, lint
from tracehouse.engines.spark.dialect import SAME, TRANSFORMS, spark_type, to_spark, translate_statement
from tracehouse.engines.spark.lint import explain_refusal, lint_translation
from tracehouse.engines.spark.session import explain_errors
from tracehouse.ingest.declare import column_types

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RELATIVE = 1e-9
OTHER_TEXT = "Spark writes fractions and times with a zone differently from DuckDB"
NO_LOGARITHM = "cannot take the logarithm of 0 or less"
WITH_PARAMETER = "sum(x) filter (where p or y)"
PLACE = "views/itp/job.v1.sql"

NUMBERS = """
    with t(x) as (values
        ('2.7'::double), ('-2.7'::double), ('2.5'::double), ('-2.5'::double), ('-0.5'::double),
        ('0'::double), ('7'::double), ('1e-9'::double), ('-123456789.125'::double), (null)
    )
"""
NOT_FINITE = "with t(x) as (values ('nan'::double), ('inf'::double), ('-inf'::double), ('1'::double), (null))"
TIED = "with t(g, x) as (values ('a', 3), ('a', 1), ('a', null), ('a', 3), ('b', null), ('b', 2), (null, 5))"
TIMES = """
    with t(x) as (values
        (timestamptz '2023-03-01 08:00:00.25+08:00'), (timestamptz '1969-12-31 23:59:59.75+00'),
        (timestamptz '1970-01-01 00:00:00+00'), (timestamptz '2099-12-31 23:59:59.999999+00'),
        (timestamptz '0001-01-01 00:00:00+00'), (null)
    )
"""

# Statements for each transform, by its construct.
TRANSFORMED = {
    "epoch_us(t)": (
        f"{TIMES} select epoch_us(x), epoch_us(x) // 60000000, epoch_us(x) // 3600000000 from t order by x",
        "select epoch_us(date '2023-03-01'), epoch_us(date '1969-12-31'), epoch_us(null::date)",
        "select epoch_us(timestamp '2023-03-01 08:00:00.000001')",
        f"{TIMES} select epoch_us(coalesce(lead(x) over (order by x), x)) - epoch_us(x) from t order by x",
    ),
    "epoch(t)": (
        f"{TIMES} select epoch(x), floor(epoch(x) / 3600), 3600 * ceil(epoch(x) / 3600) from t order by x",
        "select epoch(date '2023-03-01'), epoch(timestamp '2023-03-01 08:00:00.123456')",
    ),
    "to_timestamp(s)": (
        "select to_timestamp(0), to_timestamp(1.5), to_timestamp(-0.25), to_timestamp(1662858720.123456)",
        "with t(x) as (values (3600), (-5), (null)) select to_timestamp(3600 * x) from t order by x",
        "with t(x) as (values ('0.1'::double), ('0.75'::double)) select to_timestamp(x) from t order by x",
        f"{TIMES} select epoch(to_timestamp(epoch(x))) from t order by x",
        "select to_timestamp('0.0000015'::double), to_timestamp('-0.0000015'::double)",
    ),
    "to_seconds(s)": (
        "with t(x) as (values (1), (-60), (28800), (0), (null)) "
        "select timestamptz '2023-03-01 20:00:00+00' + to_seconds(x) from t order by x",
        "with t(x) as (values ('0.25'::double), ('-1.5'::double)) "
        "select timestamp '2023-03-01 20:00:00' + to_seconds(x) from t order by x",
        "select cast(timestamptz '2023-03-01 20:00:00+00' + to_seconds(28800) as date)",
    ),
    "isfinite(x)": (
        f"{NOT_FINITE} select isfinite(x) from t order by x",
        "with t(x) as (values ('1.7976931348623157e308'::double), ('5e-324'::double)) "
        "select isfinite(x) from t order by x",
        "with t(x) as (values (1), (null)) select isfinite(x) from t order by x",
        f"{TIMES} select isfinite(x) from t order by x",
    ),
    "bit_count(x)": (
        "with t(x) as (values (0), (5), (null), (-1)) "
        "select cast(bit_count(cast(x as bigint)) as bigint) from t order by x",
    ),
    "quantile_cont(x, q)": (
        f"{TIED} select g, quantile_cont(x, 0.9), quantile_cont(x, 0), quantile_cont(x, 1) "
        "from t group by g order by g",
        f"{TIED} select quantile_cont(x, 0.25), quantile_cont(x, 0.5) filter (where x > 100) from t",
        f"{NOT_FINITE} select quantile_cont(x, 0.5) from t where x is null or isfinite(x)",
        "with t(x) as (values (10), (1), (null), (4), (2)) "
        "select quantile_cont(x, 0.9), quantile_cont(x, 0.99), quantile_cont(x / 3.0, 0.1) from t",
    ),
    "q[n]": (
        f"{TIED} select g, quantile_cont(x, [0.1, 0.9])[1], quantile_cont(x, [0.1, 0.9])[2] from t "
        "group by g order by g",
        f"{TIED} select quantile_cont(x, [0.5, 1.0])[2] from t where g = 'none'",
    ),
    "round(x, n)": (
        f"{NUMBERS} select round(x), round(x, 0), round(x, 1), round(x, -1), round(x, 9) from t order by x",
        f"{NOT_FINITE} select round(x), round(x, 2), round(x, -2) from t order by x",
        "with t(x, n) as (values ('123.456'::double, 2), ('123.456'::double, -2), (null, 1), (1.5, null)) "
        "select round(x, n) from t order by x, n",
        "with t(x) as (values (125), (-125), (null)) select round(x, -1), round(x, 1) from t order by x",
        f"{NUMBERS} select round(stats.fsum(x), 4), round(stats.favg(x), 2), "
        "round(floor(round(x / 0.3, 9)) * 0.3, 9) "
        "from t group by x order by x",
        "select round('1e300'::double, 10), round('5'::double, 400), round('5'::double, -400)",
        "with t(x, n) as (values ('1e300'::double, 10), ('5'::double, 400), ('5'::double, -400), "
        "('inf'::double, -400), ('nan'::double, 400), (null, 400), ('5'::double, null)) "
        "select round(x, n) from t order by x, n",
        f"{NUMBERS} select round(x, cast(3 - floor(log10(abs(x))) as integer)) from t "
        "where x <> 0 order by x",
    ),
    "trunc(x)": (
        f"{NUMBERS} select trunc(x), x = trunc(x) from t order by x",
        "select trunc('1e19'::double), trunc('nan'::double), trunc('-inf'::double), trunc(null::double)",
    ),
    "floor(x)": (
        f"{NUMBERS} select floor(x), floor(x / 2) from t order by x",
        "select floor('nan'::double), floor('1e19'::double), floor('-inf'::double), floor(5)",
    ),
    "ceil(x)": (
        f"{NUMBERS} select ceil(x), ceil(x * 100) from t order by x",
        "select ceil('nan'::double), ceil('1e19'::double), ceil('inf'::double), ceil(null::double)",
    ),
    "ln(x)": ("select ln(1), ln('0.001'::double), ln('inf'::double), ln(null)",),
    "log(b, x)": (
        f"{NUMBERS} select log10(x), log(10, x), log(2, x), log2(x) from t where x > 0 order by x",
        "select log10('inf'::double), log10('nan'::double), log10(null)",
        "with t(x) as (values ('999999.9999'::double), ('0.0012'::double), ('1234567'::double)) "
        "select floor(log10(x)) from t order by x",
    ),
    "cast(x as bigint)": (
        "select cast('1.7'::double as bigint), cast('2.5'::double as bigint), cast('-2.5'::double as bigint)",
        "with t(x) as (values (9007199254740993), (-1), (null)) select cast(x as bigint) from t order by x",
        f"{TIED} select g, cast(avg(x) as bigint), cast(sum(x) as bigint) from t group by g order by g",
    ),
    "cast(x as integer)": (
        "select cast('2.5'::double as integer), cast('-2.5'::double as int)",
        "select cast(x > 1 as integer), cast(7 / 2.0 as integer) from (values (1), (2)) as t(x) order by x",
    ),
    "cast(x as text)": (
        "select cast(12 + 1 as text), cast(x as text) from (values ('a'), (null)) as t(x) order by x",
        "select cast(timestamp '2023-03-01 20:00:00.25' as text), cast(date '2023-03-01' as text)",
    ),
    "list_contains(x, y)": (
        "select list_contains([1, 2], 2), list_contains([1, 2], 3), list_contains(['a'], 'a'), "
        "list_contains(null::int[], 1)",
        "with t(x, y) as (values ('P100|T4', 'T4'), ('P100|T4', '100'), (null, 'T4')) "
        "select coalesce(list_contains(string_split(x, '|'), y), false) from t order by x, y",
        "select list_contains([1, null], 2), list_contains([1, null], 1), list_contains([1], x) "
        "from (values (1), (2), (null)) as t(x) order by x",
    ),
    "array_length(x)": (
        "select array_length([3, null]), array_length(cast(null as bigint[])), array_length([])",
        "with t(x) as (values ([1, 2]), (null)) "
        "select unnest(generate_series(1, array_length(x))) as n from t order by n",
    ),
    "list_extract(x, n)": (
        "select list_extract([5, null, 7], n) as x from (values (1), (2), (3), (0), (-1), (null)) as t(n)"
        " order by n",
        "select list_extract(cast(null as bigint[]), 1), list_extract([5], cast(1 as bigint))",
        f"{TIED} select g, list_extract(quantile_cont(x, [0.1, 0.9]), 2) from t group by g order by g",
    ),
    "generate_series(a, b)": (
        "select generate_series(1, null), generate_series(null::int, 1)",
        "select generate_series(1, 3), generate_series(3, 1), generate_series(2, 2), generate_series(-1, 1)",
        "with t(a, b) as (values (1, 3), (3, 1), (2, 2), (null, 1), (1, null)) "
        "select a, b, unnest(generate_series(a, b)) as x from t order by a, b, x",
        "with t(a, b) as (values ('-0.5'::double, '2.5'::double)) "
        "select unnest(generate_series(cast(floor(a) as bigint), cast(floor(b) as bigint))) as x from t "
        "order by x",
        "select round(stats.fsum(x / 3.0), 3) from (select unnest(generate_series(1, 0)) as x)",
    ),
}

# Statements for each other rewrite. In the last, p is a parameter.
OTHER_REWRITES = {
    "stats.fsum(x)": (
        f"{TIED} select g, stats.fsum(x), sqrt(stats.favg(x * x)) from t group by g order by g",
        f"{NOT_FINITE} select stats.fsum(x), stats.fsum(case when isfinite(x) then x end) from t",
        "with t(x) as (values (1), (2), (3)) select sum(stats.exact(x)) over (order by x) from t order by x",
    ),
    "3600.0": (
        "select 3600.0, 1.5 + 1, 7 / 2.0, 10.0 / 3, 1e3, 1e-5, .5, 0.1 + 0.2, -2.5",
        "with t(x) as (values (1), (7), (null)) select x / 3600.0, x / 24.0 + 0.25 from t order by x",
    ),
    "grouping(x)": (
        f"{TIED} select case when grouping(g) = 1 then 'all' else g end as g, sum(x) from t "
        "group by rollup (g) order by grouping(g), 1",
        f"{TIED} select case when grouping(k.g) = 1 then 'all' else k.g end as g, count(*) from t as k "
        "group by grouping sets ((g), ()) order by 1, 2",
        f"{TIED} select grouping(g) as g, x, grouping(x) as y, count(*) from t group by cube (g, x) "
        "order by all",
        "select case when grouping(g) = 1 then 'all' else g end as g, n from ("
        "select g, count(*) as n from (values ('a'), ('b')) as t(g) group by rollup (g)"
        ") as u group by rollup (g), n order by 1, 2",
        "select grouping(x) as x from (select 1 as x) group by rollup (x) order by 1",
    ),
    "sum(x) over w - y": (
        f"{TIED} select g, x, sum(x) over w - x, x - count(*) over w, sum(x) over w from t "
        "window w as (partition by g order by x) order by g, x",
        f"{TIED} select g, x, count(*) filter (where x > 1) over w - 1, lag(x) over v from t "
        "window v as (order by x, g), w as (partition by g) order by g, x",
    ),
    WITH_PARAMETER: (
        f"{TIED} select g, count(*) filter (where x > p) as n, sum(x + p) as s, "
        "max(x) filter (where p = 0 or x = p) as m from t group by g order by g",
        f"{TIED} select g, round(sum(x / 3.0) filter (where x >= p), 2) as s, p as q from t where x > p "
        "group by all order by g",
        f"{TIED} select g, x, sum(x * p) over (partition by g order by x) as s from t order by g, x",
        f"{TIED} select t.g, count(*) filter (where t.x > p and u.x < 5) as n from t "
        "left join (values (1), (2)) as u(x) using (x) group by t.g order by t.g",
        f"{TIED}, u as (select g, count(*) filter (where x > p) as n from t group by g) "
        "select sum(n * p) as s, median(n) filter (where n >= p) as m from u",
        f"{TIED} select case when grouping(g) = 1 then 'all' else g end as g, "
        "count(*) filter (where x > p) as n from t group by rollup (g) "
        "having count(*) filter (where x > p) > 0 order by 1, 2",
        f"{TIED} select g, count(*) filter ("
        "where x in (select y from (values (1), (3)) as u(y) where y > p)"
        ") as n from t group by g order by g",
    ),
}

# Statements for each function that sqlglot translates, by its class.
CARRIED = {
    "Cast": (
        "select cast(' 5 ' as bigint), cast('1e3' as double), cast('nan' as double), cast(true as integer)",
        "select cast('t' as boolean), cast('1' as boolean), cast(0 as boolean), cast(null as double)",
        "select cast(timestamptz '2023-03-01 20:00:00+00' as date), cast(date '2023-03-01' as timestamptz)",
        "select cast(timestamp '2023-03-01 20:00:00.25' as text), cast(12 as text), cast(true as text)",
        f"{NUMBERS} select cast(floor(x) as bigint), cast(ceil(x) as integer) from t order by x",
    ),
    "ConcatWs": (
        "select concat_ws('-', 'a', null, 'b'), concat_ws('-', null, null), concat_ws(null, 'a'), "
        "concat_ws('-', 'a', 1), concat_ws('-', '', ''), concat_ws('', 'a', 'b')",
    ),
    "Explode": ("select unnest([3, 1, null]) as x, 'a' as y order by x",),
    "Greatest": (
        "with t(x, y) as (values (1, 2), (null, 2), (3, null), (null, null)) "
        "select greatest(x, y), least(x, y), greatest(x, y, 0), least(x, y, 0) from t order by x, y",
        f"{NOT_FINITE} select greatest(x, 2), least(x, 2) from t order by x",
    ),
    "Lead": (
        f"{NUMBERS} select x, lead(x) over (order by x), lead(x, 2) over (order by x desc), "
        "lead(x, 1, -1) over (order by x nulls first) from t order by x",
        f"{TIED} select g, x, lead(x) over (partition by g order by x) from t order by all",
    ),
    "Length": ("select length('añ😀'), length(''), length(null), length(' a ')",),
    "LogicalOr": (
        "with t(g, x) as (values (1, true), (1, null), (2, false), (2, null), (3, null::boolean)) "
        "select g, bool_or(x), bool_or(x) filter (where g > 5) from t group by g order by g",
    ),
    "Max": (
        f"{NOT_FINITE} select max(x), min(x), max(x) filter (where isfinite(x)) from t",
        f"{TIED} select max(g), min(g), max(x) filter (where x > 100) from t",
        "with t(x) as (values ('a'), ('B'), ('é'), ('')) select max(x), min(x) from t",
    ),
    "Median": (
        f"{TIED} select g, median(x), median(x) filter (where x > 100) from t group by g order by g",
        "with t(x) as (values ('nan'::double), ('1'::double), ('2'::double)) select median(x) from t",
        "with t(x) as (values (10), (1), (null), (4), (2)) select median(x), median(x / 3.0) from t",
    ),
    "Nullif": (
        "select nullif(1, 1), nullif(0.0, 0), nullif('nan'::double, 'nan'::double), 1 / nullif(0, 0)",
    ),
    "Pow": ("select pow(2, 10), pow(0, -1), pow('-8'::double, 1.0 / 3), pow(null, 2), 2 ** 3",),
    "Split": (
        r"select string_split('a|b||c', '|'), string_split('a.b', '.'), string_split('', '|'), "
        r"string_split(null, '|'), string_split('|a|', '|'), string_split('a\b', '\')",
        "select string_split('a^$b', '^$'), string_split('a\nb', '\n'), string_split('[a]', '[a]')",
    ),
    "SplitPart": (
        "select split_part('a.b.c', '.', 1), split_part('a.b.c', '.', 3), split_part('a.b.c', '.', 4), "
        "split_part('', '.', 1), split_part(null, '.', 1), split_part('a||b', '||', 2), "
        "split_part('a.b', '.', -1)",
    ),
}

# Statements for SQL other than functions.
OTHERS = (
    f"{TIED} select g, x from t order by x, g",
    f"{TIED} select g, x from t order by x desc, g desc",
    f"{TIED} select g, x from t order by x nulls first, g desc nulls first",
    f"{TIED} select g, x, sum(x) over (order by x rows between 1 preceding and current row) from t "
    "where x <> 3 order by x, g",
    f"{NOT_FINITE} select x from t order by x desc",
    "with t(x) as (values ('b'), (null), ('a'), ('A'), (''), ('é')) select x, x > 'a' from t order by x",
    "with t(x) as (values (-7), (7), (0), (null)) select x // 2, x % 3, x / 2, -x from t order by x",
    r"select 'a\nb', 'it''s', '\', '''', 'a\''b', '${env:HOM}', '-- no comment', '/* nor this */'",
    "select null is not distinct from null, 1 in (2, null), 1 not in (2, null), null or true",
    "select 'a' || 'b', 'a' || null, 'a' || 1, interval '1' hour + timestamptz '2023-03-01 00:00:00+00'",
    "select 1 as x -- a comment, with '; a quote\n",
)

EVERYWHERE = [
    sql
    for statements in (TRANSFORMED, OTHER_REWRITES, CARRIED, {"SQL": OTHERS})
    for construct, texts in statements.items()
    if construct != WITH_PARAMETER
    for sql in texts
]
# Statements that are refused, with the construct that the message names.
REFUSED = [
    ("select regexp_full_match(x, 'a') from t", "regexp_full_match"),
    ("select * from query_table('t')", "query_table"),
    ("pivot t on x using sum(y)", "pivot"),
    ("select x[1:2] from t", "an element or a slice of a list"),
    ("select [y + 1 for y in x] from t", "a list comprehension"),
    ("select #1 from t", "a column by its position"),
    ("select [1, 2, 3][-1]", "an element or a slice of a list"),
    ("select unnest([1, 2]) as x, unnest([3, 4]) as y", "a second unnest"),
    ("select string_split('abc', '')", "a split by an empty or computed text"),
    (r"select string_split('a\Eb', '\E')", "a split by an empty or computed text"),
    ("select split_part('a.b', '', 1)", "a split by an empty or computed text"),
    ("select split_part('a.b', x, 1) from t", "a split by an empty or computed text"),
    ("select split_part('a.b', '.', 0)", "part 0 of a split, or a computed one"),
    ("select x like 'a$_' escape '$' from t", "like with escape"),
    ("select timestamp '2023-03-01 20:00:00' at time zone 'Asia/Shanghai'", "at time zone"),
    ("select date '2023-03-01' - x from t", "a date minus a date"),
    ("select cast(-2.5 as bigint)", "a cast of a decimal number to an integer"),
    ("select cast(2 * (x + 0.25) as integer) from t", "a cast of a decimal number to an integer"),
    ("select x::smallint from t", "a cast to this type"),
    ("select isfinite(date '2023-03-01')", "isfinite"),
    ("select trunc(x, 2) from t", "trunc"),
    ("select length([1, 2])", "the length of a list"),
    (
        "select sum(x) over (order by x rows 1 preceding exclude current row) from t",
        "exclude in a window",
    ),
    ("select sum(x) over (order by x rows n - 1 preceding) from t", "a parameter as a bound of a window"),
    ("select x from t order by min(x) over (partition by y)", "a window function in order by"),
    ("select percentile_cont(0.5) within group (order by x) from t", "within group"),
    ("select log(x, 2) from t", "log"),
    ("select log(x) from t", "log"),
    ("select generate_series(1, 10, 2)", "generate_series"),
    ("select unnest(range(1, 3))", "generate_series"),
    ("select quantile_disc(x, 0.5) from t", "percentile_disc"),
    ("select try_cast(x as bigint) from t", "try_cast"),
    ("select list_transform(x, y -> y + 1) from t", "transform"),
    ("select x from t where x ~ 'a'", "regexp_like"),
    ("select columns('x') from t", "columns"),
    ("select y from t, unnest(x) as u(y)", "unnest"),
    ("select random()", "rand"),
    ("select now()", "now"),
    ("with u as (select * from (select round(strftime(x, '%d'), 2) from t)) from u", "time_to_str"),
    ("select x from t where x in (select stats.fsum(hash(y)) from u)", "hash"),
]


@pytest.fixture(scope="module")
def duck() -> Iterator[DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(macros_sql())
        connection.execute("set timezone = 'UTC'")
        yield connection


def parsed(sql: str) -> exp.Expr:
    return sqlglot.parse_one(sql, dialect="duckdb")


def rows(table: pa.Table) -> list[list[Any]]:
    # `Table.to_pylist` would keep only one of several columns with the same name.
    return [list(row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


def in_duckdb(duck: DuckDBPyConnection, sql: str) -> list[list[Any]]:
    return rows(duck.sql(sql).to_arrow_table())


def in_spark(spark: "SparkSession", sql: str) -> list[list[Any]]:
    return rows(spark.sql(to_spark(parsed(sql), PLACE)).toArrow())


def are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(are_equal(*pair) for pair in zip(one, other, strict=True))
    if is_number(one) and is_number(other):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=RELATIVE)
    return type(one) is type(other) and one == other


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


@suites.of("long")
def test_all_views_and_queries_translate() -> None:
    """A file that does not translate has a line `engine` in its header, and no other file has one."""
    files = [*view_files(), *query_files()]
    assert len(files) > 300
    assert [str(finding) for finding in lint_translation(files)] == []


def test_lint_reports_what_does_not_translate() -> None:
    refused = query("select regexp_extract(status, 'a') as status from itp.job")
    declared = query("select job_id from itp.job", "-- engine: duckdb (nothing)\n")
    [of_refused, of_declared] = lint_translation([refused, declared])
    assert of_refused.place == "itp/status.sql"
    assert "regexp_extract does not translate to Spark" in of_refused.message
    assert of_declared.message == "translates to Spark: delete the line `-- engine`"
    ignored = query("select regexp_extract(status, 'a') as status from itp.job", "-- engine: duckdb (it)\n")
    assert [*lint_translation([ignored])] == []


def test_spark_parses_every_translation(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file for file in (*view_files(), *query_files()) if not file.header.one("engine")]
    assert {refusal for file in files if (refusal := explain_refusal(spark, file))} == set()
    # sqlglot writes a window with a name without parentheses.
    monkeypatch.setattr(lint, "translate_file", lambda _: "select sum(x) over w - x from t window w as ()")
    assert "INVALID_IDENTIFIER" in explain_refusal(spark, query("select 1 as x"))


def query(select: str, header: str = "") -> QueryFile:
    text = f"-- Statuses (ITP jobs)\n{header}create or replace macro itp.status() as table\n{select};\n"
    return parse_query_file(Path("itp/status.sql"), text, is_ours=True)


def test_every_transform_and_function_has_statements() -> None:
    assert list(TRANSFORMED) == [transform.construct for transform in TRANSFORMS]
    assert list(OTHER_REWRITES) == [construct for construct, *_ in dialect.OTHERS]
    assert CARRIED.keys() <= SAME
    for transform in TRANSFORMS:
        for sql in TRANSFORMED[transform.construct]:
            assert any(transform.apply(node) is not None for node in parsed(sql).walk()), sql
    for function, texts in CARRIED.items():
        for sql in texts:
            assert function in {type(node).__name__ for node in parsed(sql).walk()}, sql


def test_translated_sql_gives_the_same_rows(duck: DuckDBPyConnection, spark: "SparkSession") -> None:
    different = []
    for sql in EVERYWHERE:
        here, there = in_duckdb(duck, sql), in_spark(spark, sql)
        if not here or not are_equal(there, here):
            different.append(f"{sql}: Spark gives {there}, DuckDB {here}")
    assert not different, "\n".join(different)


def test_parameters_inside_aggregates_are_values(duck: DuckDBPyConnection, spark: "SparkSession") -> None:
    for sql in OTHER_REWRITES[WITH_PARAMETER]:
        carried = to_spark(parsed(sql), PLACE, ["p"])
        assert "arguments" in carried
        duck.execute(f"create or replace temp macro asked(p := 2) as table {sql}")
        spark.sql(
            f"create or replace temporary function asked(p int default 2) returns table return {carried}"
        )
        for argument in ("", "0", "null"):
            there = rows(spark.sql(f"select * from asked({argument})").toArrow())
            assert are_equal(there, in_duckdb(duck, f"from asked({argument})")), sql
        spark.sql("drop temporary function asked")
    for sql in (f"{TIED} select *, sum(x * p) over (order by x) as s from t", "select sum(p)"):
        with pytest.raises(DefinitionError, match=f"^{PLACE}: an aggregate uses the parameter p"):
            to_spark(parsed(sql), PLACE, ["p"])


def test_doubles_are_rounded_equally_except_next_to_ties(
    duck: DuckDBPyConnection, spark: "SparkSession"
) -> None:
    drawn = random.Random(7)
    any_size = [
        (drawn.uniform(-1, 1) * 10.0 ** drawn.randint(-12, 15), drawn.randint(-9, 12)) for _ in range(600)
    ]
    as_written = [(round(number, digits), digits) for number, digits in any_size]
    values = ", ".join(f"('{x!r}'::double, {n})" for x, n in [*any_size, *as_written])
    sql = f"select x, n, round(x, n) from (values {values}) as t(x, n) order by x, n"
    assert in_spark(spark, sql) == in_duckdb(duck, sql)


def test_refuses_constructs_that_may_differ() -> None:
    for sql, construct in REFUSED:
        with pytest.raises(DefinitionError) as refused:
            to_spark(parsed(sql), PLACE)
        assert str(refused.value).startswith(f"{PLACE}: {construct} does not translate to Spark"), sql


def test_values_that_differ_are_refused_at_run_time(spark: "SparkSession") -> None:
    for sql, message in (
        ("select log10(0)", NO_LOGARITHM),
        ("select log(2, '-1'::double)", NO_LOGARITHM),
        ("select ln(x) from (values (1), (0)) as t(x)", NO_LOGARITHM),
        ("select cast('1e20'::double as text)", OTHER_TEXT),
        ("select cast(x / 3 as text) from (values (1)) as t(x)", OTHER_TEXT),
        ("select cast(timestamptz '2023-03-01 20:00:00+00' as text)", OTHER_TEXT),
    ):
        with pytest.raises(UserError, match=message), explain_errors():
            in_spark(spark, sql)


def test_translation_does_not_change_its_input() -> None:
    tree = parsed(f"{TIED} select grouping(g) as g, round(sum(x) filter (where x > p), 2) from t group by g")
    before = tree.copy()
    to_spark(tree, PLACE, ["p"])
    assert tree == before


def test_statement_of_a_user_is_translated() -> None:
    """A statement reads only names that `register` then looks up: a path is a name that does not exist."""
    for text, translated, reads in (
        ("from itp.job limit 1", "SELECT * FROM itp.job LIMIT 1", {"itp.job"}),
        (
            "select * from itp.gpu_hours(min_gpus := 8)",
            "SELECT * FROM itp.GPU_HOURS(min_gpus => 8)",
            {"itp.gpu_hours"},
        ),
        (
            "select * from itp.gpu_hours(min_gpus => 8)",
            "SELECT * FROM itp.GPU_HOURS(min_gpus => 8)",
            {"itp.gpu_hours"},
        ),
        (
            "with a as (select stats.fsum(run_s) as s from ITP.job) select s from a",
            "WITH a AS (SELECT (SUM(run_s)) AS s FROM ITP.job) SELECT s FROM a",
            {"itp.job"},
        ),
        ('select * from parquet."/etc/x"', "SELECT * FROM parquet.`/etc/x`", {"parquet./etc/x"}),
    ):
        assert translate_statement(text) == (translated, frozenset(reads))
    for text, message in (
        ("select * from job", "add the schema to job"),
        ("describe itp.job", "Spark answers only queries"),
        ("drop table itp.job", "Spark answers only queries"),
        ("select * from read_parquet('x')", "read_parquet does not translate to Spark"),
        ("select * from query_table('itp.job')", "query_table does not translate to Spark"),
        ("select reflect('java.lang.Math', 'random')", "reflect does not translate to Spark"),
        ("select * from 'x.parquet'", "add the schema to x.parquet"),
        ("select 1 from itp.job where x like 'a\\_'", "like with a computed pattern"),
    ):
        with pytest.raises(UserError, match=message):
            translate_statement(text)


KINDS = {
    "VARCHAR": "STRING",
    "BIGINT": "BIGINT",
    "INTEGER": "INT",
    "DOUBLE": "DOUBLE",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMPTZ": "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE": "TIMESTAMP",
    "TIMESTAMP": "TIMESTAMP_NTZ",
    "DATE": "DATE",
    "VARCHAR[]": "ARRAY<STRING>",
    "BIGINT[]": "ARRAY<BIGINT>",
    "DOUBLE[]": "ARRAY<DOUBLE>",
}


def test_every_type_of_a_column_is_the_same_in_arrow(duck: DuckDBPyConnection, spark: "SparkSession") -> None:
    assert column_types.TYPES.keys() <= KINDS.keys()
    assert {kind: spark_type(kind) for kind in KINDS} == KINDS
    assert [spark_type(kind) for kind in ("HUGEINT", "HUGEINT[]", "JSON")] == [
        "BIGINT",
        "ARRAY<BIGINT>",
        "STRING",
    ]
    here = duck.sql("select " + ", ".join(f"null::{kind}" for kind in KINDS)).to_arrow_table()
    there = spark.sql("select " + ", ".join(f"cast(null as {name})" for name in KINDS.values())).toArrow()
    assert [element(kind) for kind in there.schema.types] == [element(kind) for kind in here.schema.types]


def element(kind: pa.DataType) -> tuple[bool, pa.DataType]:
    """Return a type without the name of list elements, which depends on the engine."""
    return (True, kind.value_type) if pa.types.is_list(kind) else (False, kind)
