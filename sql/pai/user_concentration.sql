-- Instance share of the heaviest users (PAI instances)
-- column: top_users: Number of heaviest users
-- column: top_instances_pct: Share of the instances of the heaviest users
-- column: bottom_half_max_instances: Largest number of instances of a user in the half with the fewest
create or replace macro pai.user_concentration(top_pct double := 5) as table
with ranked as (
    select
        instances,
        instance_rank,
        count(*) over () as users,
        ceil(count(*) over () * top_pct / 100) as top_users
    from pai.user_load
)

select
    count(*) as users,
    cast(coalesce(max(ranked.top_users), 0) as bigint) as top_users,
    100.0 * sum(instances) filter (where instance_rank <= ranked.top_users)
    / nullif(sum(instances), 0) as top_instances_pct,
    max(instances) filter (where instance_rank > users - floor(users / 2)) as bottom_half_max_instances
from ranked;

comment on macro table pai.user_concentration is 'Number of users, number of heaviest users, their share of all instances, and the largest number of instances of a user in the half of the users with the fewest instances.';
