"""What Spark refuses is left out of a registered warehouse with its readers, and all else works."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tracehouse.engines.spark import ddl
from tracehouse.engines.spark.register import register_each
from tracehouse.spark import register

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ["itp.gpu_hours", "itp.raw_job", "openb.capacity_by_model"]


@pytest.mark.parametrize(
    ("translation", "reason"),
    [
        ("select job_id from itp.raw_job where (", "PARSE_SYNTAX_ERROR"),
        ("select no_such_column from itp.raw_job", "UNRESOLVED_COLUMN"),
    ],
)
def test_leaves_out_a_refused_view_and_its_readers(
    translation: str,
    reason: str,
    spark: "SparkSession",
    sample_warehouse: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    translate = ddl.translate_file
    monkeypatch.setattr(
        ddl,
        "translate_file",
        lambda file: translation if file.path.match("itp/job.v1.sql") else translate(file),
    )
    registered = register_each(spark, sample_warehouse, NAMES)
    assert reason in registered.left_out.pop("itp.job_v1")
    assert registered.left_out == {
        "itp.job": "it reads itp.job_v1, which is left out",
        "itp.gpu_hours": "it reads itp.job, which is left out",
    }
    assert {"itp.raw_job", "openb.capacity_by_model"} <= {*registered.names}
    assert spark.sql("select count(*) from openb.capacity_by_model()").collect()[0][0] > 0
    with pytest.warns(UserWarning, match=rf"^itp.job_v1 is left out: .*{reason}"):
        assert register(spark, sample_warehouse, NAMES) == registered.names
