-- Failed requests by model and log type (BurstGPT requests)
-- resolves_caveat: burstgpt.failed_requests
-- chart: bar x=workload y=failed_pct color=model xname=log_type yname=failed_requests_pct
-- column: requests: Requests of the log type to the model
-- column: failed_requests: Requests that failed
-- column: failed_pct: Share of the requests that failed
create or replace macro burstgpt.failures() as table
select
    workload,
    model,
    count(*) as requests,
    count(case when status = 'failed' then 1 end) as failed_requests,
    100.0 * count(case when status = 'failed' then 1 end) / count(*) as failed_pct
from burstgpt.request
group by workload, model
order by workload, model;

comment on macro table burstgpt.failures is 'Requests and failed requests per model and log type.';
