"""Write a Superset bundle for a published file: database, datasets, charts, and one dashboard per trace.

    metadata.yaml                         the kind of bundle
    databases/tracehouse.yaml             the published file
    datasets/tracehouse/itp_job.yaml      a view, or an answer with a chart
    charts/itp_gpu_hours.yaml             an answer with a `-- chart:` line
    dashboards/itp.yaml                   the charts of a trace, and its caveats

A dataset is named `itp_job` instead of `job`, because Superset merges datasets with the same name.
Identifiers are derived from names, so that importing again updates the same objects.
"""

import io
import uuid
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from tracehouse.core.errors import UserError, check_installed
from tracehouse.core.text import quoted
from tracehouse.publish import output
from tracehouse.publish.bi.contents import Kind
from tracehouse.publish.bi.superset_charts import IN_ORDER, Answer, build_chart, build_layout
from tracehouse.publish.plot.rows import ordered_names, select_rows
from tracehouse.publish.plot.texts import axis_title
from tracehouse.sql.query_files import read_chart

DATABASE = "Tracehouse"
ROOT = "tracehouse"
# The label of NULL on an axis or in a legend.
UNNAMED = "not stated"

_VERSION = "1.0.0"
_NAMESPACE = uuid.UUID("6f4c3c1e-5d0b-5b0e-9c57-0a9a3c2f7d11")
# A constant time, so that equal content gives equal bytes.
_TIME = "2025-01-01T00:00:00+00:00"


def build_bundle(path: Path) -> tuple[bytes, list[str]]:
    """The bundle for a published file as a ZIP, and notes on answers left out."""
    check_installed("Superset's dashboards need", "bi", "yaml")
    from yaml import safe_dump

    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("set timezone = 'UTC'")
        answers = list(_answers(connection))
        drawn = [answer for answer in answers if answer.rows]
        files: dict[str, Any] = {
            "metadata.yaml": {"version": _VERSION, "type": "Dashboard", "timestamp": _TIME},
            "databases/tracehouse.yaml": _database(path),
        }
        for dataset in _datasets(connection, drawn):
            files[f"datasets/{ROOT}/{dataset['table_name']}.yaml"] = dataset
        for answer in drawn:
            files[f"charts/{dataset_name(answer.name)}.yaml"] = _chart(answer)
        for trace, title in _titles(connection).items():
            trace_answers = [answer for answer in drawn if answer.name.startswith(f"{trace}.")]
            if trace_answers:
                files[f"dashboards/{trace}.yaml"] = _dashboard(connection, trace, title, trace_answers)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            text = safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
            packed.writestr(zipfile.ZipInfo(f"{ROOT}/{name}"), text, zipfile.ZIP_DEFLATED)
    empty = [answer.name for answer in answers if not answer.rows]
    notes = [f"No chart, because the answer has no rows: {', '.join(empty)}"] if empty else []
    return archive.getvalue(), notes


def dataset_name(name: str) -> str:
    """The name of a dataset: `itp.job` is `itp_job`."""
    return name.replace(".", "_", 1)


