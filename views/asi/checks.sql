-- Data-quality rules of ASI. Each counts the rows that break it.
-- The complete tables are too large to group by pod: both rules read one pod in sixteen, by the first of the
-- hexadecimal digits of its name.

-- check: asi.pod_hourly.repeated_pods
-- object: asi.pod_hourly
-- kind: key
-- rule: at most 10 rows, or 1 in 1,000, repeat a pod of their hour, among the pods whose names begin with 0
select coalesce(sum(repeats), 0)
from (
    select
        sum(copies) as pod_rows,
        sum(copies - 1) as repeats
    from (
        select
            day,
            hour,
            count(*) as copies
        from asi.pod_hourly
        where pod_id like '0%'
        group by day, hour, pod_id
    ) as pods
    group by day, hour
) as hours
where repeats > 10 and repeats > pod_rows / 1000;

-- check: asi.job_execution_summary.repeated_spans
-- object: asi.job_execution_summary
-- kind: key
-- rule: less than half of the spans are the same as another in every column, among the pods whose names begin with 0
select coalesce(sum(repeats), 0)
from (
    select
        sum(copies) as spans,
        sum(copies - 1) as repeats
    from (
        select count(*) as copies
        from asi.job_execution_summary
        where pod_id like '0%'
        group by
            pod_id,
            workload_id,
            server_id,
            gpu_spec_public,
            priority_class,
            job_type_public,
            model_type_public,
            is_genai_request,
            gpu_request,
            duration_hours,
            schedule_delay_sec,
            ready_delay_sec,
            ready_status,
            schedule_status
    ) as distinct_spans
) as all_spans
where 2 * repeats >= spans;
