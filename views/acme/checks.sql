-- Data-quality rules of Acme. Each counts the rows that break it.

-- check: acme.job_trace.state_documented
-- object: acme.job_trace
-- kind: range
-- rule: state is one of the five that the README lists
-- caveat: acme.states_beyond_readme
select count(*)
from acme.job_trace
where state not in ('COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', 'NODE_FAIL');

-- check: acme.job_trace.state
-- object: acme.job_trace
-- kind: range
-- rule: state is one of the five that the README lists, PREEMPTED or RUNNING
select count(*)
from acme.job_trace
where
    state not in (
        'COMPLETED', 'CANCELLED', 'FAILED', 'TIMEOUT', 'NODE_FAIL', 'PREEMPTED', 'RUNNING'
    );

-- check: acme.job_trace.type
-- object: acme.job_trace
-- kind: range
-- rule: type is one of the six kinds of work, or CPU
select count(*)
from acme.job_trace
where "type" not in ('Eval', 'Pretrain', 'SFT', 'MLLM', 'Debug', 'Other', 'CPU');

-- check: acme.job_trace.user
-- object: acme.job_trace
-- kind: range
-- rule: user begins with u
select count(*)
from acme.job_trace
where "user" not like 'u%';

-- check: acme.job_trace.non_negative
-- object: acme.job_trace
-- kind: range
-- rule: no number is below 0
select count(*)
from acme.job_trace
where
    node_num < 0
    or gpu_num < 0
    or cpu_num < 0
    or "mem_per_pod_GB" < 0
    or shared_mem_per_pod < 0
    or duration < 0
    or queue < 0
    or gpu_time < 0;

-- check: acme.job_trace.start_after_submit
-- object: acme.job_trace
-- kind: range
-- rule: no job started before it was submitted
select count(*)
from acme.job_trace
where start_time < submit_time;

-- check: acme.job_trace.end_after_start
-- object: acme.job_trace
-- kind: range
-- rule: no job ended before it started, or was submitted
select count(*)
from acme.job_trace
where end_time < start_time or end_time < submit_time;

-- check: acme.job_trace.submit_time
-- object: acme.job_trace
-- kind: range
-- rule: jobs were submitted from March to August 2023, by the clock of Shanghai
select count(*)
from acme.job_trace
where
    submit_time < timestamptz '2023-03-01 00:00:00+08:00'
    or submit_time >= timestamptz '2023-09-01 00:00:00+08:00';

-- check: acme.cluster_summary.id
-- object: acme.cluster_summary
-- kind: range
-- rule: id is one of the five traces that are compared
select count(*)
from acme.cluster_summary
where id not in ('Seren', 'Kalos', 'Philly', 'Helios', 'PAI');

-- check: acme.cluster_summary.non_negative
-- object: acme.cluster_summary
-- kind: range
-- rule: no count, time or number of GPUs is below 0
select count(*)
from acme.cluster_summary
where
    job_num < 0
    or cpu_job_num < 0
    or gpu_job_num < 0
    or avg_run_time_gpu < 0
    or avg_que_time_gpu < 0
    or avg_gpu_num < 0
    or med_run_time_gpu < 0
    or med_que_time_gpu < 0
    or med_gpu_num < 0
    or complete_gpu_time < 0
    or cancel_gpu_time < 0
    or fail_gpu_time < 0
    or avg_run_time_cpu < 0
    or avg_que_time_cpu < 0
    or med_run_time_cpu < 0
    or med_que_time_cpu < 0;

-- check: acme.cluster_summary.rates
-- object: acme.cluster_summary
-- kind: range
-- rule: rates lie from 0 to 1
select count(*)
from acme.cluster_summary
where
    complete_rate_gpu not between 0 and 1
    or cancel_rate_gpu not between 0 and 1
    or fail_rate_gpu not between 0 and 1
    or complete_rate_gpu_time not between 0 and 1
    or cancel_rate_gpu_time not between 0 and 1
    or fail_rate_gpu_time not between 0 and 1
    or complete_rate_cpu not between 0 and 1
    or cancel_rate_cpu not between 0 and 1
    or fail_rate_cpu not between 0 and 1;