def identifier(*parts: str) -> str:
    """The identifier derived from names."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts)))


def _database(path: Path) -> dict[str, Any]:
    if "?" in str(path.absolute()):
        raise UserError(f"{path}: Superset cannot open a file below a folder with ? in its name")
    return {
        "database_name": DATABASE,
        # SQLAlchemy 1.4 does not decode the path.
        "sqlalchemy_uri": f"duckdb:///{path.absolute()}",
        "expose_in_sqllab": True,
        "allow_run_async": False,
        "allow_ctas": False,
        "allow_cvas": False,
        "allow_dml": False,
        "extra": {
            "engine_params": {"connect_args": {"read_only": True}},
            "allows_virtual_table_explore": True,
        },
        "uuid": identifier("database"),
        "version": _VERSION,
    }


def _datasets(connection: duckdb.DuckDBPyConnection, drawn: Sequence[Answer]) -> Iterator[dict[str, Any]]:
    """A dataset for each answer with a chart, and for the newest version of each view.

    All other tables can be read in SQL Lab.
    """
    charted = {answer.name: answer for answer in drawn}
    columns: dict[str, list[dict[str, Any]]] = {}
    for name, column, kind, comment in connection.execute(
        """
        select schema_name || '.' || table_name, column_name, data_type, comment from duckdb_columns()
        where not internal
        order by schema_name, table_name, column_index
        """
    ).fetchall():
        columns.setdefault(name, []).append(_column(column, kind, comment or ""))
    for name, comment in connection.execute(
        """
        select name, comment from catalog.contents
        where
            list_contains($charted, name)
            or (kind = $view and same_as = '' and not regexp_matches(name, '_v[0-9]+$'))
        order by name
        """,
        {"charted": [*charted], "view": Kind.VIEW.value},
    ).fetchall():
        sql = f"select * from {name}"
        if name in charted:
            sql = _for_chart(charted[name])
            if charted[name].order:
                columns[name].append(_column(IN_ORDER, "VARCHAR", "Names on the x axis, sorted as drawn"))
        times = [column["column_name"] for column in columns[name] if column["is_dttm"]]
        yield {
            "table_name": dataset_name(name),
            "main_dttm_col": times[0] if times else None,
            "description": comment,
            "schema": name.partition(".")[0],
            "sql": sql,
            "filter_select_enabled": True,
            "uuid": identifier("dataset", name),
            "columns": columns[name],
            "metrics": [{"metric_name": "count", "verbose_name": "Rows", "expression": "count(*)"}],
            "version": _VERSION,
            "database_uuid": identifier("database"),
        }


def _for_chart(answer: Answer) -> str:
    """The SQL of the rows of an answer, with a label for NULL, and names on the x axis in the rows' order.

    Superset sorts these names as texts. To keep the order, a name begins with as many invisible spaces as
    there are names before it.
    """
    chart = read_chart(answer.line, answer.name)
    names = [column for column in (chart.x.column, chart.color) if answer.columns.get(column) == "VARCHAR"]
    named = ", ".join(f"coalesce({column}, '{UNNAMED}') as {column}" for column in dict.fromkeys(names))
    sql = f"select * replace ({named}) from {answer.name}" if named else f"select * from {answer.name}"
    if not answer.order:
        return sql
    in_order = ", ".join(quoted(name) for name in answer.order)
    x = chart.x.column
    mark = f"repeat(chr(8203), cast(list_position([{in_order}], {x}) as bigint))"
    return f"select *, {mark} || {x} as {IN_ORDER} from ({sql})"


def _column(name: str, kind: str, comment: str) -> dict[str, Any]:
    return {
        "column_name": name,
        "verbose_name": axis_title(name),
        "is_dttm": kind.startswith(("TIMESTAMP", "DATE")),
        "is_active": True,
        "type": kind,
        "groupby": True,
        "filterable": True,
        "description": comment,
    }


def _answers(connection: duckdb.DuckDBPyConnection) -> Iterator[Answer]:
    """The answers with a `-- chart:` line."""
    charted = connection.execute(
        """
        select queries.query_name, queries.title, queries.description, queries.chart, contents.row_count
        from catalog.queries as queries
        inner join catalog.contents as contents on queries.query_name = contents.name
        where queries.chart <> '' and contents.kind = $answer
        order by queries.query_name
        """,
        {"answer": Kind.ANSWER.value},
    ).fetchall()
    for name, title, description, line, rows in charted:
        columns = {column: kind for column, kind, *_ in connection.execute(f"describe {name}").fetchall()}
        aggregate, order = partial(_compute, connection, name), _order(connection, name, line, columns)
        yield Answer(name, title, description, line, rows, columns, aggregate, order)


def _order(
    connection: duckdb.DuckDBPyConnection, name: str, line: str, columns: Mapping[str, str]
) -> Sequence[str]:
    """The names on the x axis in the order of the answer; empty if they are sorted as texts already."""
    try:
        chart = read_chart(line, name)
        if chart.kind not in ("bar", "stack") or columns.get(chart.x.column) != "VARCHAR":
            return ()
        found = select_rows(connection.sql(f"from {name}").to_arrow_table(), chart, name, "")
    except UserError:
        # The file was published by a newer version, or has too few rows for a chart.
        return ()
    names = [UNNAMED if text == "NULL" else text for text in ordered_names(found, chart.x.column)]
    return () if names == sorted(names) else names


def _compute(connection: duckdb.DuckDBPyConnection, name: str, aggregate: str) -> int:
    """An aggregate over the rows of a table."""
    [(value,)] = connection.execute(f"select {aggregate} from {name}").fetchall()
    return value


def _chart(answer: Answer) -> dict[str, Any]:
    kind, params = build_chart(answer)
    return {
        "slice_name": answer.title,
        "description": answer.description,
        "viz_type": kind,
        "params": {"viz_type": kind, **params},
        "uuid": identifier("chart", answer.name),
        "version": _VERSION,
        "dataset_uuid": identifier("dataset", answer.name),
    }


def _titles(connection: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    titles = dict(connection.execute("select trace, title from catalog.traces order by trace").fetchall())
    return titles | {"unified": "All traces"}


def _dashboard(
    connection: duckdb.DuckDBPyConnection, trace: str, title: str, answers: Sequence[Answer]
) -> dict[str, Any]:
    return {
        "dashboard_title": title,
        "description": f"The named queries of {trace} with default parameters.",
        "slug": f"tracehouse-{trace}",
        "uuid": identifier("dashboard", trace),
        "position": build_layout(
            title,
            _caveats(connection, trace),
            [(identifier("chart", answer.name), answer.title) for answer in answers],
        ),
        "metadata": {"color_scheme": "", "refresh_frequency": 0, "cross_filters_enabled": False},
        "published": True,
        "version": _VERSION,
    }


def _caveats(connection: duckdb.DuckDBPyConnection, trace: str) -> str:
    """The caveats of a trace as Markdown; for `unified`, the caveats of its queries."""
    rows = connection.execute(
        """
        with with_data as (select trace from catalog.tables group by trace having sum(row_count) > 0),

        of_answers as (
            select distinct unnest(caveats) as caveat from catalog.queries where trace = $trace
        )

        select caveats.caveat, caveats.what_goes_wrong, caveats.what_to_do
        from catalog.caveats as caveats
        where
            caveats.trace = $trace
            or caveats.trace in (from with_data) and caveats.caveat in (from of_answers)
        order by caveats.caveat
        """,
        {"trace": trace},
    ).fetchall()
    synthetic = connection.execute(
        "select bool_or(synthetic) from catalog.tables where $trace in (trace, 'unified')", {"trace": trace}
    ).fetchall()
    lines = [f"- **{name}**: {wrong} {do}" for name, wrong, do in rows]
    if synthetic == [(True,)]:
        lines.insert(0, "- **synthetic data**: some rows were generated, not measured.")
    return "\n".join(["### Read before you cite", "", *lines])


def write_bundle(path: Path, target: Path) -> list[str]:
    """Write the bundle for a published file atomically, and return notes on it."""
    content, notes = build_bundle(path)
    with output.open_output(target, target.parent) as file:
        file.write_bytes(content)
    return notes
