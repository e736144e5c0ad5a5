"""Files that break each of ASI's rules, as lines to convert to Parquet. A comment names its line's rules."""

POD = (
    "pod_id,workload_id,server_id,cluster_id,state_public,gpu_spec_public,server_gpu_count,"
    "server_cpu_capacity_cores,priority_class,job_type_public,model_type_public,is_genai_request,gpu_request,"
    "gpu_mem_request,cpu_request_cores,used_gpu_hours,avg_gpu_sm_util,avg_gpu_mem_gib,avg_cpu_request_util,"
    "avg_memory_util,ready_status,schedule_delay_sec,ready_delay_sec"
)
SPAN = (
    "pod_id,workload_id,server_id,gpu_spec_public,priority_class,job_type_public,model_type_public,"
    "is_genai_request,gpu_request,duration_hours,schedule_delay_sec,ready_delay_sec,ready_status,schedule_status"
)
SERVER = "server_id,cluster_id,asw_id,gpu_spec_public,gpu_count,cpu_capacity_cores"
NETWORK = "server_id,rx_gibps_avg,tx_gibps_avg"

FILES = {
    "asi/asi_opensource_pod_hourly/day=1/hour=00/part-000.parquet": [
        POD,
        "a,w,s,c,Running,A10,2,128,HP,training,genai,false,1,1,1,1,1,1,1,1,true,0,0",
        "b,w,s,c,Asleep,A10,2,128,HP,training,genai,false,1,1,1,1,1,1,1,1,true,0,0",  # state_public
        "c,w,s,c,Running,A10,2,128,XX,training,genai,false,1,1,1,1,1,1,1,1,true,0,0",  # priority_class
        "d,w,s,c,Running,A10,2,128,HP,gaming,genai,false,1,1,1,1,1,1,1,1,true,0,0",  # job_type_public
        "e,w,s,c,Running,A10,2,128,HP,training,robot,false,1,1,1,1,1,1,1,1,true,0,0",  # model_type_public
        "f,w,s,c,Running,A10,2,128,HP,training,genai,false,-1,1,1,1,1,1,1,1,true,0,0",  # non_negative
        "g,w,s,c,Running,A10,2,128,HP,training,genai,false,1,1,1,1,1,1,1,1,true,86400,0",  # below_86400
    ],
    "asi/asi_opensource_pod_hourly/day=1/hour=24/part-000.parquet": [
        POD,
        "a,w,s,c,Running,A10,2,128,HP,training,genai,false,1,1,1,1,1,1,1,1,true,0,0",  # hour
    ],
    "asi/asi_opensource_server_hourly/day=1/hour=00/part-000.parquet": [
        SERVER,
        "s,c,w,A10,2,128",
        "t,c,w,A10,-2,128",  # non_negative
    ],
    "asi/asi_opensource_server_hourly/day=1/hour=24/part-000.parquet": [SERVER, "s,c,w,A10,2,128"],  # hour
    "asi/asi_opensource_network_hourly/day=1/hour=00/part-000.parquet": [
        NETWORK,
        "s,0.1,0.1",
        "t,-0.1,0.1",  # non_negative
        "u,0.1,0.1",  # in_server_hourly
    ],
    "asi/asi_opensource_network_hourly/day=1/hour=24/part-000.parquet": [NETWORK, "s,0.1,0.1"],  # hour
    "asi/asi_opensource_job_execution_summary/part-000.parquet": [
        SPAN,
        "a,w,s,A10,HP,training,genai,false,1,1,0,0,true,true",
        "b,w,s,A10,XX,training,genai,false,1,1,0,0,true,true",  # priority_class
        "c,w,s,A10,HP,gaming,genai,false,1,1,0,0,true,true",  # job_type_public
        "d,w,s,A10,HP,training,robot,false,1,1,0,0,true,true",  # model_type_public
        "e,w,s,A10,HP,training,genai,false,1,-1,0,0,true,true",  # non_negative
        "f,w,s,A10,HP,training,genai,false,1,1,0,86400,true,true",  # below_86400
    ],
}

# All other rules are broken once.
BROKEN_MORE_OFTEN: dict[str, int] = {}
