-- Workloads by hour, with the requests and the places of their GPU pods (ASI).
-- grain: one row per (day, hour_of_day, workload_id)
-- source: scripts of cluster-trace-gpu-v2026
-- answers: group or recurrence
-- caveat: asi.workloads_are_missing
-- resolves_caveat: asi.pods_without_gpu
-- materialize: parquet per partition
create or replace view asi.workload_hour_v1 as
select
    pod.day,
    pod.hour_of_day,
    pod.workload_id,
    bool_or(pod.is_genai) as is_genai,
    stats.fsum(pod.requested_gpus) as requested_gpus,
    stats.fsum(pod.requested_cpus) as requested_cpus,
    count(*) as gpu_pods,
    count(distinct pod.server_id) as servers,
    count(distinct server.switch) as switches,
    count(distinct pod.cluster) as clusters,
    count(*) filter (where server.switch is null) as unknown_switch_pods
from asi.pod_hour_v1 as pod
left join asi.server_hour_v1 as server
    on
        pod.day = server.day
        and pod.hour_of_day = server.hour_of_day
        and pod.server_id = server.server_id
where pod.requested_gpus > 0 and pod.workload_id is not null
group by pod.day, pod.hour_of_day, pod.workload_id;

comment on column asi.workload_hour_v1.is_genai is 'Whether the request of any pod matches the publisher''s rules for generative models; derived.';
comment on column asi.workload_hour_v1.requested_gpus is 'GPUs that the pods request together; derived.';
comment on column asi.workload_hour_v1.requested_cpus is 'CPU cores that the pods request together; derived.';
comment on column asi.workload_hour_v1.gpu_pods is 'Pods of the workload with a GPU; derived.';
comment on column asi.workload_hour_v1.servers is 'Servers that the pods are on; derived.';
comment on column asi.workload_hour_v1.switches is 'Known access switches that the servers are at [switches]; derived.';
comment on column asi.workload_hour_v1.clusters is 'Clusters that the servers are in [clusters]; derived.';
comment on column asi.workload_hour_v1.unknown_switch_pods is 'Pods on servers without a recorded switch; derived.';
