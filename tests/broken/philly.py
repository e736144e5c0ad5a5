"""Rows and files that break Philly's rules in SQL. Comments name the rules that a line breaks."""

from broken_rows import Changes

CHANGES: Changes = [
    ("philly.attempt.end_after_start", {"end_time": "start_time - interval 1 second"}),
    ("philly.attempt.has_times", {"start_time": "null"}),
    ("philly.attempt.has_times", {"end_time": "null"}),
    ("philly.mem_util.free_of_total", {"mem_free": "mem_total + 1"}),
]


def job(number: int, *attempts: str) -> str:
    comma = "" if number == 1 else ","
    return (
        f'{comma}{{"status": "Pass", "vc": "a", "jobid": "j{number}", "attempts": [{", ".join(attempts)}],'
        ' "submitted_time": "2017-10-07 01:00:00", "user": "u"}'
    )


def attempt(start: str, end: str, gpus: str = '"gpu0"') -> str:
    start, end = f"2017-10-07 {start}:00", f"2017-10-07 {end}:00"
    return f'{{"start_time": "{start}", "end_time": "{end}", "detail": [{{"ip": "m1", "gpus": [{gpus}]}}]}}'


FILES = {
    "philly/cluster_job_log": [
        "[",
        job(1, attempt("01:01", "01:02", gpus='"gpu0", "gpu1", "gpu2"')),  # lists_what_is_used
        job(2, attempt("00:59", "01:02")),  # start_after_submit
        job(3, attempt("01:01", "01:03"), attempt("01:02", "01:03")),  # one_after_another
        "]",
    ],
    "philly/cluster_machine_list": [
        "machineId, number of GPUs, single GPU mem",
        "m1,2, 24GB",
    ],
}
