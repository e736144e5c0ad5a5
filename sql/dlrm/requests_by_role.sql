-- Requested resources by role (DLRM instances)
-- caveat: dlrm.services_not_jobs
-- chart: bar x=role y=instances
create or replace macro dlrm.requests_by_role() as table
select
    role,
    count(*) as instances,
    count(distinct app_name) as services,
    sum(gpu_request) as requested_gpus,
    sum(cpu_request) as requested_cpus,
    fsum(memory_request) as requested_memory_gib
from dlrm.instance
group by role
order by role;

comment on macro table dlrm.requests_by_role is 'Instances and services, and the GPUs, CPU cores and memory that they request, per role.';
