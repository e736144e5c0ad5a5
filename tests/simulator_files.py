"""Run `traces export` and read its files: the loss report, and SWF."""

import json
from pathlib import Path

import command_line
import pandas as pd
from command_line import Run

# The fields of a line of SWF that tests read, by their position.
SWF_FIELDS = {
    0: "job_number",
    1: "queued_time",
    2: "wait_time",
    3: "duration",
    7: "total_processors",
    10: "status",
    11: "user_id",
    15: "partition_number",
}


def exported(warehouse: Path, *arguments: object) -> Run:
    environment = {"TRACES_WAREHOUSE": str(warehouse)}
    return command_line.server().run("export", *arguments, environment=environment)


def report(folder: Path) -> dict:
    return json.loads((folder / "export.json").read_text())


def origins(folder: Path, file: str, field: str) -> dict[str, int]:
    return {
        one["origin"]: one["rows"]
        for one in report(folder)["fields"]
        if (one["file"], one["field"]) == (file, field)
    }


def sources(folder: Path, field: str) -> dict[str, str]:
    """Map each origin of a field to the description of how it is computed."""
    return {one["origin"]: one["source"] for one in report(folder)["fields"] if one["field"] == field}


def swf_jobs(path: Path) -> pd.DataFrame:
    jobs = pd.read_csv(path, sep=r"\s+", comment=";", header=None)
    assert len(jobs.columns) == 18
    return jobs[list(SWF_FIELDS)].rename(columns=SWF_FIELDS)
