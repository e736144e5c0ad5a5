-- Macros that views and queries share. They call them with the schema: `stats.fsum(held_gpu_s)`.
create schema if not exists stats;

-- Sums and means of fractions that are the same on every run, with any number of threads: integers are added,
-- for each number the nearest one, and the remainder, which is at most 0.5, in steps of 2^-60. If a number is
-- not finite or too large, the plain sum is used. The power of two is a double, as integers would overflow.
-- Engines without these macros read sum and avg (definitions/macros.py).
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

-- DuckDB leaves the other traces out before it computes only where it sees that one name equals another.
create or replace macro stats.is_chosen(name, chosen) as
case
    when chosen is null then true
    when chosen not like '%,%' then name = replace(chosen, ' ', '')
    else list_contains(string_split(replace(chosen, ' ', ''), ','), name)
end;
comment on macro stats.is_chosen is 'Whether a list of names, separated by commas, contains a name; NULL contains every name.';

-- Before 1970, a remainder may be below 0. Day 0 was a Thursday.
create or replace macro stats.hour_of_day(local_s) as
(cast(floor(local_s / 3600) as bigint) % 24 + 24) % 24;
comment on macro stats.hour_of_day is 'Hour of the day, 0 to 23, of seconds since 1970 on a local clock.';

create or replace macro stats.weekday(local_s) as
((cast(floor(local_s / 86400) as bigint) + 3) % 7 + 7) % 7 + 1;
comment on macro stats.weekday is 'Day of the week, 1 Monday to 7 Sunday, of seconds since 1970 on a local clock.';

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

create or replace macro stats.pct_of_known(part, known, total) as
case when known >= 0.9 * total then 100.0 * part / nullif(known, 0) end;
comment on macro stats.pct_of_known is
'Percentage of what is known. NULL if less than 90 % of the total is known, which may differ from the rest.';

create or replace macro stats.figure(place_number, name, measured_value, published_value) as
{
    'place': place_number,
    'measure': name,
    'measured': cast(measured_value as double),
    'published': cast(published_value as double)
};
comment on macro stats.figure is
'One measure as measured and as published: a struct with place, measure, measured and published.';

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

create or replace macro stats.number_range(source, by_column, number) as table
select
    series,
    unnest(generate_series(least_number, largest_number)) as number
from (
    select
        series,
        min(whole_number) as least_number,
        max(whole_number) as largest_number
    from (select by_column as series, number as whole_number from query_table(source)) as numbers
    where whole_number is not null
    group by series
) as bounds;
comment on macro table stats.number_range is 'Every whole number from the least to the largest per series of a table or CTE: days or hours, idle ones included.';

create or replace macro stats.jobs_by_week_hour(source, local_s) as table
select
    hours.week_hour % 24 as hour_of_day,
    cast(floor(hours.week_hour / 24) as bigint) + 1 as weekday,
    count(submitted.week_hour) as jobs
from (select unnest(generate_series(0, 167)) as week_hour) as hours
left join (
    select 24 * (stats.weekday(local_s) - 1) + stats.hour_of_day(local_s) as week_hour
    from query_table(source)
) as submitted on hours.week_hour = submitted.week_hour
group by hours.week_hour;
comment on macro table stats.jobs_by_week_hour is 'Rows of a table or CTE in each of the 168 hours of the week of a local clock.';

-- What ends where two windows meet is not in the later one.
create or replace macro stats.held_by_window(
    source, by_column, number, first_s, last_s, length_s
) as table
select
    series,
    window_number,
    stats.fsum(
        held * (least(to_s, length_s * (window_number + 1)) - greatest(from_s, length_s * window_number))
    ) as held_s
from (
    select
        by_column as series,
        number as held,
        first_s as from_s,
        last_s as to_s,
        unnest(
            generate_series(
                cast(floor(first_s / length_s) as bigint), cast(ceil(last_s / length_s) - 1 as bigint)
            )
        ) as window_number
    from query_table(source)
    where last_s > first_s
) as parts
group by series, window_number;
comment on macro table stats.held_by_window is 'A number times the seconds for which rows of a table or CTE hold it, from first_s to last_s, per series and window of length_s seconds. Windows count from 0 on the clock of the rows; one in which nothing is held has no row.';

