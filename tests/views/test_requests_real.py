"""The real files of requests: every answer equals pandas, and every figure that they can show is measured."""

from pathlib import Path

import pytest
import raw_dumps
import raw_frames
from conftest import REAL_DATA
from reference_results import requests

from tracehouse.engines.duckdb.read import verify

FILES = REAL_DATA.parent / "neighbours" / "requests"
FOLDERS = {"azure_llm": "azure_llm_2023", "mooncake": "mooncake"}
NOT_HERE = ("toolagent", "synthetic")


def test_real_requests(tmp_path: Path) -> None:
    if not FILES.is_dir():
        pytest.skip(f"the publishers' real files are not at {FILES}")
    for trace, folder in FOLDERS.items():
        (tmp_path / "raw").mkdir(exist_ok=True)
        (tmp_path / "raw" / trace).symlink_to(FILES / folder)
    connection = raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse")
    for call, (compute, arguments, keys) in requests.QUERIES.items():
        answer = connection.sql(f"from {call}").to_arrow_table()
        if answer.num_rows:
            raw_frames.assert_same_rows(answer, compute(tmp_path / "raw", *arguments), keys)
    verdicts = {
        result.figure: result.verdict
        for compare in (verify.figures, verify.expectations)
        for result in compare(connection, [*FOLDERS])
    }
    of_these_files = {name: verdict for name, verdict in verdicts.items() if not name.endswith(NOT_HERE)}
    assert set(of_these_files.values()) == {verify.Verdict.REPRODUCED}, of_these_files
    assert len(of_these_files) == 17
