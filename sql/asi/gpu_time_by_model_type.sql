-- GPU time by kind of model (ASI GPU pods)
-- resolves_caveat: asi.pods_without_gpu
-- chart: stack x=class y=held_gpu_h_pct color=model_type xname={per}
-- column: class: Kind of job, or GPU model
-- column: held_gpu_h: GPU time held by pods of the class and kind of model
-- column: held_gpu_h_pct: Share of the GPU time of the class
create or replace macro asi.gpu_time_by_model_type(
    from_day integer := 109,
    to_day integer := 115,
    -- what to group the GPU time by: job_type or gpu_model [job_type gpu_model]
    per varchar := 'job_type'
) as table
with classed as (
    select
        case per when 'job_type' then job_type else shown_model end as class,
        model_type,
        held_gpu_h
    from asi.class_hour
    where day between from_day and to_day and requests_gpus and model_type <> 'unknown'
),

kinds as (
    select
        class,
        model_type,
        stats.fsum(held_gpu_h) as held_gpu_h
    from classed
    where
        class in (
            'training', 'online_inference', 'offline_inference', 'dev',
            'A10', 'L20', 'H20', 'A100', 'H800', 'XPU-A'
        )
    group by class, model_type
)

select
    class,
    model_type,
    held_gpu_h,
    100.0 * held_gpu_h / nullif(sum(stats.exact(held_gpu_h)) over (partition by class), 0) as held_gpu_h_pct
from kinds
order by class, model_type;

comment on macro table asi.gpu_time_by_model_type is 'GPU time that GPU pods of a known kind of model held, in percent of each kind of job or GPU model, as in the publisher''s model_type_distribution.';
