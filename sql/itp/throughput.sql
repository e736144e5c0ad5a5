-- Generated throughput by model and job size (ITP jobs)
-- caveat: itp.training_columns_synthetic
-- column: iterations_per_s [iterations per s]: Iterations per second
-- chart: point x=requested_gpus:log y=median_iterations_per_s:log color=batch_size facet=model_name yname=iterations_per_s title=Median generated throughput by model and size (ITP jobs)
create or replace macro itp.throughput() as table
select
    model_name,
    batch_size,
    requested_gpus,
    count(*) as jobs,
    min(iterations_per_s) as min_iterations_per_s,
    median(iterations_per_s) as median_iterations_per_s,
    max(iterations_per_s) as max_iterations_per_s
from itp.job
where model_name is not null
group by model_name, batch_size, requested_gpus
order by model_name, batch_size, requested_gpus;

comment on macro table itp.throughput is 'Jobs, and generated iterations divided by run time. The quotients reproduce the publisher''s table of throughputs, except for rounding down to whole iterations.';
