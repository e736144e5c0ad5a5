"""Files that break each of spot's rules. Comments name the rules that a line breaks, without the table."""

FILES = {
    "spot/node_info_df.csv": [
        "gpu_model,gpu_capacity_num,cpu_num,node_name",
        "A10,1,128,0",
        "A10,0,128,1",  # positive
        "A10,1,0,2",  # positive
    ],
    "spot/job_info_df.csv": [
        "job_name,organization,gpu_model,cpu_request,gpu_request,worker_num,submit_time,duration,job_type",
        "1,13,A10,8,1,1,0,60,HP",
        "2,13,A10,8,1,1,0,60,Cold",  # job_type
        "3,13,A10,-8,1,1,0,60,Spot",  # non_negative
        "4,13,A10,8,-1,1,0,60,Spot",  # non_negative
        "5,13,A10,8,1,1,-1,60,Spot",  # non_negative
        "6,13,A10,8,1,1,0,-60,Spot",  # non_negative
        "7,13,A10,8,1,0,0,60,Spot",  # worker_num
        "8,13,T4,8,1,1,0,60,Spot",  # in_node
    ],
}

# All other rules are broken once.
BROKEN_MORE_OFTEN = {"spot.node.positive": 2, "spot.job.non_negative": 4}
