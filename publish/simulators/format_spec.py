"""Specify a simulator's format: files of fields, each with the SQL that computes it from a job.

The SQL reads the table `job`. It has the columns of `unified.jobs`; `number`, from 1 in the order of
submission; `first_submit_s`; `job_name` and `job_partition`, which are job_id and partition_name, prefixed by
the cluster if several clusters are exported; numbers of users, groups, workloads and partitions; and columns
that only one trace has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from tracehouse.core.text import quoted

NUMBERED_COLUMNS = {
    "user_number": "user_id",
    "group_number": "group_id",
    "executable_number": "workload",
    "partition_number": "job_partition",
}
"""Columns of `job` that number the sorted values of another column from 1."""

PREFIXED_BY_CLUSTER = "prefixed by their cluster, as several clusters are exported"


class Origin(StrEnum):
    """Where a value comes from: a column of the trace, a computation, an option, or nowhere."""

    EXACT = "exact"
    DERIVED = "derived"
    DEFAULTED = "defaulted"
    MISSING = "missing"


@dataclass(frozen=True)
class Condition:
    """A label, and the SQL condition of the jobs that it applies to."""

    label: str
    sql: str


@dataclass(frozen=True)
class Field:
    """One field of a format.

    `sql` computes the field, NULL if the trace has no value. `derivation` describes the computation; it is
    empty if `sql` is a column. `rounding` is the function that makes the value a whole number, if the format
    needs one. NULL becomes `default`, which the user sets with `option` and `default_note` explains, or else
    `missing`, the SQL of the format's own marker. A field with neither needs the option.

    `columns` names the columns of `unified.jobs` that the field represents, if `sql` is not a column.
    `counts` are conditions that the loss report counts.
    """

    name: str
    type: str
    sql: str
    derivation: str = ""
    rounding: str = ""
    option: str = ""
    default: str = ""
    default_note: str = ""
    missing: str = ""
    columns: Sequence[str] = ()
    counts: Sequence[Condition] = ()

    @property
    def source_columns(self) -> Sequence[str]:
        """The columns that the field represents; without a derivation, the field equals the first one."""
        return self.columns or (self.sql,)

    @property
    def value(self) -> str:
        """The SQL of the written value."""
        whole = f"{self.rounding}({self.sql})" if self.rounding else f"({self.sql})"
        choices = [f"cast({whole} as {self.type})", *filter(None, (self.default, self.missing))]
        return f"coalesce({', '.join(choices)})" if len(choices) > 1 else choices[0]


class Layout(StrEnum):
    """The file format of rows."""

    CSV = "csv"
    PARQUET = "parquet"
    SWF = "swf"


@dataclass(frozen=True)
class File:
    """A file of a format. `rows` is the FROM clause of its rows, in which `job` is the table of jobs."""

    name: str
    layout: Layout
    fields: Sequence[Field]
    rows: str = "job"
    order_by: str = "number"


@dataclass(frozen=True)
class FormatSpec:
    """A format, with the values of its options in the SQL of its files.

    `left_out` has conditions of jobs that the format cannot represent. `details` maps a trace to a SELECT of
    job_id, cluster and columns that `unified.jobs` lacks; `detail_columns` declares the types of these
    columns. A column that the SELECT of a trace lacks is NULL. `reads` maps a trace to other views and tables
    that are read; their caveats and sources apply too. `notes` are for the readers of the files. `header`
    returns the first lines of the first file from facts about the export.
    """

    name: str
    left_out: Sequence[Condition]
    files: Sequence[File]
    detail_columns: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    reads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    header: Callable[[Mapping[str, Any]], Sequence[str]] | None = None


SUBMISSION_UNKNOWN = Condition("its submission time is unknown", "submit_s is null")
NO_GPU = Condition("it requests no GPU", "requested_gpus = 0")
RUN_TIME_UNKNOWN = Condition("its run time is unknown", "run_s is null")
STARTS_TOO_EARLY = Condition("it starts before it is submitted", "wait_s < 0")
ENDS_TOO_EARLY = Condition("it ends before it starts", "run_s < 0")
REQUEST_UNKNOWN = Condition("its requested GPUs are unknown", "requested_gpus is null")
"""Such a job may use GPUs. A format without a marker for unknown values would show a job without GPUs."""


def default_sql(value: str | float | None) -> str:
    """The SQL of a default that the user may set with an option; empty for None and for an empty text."""
    if isinstance(value, str):
        return quoted(value) if value else ""
    return "" if value is None else repr(value)


def time_field(name: str, seconds: str, columns: Sequence[str], missing: str = "") -> Field:
    """A field with a time in seconds since the first job."""
    return Field(
        name,
        "bigint",
        f"{seconds} - first_submit_s",
        "seconds since the first job",
        "round",
        missing=missing,
        columns=columns,
    )


def job_name_field(field_name: str, missing: str = "") -> Field:
    """A field with the job's unique name."""
    return Field(
        field_name,
        "varchar",
        "job_name",
        missing=missing,
        columns=["job_id", "cluster"],
        counts=[Condition(PREFIXED_BY_CLUSTER, "job_name <> job_id")],
    )
