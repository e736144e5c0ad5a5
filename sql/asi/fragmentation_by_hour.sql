-- GPU fragmentation by hour and model (ASI GPUs)
-- resolves_caveat: asi.pods_without_gpu
-- chart: line x=hour y=fragmented_pct facet=gpu_model yname=fragmented_gpus_pct note=Fragmented: idle GPUs that the next pod could not use, expected over the frequent requests of HP pods. In percent of all GPUs of the model.
-- column: day [no unit]: Day since the start of the trace
-- column: hour [no unit]: Hour since the start of the trace
-- column: capacity_gpus: GPUs of all servers of the model
-- column: free_gpus: Idle GPUs of these servers
-- column: fragmented_gpus: GPUs that the next HP pod on a server of the model cannot use
-- column: fragmented_pct: fragmented_gpus in percent of capacity_gpus
create or replace macro asi.fragmentation_by_hour(from_day integer := 109, to_day integer := 115) as table
with requests as (
    select
        shown_model,
        requested_gpus,
        requested_cpus,
        count(*) as pod_days
    from asi.pod_day
    where day between from_day and to_day and priority = 'HP' and requested_gpus > 0
    group by shown_model, requested_gpus, requested_cpus
),

ranked as (
    select
        shown_model,
        requested_gpus,
        requested_cpus,
        pod_days,
        sum(pod_days) over by_popularity as pod_days_up_to,
        sum(pod_days) over (partition by shown_model) as all_pod_days
    from requests
    window
        by_popularity as (
            partition by shown_model
            order by pod_days desc, requested_cpus asc, requested_gpus asc
            rows between unbounded preceding and current row
        )
),

-- As in openb.task_class, keeps classes while the previous ones have under 95 % of the pods.
classes as (
    select
        shown_model,
        requested_cpus,
        ceil(requested_gpus) as num_gpu,
        requested_gpus / nullif(ceil(requested_gpus), 0) as gpu_share,
        pod_days / sum(pod_days) over (partition by shown_model) as popularity
    from ranked
    where 100 * (pod_days_up_to - pod_days) < 95 * all_pod_days
),

-- Rounds, because sums of fractions may differ slightly from a whole number of GPUs.
servers as (
    select
        day,
        hour_of_day,
        shown_model,
        gpus,
        round(idle_gpus, 6) as free_gpus,
        floor(round(idle_gpus, 6)) as whole_gpus,
        round(round(idle_gpus, 6) - floor(round(idle_gpus, 6)), 6) as rest_of_gpu,
        idle_cpus
    from asi.idle_hour
    where day between from_day and to_day
),

-- It is unknown which GPU of a server a pod uses: assumes that at most one GPU is partly used.
fits as (
    select
        servers.day,
        servers.hour_of_day,
        servers.shown_model,
        servers.free_gpus,
        classes.popularity,
        classes.num_gpu,
        servers.whole_gpus
        + case when servers.rest_of_gpu >= classes.gpu_share then 1 else 0 end as fitting_gpus,
        servers.idle_cpus >= classes.requested_cpus as has_rest,
        case
            when servers.rest_of_gpu < classes.gpu_share then servers.rest_of_gpu else 0
        end as too_small_gpus
    from servers
    inner join classes on servers.shown_model = classes.shown_model
    where servers.free_gpus is not null
),

fragmented as (
    select
        day,
        hour_of_day,
        shown_model,
        stats.fragmented_gpus(
            popularity, num_gpu, fitting_gpus, has_rest, free_gpus, too_small_gpus
        ) as fragmented_gpus
    from fits
    group by day, hour_of_day, shown_model
),

hours as (
    select
        day,
        hour_of_day,
        shown_model,
        stats.fsum(servers.gpus) as capacity_gpus,
        stats.fsum(servers.free_gpus) as free_gpus
    from servers
    group by day, hour_of_day, shown_model
)

select
    hours.day,
    hours.hour_of_day,
    24 * hours.day + hours.hour_of_day as hour,
    hours.shown_model as gpu_model,
    hours.capacity_gpus,
    hours.free_gpus,
    fragmented.fragmented_gpus,
    100.0 * fragmented.fragmented_gpus / nullif(hours.capacity_gpus, 0) as fragmented_pct
from hours
left join fragmented
    on
        hours.day = fragmented.day
        and hours.hour_of_day = fragmented.hour_of_day
        and hours.shown_model = fragmented.shown_model
order by hours.day, hours.hour_of_day, gpu_model;

comment on macro table asi.fragmentation_by_hour is
'GPUs of each model, the idle ones (GPUs that HP pods do not hold, and standby pods not beyond what LP '
'pods use), and how many of these the next HP pod could not use, in all hours and on servers of any number '
'of GPUs, by the same measure as openb.fragmentation_of: expected over the most frequent requests '
'of GPUs and CPU cores of HP pods with a GPU on servers of the model in these days, which together are 95 '
'% of them; a pod counts once a day. A server that lacks GPUs or cores for a request has all its idle '
'GPUs fragmented; any other only a GPU whose idle part is too small. At most one GPU of a server is taken '
'to be in use in part, as the trace does not tell which GPU a pod uses. Unlike in openb, pods without a '
'GPU do not count. NULL for a model without HP pods, and except on days 109 to 115: on others, standby is '
'unknown.';
