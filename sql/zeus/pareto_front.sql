-- Time and energy Pareto front (Zeus configurations)
-- resolves_caveat: zeus.librispeech_default_differs
-- chart: pareto x=time_to_accuracy_s:log y=energy_to_accuracy_j:log color=is_pareto label=batch_size,power_limit_w note=Configurations in which every run reached the publisher's default target.
create or replace macro zeus.pareto_front(
    on_gpu varchar := 'v100', of_dataset varchar := 'librispeech'
) as table
select
    batch_size,
    power_limit_w,
    time_to_accuracy_s,
    energy_to_accuracy_j,
    is_pareto
from zeus.pareto
where gpu = on_gpu and dataset = of_dataset
order by time_to_accuracy_s, energy_to_accuracy_j, batch_size, power_limit_w;

comment on macro table zeus.pareto_front is 'All configurations in which every run reached the default target, fastest first, and whether each is on the Pareto front of time and energy.';
