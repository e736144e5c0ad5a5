-- Error onsets and affected GPUs by Xid code (Acme GPUs)
-- column: onsets [onsets]: Onsets: changes from no error to an error code
-- chart: bar x=xid y=onsets xname=xid_code title=Error onsets by Xid code (Acme GPUs)
create or replace macro acme.xid_counts(on_cluster varchar := 'kalos') as table
select
    xid,
    count(*) as onsets,
    count(distinct concat_ws('-', node, gpu)) as gpus
from acme.xid_onset
where cluster = on_cluster
group by xid
order by onsets desc, xid asc;

comment on macro table acme.xid_counts is 'Onsets per error code (a change from no error to the code) and the GPUs on which they occurred.';
