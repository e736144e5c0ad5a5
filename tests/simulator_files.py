"""Run `traces export` and read its files: the loss report, and SWF with an independent parser."""

import collections
import json
from pathlib import Path

import command_line
import pandas as pd
from command_line import Run

# The parser expects `collections.Mapping`, which Python 3.10 removed.
collections.Mapping = collections.abc.Mapping
from accasim.utils.reader_class import DefaultWorkloadParser  # noqa: E402


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
    parser = DefaultWorkloadParser()
    lines = [parser.parse_line(line) for line in path.read_text().splitlines()]
    return pd.DataFrame([line for line in lines if line])
