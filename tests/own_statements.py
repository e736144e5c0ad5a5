"""Random statements for the user's own views and queries, many of which only DuckDB understands."""

import random
from collections.abc import Iterator

# What the statements read: a base table, a view and a named query, with some of their columns.
TABLE = ("openb.node", ("sn", "gpu", "cpu_milli", "model"))
VIEW = ("openb.capacity", ("node_list", "model", "gpus"))
QUERY = ("openb.capacity_by_model()", ("model", "nodes", "gpus"))
# Views and queries that `FIRST` creates, which the others read.
OWN_VIEW = ("mine.first", ("sn", "gpu", "odd name"))
OWN_QUERY = ("mine.limited(at_least := 0)", ("sn", "gpu"))
RELATIONS = (TABLE, VIEW, QUERY, OWN_VIEW, OWN_QUERY)

FIRST = {
    "views/mine/first.v1.sql": "create view mine.first_v1 as\n"
    'select sn, gpu, cpu_milli as "odd name" from openb.node',
    "sql/mine/limited.sql": "create macro mine.limited(\n-- [0 to 8]\nat_least integer := 0) as table\n"
    "select sn, gpu from openb.node where gpu >= at_least",
}


def bodies(seed: int, number: int) -> list[str]:
    """Return some queries. Each kind occurs before any occurs again."""
    draw = random.Random(seed)
    return [KINDS[place % len(KINDS)](draw) for place in range(number)]


def source(draw: random.Random, depth: int = 2) -> tuple[str, str, list[str]]:
    """Return a source of rows with its alias, the alias, and the names of columns, quoted if necessary."""
    alias = f"t{draw.randrange(10_000)}"
    if depth and draw.random() < 0.35:
        inner, name, columns = source(draw, depth - 1)
        kept = draw.sample(columns, draw.randint(1, len(columns)))
        listed = ", ".join(f"{name}.{column}" for column in kept)
        return f"(select {listed} from {inner}) as {alias}", alias, kept
    relation, columns = draw.choice(RELATIONS)
    if draw.random() < 0.2:
        relation = relation.upper() if "(" not in relation else relation
    return f"{relation} as {alias}", alias, [quoted(column) for column in columns]


def quoted(column: str) -> str:
    return column if column.isidentifier() else f'"{column}"'


def value(draw: random.Random, alias: str, columns: list[str]) -> str:
    """Return an expression of a column."""
    column = f"{alias}.{draw.choice(columns)}"
    return draw.choice(
        (
            column,
            f"cast({column} as varchar)",
            f"coalesce(cast({column} as varchar), 'none')",
            f"case when {column} is null then 0 else 1 end",
            f"list_transform([{column}], lambda x: x)",
            f"[x for x in [{column}] if x is not null]",
            f"{{'a': {column}, 'b': 1}}",
            f"({{'a': {column}}}).a",
            f"map {{'a': {column}}}",
            f"map {{'a': {column}}}['a']",
            f"[{column}][1:2]",
            f"struct_pack(a := {column})",
            f"row({column}, 1)",
            f"({column}, 'b')",
            f"try_cast({column} as integer)",
            f"({column}::varchar)[:2]",
            f"(select {column})",
            f"{column} is not distinct from {column}",
            f"cast({column} as varchar) in ('a', 'b')",
            f"exists (select 1 from openb.node as inside where inside.sn = cast({column} as varchar))",
            f"count(*) over (partition by {column})",
            f"row_number() over (order by {column} desc nulls last)",
            f"lag({column}, 1) over (order by {column} rows between 1 preceding and current row)",
            f"first({column}) over w",
            "'it''s'",
            "e'\\n'",
            "$$ text $$",
            "1_000",
            "date '2020-01-01' + interval 1 day",
            "current_date",
            "random()",
            "#1",
            alias,
        )
    )


def select(draw: random.Random) -> str:
    text, alias, columns = source(draw)
    listed = ", ".join(value(draw, alias, columns) for _ in range(draw.randint(1, 3)))
    window = f" window w as (order by {alias}.{columns[0]})" if "over w" in listed else ""
    return f"select {draw.choice(('', 'distinct ', 'all '))}{listed} from {text}{window}"


def from_first(draw: random.Random) -> str:
    text, alias, columns = source(draw)
    tail = draw.choice(
        ("", f" select {alias}.{columns[0]}", f" where {alias}.{columns[0]} is not null", " limit 1")
    )
    return f"from {text}{tail}"


def values(draw: random.Random) -> str:
    return draw.choice(
        (
            "values (1, 'a'), (2, 'b')",
            "(values (1))",
            "select * from (values (1, 'a')) as v(x, y)",
            "from (values (1)) as v(x) select x, x + 1 as y",
            "with v(x) as (values (1), (2)) from v",
            "with v(x) as materialized (values (1), (2)) select x from v order by all",
        )
    )


