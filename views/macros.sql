-- Macros that views and queries share. They call them with the schema: `stats.fsum(held_gpu_s)`.
create schema if not exists stats;

-- Sums and means of fractions that are the same on every run, with any number of threads: integers are added,
-- for each number the nearest one, and the remainder, which is at most 0.5, in steps of 2^-60. If a number is
-- not finite or too large, the plain sum is used. The power of two is a double, as integers would overflow.
-- Engines without these macros read sum and avg (views/macros.py).
create or replace macro stats.fsum(number) as
case
    when count(try_cast(number as bigint)) = count(number)
        then
            cast(sum(try_cast(number as bigint)) as double)
            + cast(sum(try_cast((number - try_cast(number as bigint)) * pow(2, 60) as bigint)) as double)
            / pow(2, 60)
    else sum(number)
end;
comment on macro stats.fsum is 'Sum of fractions, exact in any order.';

create or replace macro stats.favg(number) as
case
    when count(try_cast(number as bigint)) = count(number) then stats.fsum(number) / nullif(count(number), 0)
    else avg(number)
end;
comment on macro stats.favg is 'Mean of fractions, the same in any order.';

-- For window functions, which add decimals: `sum(stats.exact(x)) over (…)`. A number that is not finite or too
-- large is an error. Integer and fraction are converted separately: DuckDB multiplies by 10^18 in a double, where
-- an integer would lose digits. A million numbers below 10^14 fit the type of DuckDB's sum. The fraction has spare
-- digits, because DuckDB before 2.0 adds two numbers of 18 digits in 18 digits.
create or replace macro stats.exact(number) as
cast(trunc(number) as decimal(14, 0)) + cast(number % 1 as decimal(33, 18));
comment on macro stats.exact is 'A fraction as a decimal, for sums and means over a window.';

-- Halves go away from zero, after a multiplication that every engine does alike. Of `round`, engines have different
-- opinions: 11.415, which is a little less in binary, is 11.41 in DuckDB 2 and 11.42 before and in Spark.
create or replace macro stats.four_digits(number) as
case
    when number = 0 then number
    when abs(number) < 10000
        then
            case when number < 0 then -1 else 1 end
            * floor(abs(number) * pow(10, 3 - floor(log10(abs(number)))) + 0.5)
            / pow(10, 3 - floor(log10(abs(number))))
    else
        case when number < 0 then -1 else 1 end
        * floor(abs(number) / pow(10, floor(log10(abs(number))) - 3) + 0.5)
        * pow(10, floor(log10(abs(number))) - 3)
end;
comment on macro stats.four_digits is 'A number rounded to four significant digits.';

-- At most 1,440 windows, so that a chart and a table of them stay readable.
create or replace macro stats.readable_window_s(span_s) as
case
    when span_s <= 86400 then 60
    when span_s <= 864000 then 600
    when span_s <= 5184000 then 3600
    else 86400
end;
comment on macro stats.readable_window_s is
'Length in seconds of the windows that divide a span: minutes, ten minutes, hours or days.';

-- openb's first 19 pods span 110 days, in which almost every hour is empty.
create or replace macro stats.first_hour(trace) as
case when trace = 'openb' then 2640 else 0 end;
comment on macro stats.first_hour is 'First hour of a trace, on its clock, that answers by hour show.';

-- The half keeps the logarithm of a whole number off the whole numbers, where rounding would decide.
create or replace macro stats.power_of_two_band(number) as
case when number > 0 then cast(pow(2, floor(log2(number + 0.5))) as bigint) when number = 0 then 0 end;
comment on macro stats.power_of_two_band is
'Start of the band of a whole number: 0, or the largest power of two up to it.';

