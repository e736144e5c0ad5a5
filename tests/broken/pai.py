"""Rows and files that break PAI's rules in SQL. Comments name the rules that a line breaks."""

from broken_rows import Changes

CHANGES: Changes = [
    *(
        (f"pai.{table}.end_after_start", {"start_time": "200", "end_time": "100"})
        for table in ("job", "task", "instance", "machine_metric")
    ),
    ("pai.job.start_unless_waiting", {"status": "'Failed'", "start_time": "null"}),
    ("pai.job.end_where_ended", {"status": "'Failed'", "end_time": "null"}),
    ("pai.job.end_where_ended", {"status": "'Running'", "end_time": "100"}),
    ("pai.task.inst_num", {"inst_num": "0"}),
    ("pai.task.inst_num", {"inst_num": "1.5"}),
    ("pai.task.plan_gpu", {"plan_gpu": "0"}),
    ("pai.task.sized", {"inst_num": "null"}),
    ("pai.task.start_unless_waiting", {"status": "'Failed'", "start_time": "null"}),
    ("pai.instance.times_of_terminated", {"status": "'Terminated'", "end_time": "null"}),
    ("pai.instance.times_of_terminated", {"status": "'Terminated'", "start_time": "0"}),
    ("pai.instance.times_of_failed", {"status": "'Failed'", "start_time": "100", "end_time": "200"}),
    ("pai.instance.times_of_failed", {"status": "'Failed'", "start_time": "null", "end_time": "0"}),
    ("pai.instance.times_of_interrupted", {"status": "'Interrupted'", "start_time": "100"}),
    ("pai.instance.times_of_interrupted", {"status": "'Interrupted'", "end_time": "null"}),
    ("pai.instance.times_of_unended", {"status": "'Running'", "end_time": "100"}),
    ("pai.instance.times_of_unended", {"status": "'Waiting'", "start_time": "100", "end_time": "0"}),
    ("pai.instance.placed", {"status": "'Terminated'", "worker_name": "null"}),
    ("pai.instance.placed", {"status": "'Waiting'", "worker_name": "null"}),
    # Ids that a spreadsheet converted to numbers, and rounded.
    ("pai.job.job_name", {"job_name": "'1.2E+23'"}),
    ("pai.instance.worker_name", {"worker_name": "'4.5123e+59'"}),
    ("pai.machine_spec.machine", {"machine": "'5.0'"}),
    ("pai.sensor.maxima", {"avg_mem": "max_mem + 1"}),
    ("pai.sensor.maxima", {"avg_gpu_wrk_mem": "max_gpu_wrk_mem + 1"}),
    ("pai.sensor.device", {"gpu_wrk_util": "1", "gpu_name": "null"}),
    ("pai.sensor.used", {"cpu_usage": "null"}),
    ("pai.sensor.used", {"avg_mem": "null"}),
    ("pai.group_tag.grouped", {"group": "null"}),
    ("pai.machine_spec.gpu_type_where_gpu", {"gpu_type": "'CPU'", "cap_gpu": "2"}),
    ("pai.machine_spec.gpu_type_where_gpu", {"gpu_type": "'T4'", "cap_gpu": "0"}),
    ("pai.machine_metric.machine_cpu", {"machine_cpu": "machine_cpu + 2"}),
]

FILES = {
    "pai/pai_job_table.csv": [
        "j1,i1,u1,Terminated,100.0,200.0",
        "j2,i2,u1,Running,100.0,",
        "j2,i3,u1,Running,100.0,",  # standard_job_v1.held_gpu_s (of its task)
        "j3,i1,u1,Waiting,,",  # inst_id_key
    ],
    "pai/pai_group_tag_table.csv": [
        "i1,u1,T4,g1,bert",
        "i2,u2,,g1,",  # user
    ],
    "pai/pai_task_table.csv": [
        "j1,worker,2.0,Terminated,100.0,200.0,600.0,10.0,50.0,T4",
        "j1,ps,1.0,Terminated,90.0,200.0,600.0,10.0,,",  # starts_after_job
        "j2,worker,2.0,Running,100.0,,600.0,10.0,50.0,T4",  # launched
    ],
    "pai/pai_instance_table.csv": [
        "j1,worker,a,w1,i1,Terminated,100.0,200.0,m1",
        "j1,worker,a,w1,i1,Failed,110.0,120.0,m1",  # worker_name_key
        "j1,worker,b,w3,i7,Terminated,99.0,200.0,m9",  # inst_id, starts_after_task
        "j1,ps,b,w2,i1,Terminated,150.0,160.0,m1",
        "j2,worker,h,w7,i2,Terminated,100.0,200.0,m1",  # inst_id (of its second job)
        "j9,worker,g,w2,i1,Failed,100.0,,m1",  # worker_name_key, one_task
    ],
    "pai/pai_sensor_table.csv": [
        "j1,worker,w1,i1,m1,/dev/nvidia0,140.0,16.0,1.0,2.0,1.0,2.0,5.0,5.0,5.0,5.0",
        # inst_id, same_task (of its second run), same_machine
        "j1,ps,w2,i7,m8,,140.0,,1.0,2.0,,,5.0,5.0,5.0,5.0",
    ],
    "pai/pai_machine_metric.csv": [
        "w1,m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",
        "w3,m9,98,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # in_instance: another start
        "w7,m3,100,150,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # in_instance: another end; same_machine
        "w99,m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # in_instance
    ],
}

# All other rules of `checks.sql` are broken once.
BROKEN_MORE_OFTEN = {
    "pai.instance.inst_id_of_job": 2,
    "pai.instance.worker_name_key": 2,
    "pai.machine_metric.in_instance": 3,
}