-- Of users with equal numbers, the first by name comes first.
create or replace macro stats.user_concentration(
    source, by_column, owner, number, percent, is_every_percent
) as table
with user_loads as (
    select
        series,
        user_name,
        count(*) as jobs,
        stats.fsum(amount) as total
    from (
        select by_column as series, owner as user_name, number as amount from query_table(source)
    ) as owned
    where user_name is not null
    group by series, user_name
),

user_ranks as (
    select
        series,
        jobs,
        total,
        row_number() over (partition by series order by jobs desc, user_name asc) as jobs_rank,
        row_number() over (partition by series order by total desc nulls last, user_name asc) as total_rank,
        count(*) over (partition by series) as users
    from user_loads
),

user_cuts as (
    select unnest(generate_series(0, 100)) as heaviest_pct
    where is_every_percent
    union all
    select percent as heaviest_pct
    where not is_every_percent
),

user_shares as (
    select
        loads.series,
        loads.jobs,
        loads.total,
        loads.jobs_rank,
        loads.total_rank,
        cuts.heaviest_pct,
        ceil(loads.users * cuts.heaviest_pct / 100) as last_rank
    from user_ranks as loads
    cross join user_cuts as cuts
)

select
    series,
    count(*) as users,
    cast(heaviest_pct as double) as heaviest_pct,
    cast(max(last_rank) as bigint) as top_users,
    100.0 * coalesce(sum(jobs) filter (where jobs_rank <= last_rank), 0) / nullif(sum(jobs), 0) as top_jobs_pct,
    100.0 * coalesce(stats.fsum(case when total_rank <= last_rank then total end), 0)
    / nullif(stats.fsum(total), 0) as top_total_pct,
    count(*) filter (where jobs = 1) as single_job_users
from user_shares
group by series, user_shares.heaviest_pct;
comment on macro table stats.user_concentration is 'The heaviest users per series of a table or CTE with one row per job: a percentage of the users, or each from 0 to 100; their number, rounded up; the share of jobs of those with the most jobs, and the share of a number of those with the most of it. Rows without an owner are ignored.';

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
-- it; percentile; Greenwood's variance of the logarithm of the share that lasts longer; and the bounds of percentile,
-- from it with the log-log transformation. Rows without a time are ignored. 1.96 is the 97.5th percentile of the normal
-- distribution. Rounding removes errors of the sums of logarithms.
create or replace macro stats.survival_curve(source, by_column, observed, is_event) as table
select
    series,
    value,
    at_risk,
    events,
    round(100 - 100 * survival, 9) as percentile,
    variance,
    round(100 - 100 * coalesce(pow(survival, exp(-deviation)), survival), 9) as low_pct,
    round(100 - 100 * coalesce(pow(survival, exp(deviation)), survival), 9) as high_pct
