"""The SQL behind `traces list`. This module imports nothing heavy, so that `--help` stays fast."""

from enum import StrEnum


class Kind(StrEnum):
    """A kind of object that `traces list` lists."""

    TRACES = "traces"
    TABLES = "tables"
    VIEWS = "views"
    QUERIES = "queries"


def parse_kind(text: str) -> Kind | None:
    """The kind with this name, also in the singular; None for another text."""
    return next((kind for kind in Kind if text in (kind, kind[:-1], f"{kind[:-3]}y")), None)


# The columns of each list that a narrow terminal shows: the name first, the longest texts last.
BRIEF = {
    Kind.TRACES: ("trace", "data", "row_count", "title"),
    Kind.TABLES: ("table_name", "data", "row_count", "grain"),
    Kind.VIEWS: ("view_name", "version", "status", "title"),
    Kind.QUERIES: ("query_name", "title"),
}

LISTS = {
    Kind.TRACES: """
        select
            traces.trace,
            traces.title,
            case
                when sum(tables.row_count) = 0 then 'no data'
                when
                    bool_or(tables.synthetic)
                    and bool_or(table_name in (select table_name from catalog.sources where not synthetic))
                    then 'partly synthetic'
                when bool_or(tables.synthetic) then 'synthetic'
                when min(tables.row_count) = 0 then 'some tables'
                else 'all tables'
            end as data,
            cast(sum(tables.row_count) as bigint) as row_count,
            string_agg(distinct tables.tried_on, ', ' order by tables.tried_on desc) as tried_on,
            traces.licence
        from catalog.traces as traces
        inner join catalog.tables as tables on traces.trace = tables.trace
        group by traces.trace, traces.title, traces.licence
        order by traces.trace
        """,
    Kind.TABLES: """
        select
            table_name,
            case
                when row_count = 0 then 'no data'
                when synthetic and table_name in (select table_name from catalog.sources where not synthetic)
                    then 'partly synthetic'
                when synthetic then 'synthetic'
                else 'published'
            end as data,
            row_count,
            bytes,
            tried_on,
            grain
        from catalog.tables
        order by table_name
        """,
    Kind.VIEWS: """
        select view_name, version, status, title, grain
        from catalog.views
        where is_current
        order by view_name
        """,
    Kind.QUERIES: """
        select
            queries.query_name,
            queries.title,
            coalesce(
                string_agg(
                    parameters.parameter || '=' || parameters.default_value, ' ' order by parameters.position
                ),
                ''
            ) as parameters
        from catalog.queries as queries
        left join catalog.query_parameters as parameters on queries.query_name = parameters.query_name
        group by queries.query_name, queries.title
        order by queries.query_name
        """,
}
