-- Execution time by request shape (GenAI requests)
-- answers: run
-- resolves_caveat: genai.requests_in_both_files
-- resolves_caveat: genai.requests_name_no_container
-- chart: box x=shape_band y=run_s:log xname={by_shape} note=Successful requests. Prompts are in characters.
-- column: shape_band: Band of the shape of a request
-- column: requests: Requests of the band, in any state
-- column: failed_requests: Requests of the band that failed
-- column: timed_requests: Successful requests of the band; the percentiles are of their execution times
create or replace macro genai.run_by_request_shape(
    -- what to group requests by: characters of the prompt, diffusion steps, images or LoRA adapters
    -- [prompt_length inference_steps images adapters]
    by_shape varchar := 'prompt_length',
    -- type of task, or all [all TXT_2_IMG IMG_2_IMG INPAINTING]
    of_type varchar := 'all'
) as table
with bands as (
    select
        known.shape,
        known.over_amount,
        known.at_most_amount,
        known.shape_band
    from (
        values
        ('prompt_length', -1, 25, '0 to 25'),
        ('prompt_length', 25, 50, '26 to 50'),
        ('prompt_length', 50, 75, '51 to 75'),
        ('prompt_length', 75, 100, '76 to 100'),
        ('prompt_length', 100, 200, '101 to 200'),
        ('prompt_length', 200, 400, '201 to 400'),
        ('prompt_length', 400, null, '401 and more'),
        ('inference_steps', -1, 20, '0 to 20'),
        ('inference_steps', 20, 29, '21 to 29'),
        ('inference_steps', 29, 30, '30'),
        ('inference_steps', 30, 39, '31 to 39'),
        ('inference_steps', 39, 40, '40'),
        ('inference_steps', 40, null, '41 and more'),
        ('images', 0, 1, '1'),
        ('images', 1, 3, '2 to 3'),
        ('images', 3, 4, '4'),
        ('images', 4, null, '5 and more'),
        ('adapters', -1, 0, '0'),
        ('adapters', 0, 1, '1'),
        ('adapters', 1, 2, '2'),
        ('adapters', 2, null, '3 and more')
    ) as known (shape, over_amount, at_most_amount, shape_band)
    where known.shape = by_shape
),

requests as (
    select
        predict_status,
        case when predict_status = 'SUCCEED' then exec_time_seconds end as run_s,
        case by_shape
            when 'prompt_length' then prompt_length
            when 'inference_steps' then num_inference_steps
            when 'images' then num_images_per_prompt
            else num_lora
        end as amount
    from genai.lora_request_trace
    where of_type in ('all', predict_type)
)

-- Left join: includes requests whose shape is not recorded.
select
    bands.shape_band,
    count(*) as requests,
    count(*) filter (where requests.predict_status = 'FAILED') as failed_requests,
    count(requests.run_s) as timed_requests,
    stats.percentiles(requests.run_s).p5 as p5_run_s,
    stats.percentiles(requests.run_s).p25 as p25_run_s,
    stats.percentiles(requests.run_s).median as median_run_s,
    stats.percentiles(requests.run_s).p75 as p75_run_s,
    stats.percentiles(requests.run_s).p90 as p90_run_s,
    stats.percentiles(requests.run_s).p95 as p95_run_s,
    stats.percentiles(requests.run_s).p99 as p99_run_s
from requests
left join bands
    on
        requests.amount > bands.over_amount
        and (requests.amount <= bands.at_most_amount or bands.at_most_amount is null)
group by bands.over_amount, bands.shape_band
order by bands.over_amount asc nulls last;

comment on macro table genai.run_by_request_shape is
'Requests and failed requests, and interpolated percentiles of the execution time of successful requests, '
'per band of prompt length in characters, diffusion steps, images per prompt or LoRA adapters. The band '
'is NULL where the request does not record it. Shapes are not independent: requests with more images or '
'adapters run longer, so compare bands within one type of task.';
