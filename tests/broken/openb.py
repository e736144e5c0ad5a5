"""Rows and files that break openb's rules in SQL. Comments name the rules that a line breaks."""

from broken_rows import Changes

NODE_HEADER = "sn,cpu_milli,memory_mib,gpu,model"
POD_HEADER = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,"
    "gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)

CHANGES: Changes = [
    ("openb.node.gpu_node_has_gpus", {"node_list": "'gpu_node'", "gpu": "0"}),
    ("openb.node.model_where_gpu", {"gpu": "0", "model": "'T4'"}),
    ("openb.node.model_where_gpu", {"gpu": "1", "model": "null"}),
    ("openb.pod.memory_mib", {"memory_mib": "0"}),
    ("openb.pod.gpu_milli_of_none", {"num_gpu": "0", "gpu_milli": "10"}),
    ("openb.pod.gpu_milli_of_one", {"num_gpu": "1", "gpu_milli": "0"}),
    ("openb.pod.gpu_milli_of_one", {"num_gpu": "1", "gpu_milli": "1001"}),
    ("openb.pod.gpu_milli_of_several", {"num_gpu": "2", "gpu_milli": "999"}),
    ("openb.pod.gpu_spec_variants", {"variant": "'default'", "gpu_spec": "'T4'"}),
    ("openb.pod.gpu_spec_needs_gpu", {"num_gpu": "0", "gpu_spec": "'T4'"}),
    ("openb.pod.scheduled_after_creation", {"scheduled_time": "creation_time - 1"}),
    ("openb.pod.deletion_after_scheduled", {"deletion_time": "scheduled_time - 1"}),
    ("openb.pod.deletion_after_creation", {"deletion_time": "creation_time - 1"}),
    ("openb.pod.scheduled_unless_pending", {"pod_phase": "'Pending'"}),
    ("openb.pod.scheduled_unless_pending", {"pod_phase": "'Running'", "scheduled_time": "null"}),
    *(
        ("openb.pod.recorded", {"variant": "'default'", name: "null"})
        for name in ("memory_mib", "qos", "pod_phase", "creation_time", "deletion_time")
    ),
]

FILES = {
    "openb/openb_node_list_all_node.csv": [
        NODE_HEADER,
        "n1,1000,1024,8,G2",
        "n2,1000,1024,4,T4",  # lists_agree
    ],
    "openb/openb_node_list_gpu_node.csv": [
        NODE_HEADER,
        "m1,1000,1024,8,G2",
        "m2,1000,1024,8,G2",  # lists_agree
    ],
    "openb/openb_pod_list_default.csv": [
        POD_HEADER,
        "p1,1000,1024,1,500,,LS,Running,1,30,20",  # first_pod
        "p2,1000,1024,1,500,,LS,Running,1,30,20",
    ],
    "openb/openb_pod_list_gpuspec33.csv": [
        POD_HEADER,
        "p1,1000,1024,1,500,T4|G2,LS,Running,1,30,20",
        "p2,1000,1024,1,500,T4|A100,LS,Running,1,30,20",  # gpu_spec_models
        "p3,1000,1024,1,500,,LS,Running,1,30,20",  # gpuspec_keeps_default
    ],
    # Lists in the history of the simulator's repository, which break no rule.
    "openb/openb_pod_list_gpuspec33_cpu0.csv": [POD_HEADER, "p1,1000,1024,1,700,T4|G2,LS,Running,1,30,20"],
    "openb/openb_pod_list_nomem.csv": [
        POD_HEADER.replace("memory_mib,", ""),
        "p1,1000,1,500,,LS,Running,1,30,20",
    ],
    "openb/openb_pod_list_multigpu50.csv": [
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli",
        "p1,1000,1024,1,500",  # multigpu50_keeps_default, for p2 of the default list
    ],
}

# All other rules of `checks.sql` are broken once.
BROKEN_MORE_OFTEN = {"openb.node.lists_agree": 2}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {"openb.pod.memory_mib": 5}