-- check: acme.cluster_summary.maxima
-- object: acme.cluster_summary
-- kind: range
-- rule: no mean or median is above its maximum
select count(*)
from acme.cluster_summary
where
    avg_run_time_gpu > max_run_time_gpu
    or med_run_time_gpu > max_run_time_gpu
    or avg_gpu_num > max_gpu
    or med_gpu_num > max_gpu;

-- check: acme.job_trace.queue
-- object: acme.job_trace
-- kind: derived
-- rule: queue is start_time - submit_time, within 1 s
select count(*)
from acme.job_trace
where abs(queue - (epoch(start_time) - epoch(submit_time))) > 1;

-- check: acme.job_trace.duration_on_seren
-- object: acme.job_trace
-- kind: derived
-- rule: on Seren duration is end_time - start_time, within 1 s
select count(*)
from acme.job_trace
where
    cluster = 'seren'
    and abs(duration - (epoch(end_time) - epoch(start_time))) > 1;

-- check: acme.job_trace.duration_on_kalos
-- object: acme.job_trace
-- kind: derived
-- rule: on Kalos duration is end_time - start_time, within 1 s
-- caveat: acme.kalos_duration_includes_queue
select count(*)
from acme.job_trace
where
    cluster = 'kalos'
    and abs(duration - (epoch(end_time) - epoch(start_time))) > 1;

-- check: acme.job_trace.duration
-- object: acme.job_trace
-- kind: derived
-- rule: duration is end_time - start_time or end_time - submit_time, within 1 s
select count(*)
from acme.job_trace
where
    abs(duration - (epoch(end_time) - epoch(start_time))) > 1
    and abs(duration - (epoch(end_time) - epoch(submit_time))) > 1;

-- check: acme.job_trace.gpu_time
-- object: acme.job_trace
-- kind: derived
-- rule: gpu_time is duration * gpu_num, within 1 GPU-second per GPU
select count(*)
from acme.job_trace
where abs(gpu_time - duration * gpu_num) > gpu_num;

-- check: acme.cluster_summary.job_num
-- object: acme.cluster_summary
-- kind: derived
-- rule: job_num is cpu_job_num + gpu_job_num
-- caveat: acme.summary_gaps_and_zeros
select count(*)
from acme.cluster_summary
where job_num <> cpu_job_num + gpu_job_num;

-- check: acme.cluster_summary.rates_sum
-- object: acme.cluster_summary
-- kind: derived
-- rule: rates of GPU jobs, of their GPU time and of CPU jobs add up to 1, within 0.001
select count(*)
from acme.cluster_summary
where
    abs(complete_rate_gpu + cancel_rate_gpu + fail_rate_gpu - 1) > 0.0011
    or abs(complete_rate_gpu_time + cancel_rate_gpu_time + fail_rate_gpu_time - 1) > 0.0011
    or abs(complete_rate_cpu + cancel_rate_cpu + fail_rate_cpu - 1) > 0.0011;

-- check: acme.cluster_summary.gpu_time_rates
-- object: acme.cluster_summary
-- kind: derived
-- rule: rates of GPU time are the shares of the three GPU times, within 0.001
with shares as (
    select
        complete_rate_gpu_time,
        cancel_rate_gpu_time,
        fail_rate_gpu_time,
        complete_gpu_time,
        cancel_gpu_time,
        fail_gpu_time,
        nullif(complete_gpu_time + cancel_gpu_time + fail_gpu_time, 0) as all_gpu_time
    from acme.cluster_summary
)

select count(*)
from shares
where
    abs(complete_rate_gpu_time - complete_gpu_time / all_gpu_time) > 0.001
    or abs(cancel_rate_gpu_time - cancel_gpu_time / all_gpu_time) > 0.001
    or abs(fail_rate_gpu_time - fail_gpu_time / all_gpu_time) > 0.001;

-- check: acme.job_trace.kalos_columns
-- object: acme.job_trace
-- kind: coverage
-- rule: memory per pod and the times of failure and stop are empty outside Kalos
select count(*)
from acme.job_trace
where
    cluster <> 'kalos'
    and (
        "mem_per_pod_GB" is not null
        or shared_mem_per_pod is not null
        or fail_time is not null
        or stop_time is not null
    );