from (
    select
        series,
        value,
        at_risk,
        events,
        survival,
        variance,
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

create or replace macro stats.t_quantile(freedom) as
1.959963984540054 * exp(1.18956 / freedom + 0.85545 / pow(freedom, 2) - 0.17498 / pow(freedom, 3));
comment on macro stats.t_quantile is
'Quantile of Student''s t at 97.5 %, within a thousandth for one degree of freedom or more.';

-- Rounding makes ten equal units ten.
create or replace macro stats.effective_units(weights, squares) as
coalesce(round(weights * weights / nullif(squares, 0), 9), 0);
comment on macro stats.effective_units is
'Number of equal units that vary as much (Kish), from the sum of the weights of the units and that of their squares.';

-- A jackknife: days, or users, are a sample, and rows are not. The share without each of them shows how much it varies.
-- The logit keeps bounds between 0 and 100. If a few units vary most, the deviation itself is uncertain: t has as many
-- degrees of freedom as equal units would give it (Satterthwaite). Changes are multiplied by the root of the number of
-- units, so that sums of their fourth powers stay exact.
create or replace macro stats.share_interval(source, by_column, unit, part, whole) as table
with share_rows as (
    select
        by_column as series,
        unit as sampled_unit,
        part as part_sum,
        whole as whole_sum
    from query_table(source)
),

share_series as (
    select
        series,
        count(case when whole_sum > 0 then sampled_unit end) as units,
        stats.fsum(part_sum) as part_sum,
        stats.fsum(whole_sum) as whole_sum,
        100.0 * stats.fsum(case when sampled_unit is not null then whole_sum else 0.0 end)
        / nullif(stats.fsum(whole_sum), 0) as known_pct
    from share_rows
    group by series
),

shares_without as (
    select
        share_rows.series,
        share_rows.part_sum / nullif(totals.part_sum, 0) as part_share,
        (share_rows.whole_sum - share_rows.part_sum) / nullif(totals.whole_sum - totals.part_sum, 0) as rest_share,
        sqrt(totals.units)
        * (
            ln(
                nullif(greatest(totals.part_sum - share_rows.part_sum, 0), 0)
                / nullif(
                    greatest(totals.whole_sum - totals.part_sum - share_rows.whole_sum + share_rows.part_sum, 0), 0
                )
            )
            - ln(nullif(totals.part_sum, 0) / nullif(totals.whole_sum - totals.part_sum, 0))
        ) as change
    from share_rows
    inner join share_series as totals on share_rows.series = totals.series
    where share_rows.sampled_unit is not null and share_rows.whole_sum > 0
),

-- With all of the part in one unit, the share varies too much to say.
share_spreads as (
    select
        series,
        least(
            stats.effective_units(stats.fsum(part_share), stats.fsum(part_share * part_share)),
            stats.effective_units(stats.fsum(rest_share), stats.fsum(rest_share * rest_share))
        ) as effective_units,
        case
            when count(change) = count(*)
                then
                    sqrt(
                        (count(*) - 1.0) / count(*)
                        * greatest(stats.favg(change * change) - pow(stats.favg(change), 2), 0)
                    )
        end as spread,
        count(*) * pow(stats.favg(change * change), 2) / nullif(stats.favg(pow(change, 4)), 0) as freedom
    from shares_without
    group by series
),

share_deviations as (
    select
        series,
        effective_units,
        case when effective_units >= 10 then spread * coalesce(stats.t_quantile(freedom), 0) end as deviation
    from share_spreads
)

select
    totals.series,
    100.0 * totals.part_sum / nullif(totals.whole_sum, 0) as share_pct,
    100.0 * totals.part_sum
    / nullif(totals.part_sum + (totals.whole_sum - totals.part_sum) * exp(deviations.deviation), 0) as low_pct,
    100.0 * totals.part_sum
    / nullif(totals.part_sum + (totals.whole_sum - totals.part_sum) * exp(-deviations.deviation), 0) as high_pct,
    deviations.effective_units
from share_series as totals
left join share_deviations as deviations on totals.series = deviations.series and totals.known_pct >= 95;
comment on macro table stats.share_interval is '100 * sum(part) / sum(whole) per series of a table or CTE with one row per series and unit, and its 95 % confidence interval, if the units (days, users) are a sample of similar units. effective_units: the number of equal units that vary as much as these (Kish), of the part or of the rest, whichever are fewer; NULL if more than 5 % of the whole has no unit. The bounds are NULL where it is below ten or NULL, or if one unit has all of the part or all of the rest.';

-- Woodruff (1952): the bounds of a percentile are the values at the bounds of the percentage at this value. Days, or
-- users, are a sample, and rows are not: the deviations of the rows of a unit are added before they are squared. The
-- deviation of a row is how the logarithm of the share that lasts longer than t changes if the row counts more:
-- variance up to its own time or t, less 1 / (at_risk - events) if it ended by t. Divided by the share of the other
-- units, it is about the change without this unit, as in a jackknife. As there, t has the degrees of freedom of equal
-- units, and deviations are multiplied by the root of the number of units.
create or replace macro stats.survival_percentiles(
    source, by_column, unit, observed, is_event, percentiles
) as table
with survival_rows as (
    select
        by_column as series,
        unit as sampled_unit,
        observed as value,
        is_event as ends,
        count(*) as observations
    from query_table(source)
    where observed is not null
    group by series, sampled_unit, value, ends
),

survival_series as (
    select
        series,
        count(distinct sampled_unit) as units,
        sum(observations) as observations,
        100.0 * sum(case when sampled_unit is not null then observations else 0 end) / sum(observations)
            as known_pct
    from survival_rows
    group by series
),

survival_values as (
    select
        series,
        value,
        at_risk,
        events,
        percentile,
        variance,
        floor(lag(percentile, 1, 0.0) over (partition by series order by value)) as percent_before
    from stats.survival_curve(source, by_column, observed, is_event)
),

-- The estimate at each percentile, and the last one below 100 % if nothing lasts longer.
survival_wanted as (
    select
        curve.series,
        wanted.percentile,
        min(curve.variance) filter (where curve.percentile >= wanted.percentile) as variance,
        coalesce(
            min(curve.percentile) filter (where curve.percentile >= wanted.percentile and curve.percentile < 100),
            max(curve.percentile) filter (where curve.percentile < 100)
        ) as reached_pct
    from survival_values as curve
    cross join (select unnest(percentiles) as percentile) as wanted
    group by curve.series, wanted.percentile
    having max(curve.percentile) >= wanted.percentile
),

survival_deviations as (
    select
        observed_rows.series,
        observed_rows.sampled_unit,
        curve.percent_before,
        sum(observed_rows.observations) as observations,
        sum(case when observed_rows.ends then observed_rows.observations else 0 end) as ended,
        stats.fsum(
            observed_rows.observations
            * (
                curve.variance
                - case
                    when observed_rows.ends and curve.at_risk > curve.events then 1 / (curve.at_risk - curve.events)
                    else 0.0
                end
            )
        ) as deviation
    from survival_rows as observed_rows
    inner join survival_values as curve
        on observed_rows.series = curve.series and observed_rows.value = curve.value
    where observed_rows.sampled_unit is not null
    group by observed_rows.series, observed_rows.sampled_unit, curve.percent_before
),

survival_units as (
    select
        wanted.series,
        wanted.percentile,
        wanted.reached_pct,
        cast(
            sum(case when deviations.percent_before < wanted.percentile then deviations.ended else 0 end) as double
        ) as ended,
        cast(
            sum(case when deviations.percent_before >= wanted.percentile then deviations.observations else 0 end)
            as double
        ) as lasting,
        sqrt(max(sampled.units))
        * stats.fsum(
            case
                when deviations.percent_before < wanted.percentile then deviations.deviation
                else wanted.variance * deviations.observations
            end
        )
        / nullif(1 - sum(deviations.observations) / max(sampled.observations), 0) as deviation
    from survival_deviations as deviations
    inner join survival_series as sampled on deviations.series = sampled.series
    inner join survival_wanted as wanted on deviations.series = wanted.series
    group by wanted.series, wanted.percentile, wanted.reached_pct, deviations.sampled_unit
),

survival_spreads as (
    select
        series,
        percentile,
        least(
            stats.effective_units(stats.fsum(ended), stats.fsum(ended * ended)),
            stats.effective_units(stats.fsum(lasting), stats.fsum(lasting * lasting))
        ) as effective_units,
        sqrt((count(*) - 1.0) / count(*) * stats.favg(deviation * deviation))
        / nullif(-ln(1 - min(reached_pct) / 100), 0) as spread,
        count(*) * pow(stats.favg(deviation * deviation), 2) / nullif(stats.favg(pow(deviation, 4)), 0) as freedom
    from survival_units
    group by series, percentile
),

survival_bounds as (
    select
        series,
        percentile,
        effective_units,
        round(100 - 100 * pow(1 - percentile / 100.0, exp(-deviation)), 9) as low_pct,
        round(100 - 100 * pow(1 - percentile / 100.0, exp(deviation)), 9) as high_pct
    from (
        select
            series,
            percentile,
            effective_units,
            case
                when effective_units >= 10 then coalesce(spread * stats.t_quantile(freedom), 0)
            end as deviation
        from survival_spreads
    ) as deviations
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
    end as high_value,
    max(bounds.effective_units) as effective_units
from survival_values as curve
inner join survival_series as sampled on curve.series = sampled.series
cross join (select unnest(percentiles) as percentile) as wanted
left join survival_bounds as bounds
    on
        curve.series = bounds.series
        and wanted.percentile = bounds.percentile
        and sampled.known_pct >= 95
where curve.events > 0
group by curve.series, wanted.percentile;
comment on macro table stats.survival_percentiles is 'Whole percentiles of the Kaplan-Meier estimate (stats.survival_curve) per series of a table or CTE, each with its 95 % confidence interval, if the units (days, users) are a sample of similar units. A value and its bounds are NULL if the estimate does not reach the percentile. effective_units: the number of equal units that vary as much as these (Kish), of the rows that ended by the value or of those that last longer, whichever are fewer; NULL if more than 5 % of the rows have no unit. The bounds are NULL where it is below ten or NULL.';
