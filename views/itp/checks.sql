-- Data-quality rules of ITP. Each counts the rows that break it.
-- A rule that compares two tables or two files counts 0 breaches if one of them has no rows.

-- check: itp.raw_job.in_elasticflow
-- object: itp.raw_job
-- kind: reference
-- rule: every job is in elasticflow_job, with the same submission, duration and GPUs
select count(*)
from itp.raw_job as job
where
    exists (
        select 1 from itp.elasticflow_job as same_file
        where same_file.source_file = job.source_file
    )
    and not exists (
        select 1 from itp.elasticflow_job as partner
        where
            partner.source_file = job.source_file
            and partner.job_id is not distinct from job.job_id
            and partner.submission_time is not distinct from job.submission_time
            and partner.duration is not distinct from job.duration
            and partner.num_gpu is not distinct from job.num_gpu
    );

-- check: itp.elasticflow_job.in_raw
-- object: itp.elasticflow_job
-- kind: reference
-- rule: every job of a cluster is in raw_job, with the same submission, duration and GPUs
select count(*)
from itp.elasticflow_job as job
where
    exists (
        select 1 from itp.raw_job as same_file
        where same_file.source_file = job.source_file
    )
    and not exists (
        select 1 from itp.raw_job as partner
        where
            partner.source_file = job.source_file
            and partner.job_id is not distinct from job.job_id
            and partner.submission_time is not distinct from job.submission_time
            and partner.duration is not distinct from job.duration
            and partner.num_gpu is not distinct from job.num_gpu
    );

-- check: itp.elasticflow_job.testbed_in_cluster02
-- object: itp.elasticflow_job
-- kind: reference
-- rule: every job of 195job is one of cluster02, with the same submission, duration and GPUs
with cluster02 as (
    select
        job_id,
        submission_time,
        duration,
        num_gpu
    from itp.elasticflow_job
    where source_file = 'cluster02'
)

select count(*)
from itp.elasticflow_job as job
where
    job.source_file = '195job'
    and exists (select 1 from cluster02)
    and not exists (
        select 1 from cluster02
        where
            cluster02.job_id is not distinct from job.job_id
            and cluster02.submission_time is not distinct from job.submission_time
            and cluster02.duration is not distinct from job.duration
            and cluster02.num_gpu is not distinct from job.num_gpu
    );

-- check: itp.elasticflow_job.iterations
-- object: itp.elasticflow_job
-- kind: derived
-- rule: num_iteration / duration is within 1 % of the median of its model, batch size and GPUs
with rates as (
    select
        model_name,
        batch_size,
        num_gpu,
        num_iteration / nullif(duration, 0) as iterations_per_s
    from itp.elasticflow_job
),

typical as (
    select
        model_name,
        batch_size,
        num_gpu,
        median(iterations_per_s) as median_iterations_per_s
    from rates
    group by model_name, batch_size, num_gpu
)

select count(*)
from rates
inner join typical
    on
        rates.model_name = typical.model_name
        and rates.batch_size = typical.batch_size
        and rates.num_gpu = typical.num_gpu
where
    abs(rates.iterations_per_s - typical.median_iterations_per_s)
    > 0.01 * typical.median_iterations_per_s;

-- check: itp.raw_job.clusters
-- object: itp.raw_job
-- kind: coverage
-- rule: the table has the archive's ten clusters and no others
select abs(10 - count(distinct source_file))
from itp.raw_job;

-- check: itp.elasticflow_job.files
-- object: itp.elasticflow_job
-- kind: coverage
-- rule: the table has the archive's ten clusters and 195job and no others
select abs(11 - count(distinct source_file))
from itp.elasticflow_job;
