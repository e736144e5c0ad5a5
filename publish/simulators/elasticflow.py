"""ElasticFlow's job lists: training jobs with a model, a batch size, iterations and a deadline.

Source: README of microsoft/elasticflow-traces, Schema for elasticflow-traces. Its authors generated
these four values; other traces do not have them. Submissions and deadlines are seconds since the start of the
trace.
"""

from tracehouse.engines.duckdb.names import quoted
from tracehouse.publish.simulators.format_spec import (
    REQUEST_UNKNOWN,
    Condition,
    Field,
    File,
    FormatSpec,
    Layout,
    job_name_field,
)

_DETAILS = {
    "itp": "select cluster, job_id, model_name, batch_size, num_iteration, deadline_s from itp.job",
}

# In the other traces, times count from 1970, or from a time before the trace.
_CLOCK_STARTS_WITH_TRACE = {"itp", "openb", "spot"}


def build_format(
    trace: str,
    model: str,
    batch_size: int | None,
    iterations_per_s: float | None,
    deadline_factor: float | None,
) -> FormatSpec:
    """Build the format, with defaults for jobs without a model, batch size, iterations or deadline.

    A default deadline is `deadline_factor` run times after the submission.
    """
    return FormatSpec(
        name="elasticflow",
        left_out=[
            Condition("its submission time is unknown", "submit_s is null"),
            REQUEST_UNKNOWN,
            Condition("it requests no GPU", "requested_gpus = 0"),
            Condition("its run time is unknown", "run_s is null"),
            Condition("it ends before it starts", "run_s < 0"),
        ],
        files=[
            File(
                "jobs.csv",
                Layout.CSV,
                _fields(_submission(trace), model, batch_size, iterations_per_s, deadline_factor),
            )
        ],
        detail_columns={
            "model_name": "varchar",
            "batch_size": "bigint",
            "num_iteration": "bigint",
            "deadline_s": "bigint",
        },
        details=_DETAILS,
        reads={"itp": ["itp.job"]},
        notes=[
            "Models, batch sizes, iterations and deadlines are generated, by ElasticFlow or by the options."
        ],
    )


def _submission(trace: str) -> Field:
    if trace in _CLOCK_STARTS_WITH_TRACE:
        return Field("submission_time", "bigint", "submit_s", rounding="round")
    return Field(
        "submission_time",
        "bigint",
        "submit_s - first_submit_s",
        "seconds since the first job",
        "round",
        columns=["submit_s"],
    )


def _fields(
    submission: Field,
    model: str,
    batch_size: int | None,
    iterations_per_s: float | None,
    deadline_factor: float | None,
) -> list[Field]:
    return [
        job_name_field("job_id"),
        submission,
        Field(
            "num_iteration",
            "bigint",
            "num_iteration",
            option="--iterations-per-s",
            default=f"cast(round(run_s * {iterations_per_s!r}) as bigint)"
            if iterations_per_s is not None
            else "",
            default_note=f"run_s times --iterations-per-s {iterations_per_s!r}",
        ),
        Field(
            "model_name",
            "varchar",
            "model_name",
            option="--model",
            default=quoted(model) if model else "",
            columns=["model_name", "workload"],
        ),
        Field(
            "deadline",
            "bigint",
            "deadline_s",
            option="--deadline-factor",
            default=f"cast(round({submission.sql} + run_s * {deadline_factor!r}) as bigint)"
            if deadline_factor is not None
            else "",
            default_note=f"submission_time and run_s times --deadline-factor {deadline_factor!r}",
        ),
        Field(
            "batch_size",
            "bigint",
            "batch_size",
            option="--batch-size",
            default="" if batch_size is None else repr(batch_size),
        ),
        Field("num_gpu", "bigint", "requested_gpus", rounding="ceil"),
        Field("duration", "bigint", "run_s", rounding="round"),
    ]
