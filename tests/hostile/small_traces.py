"""Two made-up traces with few columns. A process that knows only these traces builds a database quickly.

Two raw files belong to one table, one archive contains two tables, and two raw files are partitions of a wide
table. One materialized view has one file, the other has a file for each partition.
"""

import os
from pathlib import Path

from tracehouse.engines.duckdb.write import catalog, freshness, materialized_views, template
from tracehouse.ingest.declarations import Column, Table, Trace, Wide, all_traces
from tracehouse.sql.query_files import query_files
from tracehouse.views import ledgers
from tracehouse.views.view_files import view_files

COLUMNS = (Column("name", "VARCHAR", ""), Column("weight", "BIGINT", ""), Column("number", "DOUBLE", ""))
CELLS = (
    *(Column("time", "TIMESTAMPTZ", ""), Column("device", "VARCHAR", ""), Column("value", "DOUBLE", "")),
    Column("node", "VARCHAR", ""),
)


def _table(name: str, file_name: str, columns: tuple[Column, ...] = COLUMNS, **options: object) -> Table:
    return Table(name, "", "", "", file_name, columns, order_by=(columns[0].name,), **options)  # type: ignore[arg-type]


def _trace(name: str, *tables: Table) -> Trace:
    return Trace(name, "", "", "", "", "", "", tables)


TRACES = {
    "jobs": _trace(
        "jobs",
        _table("task", r"tasks_(?P<variant>\w+)\.csv", keys=(Column("variant", "VARCHAR", ""),)),
        _table("left", r"left\.csv", archive_stem="pair"),
        _table("right", r"right\.csv", archive_stem="pair"),
    ),
    "power": _trace(
        "power",
        _table(
            *("metric", r"metric\.csv", CELLS),
            wide=Wide("Time", r"(?P<node>n\d+)-\d"),
            folder=r"(?P<cluster>\w+)",
            keys=(Column("cluster", "VARCHAR", ""),),
            partition_by=("cluster",),
        ),
    ),
}
VIEWS = {
    "jobs/side.v1.sql": """-- Rows of both tables.
-- grain: one row per side
-- source: made up
-- materialize: parquet by side
create or replace view jobs.side_v1 as
select 'left' as side, count(*) as entries, max(number) as largest from jobs.left
union all
select 'right' as side, count(*) as entries, max(number) as largest from jobs.right;
""",
    "jobs/half.v1.sql": """-- Half of each number.
-- grain: one row per name
-- source: made up
create or replace view jobs.half_v1 as
select name, number / 2 as half from jobs.task;
""",
    "power/total.v1.sql": """-- Cells of each cluster.
-- grain: one row per cluster
-- source: made up
-- materialize: parquet per partition by cluster
create or replace view power.total_v1 as
select cluster, count(*) as samples, max(value) as largest from power.metric group by cluster;
""",
}


def install(folder: Path) -> None:
    """Replace the traces and views of this process by those above. SQL files and caches are in `folder`."""
    definitions = freshness.hash_definitions()
    traces = all_traces()
    traces.clear()
    traces.update(TRACES)
    for name, text in VIEWS.items():
        (folder / "views" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "views" / name).write_text(text)
    # Other modules have imported these functions and call them without arguments, so change their defaults.
    view_files.__defaults__ = (folder / "views",)
    query_files.__defaults__ = (folder / "queries",)
    ledgers._read_ledger = lambda *_: iter(())
    for name in ("fill_columns", "create_checks", "fill_metrics", "_check_rule"):
        setattr(catalog, name, lambda *_: None)
    for module in (freshness, template):
        module.hash_definitions = lambda: definitions
    materialized_views.LEAST_ROWS = materialized_views.LEAST_FREE_BYTES = 0
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
