"""The data-quality rules: what they find in real files, in synthetic ones, and in files that break them."""

import tarfile
from pathlib import Path

import duckdb
import pandas as pd
import pytest
import raw_dumps
import sqlglot

from tracehouse.ingest.declare import all_traces
from tracehouse.views import ledgers
from tracehouse.views.rules import all_rules
from tracehouse.views.view_files import references

RULES = {rule.name: rule for rule in all_rules(all_traces().values()) if rule.kind != "row count"}
KINDS = {"key", "reference", "range", "derived", "coverage"}

CONFIG = ["dataset", "network", "batch_size", "optimizer"]

ITP_RAW_HEADER = "job_id,submission_time,duration,num_gpu"
ITP_HEADER = "job_id,submission_time,num_iteration,model_name,deadline,batch_size,num_gpu,duration"
OPENB_NODE_HEADER = "sn,cpu_milli,memory_mib,gpu,model"
OPENB_POD_HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,"
    "gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
ZEUS_POWER_HEADER = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power"
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

# The comment on a line names the rules that it breaks, without the table; a line without one breaks none.
BROKEN = {
    "itp/raw/cluster01.csv": [
        ITP_RAW_HEADER,
        "a,0,600,1",
        "a,0,600,1",  # key
        "b,5,700,2",  # in_elasticflow
        "c,-1,599,3",  # submission_time, duration, num_gpu
        "d,9,800,",  # complete
        "e,0,1000,1",
        "f,5,700,2",  # in_elasticflow
        "k,5,700,2",  # in_elasticflow
        "l,5,700,2",  # in_elasticflow
    ],
    "itp/elasticflow/cluster01.csv": [
        ITP_HEADER,
        "a,0,6000,bert,600,64,1,600",
        "e,0,10000,bert,1000,64,1,1000",
        "e,0,11000,bert,1000,64,1,1000",  # key, iterations
        "b,5,7010,bert,705,64,2,701",  # in_raw: another duration
        "f,6,7000,bert,706,64,2,700",  # in_raw: another submission
        "k,5,7000,bert,705,64,4,700",  # in_raw: other GPUs
        "m,5,7000,bert,705,64,2,700",  # in_raw
        "c,-1,599,BERT,500,64,3,599",  # submission_time, duration, num_gpu, model_name
        "d,9,,vgg16,,64,,800",  # complete
    ],
    # Nobody has brought this cluster's raw jobs, so that none of these can be missing there.
    "itp/elasticflow/cluster02.csv": [
        ITP_HEADER,
        "g,0,0,gpt2,299,128,1,600",  # training_is_positive, tightness
        "h,0,5000,gpt2,1501,256,1,1000",  # tightness
        "n,0,9000,vgg16,500,64,1,1000",
        "o,0,9000,vgg16,1500,64,1,1000",
        "q,0,9000,vgg16,1000,64,1,1000",
    ],
    "itp/elasticflow/195job.csv": [
        ITP_HEADER,
        "h,0,5000,gpt2,1000,256,1,1000",
        "i,0,5000,gpt2,1000,256,1,1000",  # testbed_in_cluster02
        "n,1,9000,vgg16,1001,64,1,1000",  # testbed_in_cluster02: another submission
        "o,0,9009,vgg16,1001,64,1,1001",  # testbed_in_cluster02: another duration
        "q,0,9000,vgg16,1000,64,2,1000",  # testbed_in_cluster02: other GPUs
    ],
    "openb/openb_node_list_all_node.csv": [
        OPENB_NODE_HEADER,
        "n1,1000,1024,8,G2",
        "n2,1000,1024,0,",
        "n2,1000,1024,0,",  # key
        "n3,0,1024,0,",  # capacity
        "n4,1000,1024,3,T4",  # gpu, lists_agree
        "n5,1000,1024,1,H100",  # model
        "n6,1000,1024,1,",  # model_where_gpu
        "n7,,1024,0,",  # complete
    ],
    "openb/openb_node_list_gpu_node.csv": [
        OPENB_NODE_HEADER,
        "m1,1000,1024,8,G2",
        "m2,1000,1024,8,G2",  # lists_agree
        "m3,1000,1024,1,H100",  # model
        "m4,1000,1024,1,",  # model_where_gpu
        "m5,1000,1024,0,",  # gpu_node_has_gpus
    ],
    "openb/openb_node_list_spare.csv": [
        OPENB_NODE_HEADER,
        "s1,1000,1024,0,",  # node_list
    ],
    "openb/openb_pod_list_default.csv": [
        OPENB_POD_HEADER,
        "p1,1000,1024,1,500,,LS,Running,1,30,20",
        "p1,1000,1024,1,500,,LS,Running,1,30,20",  # key
        "p2,0,0,3,999,,LS,Running,1,30,20",  # cpu_milli, memory_mib, num_gpu, gpu_milli_of_several
        "p3,1000,1024,0,10,T4,LS,Running,1,30,20",  # gpu_milli_of_none, gpu_spec_variants, gpu_spec_needs_gpu
        "p4,1000,1024,1,0,,BestEffort,Evicted,1,30,20",  # gpu_milli_of_one, qos, pod_phase
        "p5,1000,1024,1,1001,,LS,Running,-1,30,20",  # gpu_milli_of_one, creation_time, first_pod
        "p6,1000,1024,1,500,,LS,Running,20,10,15",  # the three rules on the order of its times
        "p7,1000,1024,1,500,,LS,Running,1,30,",  # scheduled_unless_pending
        "p8,1000,1024,1,500,,LS,Pending,1,30,20",  # scheduled_unless_pending
        "p9,1000,1024,1,500,,,Running,1,30,20",  # recorded
        "p10,,1024,1,500,,LS,Running,1,30,20",  # complete
    ],
    "openb/openb_pod_list_gpuspec33.csv": [
        OPENB_POD_HEADER,
        "p1,1000,1024,1,500,T4|G2,LS,Running,1,30,20",
        "p8,1000,1024,1,500,T4|A100,LS,Pending,1,30,20",  # gpu_spec_models, scheduled_unless_pending
        "p9,1000,1024,1,500,,LS,Running,1,30,20",  # gpuspec_keeps_default
    ],
    "openb/openb_pod_list_multigpu50.csv": [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli",
        "p1,1000,1024,1,500",  # multigpu50_keeps_default, for the nine other names of the default list
    ],
    "openb/openb_pod_list_mixed.csv": [
        OPENB_POD_HEADER,
        "p1,1000,1024,0,0,,LS,Running,1,30,20",  # variant
    ],
    "zeus/summary_train.csv": [
        "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch",
        "cifar100,net,64,adam,1e-1,1,0.5,3",
        "cifar100,net,64,adam,1e-1,1,0.5,3",  # key
        "cifar100,net,64,adam,1e-1,1,0.6,2",  # harder_takes_longer
        "cifar100,net,64,adam,1e-1,2,0.5,nan",
        "cifar100,net,64,adam,1e-1,2,0.6,4",  # harder_takes_longer
        "cifar100,net,64,adam,1e-2,3,0.5,1",  # learning_rate, every_target
        "cifar100,net,64,adam,1e-1,4,0.5,1",
        "cifar100,net,64,adam,1e-1,4,0.6,nan",
        "librispeech,net,8,adam,1e-1,1,65,1",  # four_runs, measured (on two GPUs)
        "librispeech,net,8,adam,1e-1,1,35,2",
        "mnist,net,64,Adam,1e-1,0,1,5",  # dataset, optimizer, positive, four_runs, measured (on three)
        "squad,net,32,adam,,1,80,1",  # complete, four_runs, measured (on three)
    ],
    "zeus/summary_power_v100.csv": [
        ZEUS_POWER_HEADER,
        "cifar100,net,64,adam,100,10.0,90.0",
        "cifar100,net,64,adam,100,10.0,90.0",  # key
        "cifar100,net,64,adam,260,10.0,261.0",  # power_limit, above_limit
        "cifar100,net,64,adam,,10.0,90.0",  # complete
        "cifar100,net,128,adam,100,10.0,90.0",  # trained, every_limit
        "librispeech,net,8,adam,100,0.0,90.0",  # positive, every_limit
        "mnist,other,64,ADAM,100,10.0,90.0",  # workload, trained, optimizer, every_limit
        "flowers,net,64,adam,100,10.0,90.0",  # workload, trained, every_limit
    ],
    "zeus/summary_power_rtx6000.csv": [
        ZEUS_POWER_HEADER,
        "cifar100,net,64,adam,260,10.0,260.0",
        "cifar100,net,64,adam,110,10.0,90.0",  # power_limit
    ],
    "zeus/summary_power_h100.csv": [
        ZEUS_POWER_HEADER,
        "cifar100,net,64,adam,350,10.0,90.0",  # gpu, power_limit
    ],
    "zeus/alibaba_groups.csv": [
        "group,start_time,end_time,dataset,runtime_ratio",
        "g1,10.0,20.0,cifar100,0.5",
        "g1,10.0,40.0,cifar100,1.5",
        "g2,10.0,40.0,squad,2.0",  # runtime_ratio
        "g3,0.0,10.0,flowers,1.0",  # dataset, times
        "g4,20.0,10.0,librispeech,-1.0",  # times, positive, runtime_ratio
    ],
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
        # as_summarised, a rule on the jobs: 20 of them, where Seren's file has 15
        "Seren,20,8,12,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,1,1,1,1,0.5,0.3,0.2",
        "Kalos,1,0,1,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,1,1,1,1,0.5,0.3,0.2",
        "Philly,2,0,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",
        "Philly,2,0,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # key
        "Helios,2,2,2,5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # job_num
        "PAI,2,0,2,5,1,2,3,1,1,9,,,,,,,,,,,,,,,,,",  # complete
        "Venus,2,0,2,-5,1,2,3,1,1,9,8,0.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # id, non_negative
        "Earth,2,0,2,5,1,2,3,1,1,9,8,1.5,0.3,0.2,50,30,20,0.5,0.3,0.2,,,,,,,",  # id, rates, rates_sum
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
        "2023-07-01 00:00:00+08:00,-1",  # non_negative
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
    # No metric of this cluster's nodes is there, so that no node can be missing from them.
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
        "2023-07-01 00:00:00+08:00,-1",  # non_negative
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
    "pai/pai_job_table.csv": [
        "j1,i1,u1,Terminated,100.0,200.0",
        "j2,i2,u1,Running,100.0,",
        "j2,i3,u1,Running,100.0,",  # key
        "j4,i1,u1,Waiting,,",  # inst_id_key
        "j5,i5,u1,Killed,-1.0,0.0",  # status, times
        "j6,i6,u1,Failed,200.0,100.0",  # times
        "j7,i7,u1,Failed,,",  # start_unless_waiting, end_where_ended
        "j8,i8,u1,Running,100.0,100.0",  # end_where_ended, tagged
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
        "j1,chief,0.0,Failed,,,,,0.0,",  # inst_num, start_unless_waiting, plan_gpu, has_instances
        "j1,,1.0,Waiting,,,,,,",  # complete
        "j1,evaluator,,Waiting,0.0,0.0,,,,",  # sized, has_instances
        # in_job, inst_num, status, times, plan, gpu_type, has_instances
        "j99,worker,1.5,Killed,-1.0,200.0,-1.0,10.0,50.0,K80",
    ],
    "pai/pai_instance_table.csv": [
        "j1,worker,a,w1,i1,Terminated,100.0,200.0,m1",
        "j1,worker,a,w1,i1,Failed,110.0,120.0,m1",  # worker_name_key
        "j1,ps,b,w2,i1,Terminated,150.0,140.0,m1",  # times
        "j1,worker,c,w3,i7,Killed,99.0,200.0,m9",  # inst_id, status, starts_after_task, machine, has_sensor
        "j1,reducer,d,,i1,Waiting,0.0,50.0,",  # in_task, start_where_ended, named
        "j1,worker,e,w5,i1,,100.0,200.0,m1",  # complete, has_sensor
        "j98,worker,g,w2,i1,Failed,100.0,200.0,m1",  # in_task, worker_name_key, one_task
    ],
    "pai/pai_sensor_table.csv": [
        "j1,worker,w1,i1,m1,/dev/nvidia0,140.0,16.0,1.0,2.0,1.0,2.0,5.0,5.0,5.0,5.0",
        "j1,worker,w1,i1,m1,/dev/nvidia0,140.0,16.0,1.0,2.0,1.0,2.0,5.0,5.0,5.0,5.0",  # key
        # inst_id, same_task (of its second run), machine, maxima, non_negative
        "j1,ps,w2,i7,m8,,140.0,,3.0,2.0,,,-5.0,5.0,5.0,5.0",
        "j1,worker,w99,i1,m1,,,,1.0,2.0,,,5.0,5.0,5.0,5.0",  # in_instance, used
        "j1,worker,,i1,m1,,140.0,16.0,1.0,2.0,,,5.0,5.0,5.0,5.0",  # complete, device
    ],
    "pai/pai_machine_spec.csv": [
        "m1,T4,96,512,2",
        "m1,T4,96,512,2",  # key
        "m2,K80,96,512,2",  # gpu_type
        "m3,CPU,96,512,2",  # gpu_type_where_gpu
        "m4,T4,0,512,2",  # capacity
        "m5,T4,,512,2",  # complete
    ],
    "pai/pai_machine_metric.csv": [
        "w1,m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",
        "w1,m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # key
        "w2,m1,150,140,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # times
        "w3,m9,98,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # in_instance, machine
        "w5,m3,100,150,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # in_instance, same_machine
        "w99,m1,100,200,1.0,2.0,3.0,50.0,-1.0,1.0,1.0,8.0",  # in_instance, non_negative, machine_cpu
        ",m1,100,200,1.0,2.0,3.0,50.0,1.0,1.0,1.0,6.5",  # complete
    ],
}

