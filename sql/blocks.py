"""Expand the building blocks of query files to plain SQL.

A building block looks like a function call. The expansion is text: every engine gets the same plain SQL, and
`traces describe` shows it.

    percentiles(wait_s) as wait_s

is one line of a select and gives the columns median_wait_s, p75_wait_s, p90_wait_s, p95_wait_s and
p99_wait_s. They are interpolated; the median is the 50th percentile. `box_percentiles`, for box plots, gives
p5_wait_s and p25_wait_s as well, before the others.

    from cdf_points(waits, gpu_type, waited_s, tasks)

gives points of the cumulative distribution of `waited_s` per `gpu_type` in the CTE `waits`, whose rows count
`tasks` tasks each: gpu_type, waited_s, and percentile, the percentage of the tasks up to this value. They are
the first value in each fifth of a percent, and the last value. The curve through these points, at most 501
per group, is exact to a fifth of a percent.

    from survival_curve(runs, trace, observed_run_s, is_complete)

gives the Kaplan-Meier estimate of how long something lasts, per `trace` in the CTE `runs`, or per `trace` and
`size_band` with `trace size_band`.
`observed_run_s` is the time for which a row was observed, and `is_complete` whether it ended then; otherwise
it is right-censored and lasts longer. Each distinct time is a row: trace, observed_run_s, at_risk (rows
observed for at least this time), events (rows that ended at it), percentile (percentage that lasts at most
this time), and low_pct and high_pct, its 95 % confidence interval (Greenwood's variance, log-log
transformation). Rows without a time are ignored.

    from bootstrap_share(by_day, trace cluster, day, failed_jobs, jobs)

gives the 95 % confidence interval of 100 * sum(failed_jobs) / sum(jobs) per `trace` and `cluster`, if the
days are a sample of similar days. The CTE `by_day` has a row for each day of a group. The result has a row
for each group: trace, cluster, share_pct (the estimate), low_pct and high_pct. The two bounds are NULL with
fewer than ten days, or if the day of more than 5 % of `jobs` is NULL. The method is a Poisson bootstrap with
200 replicates. A hash of day and replicate decides how often a day counts (0, 1, 2… times), so that every run
and every engine gives the same bounds. Rows without a day count once in each replicate.

    censored_shares(held_gpu_s) as gpu_time_pct

is one line of a select over jobs and gives the columns censored_gpu_time_pct and left_censored_gpu_time_pct:
the percentages of the sum of `held_gpu_s` in jobs that the end and the beginning of the trace cut off. With 1
in place of `held_gpu_s`, they are percentages of the number of jobs. A column is NULL if it is unknown for
some job whether it is cut off.

    fragmented(popularity, num_gpu, fitting_gpus, has_rest, free_gpus, too_small_gpus) as fragmented_gpus

is one line of a select over pairs of a node and a task class, and gives FGD's measure F_n(M) (Beware of
Fragmentation, ATC 2023), added up over the nodes: the free GPUs of a node that the next task cannot use,
expected over the classes by their `popularity`. A class needs `num_gpu` GPUs, the node has `fitting_gpus`
with enough free capacity, and `has_rest` says whether all other needs are met. On a node that can run the
class, only `too_small_gpus` is fragmented: the free capacity of GPUs that have too little for the class. On
any other node, all `free_gpus` are fragmented.
"""

import re
from functools import partial


def _line(block: str) -> re.Pattern[str]:
    """Compile the pattern of a line that has only this block. `<name>` is an argument of one word."""
    words = re.sub(r"(?<!\?P)<(\w+)>", r"(?P<\1>\\w+)", block)
    return re.compile(rf"^(?P<indent> *){words}$", re.M)


