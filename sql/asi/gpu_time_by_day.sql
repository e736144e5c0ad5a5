-- GPU time by day and GPU model (ASI GPU pods)
-- chart: line x=day y=held_gpu_h color=exact_model
-- column: day [no unit]: Day since the start of the trace
-- column: exact_model: GPU model with this very name: H20 does not include H20-141GB
-- column: hp_gpu_h: GPU time held by HP pods
-- column: lp_gpu_h: GPU time held by LP pods
-- column: held_gpu_h: GPU time held by all pods
create or replace macro asi.gpu_time_by_day(gpu_pods_by varchar := 'memory') as table
select
    day,
    gpu_model as exact_model,
    coalesce(stats.fsum(case when priority = 'HP' then held_gpu_h end), 0) as hp_gpu_h,
    coalesce(stats.fsum(case when priority = 'LP' then held_gpu_h end), 0) as lp_gpu_h,
    stats.fsum(held_gpu_h) as held_gpu_h
from asi.class_hour
where
    case gpu_pods_by when 'memory' then requests_gpu_memory else requests_gpus end
    and gpu_model in ('A10', 'A100', 'H20', 'L20', 'XPU-A')
group by day, gpu_model
order by day, exact_model;

comment on macro table asi.gpu_time_by_day is 'GPU time that GPU pods held on the five models of the publisher''s gpu_spec_hourly_req_trend, without their variants, by day. GPU pods are those that request GPU memory, as in his script; with gpus, those that request GPUs.';
