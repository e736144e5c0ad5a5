-- Training runs and unreached targets (Zeus runs)
-- answers: final state
-- resolves_caveat: zeus.configurations_differ
-- resolves_caveat: zeus.join_multiplies
-- resolves_caveat: zeus.librispeech_default_differs
-- resolves_caveat: zeus.librispeech_lower_is_better
-- resolves_caveat: zeus.not_jobs
-- resolves_caveat: zeus.target_decides_optimum
-- resolves_caveat: zeus.target_never_reached
-- resolves_caveat: zeus.target_scales_differ
-- resolves_caveat: zeus.train_has_no_gpu
-- column: dataset: Data set, or all
-- column: train_rows: Rows of the training trace
-- column: unreached_rows: Rows whose run missed the target
-- column: batch_sizes [batch sizes]: Batch sizes with rows
-- column: targets [targets]: Targets with rows
create or replace macro zeus.train_coverage(
    -- largest batch size to include [1 to 1000000]
    max_batch_size integer := 1000000,
    with_total boolean := false
) as table
select
    coalesce(dataset, 'all') as dataset,
    count(*) as train_rows,
    count(*) - count(target_epoch) as unreached_rows,
    count(distinct dataset || '/' || batch_size) as batch_sizes,
    count(distinct dataset || '/' || target_metric) as targets
from zeus.train
where batch_size <= max_batch_size
group by grouping sets ((dataset), ())
having bool_or(with_total) or grouping(dataset) = 0
order by grouping(dataset), dataset;

comment on macro table zeus.train_coverage is 'Rows of the training trace per data set; a row is a run and a target. The total counts batch sizes and targets separately for each data set.';
