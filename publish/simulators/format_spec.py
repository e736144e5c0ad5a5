"""What a simulator's format is made of: files of fields, each with the SQL that gives it of a job.

That SQL is over the table `job`: the columns of `unified.jobs`; `number`, from 1 in the order of submission;
`first_submit_s`; `job_name` and `job_partition`, which are job_id and partition_name, behind their cluster
where several are exported; numbers of users, groups, workloads and partitions; and what only one trace tells.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

NUMBERED = {
    "user_number": "user_id",
    "group_number": "group_id",
    "executable_number": "workload",
    "partition_number": "job_partition",
}
"""Numbers from 1 of the values of a column, in their order, by their names in `job`."""

BEHIND_CLUSTER = "behind their cluster, as several are exported"


class Origin(StrEnum):
    """Where a value comes from: the trace as it stands, the trace by a rule, an option, or nowhere."""

    EXACT = "exact"
    DERIVED = "derived"
    DEFAULTED = "defaulted"
    MISSING = "missing"


@dataclass(frozen=True)
class Rule:
    """Which jobs are meant, as a condition, and why they are left out or else what is said of them."""

    reason: str
    condition: str


@dataclass(frozen=True)
class Field:
    """One field of a format.

    `sql` gives it of a job, NULL where the trace has none, and `rule` says how, empty where it is the column
    as it stands. `rounded` is the function that makes a whole number of it, if it has to be one. Without a
    value it is `default`, which `option` lets the user set, or which `otherwise` explains; or `missing`, the
    SQL of what the format has for none. With neither, the option has to be set.

    `holds` names the columns of `unified.jobs` that it stands for, where `sql` is not itself the one;
    `counted` is what else the account counts of its values.
    """

    name: str
    type: str
    sql: str
    rule: str = ""
    rounded: str = ""
    option: str = ""
    default: str = ""
    otherwise: str = ""
    missing: str = ""
    holds: Sequence[str] = ()
    counted: Sequence[Rule] = ()

    @property
    def held(self) -> Sequence[str]:
        """The columns that it stands for; without a rule, it is the first as that stands."""
        return self.holds or (self.sql,)

    @property
    def value(self) -> str:
        """The SQL of what is written."""
        whole = f"{self.rounded}({self.sql})" if self.rounded else f"({self.sql})"
        choices = [f"cast({whole} as {self.type})", *filter(None, (self.default, self.missing))]
        return f"coalesce({', '.join(choices)})" if len(choices) > 1 else choices[0]


class Layout(StrEnum):
    """How rows are written to a file."""

    CSV = "csv"
    PARQUET = "parquet"
    SWF = "swf"


@dataclass(frozen=True)
class File:
    """A file of a format: its rows are those of `rows`, a FROM clause in which `job` is the table of jobs."""

    name: str
    layout: Layout
    fields: Sequence[Field]
    rows: str = "job"
    order_by: str = "number"


@dataclass(frozen=True)
class Form:
    """A format, with the values of its options in the SQL of its files.

    `left_out` are the jobs that it cannot hold. `details` has for a trace what it alone tells of a job: a
    SELECT of cluster, job_id and more columns, which `more_columns` declares with their types; `reads` names
    what else is read of a trace, whose caveats and sources concern the files too. `notes` say what whoever
    reads the files has to know, and `header` gives the first lines of a file from facts about the export.
    """

    name: str
    left_out: Sequence[Rule]
    files: Sequence[File]
    more_columns: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    reads: Mapping[str, Sequence[str]] = field(default_factory=dict)
    notes: Sequence[str] = ()
    header: Callable[[Mapping[str, Any]], Sequence[str]] | None = None


UNKNOWN_GPUS = Rule("how many GPUs it asks for is not known", "requested_gpus is null")
"""Such a job is none without GPUs, as which a format that has no word for it would show it."""


def named(field_name: str, missing: str = "") -> Field:
    """A field with a job's name, which no other job of the export has."""
    return Field(
        field_name,
        "varchar",
        "job_name",
        missing=missing,
        holds=["job_id", "cluster"],
        counted=[Rule(BEHIND_CLUSTER, "job_name <> job_id")],
    )