def star(draw: random.Random) -> str:
    text, alias, columns = source(draw)
    column = columns[0]
    return draw.choice(
        (
            f"select * from {text}",
            f"select {alias}.* from {text}",
            f"select * exclude ({column}) from {text}" if len(columns) > 1 else f"select * from {text}",
            f"select * replace (1 as {column}) from {text}",
            f"select * rename ({column} as renamed) from {text}",
            f"select columns(*) from {text}",
            f"select min(columns(*)) from {text}",
            f"select columns('.*e.*') from {text}",
            f"select columns(lambda c: c like '%e%') from {text}",
            "select coalesce(*columns(*)) from (select 1 as a, 2 as b)",
            f"select unnest({{'a': {alias}.{column}, 'b': 2}}) from {text}",
            f"select s.* from (select {{'a': {alias}.{column}}} as s from {text})",
            f"select {alias} from {text}",
            f"select count(*), count({alias}) from {text}",
            f"select * like '%e%' from {text}",
        )
    )


def join(draw: random.Random) -> str:
    left, a, of_left = source(draw, 1)
    right, b, of_right = source(draw, 1)
    x, y = f"{a}.{of_left[0]}", f"{b}.{of_right[0]}"
    on = f"cast({x} as varchar) = cast({y} as varchar)"
    return draw.choice(
        (
            f"select {x} from {left} join {right} on {on}",
            f"select {x}, {y} as y from {left} full outer join {right} on {on}",
            f"select {x} from {left} semi join {right} on {on}",
            f"select {x} from {left} anti join {right} on {on}",
            f"select * from {left} positional join {right}",
            f"select * from {left} natural join {right}",
            f"select * from {left} cross join {right}",
            f"select {x} from {left}, {right}",
            f"select {x} from {left} asof left join {right} on cast({x} as varchar) >= cast({y} as varchar)",
            f"select * from {left} join {left.split(' as ')[0]} as again using ({of_left[0]})"
            if left[0] != "("
            else f"select * from {left}",
            f"select {x}, i.n from {left}, lateral (select count(*) as n from {right} where {on}) as i",
            f"select {x}, u from {left}, unnest([{x}, {x}]) as v(u)",
            f"select {x}, unnest([1, 2]) as u from {left}",
            f"select {x} from {left} where {x} in (from {right} select {y})",
            f"select {x}, (select max({y}) from {right}) as highest from {left}",
        )
    )


def sets(draw: random.Random) -> str:
    left, a, of_left = source(draw, 1)
    right, b, of_right = source(draw, 1)
    x = f"select cast({a}.{of_left[0]} as varchar) as x from {left}"
    y = f"select cast({b}.{of_right[0]} as varchar) as y from {right}"
    return draw.choice(
        (
            f"{x} union {y}",
            f"{x} union all {y} order by 1 limit 3",
            f"({x}) union all ({y})",
            f"({x} limit 1) except all {y}",
            f"{x} intersect {y}",
            f"{x} union by name {y}",
            f"from ({x}) union all by name (from ({y}))",
            f"({x})",
            f"(({x}))",
            f"with a as ({x}), b as ({y}) from a union all from b",
        )
    )


def pivots(draw: random.Random) -> str:
    text, _, columns = source(draw, 0)
    key, number = columns[0], columns[-1]
    return draw.choice(
        (
            f"pivot {text} on {key} in ('a', 'b') using count(*)",
            f"pivot (from {text}) on {key} in ('a', 'b') using max({number}) group by {number}",
            f"pivot {text} on {key} using count(*)",
            f"from {text} pivot (count(*) for {key} in ('a', 'b'))",
            f"select * from (pivot {text} on {key} in ('a') using count(*)) as p",
            "unpivot openb.node on gpu, cpu_milli into name what value amount",
            "unpivot openb.node on columns('cpu.*') into name what value amount",
            "from openb.node unpivot (amount for what in (gpu, cpu_milli))",
            "with p as (pivot openb.node on sn in ('a') using sum(gpu)) from p",
        )
    )


def shows(draw: random.Random) -> str:
    text, _, _ = source(draw, 0)
    relation = text.partition(" as ")[0]
    return draw.choice(
        (
            f"describe {relation}",
            f"summarize {relation}" if "(" not in relation else f"summarize from {relation}",
            f"describe from {relation}",
            f"from (describe from {relation}) select column_name",
            f"select * from (summarize from {relation})",
            "show tables",
            "show all tables",
        )
    )


def groups(draw: random.Random) -> str:
    text, alias, columns = source(draw)
    x, y = f"{alias}.{columns[0]}", f"{alias}.{columns[-1]}"
    return draw.choice(
        (
            f"select {x}, count(*) as n from {text} group by all having n > 0 order by all",
            f"select {x}, {y} as y, count(*) from {text} group by grouping sets (({x}), ({y}), ())",
            f"select {x}, grouping({x}) as g from {text} group by rollup ({x})",
            f"select {x}, {y} as y, count(*) filter (where {x} = 'a') from {text} group by cube ({x}, {y})",
            f"select {x}, row_number() over (order by {y}) as r from {text} qualify r = 1",
            f"select arg_max({x}, {y}), list({x} order by {y} desc), quantile_disc({y}, 0.5) from {text}",
            f"select string_agg(cast({x} as varchar), ',' order by {y}) as s from {text}",
            f"select mode({x}), histogram({x}), approx_count_distinct({y}) from {text}",
            f"select stats.fsum(1.0) as total, stats.percentiles(2.0).p95 as p95 from {text}",
            f"select {x} as again, again as twice from {text} where again is not null",
        )
    )


