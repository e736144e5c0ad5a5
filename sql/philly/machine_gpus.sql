-- Listed and observed GPUs of machines (Philly machines)
-- column: machines: Machines with these numbers of GPUs
-- column: disagrees: Whether more GPUs were used or measured than listed
create or replace macro philly.machine_gpus() as table
with machines as (
    select
        listed_gpus,
        used_gpus,
        measured_gpus,
        greatest(coalesce(used_gpus, 0), coalesce(measured_gpus, 0)) > coalesce(listed_gpus, 0) as disagrees
    from philly.machine_inventory
)

select
    listed_gpus,
    used_gpus,
    measured_gpus,
    disagrees,
    count(*) as machines
from machines
group by listed_gpus, used_gpus, measured_gpus, disagrees
order by listed_gpus nulls last, used_gpus nulls last, measured_gpus nulls last;

comment on macro table philly.machine_gpus is 'Machines by three counts of their GPUs: in the machine list, used by attempts, and with measured utilisation. NULL where the list, the log or the measurements do not name the machine.';
