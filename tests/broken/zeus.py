"""Files that break each of Zeus's rules. Comments name the rules that a line breaks, without the table."""

ZEUS_POWER_HEADER = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power"

FILES = {
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
        "mnist,other,64,ADAM,100,10.0,90.0",  # dataset, workload, trained, optimizer, every_limit
        "flowers,net,64,adam,100,10.0,90.0",  # dataset, workload, trained, every_limit
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
        "g2,10.0,40.0,squad,2.0",  # ratio_of_mean
        "g3,0.0,10.0,flowers,1.0",  # in_train, start_time
        "g4,20.0,10.0,librispeech,-1.0",  # end_after_start, runtime_ratio, ratio_of_mean
    ],
}

# All other rules are broken once.
BROKEN_MORE_OFTEN = {
    "zeus.alibaba_group.ratio_of_mean": 2,
    "zeus.power.dataset": 2,
    "zeus.power.every_limit": 4,
    "zeus.power.power_limit": 3,
    "zeus.power.trained": 3,
    "zeus.power.workload": 2,
    "zeus.train.four_runs": 3,
    "zeus.train.harder_takes_longer": 2,
    "zeus.train.measured": 8,
}

CONFIG = ["dataset", "network", "batch_size", "optimizer"]

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {
    "zeus.power.above_limit": 47,
    "zeus.power.every_limit": 24,
    "zeus.power.trained": 150,
    "zeus.train.four_runs": 6,
    "zeus.train.measured": 25,
}
