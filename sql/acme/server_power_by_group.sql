-- Server power by component (Acme Seren servers)
-- chart: bar x=server_group y=mean_rest_pct color=has_memory_power yname=mean_share_of_the_server's_power_pct title=Server power other than of CPUs and memory (Acme Seren servers) note=The rest includes the GPUs, and the memory where its power is not recorded.
create or replace macro acme.server_power_by_group() as table
select
    server_group,
    has_memory_power,
    samples,
    mean_total_w,
    median_total_w,
    max_total_w,
    mean_cpu_w,
    mean_memory_w,
    mean_rest_pct,
    median_rest_pct
from acme.server_power_share
order by server_group, has_memory_power;

comment on macro table acme.server_power_by_group is 'Power of Seren''s servers by type of server: total, processors, memory, and the share of the rest, which includes the GPUs.';
