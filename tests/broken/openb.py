"""Files that break each of openb's rules. Comments name the rules that a line breaks, without the table."""

OPENB_NODE_HEADER = "sn,cpu_milli,memory_mib,gpu,model"
OPENB_POD_HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,"
    "gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)

FILES = {
    "openb/openb_node_list_all_node.csv": [
        OPENB_NODE_HEADER,
        "n1,1000,1024,8,G2",
        "n2,1000,1024,0,",
        "n2,1000,1024,0,",  # key
        "n3,0,1024,0,",  # positive
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
}

# All other rules are broken once.
BROKEN_MORE_OFTEN = {
    "openb.node.lists_agree": 2,
    "openb.node.model": 2,
    "openb.node.model_where_gpu": 2,
    "openb.pod.gpu_milli_of_one": 2,
    "openb.pod.multigpu50_keeps_default": 9,
    "openb.pod.scheduled_unless_pending": 3,
}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {"openb.pod.memory_mib": 5}