-- check: acme.job_trace.as_summarised
-- object: acme.job_trace
-- kind: coverage
-- rule: each cluster has the job_num of its row in cluster_summary; counts the jobs between them
-- caveat: acme.paper_counts_more_jobs
with held as (
    select
        cluster,
        count(*) as jobs
    from acme.job_trace
    group by cluster
)

select coalesce(sum(abs(summary.job_num - held.jobs)), 0)
from held
inner join acme.cluster_summary as summary on held.cluster = lower(summary.id);

-- check: acme.gpu_metric.key
-- object: acme.gpu_metric
-- kind: key
-- rule: a device has no more rows of a metric in a day than the metric has times; counts the rows beyond
with device_days as (
    select
        cluster,
        metric,
        device,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as listed
    from acme.gpu_metric
    where time is not null
    group by cluster, metric, device, day_number
),

times as (
    select
        cluster,
        metric,
        time
    from acme.gpu_metric
    where time is not null
    group by cluster, metric, time
),

days as (
    select
        cluster,
        metric,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as times
    from times
    group by cluster, metric, day_number
)

select coalesce(sum(device_days.listed - days.times), 0)
from device_days
inner join days
    on
        device_days.cluster = days.cluster
        and device_days.metric = days.metric
        and device_days.day_number = days.day_number
where device_days.listed > days.times;

-- check: acme.gpu_metric.gpu
-- object: acme.gpu_metric
-- kind: range
-- rule: a node has eight GPUs, numbered from 0
select count(*)
from acme.gpu_metric
where gpu < 0 or gpu > 7;

-- check: acme.gpu_metric.non_negative
-- object: acme.gpu_metric
-- kind: range
-- rule: no value is below 0
select count(*)
from acme.gpu_metric
where value < 0;

-- check: acme.gpu_metric.percent
-- object: acme.gpu_metric
-- kind: range
-- rule: what DCGM gives in percent is no more than 100
select count(*)
from acme.gpu_metric
where
    metric in ('GPU_UTIL', 'MEM_COPY_UTIL', 'SM_ACTIVE', 'SM_OCCUPANCY', 'PIPE_TENSOR_ACTIVE', 'DRAM_ACTIVE')
    and value > 100;

-- check: acme.gpu_metric.memory
-- object: acme.gpu_metric
-- kind: range
-- rule: neither used nor free memory is more than 80 GiB, in MiB
select count(*)
from acme.gpu_metric
where metric in ('FB_USED', 'FB_FREE') and value > 80 * 1024;

-- check: acme.gpu_metric.xid
-- object: acme.gpu_metric
-- kind: range
-- rule: an error code is a whole number
select count(*)
from acme.gpu_metric
where metric = 'XID_ERRORS' and value > 0 and value <> trunc(value);

-- check: acme.gpu_metric.time
-- object: acme.gpu_metric
-- kind: range
-- rule: samples are of 2023, by the clock of Shanghai
select count(*)
from acme.gpu_metric
where
    time < timestamptz '2023-01-01 00:00:00+08:00'
    or time >= timestamptz '2024-01-01 00:00:00+08:00';

-- check: acme.gpu_metric.in_node_metric
-- object: acme.gpu_metric
-- kind: reference
-- rule: a GPU's node has metrics of its own, where its cluster has any of nodes; counts nodes
with gpu_nodes as (
    select
        cluster,
        node
    from acme.gpu_metric
    where node is not null
    group by cluster, node
),

nodes as (
    select
        cluster,
        node
    from acme.node_metric
    group by cluster, node
)

select count(*)
from gpu_nodes
where
    exists (
        select 1
        from nodes
        where nodes.cluster = gpu_nodes.cluster
    )
    and not exists (
        select 1
        from nodes
        where nodes.cluster = gpu_nodes.cluster and nodes.node = gpu_nodes.node
    );

-- check: acme.gpu_metric.attributed
-- object: acme.gpu_metric
-- kind: coverage
-- rule: every device is named after its address; counts names, metric by metric
-- caveat: acme.device_names_vary
with names as (
    select
        cluster,
        metric,
        device
    from acme.gpu_metric
    where node is null and device is not null
    group by cluster, metric, device
)

