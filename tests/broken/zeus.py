"""Rows and files that break Zeus's rules in SQL. Comments name the rules that a line breaks."""

from broken_rows import Changes

CHANGES: Changes = [
    *(("zeus.power.power_limit", {"power_limit": limit}) for limit in ("75", "110", "325")),
    ("zeus.power.power_limit", {"gpu": "'v100'", "power_limit": "260"}),
    ("zeus.power.above_limit", {"average_power": "power_limit + 1"}),
    ("zeus.alibaba_group.end_after_start", {"end_time": "start_time - 1"}),
]

FILES = {
    "zeus/summary_train.csv": [
        "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch",
        "cifar100,net,64,adam,1e-1,1,0.5,3",
        "cifar100,net,64,adam,1e-1,1,0.6,2",  # harder_takes_longer
        "cifar100,net,64,adam,1e-1,2,0.5,nan",
        "cifar100,net,64,adam,1e-1,2,0.6,4",  # harder_takes_longer
        "cifar100,net,64,adam,1e-2,3,0.5,1",  # learning_rate, every_target
        "cifar100,net,64,adam,1e-1,4,0.5,1",
        "cifar100,net,64,adam,1e-1,4,0.6,nan",
        "librispeech,net,8,adam,1e-1,1,65,1",  # four_runs, measured (on neither GPU)
        "librispeech,net,8,adam,1e-1,1,35,2",
    ],
    "zeus/summary_power_v100.csv": [
        "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power",
        "cifar100,net,64,adam,100,10.0,90.0",
        "cifar100,net,64,adam,125,10.0,90.0",
        "cifar100,net,128,adam,100,10.0,90.0",  # every_limit
    ],
    "zeus/summary_power_rtx6000.csv": [
        "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power",
        "cifar100,net,64,adam,260,10.0,260.0",
    ],
    "zeus/alibaba_groups.csv": [
        "group,start_time,end_time,dataset,runtime_ratio",
        "g1,10.0,20.0,cifar100,0.5",
        "g1,10.0,40.0,cifar100,1.5",
        "g2,10.0,40.0,squad,2.0",  # ratio_of_mean
    ],
}

# All other rules of `checks.sql` are broken once.
BROKEN_MORE_OFTEN = {"zeus.train.harder_takes_longer": 2, "zeus.train.measured": 2}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {
    "zeus.power.above_limit": 47,
    "zeus.power.every_limit": 24,
    "zeus.power.trained": 150,
    "zeus.train.four_runs": 6,
    "zeus.train.measured": 25,
}