# The ingest rejects the lines that would break these.
KEPT_BY_INGEST = {"acme.gpu_metric.key"}

# Every other rule is broken once.
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
    "itp.elasticflow_job.files": 8,
    "itp.elasticflow_job.in_raw": 4,
    "itp.elasticflow_job.testbed_in_cluster02": 4,
    "itp.elasticflow_job.tightness": 2,
    "itp.raw_job.clusters": 9,
    "itp.raw_job.in_elasticflow": 4,
    "openb.node.lists_agree": 2,
    "openb.node.model": 2,
    "openb.node.model_where_gpu": 2,
    "openb.pod.gpu_milli_of_one": 2,
    "openb.pod.multigpu50_keeps_default": 9,
    "openb.pod.scheduled_unless_pending": 3,
    "pai.instance.has_sensor": 2,
    "pai.instance.in_task": 2,
    "pai.instance.worker_name_key": 2,
    "pai.job.end_where_ended": 2,
    "pai.job.times": 2,
    "pai.machine_metric.in_instance": 3,
    "pai.task.has_instances": 3,
    "pai.task.inst_num": 2,
    "zeus.alibaba_group.runtime_ratio": 2,
    "zeus.alibaba_group.times": 2,
    "zeus.power.every_limit": 4,
    "zeus.power.power_limit": 3,
    "zeus.power.trained": 3,
    "zeus.power.workload": 2,
    "zeus.train.four_runs": 3,
    "zeus.train.harder_takes_longer": 2,
    "zeus.train.measured": 8,
}

