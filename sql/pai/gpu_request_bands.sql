-- Tasks by requested share of a GPU (PAI GPU tasks)
-- resolves_caveat: pai.gpu_counts_are_fractions
-- resolves_caveat: pai.job_means_task_elsewhere
-- resolves_caveat: pai.plan_gpu_null_is_cpu_task
-- resolves_caveat: pai.plan_is_per_instance
-- resolves_caveat: pai.status_mix_drifts
-- resolves_caveat: pai.task_status_from_instances
-- chart: bar x=band xname=requested_share_of_a_GPU y=share_pct yname=tasks_pct
-- column: band: Band of the request, including its lower and excluding its upper bound
-- column: tasks: GPU tasks of the band
-- column: share_pct: Share of the total
create or replace macro pai.gpu_request_bands(
    -- count only tasks with this status [any Terminated Failed Running Waiting]
    with_status varchar := 'any'
) as table
with bands as (
    select
        known.place,
        known.band
    from (
        values
        (1, 'under 25 %'),
        (2, '25 to 50 %'),
        (3, '50 to 100 %'),
        (4, '1 GPU'),
        (5, 'over 1 GPU')
    ) as known (place, band)
),

counted as (
    select
        case
            when plan_gpu < 25 then 1
            when plan_gpu < 50 then 2
            when plan_gpu < 100 then 3
            when plan_gpu = 100 then 4
            else 5
        end as place,
        count(*) as tasks
    from pai.task
    where plan_gpu > 0 and (with_status = 'any' or status = with_status)
    group by place
),

-- Left join: includes bands without tasks.
listed as (
    select
        bands.place,
        bands.band,
        coalesce(counted.tasks, 0) as tasks,
        sum(counted.tasks) over () as all_tasks
    from bands
    left join counted on bands.place = counted.place
)

select
    band,
    tasks,
    100.0 * tasks / nullif(all_tasks, 0) as share_pct
from listed
order by place;

comment on macro table pai.gpu_request_bands is 'GPU tasks by the part of a GPU that each instance requests. A band includes its lower bound and excludes its upper bound.';