def recursive(draw: random.Random) -> str:
    text, alias, columns = source(draw, 0)
    return draw.choice(
        (
            "with recursive n as (select 1 as i union all select i + 1 from n where i < 5) from n",
            f"with recursive n(i) as (select 1 union all select i + 1 from n where i < 3) "
            f"select n.i, {alias}.{columns[0]} from n, {text}",
            "with recursive n(i, s) using key (i) as (select 1, 'a' union select i, s || 'b' from n "
            "where length(s) < 3) from n",
            "with recursive a as (select sn from openb.node), b as (select sn from a) select sn from b",
            f"with a as (select {alias}.{columns[0]} as x from {text}), b as (from a) select x, x y from b",
        )
    )


def samples(draw: random.Random) -> str:
    text, alias, columns = source(draw)
    return draw.choice(
        (
            f"select {alias}.{columns[0]} from {text} limit 40%",
            f"from {text} limit 1 offset 1",
            f"from {text} using sample 50 percent (bernoulli)",
            f"select {alias}.{columns[0]} from {text} tablesample reservoir (1 rows) repeatable (3)",
            f"from {text} order by all desc nulls first",
            f"select distinct on ({alias}.{columns[0]}) * from {text}",
        )
    )


def functions(draw: random.Random) -> str:
    return draw.choice(
        (
            "from range(3)",
            "from generate_series(1, 3) as g(i)",
            "select i from range(3) as r(i) where i in (from range(2))",
            "from unnest([1, 2]) as u(x)",
            "select unnest([{'a': 1, 'b': 2}], recursive := true)",
            "from repeat_row(1, 'a', num_rows := 2)",
            "from query_table('openb.node') select gpu",
            "from query('select gpu from openb.node')",
            "from json_each('[1, 2]')",
            "from duckdb_tables() select table_name",
            "from information_schema.tables select table_name",
            "from stats.cdf_points('openb.node', model, gpu, 1)",
            "with rows as (select 'a' as k, 1.0 as v, 1 as w) from stats.cdf_points('rows', k, v, w)",
            "from openb.capacity_by_model() as first join openb.capacity_by_model() as second using (model)",
            "select model, nodes from (from openb.capacity_by_model()) where nodes > 0",
            "from mine.limited(at_least := (select 1))",
            "from openb.fragmentation_of(residual_table := 'openb.empty_residual', in_variant := 'default')",
            "select (from mine.limited(at_least := 8) select count(*)) as n",
        )
    )


def fails_when_run(draw: random.Random) -> str:
    return draw.choice(
        (
            "select cast(sn as integer) as number from openb.node",
            "select error('no') as e from openb.node",
            "select 1 // (gpu - gpu) as x, cast('x' || sn as date) as d from openb.node",
            "select unnest(range(gpu)), (select sn from openb.node) as several from openb.node",
        )
    )


def invalid(draw: random.Random) -> str:
    return draw.choice(
        (
            "select nosuch from openb.node",
            "select sn from nosuch.node",
            "select sn from node",
            "select 1 1 1",
            "selec 1",
            "delete from openb.node",
            "with d as (delete from openb.node returning *) from d",
            "select 1; drop schema itp cascade",
            "select 1) as x; select (2",
            "select '",
            'select "',
            "select /* ",
            "select $$ ",
            "",
            "select * from openb.nosuch()",
            "from mine.limited(nosuch := 1)",
            "from nosuch()",
            "select ?",
            "select $1",
            "from 'nosuch.csv'",
            f"select {'(' * 300}1{')' * 300}",
            f"select {' + '.join('1' * 3000)}",
            "select \x01",
            "select 'ünï' as \"ñ 'x' \"\"y\"\"\"; comment on column mine.x_v1.y is 'z'",
        )
    )


KINDS = (
    *(select, select, from_first, values, star, star, join, join, sets, pivots, shows, groups, groups),
    *(recursive, samples, functions, functions, fails_when_run, invalid),
)


def files(seed: int, number: int) -> Iterator[tuple[str, str, str]]:
    """Yield the path of a file in `local`, its text, and its query: views and queries in turn."""
    for place, body in enumerate(bodies(seed, number)):
        if place % 2:
            yield f"views/mine/v{place}.v1.sql", f"create view mine.v{place}_v1 as\n{body}\n", body
        else:
            head = f"create macro mine.q{place}("
            limited = "\n-- smallest [0 to 9]\nleast_number integer := 1, of_kind varchar := 'a, b'"
            parameters = limited if place % 4 else ""
            yield f"sql/mine/q{place}.sql", f"-- Query {place}\n{head}{parameters}) as table\n{body}\n;", body