# Rules over several columns: what is usual in all of them, and what breaks the rule in any one.
EACH_COLUMN = {
    "acme.job_trace.non_negative": (
        0,
        -1,
        "node_num gpu_num cpu_num mem_per_pod_GB shared_mem_per_pod duration queue gpu_time",
    ),
    "acme.job_trace.complete": (1, None, "job_id type state submit_time gpu_num"),
    "acme.cluster_summary.non_negative": (
        0,
        -1,
        "job_num cpu_job_num gpu_job_num avg_run_time_gpu avg_que_time_gpu avg_gpu_num med_run_time_gpu"
        " med_que_time_gpu med_gpu_num complete_gpu_time cancel_gpu_time fail_gpu_time avg_run_time_cpu"
        " avg_que_time_cpu med_run_time_cpu med_que_time_cpu",
    ),
    "acme.cluster_summary.rates": (
        1,
        1.1,
        "complete_rate_gpu cancel_rate_gpu fail_rate_gpu complete_rate_gpu_time cancel_rate_gpu_time"
        " fail_rate_gpu_time complete_rate_cpu cancel_rate_cpu fail_rate_cpu",
    ),
    "acme.cluster_summary.rates_sum": (
        1 / 3,
        0.34,
        "complete_rate_gpu cancel_rate_gpu fail_rate_gpu complete_rate_gpu_time cancel_rate_gpu_time"
        " fail_rate_gpu_time complete_rate_cpu cancel_rate_cpu fail_rate_cpu",
    ),
    "acme.cluster_summary.gpu_time_rates": (
        1 / 3,
        0.34,
        "complete_rate_gpu_time cancel_rate_gpu_time fail_rate_gpu_time",
    ),
    "acme.cluster_summary.maxima": (1, 2, "avg_run_time_gpu med_run_time_gpu avg_gpu_num med_gpu_num"),
    "acme.cluster_summary.complete": (
        1,
        None,
        "id job_num cpu_job_num gpu_job_num avg_run_time_gpu avg_que_time_gpu avg_gpu_num"
        " med_run_time_gpu med_que_time_gpu med_gpu_num max_run_time_gpu max_gpu",
    ),
    "acme.server_power.non_negative": (0, -1, "Sys_Total_Power CPU_Power MEM_Power Memory_Power"),
    "acme.server_power.complete": (1, None, "Time Sys_Total_Power CPU_Power"),
    "itp.raw_job.complete": (1, None, "job_id submission_time duration num_gpu"),
    "itp.elasticflow_job.complete": (
        1,
        None,
        "job_id submission_time num_iteration model_name deadline batch_size num_gpu duration",
    ),
    "itp.elasticflow_job.training_is_positive": (1, 0, "num_iteration batch_size"),
    "openb.node.capacity": (1, 0, "cpu_milli memory_mib"),
    "openb.node.complete": (1, None, "sn cpu_milli memory_mib gpu"),
    "openb.pod.complete": (1, None, "name cpu_milli memory_mib num_gpu gpu_milli"),
    "openb.pod.recorded": (1, None, "qos pod_phase creation_time deletion_time"),
    "pai.job.complete": (1, None, "job_name inst_id user status"),
    "pai.job.times": (0, -1, "start_time end_time"),
    "pai.task.complete": (1, None, "job_name task_name status"),
    "pai.task.times": (0, -1, "start_time end_time"),
    "pai.task.plan": (0, -1, "plan_cpu plan_mem plan_gpu"),
    "pai.instance.complete": (1, None, "job_name task_name status"),
    "pai.instance.times": (0, -1, "start_time end_time"),
    "pai.sensor.complete": (1, None, "worker_name machine"),
    "pai.sensor.used": (1, None, "cpu_usage avg_mem"),
    "pai.sensor.maxima": (1, 2, "avg_mem avg_gpu_wrk_mem"),
    "pai.sensor.non_negative": (
        0,
        -1,
        "cpu_usage gpu_wrk_util avg_mem max_mem avg_gpu_wrk_mem max_gpu_wrk_mem read write read_count"
        " write_count",
    ),
    "pai.machine_spec.capacity": (1, -1, "cap_cpu cap_mem cap_gpu"),
    "pai.machine_spec.complete": (1, None, "machine gpu_type cap_cpu cap_mem cap_gpu"),
    "pai.machine_metric.complete": (1, None, "worker_name machine"),
    "pai.machine_metric.times": (0, -1, "start_time end_time"),
    "pai.machine_metric.non_negative": (
        0,
        -1,
        "machine_cpu_iowait machine_cpu_kernel machine_cpu_usr machine_gpu machine_load_1"
        " machine_net_receive machine_num_worker machine_cpu",
    ),
    "zeus.train.complete": (
        1,
        None,
        "dataset network batch_size optimizer learning_rate run target_metric",
    ),
    "zeus.train.positive": (1, 0, "batch_size target_metric run target_epoch"),
    "zeus.power.complete": (
        1,
        None,
        "dataset network batch_size optimizer power_limit time_per_epoch average_power",
    ),
    "zeus.power.positive": (1, 0, "batch_size time_per_epoch average_power"),
}

