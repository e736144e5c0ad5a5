-- Locality and GPU utilisation by job size (Philly attempts)
-- answers: machine placement
-- chart: heat x=allocated_gpus y=machines color=attempts_pct title=Machines per attempt by allocated GPUs (Philly attempts) note=Colour: share of the attempts with this number of GPUs.
-- column: machines: Machines on which an attempt is placed
-- column: attempts: Attempts to run jobs
-- column: attempts_pct: Share of the attempts on this number of GPUs
-- column: gpu_minutes: Measured GPU-minutes of the attempts
-- column: mean_gpu_pct: Mean GPU utilisation over the measured GPU-minutes of the attempts
create or replace macro philly.locality(
    -- smallest number of GPUs of an attempt to include [0 to 4096]
    min_gpus integer := 2
) as table
with placed as (
    select
        job_id,
        attempt,
        allocated_gpus,
        machines,
        run_s
    from philly.attempt_run
    where allocated_gpus >= min_gpus
),

counted as (
    select
        placed.allocated_gpus,
        placed.machines,
        count(*) as attempts,
        median(placed.run_s) as median_run_s,
        sum(used.gpu_minutes) as gpu_minutes,
        stats.fsum(used.gpu_minutes * used.mean_gpu_pct) as total_pct
    from placed
    left join philly.attempt_utilization as used
        on placed.job_id = used.job_id and placed.attempt = used.attempt
    group by placed.allocated_gpus, placed.machines
)

select
    allocated_gpus,
    machines,
    attempts,
    100.0 * attempts / sum(attempts) over (partition by allocated_gpus) as attempts_pct,
    median_run_s,
    cast(coalesce(gpu_minutes, 0) as bigint) as gpu_minutes,
    total_pct / gpu_minutes as mean_gpu_pct
from counted
order by allocated_gpus, machines;

comment on macro table philly.locality is 'Attempts per number of GPUs and number of machines, their share of the attempts on that number of GPUs, median of their run time, and the mean utilisation of their GPUs over measured minutes.';
