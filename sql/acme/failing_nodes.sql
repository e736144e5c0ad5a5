-- Nodes with the most error onsets (Acme GPUs)
-- caveat: acme.telemetry_covers_part
-- resolves_caveat: acme.dram_active_one_row
-- resolves_caveat: acme.no_nodes_on_jobs
-- chart: line x=rank y=cumulative_pct xname=nodes_with_the_most_onsets yname=onsets_of_these_nodes_pct title=Share of error onsets by nodes with the most (Acme GPUs)
-- column: rank [no unit]: Rank, from 1
-- column: gpus_with_onset [GPUs]: GPUs of the node that had an onset
-- column: onsets [onsets]: Onsets of any error code on the GPUs of the node
-- column: onsets_pct: Share of the node in the onsets of the cluster
-- column: cumulative_pct: Share of the onsets on this node and the nodes before it
-- column: nodes_seen [nodes]: Nodes of which error codes were recorded, the same in each row
create or replace macro acme.failing_nodes(
    on_cluster varchar := 'kalos',
    -- number of nodes to list, those with the most onsets [1 to 1000000]
    top integer := 20
) as table
-- An empty cell means that the GPU had no error, so its node was observed.
with observed as (
    select count(distinct node) as nodes_seen
    from acme.gpu_metric
    where cluster = on_cluster and metric = 'XID_ERRORS'
),

counted as (
    select
        node,
        count(distinct gpu) as gpus_with_onset,
        count(*) as onsets
    from acme.xid_onset
    where cluster = on_cluster
    group by node
),

ranked as (
    select
        node,
        gpus_with_onset,
        onsets,
        row_number() over (order by onsets desc, node asc) as rank,
        100.0 * onsets / sum(onsets) over () as onsets_pct,
        100.0 * sum(onsets) over (order by onsets desc, node asc rows unbounded preceding)
        / sum(onsets) over () as cumulative_pct
    from counted
),

listed as (
    select *
    from ranked
    where rank <= top
)

select
    listed.rank,
    listed.node,
    listed.gpus_with_onset,
    listed.onsets,
    listed.onsets_pct,
    listed.cumulative_pct,
    observed.nodes_seen
from listed
cross join observed
order by listed.rank;

comment on macro table acme.failing_nodes is
'Nodes of a cluster with the most onsets of an error code, with the share of each and of all up to it. An onset is a '
'change of XID_ERRORS from 0, an empty cell or no sample to any code, as in acme.xid_onset: most codes are errors of the '
'program that ran and not of the GPU, see acme.onsets_by_code. A single event can fire on many GPUs at once, see '
'acme.xid_bursts: a node with one onset on each of its GPUs may have had one event. nodes_seen counts the nodes of which '
'error codes were recorded, an empty cell included; those without an onset have no row, and nodes that the file does '
'not list are unknown. Nodes were not observed equally long. Columns whose name is not an address are left out.';