# Rules on pods that a list has from the default one: such a list, and what stays the same in it.
KEPT_FROM_DEFAULT = {
    "openb.pod.gpuspec_keeps_default": (
        "gpuspec33",
        "name cpu_milli memory_mib num_gpu gpu_milli qos pod_phase creation_time deletion_time"
        " scheduled_time",
    ),
    "openb.pod.multigpu50_keeps_default": ("multigpu50", "name cpu_milli memory_mib num_gpu gpu_milli"),
}

# Rules between two lists of one table: the rows that leave one of the lists out.
WITHOUT_A_LIST = [
    ("itp.elasticflow_job.testbed_in_cluster02", "source_file <> 'cluster02'"),
    ("openb.node.lists_agree", "node_list <> 'all_node'"),
    ("openb.node.lists_agree", "node_list <> 'gpu_node'"),
    ("openb.pod.gpuspec_keeps_default", "variant <> 'default'"),
    ("openb.pod.multigpu50_keeps_default", "variant <> 'multigpu50'"),
]

SOME_TIME = "2023-05-17 11:00:58+00:00"


def warehouse_of(files: dict[str, list[str]], folder: Path) -> duckdb.DuckDBPyConnection:
    for name, lines in files.items():
        path = folder / "raw" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    connection = raw_dumps.ingested(folder / "raw", folder / "warehouse")
    assert connection.execute("select count(*) from catalog.rejected_rows").fetchall()[0] == (0,)
    return connection