-- One aggregate with a list of shares: engines compute equal aggregates once, and keep the values once.
create or replace macro stats.percentiles(number) as
{
    'p5': quantile_cont(number, [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[1],
    'p25': quantile_cont(number, [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[2],
    'median': quantile_cont(number, [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[3],
    'p75': quantile_cont(number, [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[4],
    'p90': quantile_cont(number, [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[5],
    'p95': quantile_cont(number, [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[6],
    'p99': quantile_cont(number, [0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])[7]
};
comment on macro stats.percentiles is 'Interpolated percentiles: a struct with p5, p25, median, p75, p90, p95 and p99.';

create or replace macro stats.censored_pct(is_censored, quantity) as
case
    when count(is_censored) = count(*)
        then
            100.0 * coalesce(stats.fsum(case when is_censored then quantity end), 0)
            / nullif(stats.fsum(quantity), 0)
end;
comment on macro stats.censored_pct is 'Percentage of a quantity in censored rows; with 1 as the quantity, percentage of rows. NULL if it is unknown for some row whether it is censored.';

-- F_n(M) of Beware of Fragmentation (ATC 2023), added up over pairs of a node and a task class. A class needs
-- needed_gpus, and the node has fitting_gpus with enough free capacity; has_rest: all other needs are met. On a node
-- that can run the class only the free capacity of GPUs that have too little for it is fragmented.
create or replace macro stats.fragmented_gpus(
    popularity, needed_gpus, fitting_gpus, has_rest, free_gpus, too_small_gpus
) as
stats.fsum(
    popularity
    * case
        when needed_gpus > 0 and fitting_gpus >= needed_gpus and has_rest then too_small_gpus
        else free_gpus
    end
);
comment on macro stats.fragmented_gpus is 'Free GPUs of nodes that the next task cannot use, expected over task classes.';

-- The first value in each fifth of a percent, and the last value: at most 501 points per series.
create or replace macro stats.cdf_points(source, by_column, number, weight) as table
select
    series,
    min(value) as value,
    min(percentile) as percentile
from (
    select
        by_column as series,
        number as value,
        100.0 * sum(weight) over (partition by by_column order by number)
        / sum(weight) over (partition by by_column) as percentile
    from query_table(source)
    where number is not null
) as ranked
group by series, floor(round(5 * percentile, 6));
comment on macro table stats.cdf_points is 'Points of the cumulative distribution of a number per series, in a table or CTE whose rows count `weight` times: series, value, and the percentage up to this value, exact to a fifth of a percent.';

-- In an idle hour no resource is the scarcest, and a tie counts for each.
create or replace macro stats.scarcest_resources(source) as table
select
    resource,
    count(*) as hours,
    stats.favg(held_pct) as mean_held_pct,
    max(held_pct) as peak_held_pct,
    count(*) filter (where held_pct > 0 and held_pct = scarcest_pct) as hours_scarcest
from (
    select
        resource,
        case resource when 'cpu' then cpu_pct when 'gpu' then gpu_pct else memory_pct end as held_pct,
        greatest(cpu_pct, gpu_pct, memory_pct) as scarcest_pct
    from query_table(source)
    cross join (select unnest(['cpu', 'gpu', 'memory']) as resource) as resources
) as held
group by resource;
comment on macro table stats.scarcest_resources is 'How much of each resource is held over the hours of a table or CTE with cpu_pct, gpu_pct and memory_pct, the held percentages, and in how many hours no other resource is held more.';

-- Columns: series; value, the time; at_risk, the rows observed for at least this time; events, the rows that ended at
-- it; percentile; and its bounds, by Greenwood's variance with the log-log transformation. Rows without a time are
-- ignored. 1.96 is the 97.5th percentile of the normal distribution. Rounding removes errors of the sums of logarithms.
create or replace macro stats.survival_curve(source, by_column, observed, is_event) as table
select
    series,
    value,
    at_risk,
    events,
    round(100 - 100 * survival, 9) as percentile,
    round(100 - 100 * coalesce(pow(survival, exp(-deviation)), survival), 9) as low_pct,
    round(100 - 100 * coalesce(pow(survival, exp(deviation)), survival), 9) as high_pct
from (
    select
        series,
        value,
        at_risk,
        events,
        survival,
        case
            when survival > 0 and survival < 1
                then 1.959963984540054 * sqrt(variance) / -ln(survival)
        end as deviation
    from (
        select
            series,
            value,
            at_risk,
            events,
            case
                when min(at_risk - events) over up_to_value = 0 then 0.0
                else exp(sum(stats.exact(ln(1 - events / nullif(at_risk, events)))) over up_to_value)
            end as survival,
            sum(stats.exact(1e6 * events / nullif(at_risk * (at_risk - events), 0))) over up_to_value
            / 1e6 as variance
        from (
            select
                series,
                value,
                events,
                cast(sum(ended) over (partition by series order by value desc) as double) as at_risk
            from (
                select
                    series,
                    value,
                    count(*) as ended,
                    cast(count(*) filter (where ends) as double) as events
                from (
                    select
                        by_column as series,
                        observed as value,
                        is_event as ends
                    from query_table(source)
                    where observed is not null
                ) as runs
                group by series, value
            ) as times
        ) as risks
        window up_to_value as (partition by series order by value)
    ) as estimates
) as deviations;
comment on macro table stats.survival_curve is 'Kaplan-Meier estimate of how long something lasts, per series of a table or CTE: one row per distinct time, with the percentage that lasts at most this time, and its 95 % confidence interval. Rows that did not end (is_event) are right-censored.';

-- Poisson bootstrap: in replicate 0 each unit counts once, in replicates 1 to 2000 as often as a hash of seed, unit and
-- replicate decides. So every run and every engine draws the same: hashes are compared as texts with cumulative
-- probabilities of the Poisson distribution with mean 1. Rows without a unit count once in each replicate.
create or replace macro stats.bootstrap_draws(source, unit_number, seed, unit) as table
select
    drawn_number,
    replicate,
    case
        when replicate = 0 or drawn_unit is null then 1.0
        when hashed < '5e2d58d8' then 0.0
        when hashed < 'bc5ab1b1' then 1.0
        when hashed < 'eb715e1d' then 2.0
        when hashed < 'fb239797' then 3.0
        when hashed < 'ff1025f5' then 4.0
        else 5.0
    end as times
from (
    select
        drawn_number,
        drawn_unit,
        replicate,
        md5(drawn_seed || ' ' || cast(drawn_unit as varchar) || ' ' || cast(replicate as varchar)) as hashed
    from (
        select distinct
            unit_number as drawn_number,
            seed as drawn_seed,
            unit as drawn_unit
        from query_table(source)
    ) as units
    cross join (select unnest(generate_series(0, 2000)) as replicate) as replicates
) as hashes;
comment on macro table stats.bootstrap_draws is 'How often each unit (day, user) of a table or CTE counts in 2,000 replicates of a Poisson bootstrap. Equal seeds draw alike: a seed names the query and the trace. unit_number identifies seed and unit in the result.';

-- Parts and wholes are rounded to 1/1024, so that sums below 2^43 are the same in any order. Numbers are faster to join
-- and group by than texts and structs.
create or replace macro stats.share_replicates(source, by_column, seed, unit, part, whole) as table
with share_rows as (
    select
        by_column as series,
        dense_rank() over (order by by_column) as series_number,
        seed as sampled_seed,
        unit as sampled_unit,
        dense_rank() over (order by seed, unit) as unit_number,
        floor(1024.0 * part + 0.5) / 1024.0 as part_sum,
        floor(1024.0 * whole + 0.5) / 1024.0 as whole_sum
    from query_table(source)
),

share_series as (
    select
        series,
        series_number,
        count(sampled_unit) as units,
        100.0 * sum(case when sampled_unit is not null then whole_sum else 0.0 end)
        / nullif(sum(whole_sum), 0) as known_pct
    from share_rows
    group by series, series_number
),

shares as (
    select
        share_rows.series_number,
        draws.replicate,
        100.0 * sum(draws.times * share_rows.part_sum) / nullif(sum(draws.times * share_rows.whole_sum), 0)
            as share_pct
    from share_rows
    inner join stats.bootstrap_draws('share_rows', unit_number, sampled_seed, sampled_unit) as draws
        on share_rows.unit_number = draws.drawn_number
    group by share_rows.series_number, draws.replicate
)

select
    share_series.series,
    shares.replicate,
    share_series.units,
    share_series.known_pct,
    shares.share_pct
from shares
inner join share_series on shares.series_number = share_series.series_number;
comment on macro table stats.share_replicates is '100 * sum(part) / sum(whole) per series of a table or CTE with one row per series and unit, in each replicate of a bootstrap over its units; in replicate 0, of all units.';

create or replace macro stats.share_interval(source, by_column, seed, unit, part, whole) as table
select
    series,
    max(share_pct) filter (where replicate = 0) as share_pct,
    case
        when max(units) >= 10 and max(known_pct) >= 95
            then quantile_cont(case when replicate > 0 then share_pct end, 0.025)
    end as low_pct,
    case
        when max(units) >= 10 and max(known_pct) >= 95
            then quantile_cont(case when replicate > 0 then share_pct end, 0.975)
    end as high_pct
from stats.share_replicates(source, by_column, seed, unit, part, whole)
group by series;
comment on macro table stats.share_interval is '95 % confidence interval of 100 * sum(part) / sum(whole) per series of a table or CTE with one row per series and unit, if its units (days, users) are a sample of similar units. The bounds are NULL with fewer than ten units, or if more than 5 % of the whole has no unit.';

-- The bootstrap estimates the curve again in each replicate, in steps of 5, 1 and 0.2 percent of the curve of all rows
-- (up to 80, 98 and 100 percent). Within a step, rows that did not end count as at risk for as long as in the curve of
-- all rows, and percentages are interpolated along it, so a step of one value is exact. A percentile that a replicate
-- does not reach counts as 101.
create or replace macro stats.survival_percentiles(
    source, by_column, seed, unit, observed, is_event, percentiles
) as table
with survival_rows as (
    select
        by_column as series,
        seed as sampled_seed,
        unit as sampled_unit,
        observed as value,
        is_event as ends
    from query_table(source)
    where observed is not null
),

survival_series as (
    select
        series,
        row_number() over (order by series) as series_number,
        count(distinct sampled_unit) >= 10 and 100.0 * count(sampled_unit) / count(*) >= 95 as has_bounds
    from survival_rows
    group by series
),

survival_values as (
    select
        numbers.series_number,
        curve.series,
        curve.value,
        curve.events,
        curve.percentile,
        case
            when curve.percentile < 80 then floor(round(curve.percentile / 5, 6))
            when curve.percentile < 98 then floor(round(curve.percentile, 6))
            else floor(round(5 * curve.percentile, 6))
        end as step
    from stats.survival_curve('survival_rows', series, value, ends) as curve
    inner join survival_series as numbers on curve.series = numbers.series
),

survival_counts as (
    select
        curve.series_number,
        curve.step,
        observed_rows.sampled_seed,
        observed_rows.sampled_unit,
        dense_rank() over (order by observed_rows.sampled_seed, observed_rows.sampled_unit) as unit_number,
        cast(count(*) as double) as ended,
        cast(count(*) filter (where observed_rows.ends) as double) as events
    from survival_rows as observed_rows
    inner join survival_values as curve
        on observed_rows.series = curve.series and observed_rows.value = curve.value
    inner join survival_series as numbers on curve.series_number = numbers.series_number
    where numbers.has_bounds
    group by curve.series_number, curve.step, observed_rows.sampled_seed, observed_rows.sampled_unit
),

survival_risks as (
    select
        series_number,
        replicate,
        step,
        events,
        ended - events as censored,
        sum(ended) over (partition by series_number, replicate order by step desc) as at_risk
    from (
        select
            counts.series_number,
            counts.step,
            draws.replicate,
            sum(draws.times * counts.ended) as ended,
            sum(draws.times * counts.events) as events
        from survival_counts as counts
        inner join stats.bootstrap_draws('survival_counts', unit_number, sampled_seed, sampled_unit) as draws
            on counts.unit_number = draws.drawn_number
        group by counts.series_number, counts.step, draws.replicate
    ) as drawn_counts
    where ended > 0
),

-- never_at_risk: the share of the censored rows of a step that the curve of all rows treats as not at risk in it.
survival_steps as (
    select
        risks.series_number,
        risks.step,
        limits.start_pct,
        limits.end_pct,
        case
            when risks.censored > 0 and limits.end_pct > limits.start_pct
                then
                    least(
                        greatest(
                            risks.at_risk
                            - risks.events * (100 - limits.start_pct) / (limits.end_pct - limits.start_pct),
                            0.0
                        )
                        / risks.censored,
                        1.0
                    )
            else 0.0
        end as never_at_risk
    from survival_risks as risks
    inner join (
        select
            series_number,
            step,
            max(percentile) as end_pct,
            coalesce(lag(max(percentile)) over (partition by series_number order by step), 0.0) as start_pct
        from survival_values
        group by series_number, step
    ) as limits on risks.series_number = limits.series_number and risks.step = limits.step
    where risks.replicate = 0
),

survival_paths as (
    select
        series_number,
        replicate,
        start_pct,
        end_pct,
        path_pct,
        coalesce(lag(path_pct) over (partition by series_number, replicate order by step), 0.0) as previous_pct
    from (
        select
            series_number,
            replicate,
            step,
            start_pct,
            end_pct,
            case
                when min(at_risk - events) over up_to_step <= 0 then 100.0
                else
                    round(
                        100
                        - 100 * exp(sum(stats.exact(ln(1 - events / nullif(at_risk, events)))) over up_to_step),
                        9
                    )
            end as path_pct
        from (
            select
                risks.series_number,
                risks.replicate,
                risks.step,
                risks.events,
                risks.at_risk - steps.never_at_risk * risks.censored as at_risk,
                steps.start_pct,
                steps.end_pct
            from survival_risks as risks
            inner join survival_steps as steps
                on risks.series_number = steps.series_number and risks.step = steps.step
            where risks.replicate > 0
        ) as exposures
        window up_to_step as (partition by series_number, replicate order by step)
    ) as paths
),

survival_bounds as (
    select
        series_number,
        percentile,
        round(quantile_cont(position_pct, 0.025), 9) as low_pct,
        round(quantile_cont(position_pct, 0.975), 9) as high_pct
    from (
        select
            series_number,
            replicate,
            percentile,
            coalesce(
                min(
                    case
                        when path_pct >= percentile
                            then
                                start_pct
                                + (end_pct - start_pct)
                                * greatest(percentile - previous_pct, 0.0)
                                / coalesce(nullif(path_pct - previous_pct, 0.0), 1.0)
                    end
                ),
                101.0
            ) as position_pct
        from survival_paths
        cross join (select unnest(percentiles) as percentile) as wanted
        group by series_number, replicate, percentile
    ) as positions
    group by series_number, percentile
)

select
    curve.series,
    wanted.percentile,
    min(curve.value) filter (where curve.percentile >= wanted.percentile) as value,
    case
        when max(curve.percentile) >= wanted.percentile
            then min(curve.value) filter (where curve.percentile >= bounds.low_pct)
    end as low_value,
    case
        when max(curve.percentile) >= wanted.percentile
            then min(curve.value) filter (where curve.percentile >= bounds.high_pct)
    end as high_value
from survival_values as curve
cross join (select unnest(percentiles) as percentile) as wanted
left join survival_bounds as bounds
    on curve.series_number = bounds.series_number and wanted.percentile = bounds.percentile
where curve.events > 0
group by curve.series, wanted.percentile;
comment on macro table stats.survival_percentiles is 'Percentiles of the Kaplan-Meier estimate (stats.survival_curve) per series of a table or CTE, each with its 95 % confidence interval: a bootstrap over units (days, users) that estimates the curve again in each replicate. A value and its bounds are NULL if the estimate does not reach the percentile. The bounds are NULL with fewer than ten units, or if more than 5 % of the rows have no unit.';
