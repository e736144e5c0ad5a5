"""Files that break each of Helios's rules. Comments name the rules that a line breaks, without the table."""

HEADER = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue"
TIMES = "2020-06-09 18:41:00,2020-06-09 18:41:10,2020-06-09 18:42:10"

FILES = {
    "helios/Uranus/cluster_log.csv": [
        HEADER,
        f"1,u1,vc1,1,4,1,COMPLETED,{TIMES},60,10",
        f"2,u1,vc1,1,4,1,SUSPENDED,{TIMES},60,10",  # state_documented
        f"3,u1,vc1,1,4,1,ASLEEP,{TIMES},60,10",  # state, state_documented
        f"4,x1,vc1,1,4,1,TIMEOUT,{TIMES},60,10",  # user
        f"5,u1,x1,1,4,1,NODE_FAIL,{TIMES},60,10",  # vc
        f"6,u1,vc1,-1,4,1,FAILED,{TIMES},60,10",  # non_negative
        f"7,u1,vc1,1,-4,1,FAILED,{TIMES},60,10",  # non_negative
        f"8,u1,vc1,1,4,-1,FAILED,{TIMES},60,10",  # non_negative
        # start_after_submit
        "9,u1,vc1,1,4,1,FAILED,2020-06-09 18:41:20,2020-06-09 18:41:10,2020-06-09 18:42:10,60,-10",
        # end_after_start
        "10,u1,vc1,1,4,1,FAILED,2020-06-09 18:41:00,2020-06-09 18:41:10,2020-06-09 18:41:00,-10,10",
        f"11,u1,vc1,1,4,1,CANCELLED,{TIMES},70,10",  # duration
        f"12,u1,vc1,1,4,1,CANCELLED,{TIMES},60,11",  # queue
        "13,u1,vc1,0,4,1,CANCELLED,2020-06-09 18:41:00,,,,",
    ],
    "helios/Uranus/cluster_gpu_number.csv": [
        "date,vc1,vc2,total",
        "2020-06-09,8,16,24",
        "2020-06-10,8,16,32",  # total
    ],
}

# All other rules are broken once.
BROKEN_MORE_OFTEN = {
    "helios.job.state_documented": 2,
    "helios.job.non_negative": 3,
}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {"helios.job.state_documented": 1}
