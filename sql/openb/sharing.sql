-- GPU sharing and requested share (openb GPU pods)
-- resolves_caveat: openb.count_gpu_pods
-- resolves_caveat: openb.multigpu_demand_exceeds_capacity
-- column: gpu_pods: Pods that request a GPU or a part of one
-- column: sharing_pods: Pods that request less than a whole GPU
-- column: sharing_pods_pct: Share of the GPU pods that share a GPU
-- column: mean_sharing_milli [thousandths of a GPU]: Mean request per GPU of the pods that share a GPU
-- column: mean_milli [thousandths of a GPU]: Mean request per GPU of all GPU pods
-- column: half_or_less_pods: Pods that request half a GPU or less
create or replace macro openb.sharing(in_variant varchar := 'default') as table
select
    count(*) as gpu_pods,
    count(*) filter (where gpu_milli < 1000) as sharing_pods,
    100.0 * count(*) filter (where gpu_milli < 1000) / nullif(count(*), 0) as sharing_pods_pct,
    avg(gpu_milli) filter (where gpu_milli < 1000) as mean_sharing_milli,
    avg(gpu_milli) as mean_milli,
    count(*) filter (where gpu_milli <= 500) as half_or_less_pods
from openb.pod
where variant = in_variant and num_gpu > 0;

comment on macro table openb.sharing is 'GPU pods, pods that request less than a whole GPU, mean request per GPU in thousandths of these and of all GPU pods, and pods that request half a GPU or less.';
