-- Data-quality rules of openb. Each counts the rows that break it.
-- A rule that compares two tables or two lists counts 0 breaches if one of them has no rows.

-- check: openb.node.lists_agree
-- object: openb.node
-- kind: reference
-- rule: gpu_node has the GPU nodes of all_node: the same number of each size and model
with sizes as (
    select
        count(*) filter (where node_list = 'all_node') as in_all_node,
        count(*) filter (where node_list = 'gpu_node') as in_gpu_node
    from openb.node
    where gpu > 0
    group by cpu_milli, memory_mib, gpu, model
)

select coalesce(sum(abs(in_all_node - in_gpu_node)), 0)
from sizes
where
    exists (
        select 1 from openb.node as listed
        where listed.node_list = 'all_node'
    )
    and exists (
        select 1 from openb.node as listed
        where listed.node_list = 'gpu_node'
    );

-- check: openb.pod.gpu_spec_models
-- object: openb.pod
-- kind: reference
-- rule: every model in gpu_spec is the model of a node
with wanted as (
    select
        variant,
        name,
        unnest(string_split(gpu_spec, '|')) as model
    from openb.pod
    where gpu_spec is not null
),

unknown_model as (
    select distinct
        variant,
        name
    from wanted
    where not exists (
        select 1 from openb.node as node
        where node.model = wanted.model
    )
)

select count(*)
from unknown_model
where exists (select 1 from openb.node);

-- check: openb.pod.gpuspec_keeps_default
-- object: openb.pod
-- kind: reference
-- rule: a gpuspecNN list has the pods of default under the same names, with the same requests and times
with default_list as (
    select
        name,
        cpu_milli,
        memory_mib,
        num_gpu,
        gpu_milli,
        qos,
        pod_phase,
        creation_time,
        deletion_time,
        scheduled_time
    from openb.pod
    where variant = 'default'
)

select count(*)
from openb.pod as pod
where
    -- gpuspec33_cpu0 lacks the pods without a GPU and numbers the others again.
    regexp_full_match(pod.variant, 'gpuspec[0-9]+')
    and exists (select 1 from default_list)
    and not exists (
        select 1 from default_list
        where
            default_list.name is not distinct from pod.name
            and default_list.cpu_milli is not distinct from pod.cpu_milli
            and default_list.memory_mib is not distinct from pod.memory_mib
            and default_list.num_gpu is not distinct from pod.num_gpu
            and default_list.gpu_milli is not distinct from pod.gpu_milli
            and default_list.qos is not distinct from pod.qos
            and default_list.pod_phase is not distinct from pod.pod_phase
            and default_list.creation_time is not distinct from pod.creation_time
            and default_list.deletion_time is not distinct from pod.deletion_time
            and default_list.scheduled_time is not distinct from pod.scheduled_time
    );

-- check: openb.pod.multigpu50_keeps_default
-- object: openb.pod
-- kind: reference
-- rule: every pod of default is in multigpu50 under the same name, with the same requests
with multigpu50 as (
    select
        name,
        cpu_milli,
        memory_mib,
        num_gpu,
        gpu_milli
    from openb.pod
    where variant = 'multigpu50'
)

select count(*)
from openb.pod as pod
where
    pod.variant = 'default'
    and exists (select 1 from multigpu50)
    and not exists (
        select 1 from multigpu50
        where
            multigpu50.name is not distinct from pod.name
            and multigpu50.cpu_milli is not distinct from pod.cpu_milli
            and multigpu50.memory_mib is not distinct from pod.memory_mib
            and multigpu50.num_gpu is not distinct from pod.num_gpu
            and multigpu50.gpu_milli is not distinct from pod.gpu_milli
    );

-- check: openb.pod.first_pod
-- object: openb.pod
-- kind: range
-- rule: the default list begins at 0
select count(*)
from (
    select min(creation_time) as first_creation_time
    from openb.pod
    where variant = 'default'
) as default_list
where first_creation_time <> 0;
