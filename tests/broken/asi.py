"""Files that break ASI's rules in SQL."""

PODS = 12
POD = (
    "pod_id,workload_id,server_id,cluster_id,state_public,gpu_spec_public,server_gpu_count,"
    "server_cpu_capacity_cores,priority_class,job_type_public,model_type_public,is_genai_request,gpu_request,"
    "gpu_mem_request,cpu_request_cores,used_gpu_hours,avg_gpu_sm_util,avg_gpu_mem_gib,avg_cpu_request_util,"
    "avg_memory_util,ready_status,schedule_delay_sec,ready_delay_sec"
)
SPAN = (
    "pod_id,workload_id,server_id,gpu_spec_public,priority_class,job_type_public,model_type_public,"
    "is_genai_request,gpu_request,duration_hours,schedule_delay_sec,ready_delay_sec,ready_status,"
    "schedule_status"
)

PODS_TWICE = [
    f"0{number:x},w,s,c,Running,A10,2,128,LP,training,genai,true,1,24,8,1,50,12,0.5,0.5,true,1,1"
    for number in range(PODS)
] * 2
SPANS_TWICE = [
    f"0{number:x},w,s,A10,LP,training,genai,true,1,0.5,1,1,true,true" for number in range(PODS)
] * 2

FILES = {
    "asi/asi_opensource_pod_hourly/day=0/hour=00/part-000.parquet": [POD, *PODS_TWICE],
    "asi/asi_opensource_job_execution_summary/part-000.parquet": [SPAN, *SPANS_TWICE],
}
BROKEN_MORE_OFTEN = {"asi.pod_hourly.repeated_pods": PODS, "asi.job_execution_summary.repeated_spans": PODS}
