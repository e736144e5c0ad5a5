"""Files that break each of Acme's rules. Comments name the rules that a line breaks, without the table."""

ACME_JOB_HEADER = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,"
    "submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time"
)
ACME_SUMMARY_HEADER = (
    "id,job_num,cpu_job_num,gpu_job_num,avg_run_time_gpu,avg_que_time_gpu,avg_gpu_num,"
    "med_run_time_gpu,med_que_time_gpu,med_gpu_num,max_run_time_gpu,max_gpu,"
    "complete_rate_gpu,cancel_rate_gpu,fail_rate_gpu,complete_gpu_time,cancel_gpu_time,fail_gpu_time,"
    "complete_rate_gpu_time,cancel_rate_gpu_time,fail_rate_gpu_time,avg_run_time_cpu,avg_que_time_cpu,"
    "med_run_time_cpu,med_que_time_cpu,complete_rate_cpu,cancel_rate_cpu,fail_rate_cpu"
)

FILES = {
    "acme/trace_seren.csv": [
        ACME_JOB_HEADER,
        "1,u1,1,8,128,,,Other,COMPLETED,2023-03-01 00:00:10+08:00,2023-03-01 00:00:20+08:00,"
        "2023-03-01 00:01:20+08:00,,,60,10,480.0",
        "1,u1,1,8,128,,,Other,COMPLETED,2023-03-01 00:00:10+08:00,2023-03-01 00:00:20+08:00,"
        "2023-03-01 00:01:20+08:00,,,60,10,480.0",  # key
        "2,u1,1,8,128,,,Other,PREEMPTED,2023-03-01 00:00:10+08:00,,,,,,,",  # state_documented
        # user, non_negative, type, state, state_documented
        "3,x1,-1,8,128,,,Sleep,ASLEEP,2023-03-01 00:00:10+08:00,,,,,,,",
        # start_after_submit
        "4,u1,1,8,128,,,Other,FAILED,2023-03-01 00:00:10+08:00,2023-03-01 00:00:05+08:00,,,,,,",
        # end_after_start
        "5,u1,1,8,128,,,Other,FAILED,2023-03-01 00:00:10+08:00,2023-03-01 00:00:20+08:00,"
        "2023-03-01 00:00:15+08:00,,,,10,",
        "6,u1,1,8,128,,,Other,FAILED,2023-02-28 23:59:59+08:00,,,,,,,",  # submit_time
        "7,u1,1,8,128,,,Other,FAILED,2023-08-31 16:00:00+00:00,,,,,,,",  # submit_time
        # queue, duration, duration_on_seren
        "8,u1,1,8,128,,,Other,FAILED,2023-03-01 00:00:10+08:00,2023-03-01 00:00:20+08:00,"
        "2023-03-01 00:01:20+08:00,,,75,15,600.0",
        # duration_on_seren, gpu_time
        "9,u1,1,8,128,,,Other,FAILED,2023-03-01 00:00:10+08:00,2023-03-01 00:00:20+08:00,"
        "2023-03-01 00:01:20+08:00,,,70,10,500.0",
        "10,u1,1,8,128,1000,,,FAILED,2023-03-01 00:00:10+08:00,,,,,,,",  # complete, kalos_columns
        "11,u1,1,8,128,,100,SFT,FAILED,2023-03-01 00:00:10+08:00,,,,,,,",  # kalos_columns
        # end_after_start
        "14,u1,1,8,128,,,SFT,FAILED,2023-03-01 00:00:10+08:00,,2023-03-01 00:00:05+08:00,,,,,",
        # kalos_columns
        "12,u1,1,8,128,,,SFT,FAILED,2023-03-01 00:00:10+08:00,,,2023-03-01 00:00:15+08:00,,,,",
        # kalos_columns
        "13,u1,1,8,128,,,SFT,FAILED,2023-03-01 00:00:10+08:00,,,,2023-03-01 00:00:15+08:00,,,",
    ],
    "acme/trace_kalos.csv": [
        ACME_JOB_HEADER,
        # duration_on_kalos
        "dlctk696s0jbvitv,uf794,8,64,960,1000,100.0,Other,FAILED,2023-05-17 11:00:58+00:00,"
        "2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10.0,1152.0",
    ],
    "acme/cluster_summary.csv": [
        ACME_SUMMARY_HEADER,
        # as_summarised, a rule of the jobs: the summary has 20 jobs, Seren's file 15
        "Seren,20,8,12,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,1,1,1,1,0.5,0.3,0.2",
        "Kalos,1,0,1,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,1,1,1,1,0.5,0.3,0.2",
        "Philly,2,0,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",
        "Philly,2,0,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # key
        "Helios,2,2,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # job_num
        "PAI,2,0,2,5,1,2,3,1,1,9,,,,,,,,,,,,,,,,,",  # complete
        "Venus,2,0,2,-5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # id, non_negative
        "Earth,2,0,2,5,1,2,3,1,1,9,8,1.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # id, fraction, rates_sum
        "Saturn,2,0,2,5,1,2,3,1,1,4,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # id, maxima
        "Uranus,2,0,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,60,30,20,0.5,0.3,0.2,,,,,,,",  # id, gpu_time_rates
    ],
    "acme/kalos/GPU_UTIL.csv": [
        "Time,172.31.0.1-0,172.31.0.2-0,pod-a",  # attributed, in_node_metric
        "2023-07-01 00:00:00+08:00,100,101,50",  # percent
        "2023-07-01 00:00:15+08:00,,,",
    ],
    "acme/kalos/FB_USED.csv": [
        "Time,172.31.0.1-0",
        "2023-07-01 00:00:00+08:00,-1",  # value
        "2023-07-01 00:00:15+08:00,81920",
        "2023-07-01 00:00:30+08:00,81921",  # memory
    ],
    "acme/kalos/SM_ACTIVE.csv": [
        "Time,172.31.0.1-7",
        "2023-07-01 00:00:00+08:00,99.5",
        "2023-07-01 00:00:15+08:00,1.5",
    ],
    "acme/kalos/XID_ERRORS.csv": [
        "Time,172.31.0.1-0",
        "2023-07-01 00:00:00+08:00,43",
        "2023-07-01 00:00:15+08:00,43.5",  # xid
    ],
    "acme/kalos/DRAM_ACTIVE.csv": [
        "Time,172.31.0.1-8",  # gpu, several_times
        "2023-07-01 00:00:00+08:00,0.5",
    ],
    # Seren has no node metrics, so the rule in_node_metric does not apply to its GPU nodes.
    "acme/seren/GPU_TEMP.csv": [
        "Time,10.140.0.1-0",
        "2022-12-31 23:59:59+08:00,40",  # time
        "2023-01-01 00:00:00+08:00,40",
        "2023-12-31 16:00:00+00:00,40",  # time
    ],
    "acme/kalos/NODE_IB_SEND.csv": [
        "Time,172.31.0.1,172.31.0.1-mlx5_0",
        "2023-07-01 00:00:00+08:00,1,1",  # key
    ],
    "acme/kalos/NODE_IB_RECEIVE.csv": [
        "Time,172.31.0.1",
        "2022-12-31 23:59:59+08:00,0",  # time
        "2023-07-01 00:00:00+08:00,-1",  # value
        "2023-12-31 16:00:00+00:00,0",  # time
    ],
    "acme/kalos/NODE_CPU_UTILIZATION.csv": [
        "Time,172.31.0.1",
        "2023-07-01 00:00:00+08:00,1.5",  # processors
        "2023-07-01 00:00:15+08:00,1",
    ],
    "acme/kalos/NODE_MEMORY_UTILIZATION.csv": [
        "Time,172.31.0.1,172.31.0.1.1",  # attributed
        "2023-07-01 00:00:00+08:00,100.5,0.5",  # memory
        "2023-07-01 00:00:15+08:00,100,0.5",
    ],
    "acme/ipmi/GPU_AB_Power.csv": [
        "Time,Sys_Total_Power,CPU_Power,MEM_Power,Memory_Power",
        "2023-07-01 00:00:00+08:00,1000,200,100,",
        "2023-07-01 00:00:00+08:00,1000,-1,100,",  # non_negative
        "2023-07-01 00:00:00+08:00,1000,200,100,100",  # one_memory
        "2023-07-01 00:00:00+08:00,1000,200,,",  # memory_recorded
        "2022-12-31 23:59:59+08:00,1000,200,100,",  # time
        "2023-12-31 16:00:00+00:00,1000,200,100,",  # time
        ",1000,200,100,",  # complete
    ],
}

# Ingest rejects lines that would break these rules.
KEPT_BY_INGEST = {"acme.gpu_metric.key"}

# All other rules are broken once.
BROKEN_MORE_OFTEN = {
    "acme.cluster_summary.id": 4,
    "acme.job_trace.as_summarised": 5,
    "acme.gpu_metric.time": 2,
    "acme.job_trace.duration_on_seren": 2,
    "acme.job_trace.end_after_start": 2,
    "acme.job_trace.kalos_columns": 4,
    "acme.job_trace.state_documented": 2,
    "acme.job_trace.submit_time": 2,
    "acme.node_metric.time": 2,
    "acme.server_power.time": 2,
}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {"acme.cluster_summary.job_num": 1}
