-- Profiled and trained configurations by GPU (Zeus runs)
-- column: power_only [configurations]: Configurations that are profiled but not trained
-- column: train_only [configurations]: Configurations that are trained but not profiled on this GPU
-- column: both [configurations]: Configurations that are profiled and trained
create or replace macro zeus.coverage_by_gpu() as table
select
    gpu,
    count(*) filter (where in_power and not in_train) as power_only,
    count(*) filter (where in_train and not in_power) as train_only,
    count(*) filter (where in_train and in_power) as "both"
from zeus.coverage
group by gpu
order by gpu;

comment on macro table zeus.coverage_by_gpu is 'Configurations of data set, model, optimizer and batch size per GPU: profiled but not trained, trained but not profiled on this GPU, and both.';
