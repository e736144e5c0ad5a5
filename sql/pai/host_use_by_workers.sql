-- Host CPU, network and load by workers on it (PAI workers)
-- resolves_caveat: pai.cpu_machines_in_spec
-- resolves_caveat: pai.machine_cpu_is_a_sum
-- resolves_caveat: pai.misc_is_many_types
-- resolves_caveat: pai.shifted_clock
-- resolves_caveat: pai.worker_name_repeats
-- chart: bar x=worker_band xname=workers_on_the_machine y=mean_iowait_pct title=Mean iowait by workers on the machine (PAI machines) note=A band includes its lower bound and not its upper one; workers are a mean over time.
-- column: worker_band: Workers on the machine, a mean over the worker's life; a band includes its lower and excludes its upper bound
-- column: workers: Workers with machine metrics and a known life
-- column: observed_worker_h: Hours that these workers ran, which weigh the means
-- column: mean_usr_pct: CPU time of the machine in user programs
-- column: mean_kernel_pct: CPU time of the machine in the kernel
-- column: mean_iowait_pct: CPU time of the machine waiting for input or output
-- column: mean_load [ratio]: Load average of the machine over one minute
-- column: mean_received_bytes [bytes]: Network input of the machine
-- column: sensed_workers: Workers of the band whose network operations were measured
-- column: median_reads [operations]: Median network reads of a worker, a mean over its life
-- column: median_writes [operations]: Median network writes of a worker, a mean over its life
create or replace macro pai.host_use_by_workers(
    -- type of the GPUs of the machine; CPU is a machine without one [all CPU MISC P100 T4 V100 V100M32]
    on_gpu_type varchar := 'all'
) as table
with observed as (
    select
        spec.gpu_type,
        metric.machine_num_worker as on_machine,
        metric.machine_cpu_usr as usr_pct,
        metric.machine_cpu_kernel as kernel_pct,
        metric.machine_cpu_iowait as iowait_pct,
        metric.machine_load_1 as load,
        metric.machine_net_receive as received_bytes,
        metric.end_time - metric.start_time as observed_s,
        sensor.read_count,
        sensor.write_count
    from pai.machine_metric as metric
    left join pai.machine_spec as spec on metric.machine = spec.machine
    left join pai.sensor as sensor on metric.worker_name = sensor.worker_name
    where metric.start_time > 0 and metric.end_time > metric.start_time
),

banded as (
    select
        case
            when on_machine < 2 then 1
            when on_machine < 4 then 2
            when on_machine < 8 then 3
            when on_machine < 16 then 4
            when on_machine < 32 then 5
            when on_machine >= 32 then 6
        end as place,
        usr_pct,
        kernel_pct,
        iowait_pct,
        load,
        received_bytes,
        observed_s,
        read_count,
        write_count
    from observed
    where on_gpu_type in ('all', gpu_type)
)

select
    case place
        when 1 then 'under 2'
        when 2 then '2 to 4'
        when 3 then '4 to 8'
        when 4 then '8 to 16'
        when 5 then '16 to 32'
        when 6 then '32 and more'
    end as worker_band,
    count(*) as workers,
    stats.fsum(observed_s) / 3600.0 as observed_worker_h,
    stats.fsum(usr_pct * observed_s) / stats.fsum(
        case when usr_pct is not null then observed_s end
    ) as mean_usr_pct,
    stats.fsum(kernel_pct * observed_s)
    / stats.fsum(case when kernel_pct is not null then observed_s end) as mean_kernel_pct,
    stats.fsum(iowait_pct * observed_s)
    / stats.fsum(case when iowait_pct is not null then observed_s end) as mean_iowait_pct,
    stats.fsum(load * observed_s) / stats.fsum(case when load is not null then observed_s end) as mean_load,
    stats.fsum(received_bytes * observed_s)
    / stats.fsum(case when received_bytes is not null then observed_s end) as mean_received_bytes,
    count(read_count) as sensed_workers,
    median(read_count) as median_reads,
    median(write_count) as median_writes
from banded
group by place
order by place asc nulls last;

comment on macro table pai.host_use_by_workers is
'Metrics of the machines that workers ran on, weighted by the lives of the workers, and network reads and '
'writes of the workers, per number of workers on the machine. A machine counts once for each of its '
'workers, so the means are what a worker sees, not the use of the fleet; pai.machine_use_by_type has '
'that. The band is NULL where the number of workers is not recorded. Intervals of network traffic and '
'operations are not documented.';
