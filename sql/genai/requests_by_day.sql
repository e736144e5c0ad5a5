-- Served and failed requests per day (GenAI requests)
-- answers: submission, final state, user, calendar date
-- resolves_caveat: genai.request_clock_is_shifted
-- resolves_caveat: genai.requests_in_both_files
-- resolves_caveat: genai.requests_name_no_container
-- column: day: Day at the location of the cluster
-- column: is_weekend: Whether the day is a Saturday or Sunday
-- column: failed_requests: Requests that failed
-- chart: bar x=day y=requests color=is_weekend partial=first,last title=Requests per day (GenAI requests)
create or replace macro genai.requests_by_day(
    -- type of task, or all [all TXT_2_IMG IMG_2_IMG INPAINTING]
    of_type varchar := 'all'
) as table
with requests as (
    select
        request.predict_type,
        request.predict_status,
        request."groupId" as user_id,
        request.exec_time_seconds,
        cast(request.gmt_create + to_seconds(clock.local_offset_s) as date) as day
    from genai.lora_request_trace as request
    cross join catalog.clocks as clock
    where clock.clock = 'genai.requests'
)

select
    day,
    (cast(floor(epoch(day) / 86400) as bigint) + 3) % 7 >= 5 as is_weekend,
    count(*) as requests,
    count(*) filter (where predict_status = 'FAILED') as failed_requests,
    count(distinct user_id) as users,
    median(exec_time_seconds) filter (where predict_status = 'SUCCEED') as median_run_s
from requests
where of_type in ('all', predict_type)
group by day
order by day;

comment on macro table genai.requests_by_day is 'Requests, failed requests, users or groups, and median execution time of successful requests, per day in China. In the published file, the first day starts at 9:57 and the last ends at 10:33. The Spring Festival lasted until 4 February 2025, and Saturday 8 February was a working day.';
