-- Data-quality rules of Helios. Each counts the rows that break it.

-- check: helios.gpu_count.total
-- object: helios.gpu_count
-- kind: derived
-- rule: total is the sum of the virtual clusters of the day
select count(*)
from (
    select
        cluster,
        "date"
    from helios.gpu_count
    group by cluster, "date"
    having sum(gpus) filter (where vc is null) <> sum(gpus) filter (where vc is not null)
) as days;
