"""The rules that Spark adds to `traces lint`: SQL that its translation or its own parser refuses."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tracehouse.core.errors import DefinitionError
from tracehouse.definitions.findings import Finding
from tracehouse.engines.names import LOCAL
from tracehouse.engines.spark import session
from tracehouse.engines.spark.dialect import File, translate_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ADVICE = "or add a line `-- engine: duckdb (<what it needs>)`"


def lint_translation(files: Sequence[File]) -> Iterator[Finding]:
    """Yield the files that do not translate and do not say so, and those that say so and do translate."""
    for file in files:
        try:
            translate_file(file)
        except DefinitionError as error:
            if not file.header.one("engine"):
                yield Finding(error.place, f"{error.message}, {_ADVICE}", "engine")
        else:
            if file.header.one("engine"):
                yield Finding(str(file.path), "translates to Spark: delete the line `-- engine`", "engine")


def lint_with_spark(files: Sequence[File]) -> Iterator[Finding]:
    """Yield what `lint_translation` does, and the files that Spark's parser refuses. Starts Spark."""
    yield from lint_translation(files)
    with (
        tempfile.TemporaryDirectory() as scratch,
        session.open_session(LOCAL, Path(scratch), {}) as spark,
    ):
        for file in files:
            if not file.header.one("engine") and (refusal := explain_refusal(spark, file)):
                yield Finding(str(file.path), f"Spark does not parse its translation: {refusal}", "engine")


def explain_refusal(spark: "SparkSession", file: File) -> str:
    """Return the error of Spark's parser about a file that translates; empty if there is none."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        spark.sql(translate_file(file))
    except ParseException as error:
        return session.one_line(str(error))
    except (AnalysisException, DefinitionError):
        # The session has none of the tables that the query reads. `lint_translation` reports the second.
        return ""
    return ""
