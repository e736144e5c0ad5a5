"""ElasticFlow's job lists: training jobs with a model, a batch size, iterations and a deadline.

Source: README of microsoft/elasticflow-traces, Schema for elasticflow-traces. Its authors generated
these four values; other traces do not have them. Submissions and deadlines are seconds since the start of the
trace.
"""

from tracehouse.publish.simulators.format_spec import (
    ENDS_TOO_EARLY,
    NO_GPU,
    REQUEST_UNKNOWN,
    RUN_TIME_UNKNOWN,
    SUBMISSION_UNKNOWN,
    Field,
    File,
    FormatSpec,
    Layout,
    default_sql,
    job_name_field,
    time_field,
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
    submission = _submission(trace)
    fields = [
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
            default=default_sql(model),
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
            default=default_sql(batch_size),
        ),
        Field("num_gpu", "bigint", "requested_gpus", rounding="ceil"),
        Field("duration", "bigint", "run_s", rounding="round"),
    ]
    return FormatSpec(
        name="elasticflow",
        left_out=[SUBMISSION_UNKNOWN, REQUEST_UNKNOWN, NO_GPU, RUN_TIME_UNKNOWN, ENDS_TOO_EARLY],
        files=[File("jobs.csv", Layout.CSV, fields)],
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
    return time_field("submission_time", "submit_s", ["submit_s"])
