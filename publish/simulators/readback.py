"""What the files of an export contain: read from the files, by the rules of each format.

Nothing here depends on the queries that wrote the files: fields come from the standard, a header or a schema,
and values are missing as the format's own programs see it.
"""

import csv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tracehouse.core.text import identifier, quoted
from tracehouse.engines.duckdb.read.sandbox import Limits

_SWF = (
    *("job_number", "submit_s", "wait_s", "run_s", "allocated_processors", "average_cpu_time_s"),
    *("used_memory_kb", "requested_processors", "requested_time_s", "requested_memory_kb", "status"),
    *("user_number", "group_number", "executable_number", "queue_number", "partition_number"),
    *("preceding_job_number", "think_time_s"),
)
_JSON = {
    "requests.jsonl": {
        "timestamp": "bigint",
        "input_length": "bigint",
        "output_length": "bigint",
        "hash_ids": "bigint[]",
    },
    "cluster_job_log": {
        **dict.fromkeys(("status", "vc", "jobid", "submitted_time", "user"), "varchar"),
        "attempts": (
            "struct(start_time varchar, end_time varchar, detail struct(ip varchar, gpus varchar[])[])[]"
        ),
    },
}
# The rows of the first file: the job's `number` or `job_name`, and the GPU-seconds that a reader of the
# format gives it, NULL if the file does not have them.
_JOBS = {
    # A job without allocated processors uses those that it requested.
    "swf": """
        select
            job_number::bigint as number,
            coalesce(allocated_processors, requested_processors)::bigint / $processors_per_gpu * run_s::bigint
            as gpu_s
        from file
    """,
    "opendc": "select id::bigint as number, coalesce(gpu_count, 0) * duration / 1000 as gpu_s from file",
    # A pod that has no GPU holds none, also if its times are unknown.
    "openb": """
        select
            regexp_replace(name, $separator || '[0-9]+$', '') as job_name,
            case
                when num_gpu::int = 0 then 0
                else num_gpu::int * gpu_milli::int / 1000 * (deletion_time::bigint - scheduled_time::bigint)
            end as gpu_s
        from file
    """,
    "elasticflow": "select job_id as job_name, num_gpu::bigint * duration::bigint as gpu_s from file",
    "helios": "select job_id as job_name, gpu_num::bigint * duration::bigint as gpu_s from file",
    # A job holds the GPUs of each attempt from its start to its end. 'None' is an unknown time.
    "philly": """
        with attempts as (
            select jobid, unnest(if(len(attempts) = 0, [null], attempts)) as attempt from file
        )

        select
            jobid as job_name,
            list_sum(list_transform(attempt.detail, lambda machine: len(machine.gpus))) * (
                epoch(try_cast(attempt.end_time as timestamp))
                - epoch(try_cast(attempt.start_time as timestamp))
            ) as gpu_s
        from attempts
    """,
    # The simulator reads an empty number as no GPU or one instance, and runs each job for at least a second.
    "pai": """
        select
            job_id::bigint as number,
            coalesce(num_gpu::double, 0) * coalesce(num_inst::int, 1)
            * if(duration::bigint < 1, 1, duration::bigint) as gpu_s
        from file
    """,
}
# The number of requests, the seconds from the first to the last one, and their tokens.
_REQUESTS = {
    "mooncake": """
        select
            count(*) as requests,
            (max("timestamp") - min("timestamp")) / 1000 as span_s,
            cast(sum(input_length) as bigint) as input_tokens,
            cast(sum(output_length) as bigint) as output_tokens
        from file
    """,
    "azure": """
        select
            count(*) as requests,
            epoch(max("TIMESTAMP"::timestamp) - min("TIMESTAMP"::timestamp)) as span_s,
            cast(sum("ContextTokens"::bigint) as bigint) as input_tokens,
            cast(sum("GeneratedTokens"::bigint) as bigint) as output_tokens
        from file
    """,
}


@contextmanager
def reader(warehouse: duckdb.DuckDBPyConnection, limits: Limits) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory that reads files within the limits, and spills where `warehouse` does."""
    [(spill,)] = warehouse.execute("select current_setting('temp_directory')").fetchall()
    with duckdb.connect() as connection:
        connection.execute(
            f"set memory_limit = {quoted(limits.memory)}; set threads = {limits.most_threads or 1};"
            f" set temp_directory = {quoted(spill)}"
        )
        yield connection


def count_rows(connection: duckdb.DuckDBPyConnection, path: Path) -> tuple[int, dict[str, int]]:
    """Return the number of rows of a file of any format, and by field the number without a value."""
    fields = _open(connection, path)
    # In Philly's log, the attempts of a job without any are an empty list.
    values = ("nullif(len(attempts), 0)" if name == "attempts" else identifier(name) for name in fields)
    missing = ", ".join(f"count(*) - count({value})" for value in values)
    [(rows, *counts)] = connection.execute(f"select count(*), {missing} from file").fetchall()
    return rows, dict(zip(fields, counts, strict=True))


def read_jobs(
    connection: duckdb.DuckDBPyConnection, form: str, path: Path, options: Mapping[str, Any]
) -> tuple[int, float, pa.Table]:
    """Return the number of jobs in a file, their GPU-seconds, and the jobs of which it lacks GPU-seconds."""
    _open(connection, path)
    rows = _JOBS[form]
    values = {name: value for name, value in options.items() if f"${name}" in rows}
    # Two passes over the file take less memory than a table of its rows.
    job = connection.sql(rows, params=values).columns[0]
    totals = f"select count(distinct {job}), coalesce(fsum(gpu_s), 0) from ({rows})"
    [(jobs, gpu_s)] = connection.execute(totals, values).fetchall()
    unknown = connection.sql(f"select distinct {job} from ({rows}) where gpu_s is null", params=values)
    return jobs, gpu_s, unknown.to_arrow_table()


def read_requests(connection: duckdb.DuckDBPyConnection, form: str, path: Path) -> dict[str, Any]:
    """Return the totals of the requests in a file by name."""
    _open(connection, path)
    relation = connection.sql(_REQUESTS[form])
    return dict(zip(relation.columns, relation.fetchall()[0], strict=True))


def _open(connection: duckdb.DuckDBPyConnection, path: Path) -> list[str]:
    """Create the view `file` of a file's rows. Returns its fields."""
    where = quoted(str(path))
    if path.suffix == ".parquet":
        source = f"read_parquet({where})"
    elif types := _JSON.get(path.name):
        layout = "newline_delimited" if path.suffix == ".jsonl" else "array"
        source = f"read_json({where}, format = '{layout}', columns = {_struct(types)})"
    elif path.suffix == ".swf":
        source = _csv(where, _SWF, "header = false, delim = ' ', comment = ';', nullstr = '-1'")
    else:
        with path.open(encoding="utf-8", newline="") as lines:
            names = next(csv.reader(lines))
        source = _csv(where, names, "header = true, delim = ',', quote = '\"', escape = '\"'")
    connection.execute(f"create or replace temp view file as select * from {source}")
    return connection.table("file").columns


def _csv(where: str, names: list[str] | tuple[str, ...], options: str) -> str:
    types = _struct(dict.fromkeys(names, "varchar"))
    return f"read_csv({where}, auto_detect = false, columns = {types}, allow_quoted_nulls = false, {options})"


def _struct(types: Mapping[str, str]) -> str:
    return f"{{{', '.join(f'{quoted(name)}: {quoted(kind)}' for name, kind in types.items())}}}"