def violations(connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """How many breaches each rule of the ledgers counts, where it counts any and has data."""
    rows = connection.execute(
        "select check_name, violations from catalog.checks where violations <> 0 and status <> 'no data'"
    ).fetchall()
    return {name: count for name, count in rows if name in RULES}


def failed(connection: duckdb.DuckDBPyConnection) -> list[tuple]:
    return connection.execute(
        "select check_name, violations from catalog.checks where status = 'failed' order by check_name"
    ).fetchall()


def assert_every_rule_counts(connection: duckdb.DuckDBPyConnection) -> None:
    for rule in RULES.values():
        found = count(connection, rule.name)
        assert isinstance(found, int), rule.name
        assert found >= 0, rule.name


def tables_read(rule: ledgers.Check) -> frozenset[str]:
    return references(sqlglot.parse_one(rule.sql, dialect="duckdb"), Path(rule.name))


def count(connection: duckdb.DuckDBPyConnection, rule: str) -> int:
    ((found,),) = connection.execute(RULES[rule].sql).fetchall()
    return found


@pytest.fixture
def tables() -> duckdb.DuckDBPyConnection:
    """Every base table, empty, in memory."""
    connection = duckdb.connect()
    for trace in all_traces().values():
        connection.execute(f"create schema {trace.name}")
        for table in trace.tables:
            columns = ", ".join(f'"{column.name}" {column.type}' for column in table.stored_columns)
            connection.execute(f"create table {trace.name}.{table.name} ({columns})")
    return connection


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    return warehouse_of(BROKEN, tmp_path_factory.mktemp("broken"))


def test_rules_are_named_after_what_they_are_about() -> None:
    names = [rule.name for rule in all_rules(all_traces().values())]
    assert len(names) == len(set(names))
    tables = {f"{trace.name}.{table.name}" for trace in all_traces().values() for table in trace.tables}
    assert {rule.object_name for rule in RULES.values()} <= tables
    for rule in RULES.values():
        assert rule.object_name.startswith(f"{rule.trace}."), rule.name
        assert rule.name.removeprefix(f"{rule.object_name}.").isidentifier(), rule.name
        assert rule.kind in KINDS, rule.name


def test_rules_name_caveats_of_their_trace() -> None:
    caveats = {(caveat.trace, caveat.name) for caveat in ledgers.caveats()}
    named = {(rule.trace, rule.caveat) for rule in RULES.values() if rule.caveat}
    assert named
    assert named <= caveats


def test_rules_read_their_table_and_others_of_their_trace() -> None:
    for rule in RULES.values():
        tables = {f"{rule.trace}.{table.name}" for table in all_traces()[rule.trace].tables}
        assert rule.object_name in tables_read(rule), rule.name
        assert tables_read(rule) <= tables, rule.name


def test_every_rule_counts_on_real_files(real: duckdb.DuckDBPyConnection) -> None:
    assert_every_rule_counts(real)


def test_every_rule_counts_on_a_sample(synthetic: duckdb.DuckDBPyConnection) -> None:
    assert_every_rule_counts(synthetic)


def test_no_rule_fails_on_real_files(real: duckdb.DuckDBPyConnection) -> None:
    assert failed(real) == []


def test_no_rule_fails_on_a_sample(synthetic: duckdb.DuckDBPyConnection) -> None:
    assert failed(synthetic) == []


def test_a_sample_has_data_for_every_rule(synthetic: duckdb.DuckDBPyConnection) -> None:
    without = synthetic.execute("select check_name from catalog.checks where status = 'no data'").fetchall()
    assert without == []


def test_real_files_break_the_rules_that_pandas_finds_broken(
    real: duckdb.DuckDBPyConnection, real_raw: Path
) -> None:
    expected = itp_breaches(real_raw) | openb_breaches(real_raw) | zeus_breaches(real_raw)
    expected |= acme_breaches(real_raw)
    assert expected["itp.elasticflow_job.tightness"] == 3
    assert expected["acme.cluster_summary.job_num"] == 1
    assert violations(real) == expected
    caveats = {name: RULES[name].caveat for name in expected}
    assert all(caveats.values()), caveats


def test_each_rule_counts_what_breaks_it(broken: duckdb.DuckDBPyConnection) -> None:
    assert violations(broken) == dict.fromkeys(RULES.keys() - KEPT_BY_INGEST, 1) | BROKEN_MORE_OFTEN


def test_only_a_caveat_excuses_a_breach(broken: duckdb.DuckDBPyConnection) -> None:
    rows = broken.execute("select check_name, status from catalog.checks").fetchall()
    statuses = {name: status for name, status in rows if name in RULES}
    of_breaches = {name: "known" if rule.caveat else "failed" for name, rule in RULES.items()}
    assert statuses == of_breaches | dict.fromkeys(KEPT_BY_INGEST, "ok")


def test_a_time_that_a_device_has_twice_breaks_its_key(tables: duckdb.DuckDBPyConnection) -> None:
    times = ["2023-07-01 00:00:00+08:00", "2023-07-01 00:00:15+08:00", "2023-07-02 00:00:00+08:00"]
    # Two days in UTC as in Shanghai; a device that is not listed at every time, and another metric.
    rows = [("GPU_UTIL", device, time) for device in "ab" for time in times]
    rows += [("GPU_UTIL", "c", times[2]), ("GPU_TEMP", "a", times[0])]
    insert = "insert into acme.gpu_metric (cluster, metric, device, time) values ('kalos', ?, ?, ?)"
    tables.executemany(insert, rows)
    assert count(tables, "acme.gpu_metric.key") == 0
    tables.execute(insert, ["GPU_UTIL", "a", times[1]])
    tables.execute(insert, ["GPU_TEMP", "a", times[0]])
    assert count(tables, "acme.gpu_metric.key") == 2


def test_empty_fields_break_rules_of_coverage_only(tmp_path: Path) -> None:
    # A line without a time is rejected where its cells are rows.
    left_out = ("mixed", "acme/kalos/", "acme/seren/")
    rows = {
        name: "," * lines[0].count(",")
        for name, lines in BROKEN.items()
        if not any(part in name for part in left_out)
    }
    headers = {name: lines[:1] for name, lines in BROKEN.items() if not name.startswith("pai/")}
    empty = warehouse_of({name: [*headers.get(name, []), row] for name, row in rows.items()}, tmp_path)
    found = violations(empty)
    # The names of these lists and files are made up: they are no fields.
    of_names = {"openb.node.node_list", "zeus.power.gpu"}
    assert {name for name in found if RULES[name].kind != "coverage"} == of_names
    assert {name for name in RULES if name.endswith(".complete")} <= set(found)


@pytest.mark.parametrize("name", EACH_COLUMN)
def test_a_rule_over_columns_looks_at_each(name: str, tables: duckdb.DuckDBPyConnection) -> None:
    usual, breach, columns = EACH_COLUMN[name]
    table = RULES[name].object_name
    types = dict(tables.execute(f"select column_name, column_type from (describe {table})").fetchall())
    row = {column: SOME_TIME if kind.startswith("TIMESTAMP") else usual for column, kind in types.items()}
    insert = f"insert into {table} values ({', '.join('?' for _ in row)})"
    tables.execute(insert, [*row.values()])
    assert count(tables, name) == 0
    for found, column in enumerate(columns.split(), 1):
        tables.execute(insert, [*(row | {column: breach}).values()])
        assert count(tables, name) == found, column


@pytest.mark.parametrize("name", KEPT_FROM_DEFAULT)
def test_a_pod_kept_from_default_is_the_same_in_each_column(
    name: str, tables: duckdb.DuckDBPyConnection
) -> None:
    variant, columns = KEPT_FROM_DEFAULT[name]
    kept = dict.fromkeys(columns.split(), "1")
    insert = f"insert into openb.pod (variant, {', '.join(kept)}) values (?{', ?' * len(kept)})"
    for column in [None, *kept]:
        tables.execute("delete from openb.pod")
        tables.execute(insert, ["default", *kept.values()])
        tables.execute(insert, [variant, *(kept | ({column: "2"} if column else {})).values()])
        assert count(tables, name) == (0 if column is None else 1), column


def test_a_rule_between_tables_holds_where_one_is_missing(
    broken: duckdb.DuckDBPyConnection, tables: duckdb.DuckDBPyConnection
) -> None:
    between = {name for name, rule in RULES.items() if len(tables_read(rule)) > 1}
    assert {rule.kind for rule in RULES.values() if rule.name in between} == {
        "reference",
        "range",
        "coverage",
    }
    for name in between:
        assert count(broken, name) > 0, name
        table = RULES[name].object_name
        rows = broken.sql(f"from {table}").to_arrow_table()
        tables.execute(f"insert into {table} from rows")
        assert len(rows) > 0
        assert count(tables, name) == 0, name
        tables.execute(f"delete from {table}")


@pytest.mark.parametrize(("name", "kept"), WITHOUT_A_LIST)
def test_a_rule_between_lists_holds_where_one_is_missing(
    name: str, kept: str, broken: duckdb.DuckDBPyConnection, tables: duckdb.DuckDBPyConnection
) -> None:
    table = RULES[name].object_name
    rows = broken.sql(f"from {table} where {kept}").to_arrow_table()
    tables.execute(f"insert into {table} from rows")
    assert len(rows) > 0
    assert count(tables, name) == 0


def itp_breaches(raw: Path) -> dict[str, int]:
    with tarfile.open(raw / "itp" / "data" / "elasticflow-traces.tar.gz") as archive:
        members = [member for member in archive if member.name.endswith(".csv")]
        jobs = pd.concat(pd.read_csv(archive.extractfile(member)) for member in members)
    assert len(members) == 11
    tightness = (jobs["deadline"] - jobs["submission_time"]) / jobs["duration"]
    return {"itp.elasticflow_job.tightness": int(((tightness < 0.5) | (tightness > 1.5)).sum())}


def openb_breaches(raw: Path) -> dict[str, int]:
    pods = {path.stem: pd.read_csv(path) for path in (raw / "openb" / "csv").glob("openb_pod_list_*.csv")}
    without_memory = {name: int((frame["memory_mib"] <= 0).sum()) for name, frame in pods.items()}
    assert without_memory["openb_pod_list_default"] == 1
    return {"openb.pod.memory_mib": sum(without_memory.values())}


def zeus_breaches(raw: Path) -> dict[str, int]:
    train = pd.read_csv(raw / "zeus" / "summary_train.csv")
    trained = train[CONFIG].drop_duplicates()
    above = untrained = unmeasured = missing_limits = 0
    for path in (raw / "zeus").glob("summary_power_*.csv"):
        power = pd.read_csv(path)
        measured = power[CONFIG].drop_duplicates()
        above += int((power["average_power"] > power["power_limit"]).sum())
        untrained += len(power) - len(power.merge(trained, on=CONFIG))
        unmeasured += len(trained) - len(trained.merge(measured, on=CONFIG))
        missing_limits += len(measured) * power["power_limit"].nunique() - len(power)
    return {
        "zeus.power.above_limit": above,
        "zeus.power.every_limit": missing_limits,
        "zeus.power.trained": untrained,
        "zeus.train.four_runs": int((train.groupby(CONFIG)["run"].nunique() < 4).sum()),
        "zeus.train.measured": unmeasured,
    }


def acme_breaches(raw: Path) -> dict[str, int]:
    summary = pd.read_csv(raw / "acme" / "data" / "cluster_summary.csv")
    counted = summary["cpu_job_num"] + summary["gpu_job_num"]
    return {"acme.cluster_summary.job_num": int((summary["job_num"] != counted).sum())}
