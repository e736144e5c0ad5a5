"""Files that break each of PAI's rules. Comments name the rules that a line breaks, without the table."""

FILES = {
    "pai/pai_job_table.csv": [
        "j1,i1,u1,Terminated,100.0,200.0",
        "j2,i2,u1,Running,100.0,",
        "j2,i3,u1,Running,100.0,",  # key, standard_job_v1.held_gpu_s (of its task)
        "j4,i1,u1,Waiting,,",  # inst_id_key
        "j5,i5,u1,Killed,-1.0,0.0",  # status, non_negative
        "j6,i6,u1,Failed,200.0,100.0",  # end_after_start
        "j7,i7,u1,Failed,,",  # start_unless_waiting, end_where_ended
        "j8,i8,u1,Running,100.0,100.0",  # end_where_ended, in_group_tag
        "j9,,u1,Waiting,,",  # complete
    ],
    "pai/pai_group_tag_table.csv": [
        "i1,u1,T4,g1,bert",
        "i2,u1,,g1,",
        "i3,u1,,g1,",
        "i5,u1,,g1,",
        "i6,u1,,g1,",
        "i6,u1,,g1,",  # key
        "i7,u2,,g1,",  # user
        "i99,u1,K80,,",  # in_job, gpu_type_spec, grouped
        ",u1,,g1,",  # complete
    ],
    "pai/pai_task_table.csv": [
        "j1,worker,2.0,Terminated,100.0,200.0,600.0,10.0,50.0,T4",
        "j1,ps,1.0,Terminated,90.0,200.0,600.0,10.0,,",  # starts_after_job
        "j1,ps,2.0,Terminated,100.0,200.0,600.0,10.0,,",  # key, launched
        "j1,chief,0.0,Failed,,,,,0.0,",  # inst_num, start_unless_waiting, plan_gpu, in_instance
        "j1,,1.0,Waiting,,,,,,",  # complete
        "j2,worker,1.0,Running,100.0,,600.0,10.0,50.0,T4",
        "j1,evaluator,,Waiting,300.0,200.0,,,,",  # sized, end_after_start, in_instance
        # in_job, inst_num, status, non_negative, gpu_type, in_instance
        "j99,worker,1.5,Killed,-1.0,200.0,-1.0,10.0,50.0,K80",
    ],
    "pai/pai_instance_table.csv": [
        "j1,worker,a,w1,i1,Terminated,100.0,200.0,m1",
        "j1,worker,a,w1,i1,Failed,110.0,120.0,m1",  # worker_name_key
        "j1,ps,b,w2,i1,Terminated,150.0,140.0,m1",  # end_after_start
        # inst_id, status, starts_after_task, in_machine_spec, in_sensor
        "j1,worker,c,w3,i7,Killed,99.0,200.0,m9",
        "j1,reducer,d,,i1,Waiting,0.0,50.0,",  # in_task, start_where_ended, named
        "j1,worker,e,w5,i1,,100.0,200.0,m1",  # complete, in_sensor
        "j2,worker,h,w7,i2,Terminated,100.0,200.0,m1",  # inst_id (of its second job), in_sensor
        "j98,worker,g,w2,i1,Failed,100.0,-1.0,m1",  # in_task, worker_name_key, one_task, non_negative
    ],
    "pai/pai_sensor_table.csv": [
        "j1,worker,w1,i1,m1,/dev/nvidia0,140.0,16.0,1.0,2.0,1.0,2.0,5.0,5.0,5.0,5.0",
        "j1,worker,w1,i1,m1,/dev/nvidia0,140.0,16.0,1.0,2.0,1.0,2.0,5.0,5.0,5.0,5.0",  # key
        # inst_id, same_task (of its second run), in_machine_spec, maxima, non_negative
        "j1,ps,w2,i7,m8,,140.0,,3.0,2.0,,,-5.0,5.0,5.0,5.0",
        "j1,worker,w99,i1,m1,,,,1.0,2.0,,,5.0,5.0,5.0,5.0",  # in_instance, used
        "j1,worker,,i1,m1,,140.0,16.0,1.0,2.0,,,5.0,5.0,5.0,5.0",  # complete, device
    ],
    "pai/pai_machine_spec.csv": [
        "m1,T4,96,512,2",
        "m1,T4,96,512,2",  # key
        "m2,K80,96,512,2",  # gpu_type
        "m3,CPU,96,512,2",  # gpu_type_where_gpu
        "m4,T4,0,512,2",  # positive
        "m6,T4,96,512,-1",  # cap_gpu
        "m5,T4,,512,2",  # complete
    ],
    "pai/pai_machine_metric.csv": [
        "w1,m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",
        "w1,m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # key
        "w2,m1,150,140,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # end_after_start
        "w3,m9,98,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # in_instance, in_machine_spec
        "w5,m3,100,150,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # in_instance, same_machine
        "w99,m1,100,200,1.0,2.0,3.0,50.0,-1.0,1.0,1.0,8.0",  # in_instance, non_negative, machine_cpu
        ",m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # complete
    ],
}

# All other rules are broken once.
BROKEN_MORE_OFTEN = {
    "pai.instance.in_sensor": 3,
    "pai.instance.inst_id": 2,
    "pai.instance.in_task": 2,
    "pai.instance.worker_name_key": 2,
    "pai.job.end_where_ended": 2,
    "pai.machine_metric.in_instance": 3,
    "pai.task.in_instance": 3,
    "pai.task.inst_num": 2,
}
