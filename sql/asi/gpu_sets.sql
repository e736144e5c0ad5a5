-- Sets of GPUs within a cluster and a switch (ASI servers)
-- chart: bar x=set_gpus xname=GPUs_per_set y=sets yname=mean_sets color=fits_in facet=gpu_model note=Complete sets of GPUs that HP pods leave free at 10:00, mean over days.
-- column: gpu_model: GPU model, or any of the four
-- column: set_gpus: GPUs of a set
-- column: fits_in: Whether a set must be within one cluster or within one switch
-- column: free_slots [GPUs]: GPUs that HP pods leave with 12 CPU cores each, mean over days
-- column: sets [sets]: Complete sets of these slots, mean over days
create or replace macro asi.gpu_sets(
    from_day integer := 109,
    to_day integer := 115,
    -- hour of the day [0 to 23]
    at_hour integer := 10,
    -- smallest set to include [8 to 256]
    min_set_gpus integer := 128
) as table
with servers as (
    select
        day,
        cluster,
        switch,
        shown_model,
        hp_pods,
        least(
            greatest(gpus - floor(hp_requested_gpus), 0),
            greatest(floor((cpus - hp_requested_cpus) / 12), 0)
        ) as slots
    from asi.server_hour
    where day between from_day and to_day and hour_of_day = at_hour
),

days as (
    select count(distinct day) as days
    from servers
),

usable as (
    select
        day,
        cluster,
        switch,
        shown_model,
        slots
    from servers
    where hp_pods > 0 and switch is not null and shown_model in ('H20', 'XPU-A', 'L20', 'A100')
),

classes as (
    select
        1 as place,
        shown_model as gpu_model,
        day,
        cluster,
        switch,
        slots
    from usable
    union all
    select
        2 as place,
        'any of the four' as gpu_model,
        day,
        cluster,
        switch,
        slots
    from usable
),

places as (
    select
        place,
        gpu_model,
        'cluster' as fits_in,
        stats.fsum(slots) as slots
    from classes
    group by place, gpu_model, day, cluster
    union all
    select
        place,
        gpu_model,
        'switch' as fits_in,
        stats.fsum(slots) as slots
    from classes
    group by place, gpu_model, day, switch
),

sizes as (
    select size.set_gpus
    from (values (8), (16), (32), (64), (128), (256)) as size (set_gpus)
    where size.set_gpus >= min_set_gpus
)

select
    places.gpu_model,
    sizes.set_gpus,
    places.fits_in,
    stats.fsum(places.slots) / max(days.days) as free_slots,
    stats.fsum(floor(places.slots / sizes.set_gpus)) / max(days.days) as sets
from places
cross join sizes
cross join days
group by places.place, places.gpu_model, sizes.set_gpus, places.fits_in
order by places.place, places.gpu_model, sizes.set_gpus, places.fits_in;

comment on macro table asi.gpu_sets is
'Complete sets of 128 and 256 GPUs that HP pods leave at 10:00 within one cluster and within one access '
'switch, as in the publisher''s asw_available_slots: on servers with an HP pod and a known switch, for '
'four GPU models and for sets of any of them. LP pods do not count, because HP pods preempt them. Sets '
'are complete or do not count, so that the sets of the models do not add up to those of any model.';
