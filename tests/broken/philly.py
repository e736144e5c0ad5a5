"""Files that break each of Philly's rules. Comments name the rules that a line breaks, without the table."""


def job(number: int, attempts: str = "", status: str = "Pass", submitted: str = "2017-10-07 01:00:00") -> str:
    comma = "" if number == 1 else ","
    return (
        f'{comma}{{"status": "{status}", "vc": "a", "jobid": "j{number}", "attempts": [{attempts}],'
        f' "submitted_time": "{submitted}", "user": "u"}}'
    )


def attempt(start: str, end: str, machine: str = "m1", gpus: str = '"gpu0"') -> str:
    detail = f'{{"ip": "{machine}", "gpus": [{gpus}]}}'
    return f'{{"start_time": "{start}", "end_time": "{end}", "detail": [{detail}]}}'


AT, LATER, LAST = "2017-10-07 01:01:00", "2017-10-07 01:02:00", "2017-10-07 01:03:00"
GPU_NAMES = ",".join(f"gpu{gpu}_util" for gpu in range(8))
OTHERS = ",".join(["NA"] * 7)

FILES = {
    "philly/cluster_job_log": [
        "[",
        job(1, attempt(AT, LATER)),
        job(2, status="Asleep"),  # status
        job(3, submitted="2017-08-06 23:59:59"),  # submitted_time
        job(4, submitted="2017-12-23 00:00:00"),  # submitted_time
        job(5, attempt("2017-10-07 00:59:59", LATER)),  # start_after_submit
        job(6, attempt(LATER, AT)),  # end_after_start
        job(7, f"{attempt(AT, LAST)}, {attempt(LATER, LAST)}"),  # one_after_another
        job(8, attempt("None", "")),  # has_times
        job(9, attempt(AT, LATER, machine="m9")),  # in_machine
        job(12, attempt(AT, LATER, machine="m2", gpus='"gpu0", "gpu1", "gpu2"')),  # lists_what_is_used
        "]",
    ],
    "philly/cluster_machine_list": [
        "machineId, number of GPUs, single GPU mem",
        "m1,8, 24GB",
        "m2,2, 12GB",
        "m3,2, 12GB",
    ],
    "philly/cluster_gpu_util": [
        f"time,machineId,{GPU_NAMES}",
        f"2017-10-07 01:01:00 PDT,m1,50.0,{OTHERS},",
        f"2017-10-07 01:02:00 PDT,m1,-1.0,{OTHERS},",  # percent
        f"2017-10-07 01:03:00 PDT,m1,100.5,{OTHERS},",  # percent
        f"2017-10-07 01:01:00 PDT,m8,50.0,{OTHERS},",  # in_machine
    ],
    "philly/cluster_cpu_util": [
        "time,machine_id,cpu_util",
        "2017-10-07 01:01:00 PDT,m1,50.0",
        "2017-10-07 01:02:00 PDT,m1,-1.0",  # cpu_util
        "2017-10-07 01:03:00 PDT,m1,101.0",  # cpu_util
    ],
    "philly/cluster_mem_util": [
        "time,machine_id,mem_total,mem_free",
        "2017-10-07 01:01:00 PDT,m1,100.0,50.0",
        "2017-10-07 01:02:00 PDT,m1,100.0,-1.0",  # mem_free
        "2017-10-07 01:03:00 PDT,m1,100.0,101.0",  # free_of_total
    ],
}

# All other rules are broken once.
BROKEN_MORE_OFTEN = {
    "philly.job.submitted_time": 2,
    "philly.gpu_util.percent": 2,
    "philly.cpu_util.cpu_util": 2,
}
