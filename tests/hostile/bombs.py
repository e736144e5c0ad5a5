"""Statements that need much more memory than their limit, or crash a careless server."""

BOMBS = {
    "one long list": "select len(range(700000000))",
    "long texts": "select sum(length(repeat('x', 1000000000) || i::varchar)) from range(10) t(i)",
    "a list of rows": "select len(list(i)) from range(300000000) t(i)",
    "a text of rows": "select length(string_agg(i::varchar, ',')) from range(200000000) t(i)",
    "a histogram": "select histogram(i) from range(20000000) t(i)",
    "a map": "select cardinality(map_from_entries(list((i, i)))) from range(20000000) t(i)",
    "doubled texts": """
        with recursive t(n, s) as (select 1, 'x' union all select n + 1, s || s from t where n < 40)
        select max(length(s)) from t
    """,
    "a growing recursion": """
        with recursive t(n) as (
            select 1::bigint union select unnest([n * 2, n * 2 + 1]) from t where n < 100000000
        )
        select count(*) from t
    """,
    "a sorted list": "select len(list_sort(range(100000000)))",
    "a list of texts": "select len(list_transform(range(100000000), lambda x: x::varchar))",
    "a replaced text": "select length(regexp_replace(repeat('ab', 50000000), 'a', repeat('a', 20), 'g'))",
    "a split text": "select len(string_split(repeat('a,', 50000000), ','))",
    "parsed JSON": "select json_array_length(('[' || repeat('[1],', 30000000) || '1]')::json)",
    "JSON of rows": "select length(json_group_array(i)) from range(200000000) t(i)",
    "padded text": "select length(printf('%2000000000d', 1))",
    "nested lists": "select len(flatten(list_transform(range(10000), lambda x: range(100000))))",
    "quantiles": "select quantile_cont(i, [0.1, 0.5]), mode(i) from range(60000000) t(i)",
    "a window of lists": """
        select max(len(l)) from (select list(i) over (order by i) as l from range(100000) t(i))
    """,
    "wide rows": "select " + ", ".join(f"{n} as c{n}" for n in range(50_000)),
    "a wide pivot": """
        pivot (from range(1) t(i)) on i in ("""
    + ", ".join(map(str, range(50_000)))
    + """) using sum(i)
    """,
    "a long list of values": f"select 1 where 1 in ({', '.join(map(str, range(500_000)))})",
    "nested parentheses": f"select {'(' * 20_000}1{')' * 20_000}",
    "nested functions": f"select {'abs(' * 20_000}1{')' * 20_000}",
    "many operators": f"select {'1 + ' * 50_000}1",
    "nested subqueries": f"{'select * from (' * 3_000}select 1{')' * 3_000}",
    "many unions": " union all ".join(["select 1"] * 20_000),
}
"""The first two need 8 and 2 GB in one piece. Some others succeed if the limit is high enough."""

LARGE = "select range, repeat('x', 1000) as text, {'a': range, 'b': [range, range]} as s from range(300000)"
"""A large answer, for all formats."""
