"""Chart templates, from which a page draws the answers of a query to any parameters.

A template is the picture of the answer to the default parameters, and the SQL that selects the rows to draw
from another answer.
"""

from typing import Any

import duckdb

from tracehouse.core.text import quoted
from tracehouse.engines.duckdb.read import binding
from tracehouse.publish.columns import identifier
from tracehouse.publish.plot import pictures, rows, texts
from tracehouse.publish.plot.marks import LABEL
from tracehouse.publish.plot.rows import Drawable

PARAMETERS = "{parameters}"


def build_template(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    """The template of a query's chart, and the parameter that the chart sets.

    `spec` is the picture, `sql` selects rows from the relation `answer`, and `with` is the parameter. `lines`
    are the lines of the subtitle, with PARAMETERS in place of the parameters. `defaults` has the effective
    default parameters as texts by name. Raises UserError if the answer with default parameters cannot be
    drawn.
    """
    query = binding.bind_query(connection, name, {}, for_chart=True)
    found = rows.select_drawable(connection, query)
    about = texts.notes_on(connection, found)
    parameters = texts.describe_parameters(connection, name, {}, found.chart.parameter)
    spec = pictures.lay_out(connection, found, about, parameters, pictures.ANY_SIZE)
    labels = [row[LABEL] for row in spec["data"]["values"] if row.get(LABEL)]
    return {
        "spec": spec,
        "sql": _select_named_rows(found, labels),
        "with": found.chart.parameter,
        "lines": [*texts.write_subtitle(found, about, PARAMETERS), *texts.explain_marks(found)],
        "defaults": texts.effective_parameters(connection, name, {}),
    }


def _select_named_rows(found: Drawable, labels: list[str]) -> str:
    """The SQL of the rows with names of categories, and with the labels of the default answer."""
    names = [identifier(column) for column in found.rows[0] if found.is_category(column)]
    named = ", ".join(f"coalesce(cast({name} as varchar), 'NULL') as {name}" for name in names)
    label = ""
    if found.chart.labels:
        form = " / ".join("{:g}" for _ in found.chart.labels)
        values = ", ".join(f"cast({identifier(column)} as double)" for column in found.chart.labels)
        text = f"format('{form}', {values})"
        label = f", if({text} in ({', '.join(map(quoted, ['', *labels]))}), {text}, '') as {LABEL}"
    return f"select *{f' replace ({named})' if named else ''}{label} from ({found.sql})"
