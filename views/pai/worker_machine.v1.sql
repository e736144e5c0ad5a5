-- CPU, GPU, load and network of the machine of each worker while it ran (PAI).
-- grain: one row per worker_name that has machine metrics
-- source: README of cluster-trace-gpu-v2020, pai_machine_metric and pai_machine_spec
-- answers: machine placement
-- caveat: pai.cpu_machines_in_spec: machine_gpus
-- caveat: pai.gpu_use_over_100: machine_gpu_pct
-- caveat: pai.machine_cpu_is_a_sum: machine_cpu_pct
-- caveat: pai.machine_metric_is_host_level
-- caveat: pai.misc_is_many_types: gpu_type
-- caveat: pai.network_units: received_bytes
-- caveat: pai.sensor_is_lifetime_average: machine_cpu_pct machine_gpu_pct machine_load received_bytes workers_on_machine
-- resolves_caveat: pai.worker_name_repeats
create or replace view pai.worker_machine_v1 as
select
    worker.worker_name,
    worker.job_name,
    worker.task_name,
    metric.machine,
    spec.gpu_type,
    spec.cap_gpu as machine_gpus,
    spec.cap_cpu as machine_cpus,
    case
        when metric.start_time > 0 and metric.end_time > 0 then metric.end_time - metric.start_time
    end as observed_s,
    metric.machine_cpu as machine_cpu_pct,
    metric.machine_gpu as machine_gpu_pct,
    metric.machine_load_1 as machine_load,
    metric.machine_net_receive as received_bytes,
    metric.machine_num_worker as workers_on_machine
from pai.machine_metric as metric
inner join pai.worker_v1 as worker on metric.worker_name = worker.worker_name
left join pai.machine_spec as spec on metric.machine = spec.machine;

comment on column pai.worker_machine_v1.gpu_type is 'Type of the machine''s GPUs, CPU if it has none; NULL if the machine is not in machine_spec; measured.';
comment on column pai.worker_machine_v1.machine_gpus is 'GPUs of the machine; measured.';
comment on column pai.worker_machine_v1.machine_cpus is 'CPU cores of the machine; measured.';
comment on column pai.worker_machine_v1.observed_s is 'Seconds that the averages cover, the worker''s life; NULL where its start or end is missing; derived.';
comment on column pai.worker_machine_v1.received_bytes is 'Bytes that the machine received over the network, averaged over an interval that the publisher does not document; measured.';
