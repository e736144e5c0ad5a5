-- Rule that the published duration, queue and GPU time of Acme's jobs follow, by cluster and final state.
-- grain: one row per (cluster, state) of acme.job_trace; a missing state is a row of its own
-- source: README of AcmeTrace, job trace: notes 2 to 4, and its example rows, of which Kalos's break note 2
-- caveat: acme.states_beyond_readme: state
-- resolves_caveat: acme.cpu_jobs_included
-- resolves_caveat: acme.failure_needs_a_rule
create or replace view acme.duration_audit_v1 as
select
    cluster,
    state,
    count(*) as jobs,
    count(*) filter (where duration_rule = 'end - start') as duration_is_run,
    count(*) filter (where duration_rule = 'end - submit') as duration_is_turnaround,
    count(*) filter (where duration_rule = 'both') as duration_is_both,
    count(*) filter (where duration_rule = 'neither') as duration_is_neither,
    count(*) filter (where duration_rule is null) as not_comparable,
    count(*) filter (where abs(published_queue_s - wait_s) <= 0.5) as queue_is_wait,
    count(*) filter (where abs(published_queue_s - wait_s) > 0.5) as queue_differs,
    count(*) filter (
        where abs(published_gpu_s - published_duration_s * requested_gpus) <= 0.5
    ) as gpu_time_is_product,
    count(*) filter (
        where abs(published_gpu_s - published_duration_s * requested_gpus) > 0.5
    ) as gpu_time_differs
from acme.job_v1
group by cluster, state;

comment on column acme.duration_audit_v1.jobs is 'Jobs, with and without GPUs; derived.';
comment on column acme.duration_audit_v1.duration_is_run is 'Jobs whose duration is end - start, as documented, and not end - submit [jobs]; derived.';
comment on column acme.duration_audit_v1.duration_is_turnaround is 'Jobs whose duration is end - submit, the queue included, and not end - start [jobs]; derived.';
comment on column acme.duration_audit_v1.duration_is_both is 'Jobs without a wait, whose duration is both [jobs]; derived.';
comment on column acme.duration_audit_v1.duration_is_neither is 'Jobs whose duration is neither [jobs]; derived.';
comment on column acme.duration_audit_v1.not_comparable is 'Jobs without a duration, a start or an end [jobs]; derived.';
comment on column acme.duration_audit_v1.queue_is_wait is 'Jobs whose queue is start - submit, within 0.5 s [jobs]; derived.';
comment on column acme.duration_audit_v1.queue_differs is 'Jobs whose queue differs from that; jobs without a queue or a start are in neither column [jobs]; derived.';
comment on column acme.duration_audit_v1.gpu_time_is_product is 'Jobs whose GPU time is their duration times their GPUs, within 0.5 GPU-seconds [jobs]; derived.';
comment on column acme.duration_audit_v1.gpu_time_differs is 'Jobs whose GPU time differs from that; jobs without one of the three are in neither column [jobs]; derived.';