_PERCENTILES = _line(r"(?P<box>box_)?percentiles\((?P<value>.+)\) as <name>(?P<comma>,?)")
_CDF_POINTS = _line(r"from cdf_points\(<rows>, <key>, <value>, <count>\)")
_SURVIVAL_CURVE = _line(r"from survival_curve\(<rows>, (?P<keys>\w+(?: \w+)*), <time>, <is_event>\)")
_BOOTSTRAP_SHARE = _line(r"from bootstrap_share\(<rows>, (?P<keys>\w+(?: \w+)*), <unit>, <part>, <whole>\)")
_CENSORED_SHARES = _line(r"censored_shares\(<value>\) as <name>(?P<comma>,?)")
_FRAGMENTED = _line(
    r"fragmented\(<popularity>, <needed>, <fitting>, <rest>, <free>, <too_small>\) as <name>(?P<comma>,?)"
)
_SHARES = {"median": 0.5, "p75": 0.75, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_SHARES_OF_BOX = {"p5": 0.05, "p25": 0.25, **_SHARES}

_CDF = """\
from (
    select
        {key},
        min({value}) as {value},
        min(percentile) as percentile
    from (
        select
            {key},
            {value},
            100.0 * sum({count}) over (partition by {key} order by {value})
            / sum({count}) over (partition by {key}) as percentile
        from {rows}
        where {value} is not null
    ) as ranked
    group by {key}, floor(round(5 * percentile, 6))
) as cdf_points"""

# 1.96 is the 97.5th percentile of the normal distribution. Rounding removes errors of the sums of logarithms.
_SURVIVAL = """\
from (
    select
        {keys},
        {time},
        at_risk,
        events,
        round(100 - 100 * survival, 9) as percentile,
        round(100 - 100 * coalesce(pow(survival, exp(-deviation)), survival), 9) as low_pct,
        round(100 - 100 * coalesce(pow(survival, exp(deviation)), survival), 9) as high_pct
    from (
        select
            {keys},
            {time},
            at_risk,
            events,
            survival,
            case
                when survival > 0 and survival < 1
                    then 1.959963984540054 * sqrt(variance) / -ln(survival)
            end as deviation
        from (
            select
                {keys},
                {time},
                at_risk,
                events,
                case
                    when min(at_risk - events) over up_to_time = 0 then 0.0
                    else exp(fsum(ln(1 - events / nullif(at_risk, events))) over up_to_time)
                end as survival,
                fsum(1e6 * events / nullif(at_risk * (at_risk - events), 0)) over up_to_time / 1e6 as variance
            from (
                select
                    {keys},
                    {time},
                    events,
                    cast(sum(ended) over (partition by {keys} order by {time} desc) as double) as at_risk
                from (
                    select
                        {keys},
                        {time},
                        count(*) as ended,
                        cast(count(*) filter (where {is_event}) as double) as events
                    from {rows}
                    where {time} is not null
                    group by {keys}, {time}
                ) as times
            ) as risks
            window up_to_time as (partition by {keys} order by {time})
        ) as estimates
    ) as deviations
) as survival_curve"""

# Hashes are compared as texts with cumulative probabilities of the Poisson distribution with mean 1.
_BOOTSTRAP = """\
from (
    select
        {keys},
        max(share_pct) filter (where replicate = 0) as share_pct,
        case when max(units) >= 10 and max(known_pct) >= 95
            then quantile_cont(case when replicate > 0 then share_pct end, 0.025)
        end as low_pct,
        case when max(units) >= 10 and max(known_pct) >= 95
            then quantile_cont(case when replicate > 0 then share_pct end, 0.975)
        end as high_pct
    from (
        select
            {keys},
            replicate,
            count({unit}) as units,
            100.0 * fsum(case when {unit} is not null then {whole} else 0 end)
            / nullif(fsum({whole}), 0) as known_pct,
            100.0 * fsum(times * {part}) / nullif(fsum(times * {whole}), 0) as share_pct
        from {rows}
        inner join (
            select
                drawn_unit,
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
                    {unit} as drawn_unit,
                    replicate,
                    md5(cast({unit} as varchar) || ' ' || cast(replicate as varchar)) as hashed
                from (select distinct {unit} from {rows}) as units
                cross join (select unnest(generate_series(0, 200)) as replicate) as replicates
            ) as hashes
        ) as draws on {unit} is not distinct from drawn_unit
        group by {keys}, replicate
    ) as replicated
    group by {keys}
) as bootstrap_share"""

_CENSORED_SHARE = """\
case
    when count(is_{side}_censored) = count(*)
        then 100.0 * coalesce(fsum({value}) filter (where is_{side}_censored), 0) / nullif(fsum({value}), 0)
end as {column}"""

_FRAGMENTED_SUM = """\
fsum(
    {popularity}
    * case when {needed} > 0 and {fitting} >= {needed} and {rest} then {too_small} else {free} end
) as {name}{comma}"""


def expanded(text: str) -> str:
    """Return the text of a query file with its building blocks as plain SQL."""
    for block, expansion in (
        (_PERCENTILES, _percentiles),
        (_CDF_POINTS, partial(_subquery, _CDF)),
        (_SURVIVAL_CURVE, partial(_subquery, _SURVIVAL)),
        (_BOOTSTRAP_SHARE, partial(_subquery, _BOOTSTRAP)),
        (_CENSORED_SHARES, _censored_shares),
        (_FRAGMENTED, partial(_subquery, _FRAGMENTED_SUM)),
    ):
        text = block.sub(expansion, text)
    return text


def _percentiles(call: re.Match[str]) -> str:
    indent, box, value, name, comma = call.groups()
    shares = _SHARES_OF_BOX if box else _SHARES
    # One aggregate with a list of shares: engines compute equal aggregates once, and keep the values once.
    aggregate = f"quantile_cont({value}, {list(shares.values())})"
    columns = [f"{aggregate}[{place}] as {prefix}_{name}" for place, prefix in enumerate(shares, 1)]
    return ",\n".join(f"{indent}{column}" for column in columns) + comma


def _subquery(block: str, call: re.Match[str]) -> str:
    parts = call.groupdict()
    if "keys" in parts:
        parts["keys"] = parts["keys"].replace(" ", ", ")
    lines = block.format_map(parts).splitlines()
    return "\n".join(call["indent"] + line for line in lines)


def _censored_shares(call: re.Match[str]) -> str:
    indent, value, name, comma = call.groups()
    sides = {"right": f"censored_{name}", "left": f"left_censored_{name}"}
    columns = [
        _CENSORED_SHARE.format(side=side, value=value, column=column) for side, column in sides.items()
    ]
    return indent + ",\n".join(columns).replace("\n", f"\n{indent}") + comma
