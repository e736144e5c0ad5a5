-- Data-quality rules of openb. Each counts the rows that break it.
-- A rule between two tables, or between two lists, holds where both are there.

-- check: openb.node.lists_agree
-- object: openb.node
-- kind: reference
-- rule: gpu_node holds the nodes of all_node that have GPUs, as many of each size and model
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
-- rule: every model that gpu_spec names is the model of some node
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
-- rule: a gpuspec list has the pods of default under the same names, with the same requests and times
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
    pod.variant like 'gpuspec%'
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

-- check: openb.node.node_list
-- object: openb.node
-- kind: range
-- rule: node_list is all_node or gpu_node
select count(*)
from openb.node
where node_list not in ('all_node', 'gpu_node');

-- check: openb.node.capacity
-- object: openb.node
-- kind: range
-- rule: a node has CPU and memory
select count(*)
from openb.node
where cpu_milli <= 0 or memory_mib <= 0;

-- check: openb.node.gpu
-- object: openb.node
-- kind: range
-- rule: a node has 0, 1, 2, 4 or 8 GPUs
select count(*)
from openb.node
where gpu not in (0, 1, 2, 4, 8);

-- check: openb.node.gpu_node_has_gpus
-- object: openb.node
-- kind: range
-- rule: every node of gpu_node has a GPU
select count(*)
from openb.node
where node_list = 'gpu_node' and gpu <= 0;

-- check: openb.node.model
-- object: openb.node
-- kind: range
-- rule: model is one of the seven that the lists name
select count(*)
from openb.node
where model not in ('A10', 'G2', 'G3', 'P100', 'T4', 'V100M16', 'V100M32');

-- check: openb.node.model_where_gpu
-- object: openb.node
-- kind: range
-- rule: model is empty exactly where a node has no GPU
select count(*)
from openb.node
where (gpu = 0) <> (model is null);

-- check: openb.pod.variant
-- object: openb.pod
-- kind: range
-- rule: a pod list is default or one of the families cpu, gpushare, gpuspec and multigpu
select count(*)
from openb.pod
where
    variant <> 'default'
    and variant not like 'cpu%'
    and variant not like 'gpushare%'
    and variant not like 'gpuspec%'
    and variant not like 'multigpu%';

-- check: openb.pod.cpu_milli
-- object: openb.pod
-- kind: range
-- rule: a pod asks for CPU
select count(*)
from openb.pod
where cpu_milli <= 0;

-- check: openb.pod.memory_mib
-- object: openb.pod
-- kind: range
-- rule: a pod asks for memory
-- caveat: openb.zero_memory_pod
select count(*)
from openb.pod
where memory_mib <= 0;

-- check: openb.pod.num_gpu
-- object: openb.pod
-- kind: range
-- rule: a pod asks for 0, 1, 2, 4 or 8 GPUs
select count(*)
from openb.pod
where num_gpu not in (0, 1, 2, 4, 8);

-- check: openb.pod.gpu_milli_of_none
-- object: openb.pod
-- kind: range
-- rule: gpu_milli is 0 where num_gpu is 0
select count(*)
from openb.pod
where num_gpu = 0 and gpu_milli <> 0;

-- check: openb.pod.gpu_milli_of_one
-- object: openb.pod
-- kind: range
-- rule: gpu_milli is from 1 to 1000 where num_gpu is 1
select count(*)
from openb.pod
where num_gpu = 1 and gpu_milli not between 1 and 1000;

-- check: openb.pod.gpu_milli_of_several
-- object: openb.pod
-- kind: range
-- rule: gpu_milli is 1000 where num_gpu is above 1
select count(*)
from openb.pod
where num_gpu > 1 and gpu_milli <> 1000;

-- check: openb.pod.qos
-- object: openb.pod
-- kind: range
-- rule: qos is LS, BE, Burstable or Guaranteed
select count(*)
from openb.pod
where qos not in ('LS', 'BE', 'Burstable', 'Guaranteed');

-- check: openb.pod.pod_phase
-- object: openb.pod
-- kind: range
-- rule: pod_phase is Succeeded, Running, Pending or Failed
select count(*)
from openb.pod
where pod_phase not in ('Succeeded', 'Running', 'Pending', 'Failed');

-- check: openb.pod.gpu_spec_variants
-- object: openb.pod
-- kind: range
-- rule: gpu_spec is empty outside the gpuspec lists
select count(*)
from openb.pod
where gpu_spec is not null and variant not like 'gpuspec%';

-- check: openb.pod.gpu_spec_needs_gpu
-- object: openb.pod
-- kind: range
-- rule: gpu_spec is empty where a pod asks for no GPU
select count(*)
from openb.pod
where gpu_spec is not null and num_gpu = 0;

-- check: openb.pod.creation_time
-- object: openb.pod
-- kind: range
-- rule: no pod was created before the first one
select count(*)
from openb.pod
where creation_time < 0;

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

-- check: openb.pod.scheduled_after_creation
-- object: openb.pod
-- kind: range
-- rule: no pod was scheduled before it was created
select count(*)
from openb.pod
where scheduled_time < creation_time;

-- check: openb.pod.deletion_after_scheduled
-- object: openb.pod
-- kind: range
-- rule: no pod was deleted before it was scheduled
select count(*)
from openb.pod
where deletion_time < scheduled_time;

-- check: openb.pod.deletion_after_creation
-- object: openb.pod
-- kind: range
-- rule: no pod was deleted before it was created
select count(*)
from openb.pod
where deletion_time < creation_time;

-- check: openb.pod.scheduled_unless_pending
-- object: openb.pod
-- kind: range
-- rule: scheduled_time is empty exactly where pod_phase is Pending; lists without phases do not count
select count(*)
from openb.pod
where (pod_phase = 'Pending') <> (scheduled_time is null);

-- check: openb.pod.recorded
-- object: openb.pod
-- kind: coverage
-- rule: outside the multigpu lists every pod has qos, phase, creation and deletion
select count(*)
from openb.pod
where
    variant not like 'multigpu%'
    and (
        qos is null
        or pod_phase is null
        or creation_time is null
        or deletion_time is null
    );
