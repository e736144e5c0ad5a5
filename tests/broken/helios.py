"""Rows and files that break Helios's rules in SQL."""

from broken_rows import Changes

CHANGES: Changes = [
    ("helios.job.state_documented", {"state": "'SUSPENDED'"}),
    ("helios.job.start_after_submit", {"start_time": "submit_time - interval 1 second"}),
    ("helios.job.end_after_start", {"end_time": "start_time - interval 1 second"}),
    ("helios.job.duration", {"duration": "duration + 1"}),
    ("helios.job.queue", {"queue": "queue + 1"}),
]

FILES = {
    "helios/Uranus/cluster_gpu_number.csv": [
        "date,vc1,vc2,total",
        "2020-06-09,8,16,24",
        "2020-06-10,8,16,32",  # total
    ],
}

# Counted once with pandas.
BREACHES_ON_REAL_FILES = {"helios.job.state_documented": 1}
