"""Each static rule finds its mistake, and the definitions of the package have none."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracehouse.definitions.figures import Figure
from tracehouse.definitions.lint.read import Definitions, read
from tracehouse.definitions.lint.run import lint, lint_all
from tracehouse.definitions.query_files import parse_query_file
from tracehouse.definitions.view_files import parsed_view_file
from tracehouse.ingest.declare.metadata import Caveat, MetricSupport
from tracehouse.ingest.declare.trace import Column, Reference, Requests, Trace, Wide, all_traces

ITP = all_traces()["itp"]
MOONCAKE = all_traces()["mooncake"]
RAW_REQUEST = MOONCAKE.table("raw_request")
KIND = Column("kind", "VARCHAR", "Kind", pattern="[ab]")
RAW_JOB = ITP.tables[0]
CAVEAT = Caveat("itp.new", "background", "Short.", "Wrong.", "Nothing.", "measured: here")
FIGURE = Figure(
    "itp.jobs",
    "itp",
    "There are 12 jobs.",
    "equal",
    12,
    "jobs",
    0,
    "select count(*) from itp.job",
    "",
    None,
    None,
    "",
)
VIEW = """\
-- Jobs that are long.
-- grain: one row per job
-- source: README
-- caveat: itp.no_wait: job_id
create or replace view itp.long_v1 as
select job_id, duration from itp.raw_job;
comment on column itp.long_v1.job_id is 'Job; measured.';
"""
QUERY = """\
-- Jobs by size (ITP jobs)
-- chart: bar x=size y=jobs
-- column: jobs: Jobs of that size
create or replace macro itp.by_size(
    -- cluster [itp.raw_job.source_file]
    on_cluster varchar := 'cluster01',
    -- largest size [1 to 64]
    max_gpus integer := 64
) as table
select num_gpu as size, count(*) as jobs from itp.raw_job group by num_gpu;
"""

BELOW_A_VIEW = """\
num_gpu integer := 64
) as table
select requested_gpus as size, count(*) as jobs from itp.job where requested_gpus = num_gpu group by size;
"""


@pytest.fixture(scope="module")
def definitions() -> Definitions:
    found, invalid = read()
    assert invalid == []
    of_itp = {
        "views": [view for view in found.views if view.schema == "itp"],
        "queries": [query for query in found.queries if query.schema == "itp"],
    }
    return replace(found, traces=[ITP], figures=[FIGURE], **of_itp)


def trace(**changes: Any) -> Trace:
    return replace(ITP, **changes)


def table(**changes: Any) -> Trace:
    return trace(tables=(replace(RAW_JOB, **changes), *ITP.tables[1:]))


def of_trace(changed: Trace) -> Callable[[Definitions], Definitions]:
    return lambda definitions: replace(definitions, traces=[changed])


def of_view(old: str, new: str) -> Callable[[Definitions], Definitions]:
    file = parsed_view_file(Path("itp/long.v1.sql"), VIEW.replace(old, new))
    return lambda definitions: replace(definitions, views=[*definitions.views, file])


def of_query(old: str, new: str) -> Callable[[Definitions], Definitions]:
    file = parse_query_file(Path("itp/by_size.sql"), QUERY.replace(old, new), is_ours=True)
    return lambda definitions: replace(definitions, queries=[*definitions.queries, file])


def of_figure(**changes: Any) -> Callable[[Definitions], Definitions]:
    return lambda definitions: replace(definitions, figures=[replace(FIGURE, **changes)])


def with_column(**changes: Any) -> Trace:
    return table(columns=(replace(RAW_JOB.columns[0], **changes), *RAW_JOB.columns[1:]))


def of_a_query_that_reads_a_draft(definitions: Definitions) -> Definitions:
    return of_query("from itp.raw_job group", "from itp.long group")(of_view("", "")(definitions))


MISTAKES = [
    (
        "version",
        "reads itp.long, a draft: release it with `python -m tracehouse.definitions.versions itp.long_v1`",
        of_a_query_that_reads_a_draft,
    ),
    (
        "column name",
        "`key` of raw_job names jobid, which is not a column. Did you mean job_id?",
        of_trace(table(key=("jobid",))),
    ),
    ("column name", "`order_by` of raw_job names time", of_trace(table(order_by=("-time",)))),
    (
        "column name",
        "`references to pod` of raw_job names pod",
        of_trace(table(references=(Reference(("pod",), "pod"),))),
    ),
    (
        "column name",
        "`requests` names submitted_time, which is not in the trace. Did you mean submission_time?",
        of_trace(trace(requests=Requests("raw_job", "submitted_time"))),
    ),
    ("keys", "must be the named groups of `file_name` and `folder`", of_trace(table(keys=()))),
    (
        "sample",
        "samples of raw_request.kind do not match its pattern: declare `examples`",
        of_trace(
            replace(MOONCAKE, tables=(replace(RAW_REQUEST, columns=(*RAW_REQUEST.columns, KIND)),)),
        ),
    ),
    (
        "sample",
        "workload, a key in its file names, has no `examples`: declare them, or write samples/traces/moon",
        of_trace(
            replace(MOONCAKE, tables=(replace(MOONCAKE.tables[0], file_name=r"(?P<workload>\w+)\.jsonl"),))
        ),
    ),
    (
        "columns",
        "must be those of its cells: job, name, value",
        of_trace(
            replace(
                MOONCAKE,
                tables=(
                    replace(
                        MOONCAKE.tables[0],
                        wide=Wide("", r"\d+", index="job", variable="name", value="value"),
                    ),
                ),
            )
        ),
    ),
    ("documented", "the table raw_job needs a value of `grain`", of_trace(table(grain=""))),
    ("comment", "the comment on raw_job.job_id must be its meaning", of_trace(with_column(comment="Id."))),
    ("comment", "the comment on raw_job.job_id must be its meaning", of_trace(with_column(comment=""))),
    ("clock", "raw_job.submission_time is a time", of_trace(trace(clock=None))),
    (
        "columns",
        "raw_job has the column job_id twice",
        of_trace(table(columns=(*RAW_JOB.columns, RAW_JOB.columns[0]))),
    ),
    ("name", "has the name of the table", of_trace(table(name="job"))),
    (
        "caveat name",
        "name the caveat `itp.<word>`",
        of_trace(table(caveats=(replace(CAVEAT, name="new"),))),
    ),
    (
        "documented",
        "itp.new needs all its texts",
        of_trace(table(caveats=(replace(CAVEAT, summary="s" * 101),))),
    ),
    (
        "column name",
        "itp.new concerns itp.raw_job.gpu",
        of_trace(trace(caveats=(replace(CAVEAT, concerns=("itp.raw_job.gpu",)),))),
    ),
    (
        "metric",
        "no metric is called waits. Did you mean wait?",
        of_trace(trace(metrics=(MetricSupport("waits", "exact", "S."),))),
    ),
    (
        "metric",
        "the reason of wait must end with a full stop",
        of_trace(trace(metrics=(MetricSupport("wait", "exact", "s"),))),
    ),
    (
        "metric",
        "no view or query answers wait: add `-- answers: wait` to the header",
        of_trace(trace(metrics=(MetricSupport("wait", "exact", "S."),))),
    ),
    (
        "metric",
        "answers wait, which itp does not support",
        of_view("-- caveat", "-- answers: wait\n-- caveat"),
    ),
    (
        "metric",
        "answers runs, which itp does not support. Did you mean run?",
        of_query("-- chart", "-- answers: runs\n-- chart"),
    ),
    (
        "metric",
        "answers run, as itp.by_size does: remove one of the two",
        of_query("-- chart", "-- answers: run, submission\n-- chart"),
    ),
    (
        "metric",
        "start_time suggests the metric wait: declare",
        of_trace(with_column(name="start_time")),
    ),
    (
        "metric",
        "failed_pct measures the metric final state, which itp does not declare",
        of_query("count(*) as jobs", "count(*) as failed_pct"),
    ),
    (
        "column name",
        "names start_time, which is no column",
        of_trace(trace(metrics=(MetricSupport("wait", "impossible", "No start_time."),))),
    ),
    (
        "caveat name",
        "no caveat is called itp.no_waits. Did you mean itp.no_wait?",
        of_view("itp.no_wait", "itp.no_waits"),
    ),
    (
        "resolved caveat",
        "resolves itp.deadline_synthetic, which no column that it reads has",
        of_view("-- caveat: itp.no_wait: job_id", "-- resolves_caveat: itp.deadline_synthetic"),
    ),
    (
        "resolved caveat",
        "resolves itp.min_duration_600, which no column that it reads has",
        of_query("-- chart", "-- resolves_caveat: itp.min_duration_600\n-- chart"),
    ),
    (
        "caveat name",
        "no caveat is called itp.no_waits. Did you mean itp.no_wait?",
        of_query("-- chart", "-- resolves_caveat: itp.no_waits\n-- chart"),
    ),
    ("column name", "`caveat` names job, which is not a column", of_view("wait: job_id", "wait: job")),
    ("column name", "no column id to comment on", of_view("v1.job_id is", "v1.id is")),
    (
        "reads",
        "reads itp.raw_jobs, which does not exist. Did you mean itp.raw_job?",
        of_view("from itp.raw_job", "from itp.raw_jobs"),
    ),
    ("documented", "the header needs a line `-- grain: …`", of_view("-- grain: one row per job\n", "")),
    ("title", "the first line must be the title", of_view("-- Jobs that are long.\n", "")),
    ("capital letters", "write DURATION in lower case", of_view("duration from", "DURATION from")),
    ("comment", "begin each line of a comment with --", of_view("duration from", "duration /* run */ from")),
    (
        "chart key",
        "a heat chart ignores `rule=`: it uses x, y, color, facet, with, xname, yname, count",
        of_query("bar x=size y=jobs", "heat x=size y=jobs color=jobs rule=jobs"),
    ),
    (
        "chart key",
        "a box chart ignores `color=`",
        of_query("bar x=size y=jobs", "box x=size y=jobs color=size"),
    ),
    ("chart column", "`chart` names gpus, which the query does not return", of_query("x=size", "x=gpus")),
    (
        "column column",
        "`column` names job, which the query does not return",
        of_query("column: jobs", "column: job"),
    ),
    ("title", "must be a noun phrase", of_query("Jobs by size (ITP jobs)", "How many jobs are there?")),
    (
        "title",
        "the population in the parentheses of the title must name itp",
        of_query("(ITP jobs)", "(jobs)"),
    ),
    (
        "title",
        "has the same title as",
        of_query("Jobs by size (ITP jobs)", "Jobs and GPU-hours by cluster (ITP jobs)"),
    ),
    ("parameter", "the default of max_gpus, 65, is outside its limit", of_query(":= 64", ":= 65")),
    (
        "parameter",
        "the parameter Duration has the name of the column itp.raw_job.duration",
        of_query("max_gpus", "Duration"),
    ),
    (
        "parameter",
        "the parameter num_gpu has the name of the column itp.elasticflow_job.num_gpu",
        of_query(QUERY[QUERY.index("max_gpus") :], BELOW_A_VIEW),
    ),
    (
        "column name",
        "on_cluster takes its values from itp.raw_job.cluster",
        of_query("source_file]", "cluster]"),
    ),
    (
        "unit",
        "no unit of longest is known",
        of_view("job_id, duration", "job_id, round(duration / 60) as longest"),
    ),
    ("unit", "no unit of found is known", of_query("count(*) as jobs", "count(*) as found")),
    (
        "column name",
        "reads the column durations, which does not exist. Did you mean duration?",
        of_view("select job_id, duration", "select job_id, durations as duration"),
    ),
    (
        "columns",
        "Unknown column: num_gpus",
        of_query("select num_gpu as size", "select raw_job.num_gpus as size"),
    ),
    ("unit", "no unit of found is known", of_query("count(*) as jobs", "count_if(num_gpu > 1) as found")),
    ("unit", "no unit of last is known", of_view("job_id, duration", "job_id, max(num_gpu) + 1 as last")),
    ("unit", "no unit of place is known", of_query("count(*) as jobs", "row_number() over () as place")),
    (
        "meaning",
        "add a line `-- column: longest_s: <meaning>`",
        of_query("count(*) as jobs", "count(*) as jobs, max(duration) as longest_s"),
    ),
    (
        "columns",
        "calls no macro of macros.sql",
        of_view("job_id, duration", "stats.nothing(job_id) as job_id"),
    ),
    (
        "figure value",
        "the statement must contain the value, as 12",
        of_figure(statement="There are twelve jobs."),
    ),
    ("figure value", "needs a unit", of_figure(unit="")),
    ("unit", "write the unit as percent", of_figure(unit="%")),
    ("figure value", "value and tolerance must be finite", of_figure(tolerance=-1)),
    ("figure name", "the name of a figure begins with itp.", of_figure(name="jobs")),
    ("figure SQL", "`measured_by` must be one select", of_figure(measured_by="drop table itp.job")),
    ("figure SQL", "`measured_by` is not valid SQL", of_figure(measured_by="select from where")),
    ("figure SQL", "an expected figure needs `measured_by`", of_figure(measured_by="")),
    ("reads", "`measured_by` reads itp.jobs", of_figure(measured_by="select count(*) from itp.jobs")),
    ("figure explanation", "an explained figure needs all of", of_figure(explained_value=13)),
    (
        "figure explanation",
        "must be finite, the tolerance at least 0",
        of_figure(explanation="Why.", explained_value=13, explained_tolerance=-1),
    ),
    (
        "figure explanation",
        "the explained value reproduces the figure: leave it empty",
        of_figure(explanation="Why.", explained_value=12, explained_tolerance=0),
    ),
    ("figure file", "no table is read from jobs.csv", of_figure(needs_file="jobs.csv")),
]


def test_each_rule_finds_its_mistake(definitions: Definitions) -> None:
    before = {str(finding) for finding in lint_all(definitions)}
    missed = []
    for rule, message, change in MISTAKES:
        found = [one for one in lint_all(change(definitions)) if str(one) not in before]
        if not any(one.rule == rule and message in one.message for one in found):
            missed.append((rule, message, [str(one) for one in found]))
    assert missed == []


def test_all_resolved_caveats_that_are_not_inherited_are_found_at_once(definitions: Definitions) -> None:
    [first, second, *_] = sorted(caveat.name for caveat in ITP.objects_by_caveat)
    lines = f"-- resolves_caveat: {first}\n-- resolves_caveat: {second}"
    changed = of_view("-- caveat: itp.no_wait: job_id", lines)(definitions)
    found = [one.message.split(",")[0] for one in lint_all(changed) if one.rule == "resolved caveat"]
    assert found == [f"resolves {first}", f"resolves {second}"]


@pytest.mark.parametrize(("reads", "column"), [("itp.raw_job", "duration"), ("itp.job", "run_s")])
def test_a_query_resolves_caveats_of_base_tables_and_of_views(
    reads: str, column: str, definitions: Definitions
) -> None:
    text = QUERY.replace("-- chart", "-- resolves_caveat: itp.min_duration_600\n-- chart")
    text = text.replace("num_gpu", column).replace("from itp.raw_job", f"from {reads}")
    found = lint_all(of_query(QUERY, text)(definitions))
    assert [one for one in found if one.rule in ("resolved caveat", "column name")] == []


def test_a_cast_or_maximum_of_a_label_needs_no_unit(definitions: Definitions) -> None:
    label = replace(RAW_JOB.columns[0], name="worker", type="BIGINT", unit="")
    changed = replace(definitions, traces=[table(columns=(*RAW_JOB.columns, label))])
    before = {str(finding) for finding in lint_all(changed)}
    view = of_view("duration\nfrom", "max(cast(worker as integer)) as last_worker\nfrom")
    query = of_query("count(*) as jobs", "count(*) as jobs, coalesce(min(worker), -1) as worker")
    found = [one for one in lint_all(query(view(changed))) if str(one) not in before]
    assert [(one.rule, one.message[:45]) for one in found] == [
        ("meaning", "the column worker has no meaning: add a line ")
    ]


def test_a_name_with_two_units_is_found(definitions: Definitions) -> None:
    view = of_view("'Job; measured.'", "'Job [no unit]; measured.'")
    query = of_query("jobs: Jobs of that size", "job_id [jobs]: Jobs of that size")
    found = [str(one) for one in lint_all(query(view(definitions))) if "has the unit" in one.message]
    assert len(found) == 1
    assert "itp/by_size.sql: job_id has the unit jobs, but no unit in itp/long.v1.sql" in found[0]


@pytest.mark.parametrize("stated", ["found [jobs]", "found [no unit]"])
def test_a_stated_unit_needs_no_ending(definitions: Definitions, stated: str) -> None:
    text = QUERY.replace("count(*) as jobs", "count(*) as found").replace("column: jobs", f"column: {stated}")
    found = lint_all(of_query(QUERY, text.replace("y=jobs", "y=found"))(definitions))
    assert [str(one) for one in found if "by_size" in one.place and one.rule in ("unit", "meaning")] == []


def test_the_package_has_no_mistakes() -> None:
    assert [str(finding) for finding in lint()] == []
