"""Rows and files that break ITP's rules in SQL. Comments name the rules that a line breaks."""

from broken_rows import Changes

RAW_HEADER = "job_id,submission_time,duration,num_gpu"
HEADER = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration"

CHANGES: Changes = [
    ("itp.elasticflow_job.tightness", {"deadline": f"submission_time + {tightness} * duration"})
    for tightness in (0.499, 1.501)
]

FILES = {
    "itp/raw/cluster01.csv": [
        RAW_HEADER,
        "a,0,600,1",
        "b,5,700,2",  # in_elasticflow
        "e,0,1000,1",
        "f,5,700,2",  # in_elasticflow
        "k,5,700,2",  # in_elasticflow
        "l,5,700,2",  # in_elasticflow
    ],
    "itp/elasticflow/cluster01.csv": [
        HEADER,
        "a,0,6000,bert,600,64,1,600",
        "e,0,10000,bert,1000,64,1,1000",
        "e,0,11000,bert,1000,64,1,1000",  # iterations
        "b,5,7010,bert,705,64,2,701",  # in_raw: another duration
        "f,6,7000,bert,706,64,2,700",  # in_raw: another submission
        "k,5,7000,bert,705,64,4,700",  # in_raw: other GPUs
        "m,5,7000,bert,705,64,2,700",  # in_raw
    ],
    # This cluster has no raw jobs, so the rule in_raw does not apply to it.
    "itp/elasticflow/cluster02.csv": [
        HEADER,
        "h,0,5000,gpt2,1001,256,1,1000",
        "n,0,9000,vgg16,500,64,1,1000",
        "o,0,9000,vgg16,1500,64,1,1000",
        "q,0,9000,vgg16,1000,64,1,1000",
    ],
    "itp/elasticflow/195job.csv": [
        HEADER,
        "h,0,5000,gpt2,1000,256,1,1000",
        "i,0,5000,gpt2,1000,256,1,1000",  # testbed_in_cluster02
        "n,1,9000,vgg16,1001,64,1,1000",  # testbed_in_cluster02: another submission
        "o,0,9009,vgg16,1001,64,1,1001",  # testbed_in_cluster02: another duration
        "q,0,9000,vgg16,1000,64,2,1000",  # testbed_in_cluster02: other GPUs
    ],
}

# All other rules of `checks.sql` are broken once.
BROKEN_MORE_OFTEN = {
    "itp.elasticflow_job.files": 8,
    "itp.elasticflow_job.in_raw": 4,
    "itp.elasticflow_job.testbed_in_cluster02": 4,
    "itp.raw_job.clusters": 9,
    "itp.raw_job.in_elasticflow": 4,
}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {"itp.elasticflow_job.tightness": 3}
