"""ElasticFlow's job lists: training jobs with a model, a batch size, iterations and a deadline.

Source: README of microsoft/elasticflow-traces, Schema for elasticflow-traces. There all four are generated:
other traces have none of them.
"""

from tracehouse.engines.duckdb.names import quoted
from tracehouse.publish.simulators.format_spec import UNKNOWN_GPUS, Field, File, Form, Layout, Rule, named

_DETAILS = {
    "itp": "select cluster, job_id, model_name, batch_size, num_iteration, deadline_s from itp.job",
}


def form(
    model: str, batch_size: int | None, iterations_per_s: float | None, deadline_factor: float | None
) -> Form:
    """The format, with what is to be said of jobs that have no model, batch size, iterations or deadline.

    A deadline is so many times the run after the submission.
    """
    return Form(
        name="elasticflow",
        left_out=[
            Rule("its submission is not known", "submit_s is null"),
            UNKNOWN_GPUS,
            Rule("it asks for no GPU", "requested_gpus = 0"),
            Rule("its run is not known", "run_s is null"),
            Rule("it ends before it starts", "run_s < 0"),
        ],
        files=[File("jobs.csv", Layout.CSV, _fields(model, batch_size, iterations_per_s, deadline_factor))],
        more_columns={
            "model_name": "varchar",
            "batch_size": "bigint",
            "num_iteration": "bigint",
            "deadline_s": "bigint",
        },
        details=_DETAILS,
        reads={"itp": ["itp.job"]},
        notes=[
            "Models, batch sizes, iterations and deadlines are generated, by ElasticFlow or as was asked."
        ],
    )


def _fields(
    model: str, batch_size: int | None, iterations_per_s: float | None, deadline_factor: float | None
) -> list[Field]:
    return [
        named("job_id"),
        Field("submission_time", "bigint", "submit_s", rounded="round"),
        Field(
            "num_iteration",
            "bigint",
            "num_iteration",
            option="--iterations-per-s",
            default=f"cast(round(run_s * {iterations_per_s!r}) as bigint)"
            if iterations_per_s is not None
            else "",
            otherwise=f"run_s times --iterations-per-s {iterations_per_s!r}",
        ),
        Field(
            "model_name",
            "varchar",
            "model_name",
            option="--model",
            default=quoted(model) if model else "",
            holds=["model_name", "workload"],
        ),
        Field(
            "deadline",
            "bigint",
            "deadline_s",
            option="--deadline-factor",
            default=f"cast(round(submit_s + run_s * {deadline_factor!r}) as bigint)"
            if deadline_factor is not None
            else "",
            otherwise=f"submit_s and run_s times --deadline-factor {deadline_factor!r}",
        ),
        Field(
            "batch_size",
            "bigint",
            "batch_size",
            option="--batch-size",
            default="" if batch_size is None else repr(batch_size),
        ),
        Field("num_gpu", "bigint", "requested_gpus", rounded="ceil"),
        Field("duration", "bigint", "run_s", rounded="round"),
    ]
