-- Meaning of NVIDIA's XID error codes: those of Acme's GPUs, and other common ones.
-- grain: one row per xid
-- source: NVIDIA, XID Errors, listing of codes: https://docs.nvidia.com/deploy/xid-errors/
create or replace view acme.xid_code_v1 as
select
    cast(known.xid as bigint) as xid,
    known.meaning
from (
    values
    (8, 'GPU stopped processing'),
    (13, 'Graphics engine exception'),
    (31, 'GPU memory page fault'),
    (32, 'Invalid or corrupted push buffer stream'),
    (38, 'Driver firmware error'),
    (43, 'GPU stopped processing'),
    (45, 'Preemptive cleanup, due to previous errors'),
    (48, 'Double bit ECC error'),
    (61, 'Internal micro-controller breakpoint/warning'),
    (62, 'Internal micro-controller halt'),
    (63, 'ECC page retirement or row remapping recording event'),
    (64, 'ECC page retirement or row remapper recording failure'),
    (68, 'NVDEC0 exception'),
    (69, 'Graphics engine class error'),
    (74, 'NVLink error'),
    (79, 'GPU has fallen off the bus'),
    (92, 'High single-bit ECC error rate'),
    (94, 'Contained ECC error'),
    (95, 'Uncontained ECC error'),
    (109, 'Context switch timeout error'),
    (119, 'GSP RPC timeout'),
    (120, 'GSP error')
) as known (xid, meaning);

comment on column acme.xid_code_v1.xid is 'Code of the error, an XID of NVIDIA''s driver [no unit]; synthetic.';
comment on column acme.xid_code_v1.meaning is 'What NVIDIA''s documentation calls it, in sentence case and without remarks; synthetic.';
