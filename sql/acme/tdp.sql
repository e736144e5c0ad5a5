-- GPU power samples above 400 W by cluster (Acme GPUs)
-- chart: bar x=cluster y=over_tdp_pct yname=samples_above_400_W_pct
create or replace macro acme.tdp() as table
select
    cluster,
    samples,
    over_tdp_samples,
    over_tdp_pct,
    max_power_w
from acme.tdp_exceedance
order by cluster;

comment on macro table acme.tdp is 'Power samples per cluster, samples above 400 W (the design power of an A100) and their share, and the largest sample.';