select count(*)
from names;

-- check: acme.gpu_metric.several_times
-- object: acme.gpu_metric
-- kind: coverage
-- rule: every metric of a cluster has more than one time; counts metrics
-- caveat: acme.dram_active_one_row
with spans as (
    select
        cluster,
        metric,
        min(time) as first_time,
        max(time) as last_time
    from acme.gpu_metric
    group by cluster, metric
)

select count(*)
from spans
where first_time = last_time;

-- check: acme.node_metric.key
-- object: acme.node_metric
-- kind: key
-- rule: a node has no more rows of a metric in a day than the metric has times; counts the rows beyond
with node_days as (
    select
        cluster,
        metric,
        node,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as listed
    from acme.node_metric
    where node is not null and time is not null
    group by cluster, metric, node, day_number
),

times as (
    select
        cluster,
        metric,
        time
    from acme.node_metric
    where time is not null
    group by cluster, metric, time
),

days as (
    select
        cluster,
        metric,
        epoch_us(time) // 86400000000 as day_number,
        count(*) as times
    from times
    group by cluster, metric, day_number
)

select coalesce(sum(node_days.listed - days.times), 0)
from node_days
inner join days
    on
        node_days.cluster = days.cluster
        and node_days.metric = days.metric
        and node_days.day_number = days.day_number
where node_days.listed > days.times;

-- check: acme.node_metric.non_negative
-- object: acme.node_metric
-- kind: range
-- rule: no value is below 0
select count(*)
from acme.node_metric
where value < 0;

-- check: acme.node_metric.memory
-- object: acme.node_metric
-- kind: range
-- rule: no more than all of a node's memory is in use
select count(*)
from acme.node_metric
where metric = 'NODE_MEMORY_UTILIZATION' and value > 100;

-- check: acme.node_metric.processors
-- object: acme.node_metric
-- kind: range
-- rule: no more than all of a node's processors are in use
-- caveat: acme.kalos_host_cpu_over_100
select count(*)
from acme.node_metric
where metric = 'NODE_CPU_UTILIZATION' and value > 1;

-- check: acme.node_metric.time
-- object: acme.node_metric
-- kind: range
-- rule: samples are of 2023, by the clock of Shanghai
select count(*)
from acme.node_metric
where
    time < timestamptz '2023-01-01 00:00:00+08:00'
    or time >= timestamptz '2024-01-01 00:00:00+08:00';

-- check: acme.node_metric.attributed
-- object: acme.node_metric
-- kind: coverage
-- rule: every device is named after its address; counts names, metric by metric
-- caveat: acme.node_memory_bad_columns
with names as (
    select
        cluster,
        metric,
        device
    from acme.node_metric
    where node is null and device is not null
    group by cluster, metric, device
)

select count(*)
from names;

-- check: acme.server_power.non_negative
-- object: acme.server_power
-- kind: range
-- rule: no power is below 0
select count(*)
from acme.server_power
where
    "Sys_Total_Power" < 0
    or "CPU_Power" < 0
    or "MEM_Power" < 0
    or "Memory_Power" < 0;

-- check: acme.server_power.one_memory
-- object: acme.server_power
-- kind: range
-- rule: the memory's power stands in one of its two columns
select count(*)
from acme.server_power
where "MEM_Power" is not null and "Memory_Power" is not null;

-- check: acme.server_power.time
-- object: acme.server_power
-- kind: range
-- rule: samples are of 2023, by the clock of Shanghai
select count(*)
from acme.server_power
where
    "Time" < timestamptz '2023-01-01 00:00:00+08:00'
    or "Time" >= timestamptz '2024-01-01 00:00:00+08:00';

-- check: acme.server_power.memory_recorded
-- object: acme.server_power
-- kind: coverage
-- rule: every sample that has a server's power has its memory's
-- caveat: acme.ipmi_is_seren_only
select count(*)
from acme.server_power
where "Sys_Total_Power" is not null and "MEM_Power" is null and "Memory_Power" is null;
