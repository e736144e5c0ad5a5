"""Published figures are compared with computed ones, with every verdict."""

import csv
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
import polars as pl
import pytest
import raw_dumps
import suites

from tracehouse.definitions import figures as ledger
from tracehouse.definitions.figures import OF_AUTHORS, TRUSTS
from tracehouse.definitions.view_files import DefinitionError
from tracehouse.engines.duckdb.read import checks, sandbox, verify
from tracehouse.engines.duckdb.read.verify import Verdict
from tracehouse.engines.duckdb.write import catalog, database

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,2,T4\nb,1000,1024,4,A10\nc,1000,1024,0,\n"
GPUS = "select sum(gpu) from openb.node"
FIGURE = {
    "figure": "openb.gpus",
    "statement": "",
    "relation": "equal",
    "value": "6",
    "unit": "GPUs",
    "tolerance": "0",
    "printed_in": "a paper, table 1",
    "trust": "publisher",
    "measured_by": GPUS,
    "explanation": "",
    "explained_value": "",
    "explained_tolerance": "",
    "needs_file": "",
}
# An explanation that leads to 7 instead of 5 GPUs.
EXPLAINED = {"value": "5", "explanation": "Why.", "explained_value": "7", "explained_tolerance": "0"}

Build = Callable[..., Path]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse of three nodes."""
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "raw").mkdir()
    (folder / "raw" / "openb_node_list_all_node.csv").write_text(NODES, encoding="utf-8")
    raw_dumps.ingested(folder / "raw", folder / "warehouse").close()
    return folder / "warehouse"


@pytest.fixture
def build(nodes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    """A function that fills the database with the given figures instead of the ledgers."""
    for table in ("published", "expected"):
        monkeypatch.setattr(ledger, table, partial(getattr(ledger, table), tmp_path / "views"))

    def build_with(*figures: dict[str, str], warehouse: Path = nodes, as_complete: bool = True) -> Path:
        write_ledger(tmp_path, *figures)
        with duckdb.connect(str(warehouse / database.DATABASE)) as connection:
            connection.execute("delete from catalog.published")
            if as_complete:
                # As if the publisher's list had three nodes.
                connection.execute("update catalog.tables set incomplete = null")
                connection.execute("update catalog.sources set published_rows = null")
            catalog.fill_figures(connection, "published", ledger.published())
        return warehouse

    return build_with


def write_ledger(folder: Path, *figures: dict[str, str], name: str = "published.csv") -> Path:
    path = folder / "views" / "openb" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(FIGURE))
        writer.writeheader()
        for figure in figures:
            row = FIGURE | figure
            writer.writerow({**row, "statement": row["statement"] or f"There are {row['value']} GPUs."})
    return folder / "views"


def measure_all(warehouse: Path) -> list[verify.Result]:
    with sandbox.connect(warehouse) as connection:
        return verify.figures(connection, [])


def measured(warehouse: Path) -> verify.Result:
    [result] = measure_all(warehouse)
    return result


VERDICTS = [
    ({}, Verdict.REPRODUCED, 0),
    ({"value": "5.5", "tolerance": "0.5"}, Verdict.REPRODUCED, 0.5),
    ({"value": "5.4", "tolerance": "0.5"}, Verdict.DIFFERS, 0.6),
    ({"value": "6.6", "tolerance": "0.5"}, Verdict.DIFFERS, -0.6),
    # An explanation holds for its own value only.
    ({**EXPLAINED, "explained_value": "6"}, Verdict.EXPLAINED, 1),
    ({**EXPLAINED, "explained_value": "5.75", "explained_tolerance": "0.25"}, Verdict.EXPLAINED, 1),
    ({**EXPLAINED, "explained_value": "5.75", "explained_tolerance": "0.2"}, Verdict.DIFFERS, 1),
    (EXPLAINED, Verdict.DIFFERS, 1),
    ({**EXPLAINED, "value": "6"}, Verdict.REPRODUCED, 0),
    ({"value": "5", "explanation": "Why."}, Verdict.UNCONFIRMED, 1),
    ({"value": "6", "explanation": "Why."}, Verdict.REPRODUCED, 0),
    ({"value": "5", "relation": "at least"}, Verdict.REPRODUCED, 1),
    ({"value": "7", "relation": "at least"}, Verdict.DIFFERS, -1),
    ({"value": "7", "relation": "at least", "tolerance": "1"}, Verdict.REPRODUCED, -1),
    ({"value": "7", "relation": "at most"}, Verdict.REPRODUCED, -1),
    ({"value": "5", "relation": "at most"}, Verdict.DIFFERS, 1),
    # In floating point, 0.1 + 0.2 differs from 0.3.
    ({"value": "0.3", "measured_by": "select max(0.1e0) + 0.2e0 from openb.node"}, Verdict.REPRODUCED, 0),
    ({"measured_by": ""}, Verdict.NOT_MEASURABLE, None),
    ({"measured_by": "", "explanation": "Why."}, Verdict.NOT_MEASURABLE, None),
    ({"measured_by": "select count(*) from itp.job"}, Verdict.NO_DATA, None),
    ({"measured_by": f"{GPUS} where (select count(*) from itp.job_v1) = 0"}, Verdict.NO_DATA, None),
    ({"measured_by": "select count(*) from itp.gpu_hours()", "explanation": "Why."}, Verdict.NO_DATA, None),
    ({"needs_file": "openb_node_list_all_node.csv"}, Verdict.REPRODUCED, 0),
    # The rows of the table come from another file, to which the figure does not apply.
    ({"needs_file": "openb_node_list_gpu_node.csv", "explanation": "Why."}, Verdict.NO_DATA, None),
    # The table has rows, but the SQL gives none or NULL. An explanation does not cover this.
    ({"measured_by": "select gpu from openb.node where sn = 'z'"}, Verdict.DIFFERS, None),
    ({"measured_by": f"{GPUS} where sn = 'z'", "explanation": "Why."}, Verdict.DIFFERS, None),
    ({"measured_by": "select 'nan'::double from openb.node limit 1"}, Verdict.DIFFERS, None),
    ({"measured_by": "select gpus - 0.0 from openb.capacity where model = 'T4'"}, Verdict.DIFFERS, -4),
    (
        {"measured_by": "with m as (from openb.capacity_by_model('all_node', true)) select max(gpus) from m"},
        Verdict.REPRODUCED,
        0,
    ),
]


def test_verdicts(build: Build) -> None:
    warehouse = build(*({"figure": f"openb.{i}"} | figure for i, (figure, _, _) in enumerate(VERDICTS)))
    with sandbox.connect(warehouse) as connection:
        results = verify.figures(connection, ["openb"])
        assert verify.figures(connection, ["itp"]) == []
    found = [(result.verdict, result.difference) for result in results]
    expected = [(verdict, difference) for _, verdict, difference in VERDICTS]
    assert found == [
        (verdict, None if difference is None else pytest.approx(difference, abs=1e-9))
        for verdict, difference in expected
    ]
    assert {verdict for verdict, _ in found} == set(Verdict) - {Verdict.SYNTHETIC, Verdict.NOT_COMPARABLE}
    groups = verify.by_explanation(results)
    assert sorted(one.figure for group in groups for one in group) == sorted(one.figure for one in results)
    assert [one.figure for one in groups[0]] == [
        one.figure for one in results if one.verdict is Verdict.DIFFERS and not one.explanation
    ]
    assert len({(group[0].verdict, group[0].explanation) for group in groups}) == len(groups)
    assert verify.verdict_counts(results)[Verdict.DIFFERS] == [v for _, v, _ in VERDICTS].count(
        Verdict.DIFFERS
    )


def test_an_explanation_does_not_cover_other_values(real_raw: Path, tmp_path: Path) -> None:
    """Pods with one whole GPU request 100 thousandths of it: whole GPUs are left to 75 pods with several."""
    name = "openb_pod_list_default.csv"
    pods = pl.read_csv(next(real_raw.rglob(name)), infer_schema=False)
    single = (pl.col("num_gpu") == "1") & (pl.col("gpu_milli") == "1000")
    changed = pods.with_columns(gpu_milli=pl.when(single).then(pl.lit("100")).otherwise("gpu_milli"))
    (tmp_path / "raw").mkdir()
    changed.write_csv(tmp_path / "raw" / name)
    raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse").close()
    with sandbox.connect(tmp_path / "warehouse") as connection:
        found = {result.figure: result for result in verify.figures(connection, ["openb"])}
    whole, sharing = found["openb.O9_whole"], found["openb.O10_sharing_pct"]
    assert (whole.measured, whole.verdict) == (75, Verdict.DIFFERS)
    assert (sharing.measured, sharing.verdict) == (pytest.approx(100 * 6_989 / 7_064), Verdict.DIFFERS)


def test_a_reason_that_names_an_unconfirmed_one_is_unconfirmed() -> None:
    differing = [figure for figure in ledger.published() if figure.explanation and figure.measured_by]
    unconfirmed = {figure.name for figure in differing if figure.explained_value is None}
    naming = [
        figure for figure in differing if unconfirmed & set(re.findall(r"\w+\.\w+", figure.explanation))
    ]
    assert "openb.O9_mean_501_to_999" in {figure.name for figure in naming}
    assert not [figure.name for figure in naming if figure.explained_value is not None]


ABOUT_NODES = {"figure": "openb.nodes", "needs_file": "openb_node_list_all_node.csv"}
ABOUT_PODS = {
    "figure": "openb.pods",
    "measured_by": f"{GPUS} where (select count(*) from openb.pod) > 0",
    "needs_file": "openb_pod_list_default.csv",
}
ABOUT_ALL = {"figure": "openb.all"}


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        # The list of GPU nodes is missing, which concerns only the figure about both lists.
        (1_523, ["", "", "1,523 of 2,736 rows of openb.node"]),
        (10, [*["10 of 1,523 rows of openb_node_list_all_node.csv"] * 2, "10 of 2,736 rows of openb.node"]),
    ],
)
def test_figures_are_not_compared_with_a_part_of_their_files(
    rows: int, parts: list[str], real_raw: Path, tmp_path: Path, build: Build
) -> None:
    folder = real_raw / "openb" / "csv"
    (tmp_path / "raw").mkdir()
    shutil.copy(folder / ABOUT_PODS["needs_file"], tmp_path / "raw")
    lines = (folder / ABOUT_NODES["needs_file"]).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "raw" / ABOUT_NODES["needs_file"]).write_text("".join(lines[: rows + 1]), encoding="utf-8")
    raw_dumps.ingested(tmp_path / "raw", tmp_path / "warehouse").close()
    warehouse = build(ABOUT_NODES, ABOUT_PODS, ABOUT_ALL, warehouse=tmp_path / "warehouse", as_complete=False)
    with sandbox.connect(warehouse) as connection:
        results = verify.figures(connection, ["openb"])
    assert [one.part for one in results] == [f"The warehouse has {part}." if part else "" for part in parts]
    assert [one.verdict is Verdict.NOT_COMPARABLE for one in results] == [bool(part) for part in parts]


def test_synthetic_data_reproduce_nothing(build: Build, sample_warehouse: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(sample_warehouse, tmp_path / "copy")
    (nodes,) = sandbox.connect(copy).execute("select count(*) from openb.node").fetchone()
    query = "select count(*) from openb.node"
    for value in (nodes, nodes + 1):
        result = measured(build({"measured_by": query, "value": str(value)}, warehouse=copy))
        assert (result.verdict, result.measured) == (Verdict.SYNTHETIC, nodes)


def test_published_figures_are_those_that_documents_print() -> None:
    """Counts of the raw files are not published figures. They belong to the ledger of expected counts."""
    published = ledger.published()
    assert len(published) > 300 and len(ledger.expected()) > 250
    own = r"count(s|ed) on|computed from|not in the publisher|^third party"
    assert [figure.name for figure in published if re.search(own, figure.printed_in)] == []
    quoted = {figure.name for figure in published if figure.trust == "quoted"}
    assert {f.name for f in published if f.name in quoted and "as quoted" not in f.printed_in} == set()
    assert {figure.trust for figure in published} == set(ledger.TRUSTS)


def test_publisher_is_that_of_the_trace() -> None:
    """AcmeTrace also prints figures of other publishers' traces."""
    of_others = [f for f in ledger.published() if f.trace != "acme" and f.printed_in.startswith("AcmeTrace")]
    assert len(of_others) == 40
    assert {f.trust for f in of_others} == {"third party", "read off a figure"}


def test_counts_verdicts_by_kind_of_source(build: Build) -> None:
    figures = [
        {"figure": "openb.a"},
        {"figure": "openb.b", "trust": "recalled"},
        {"figure": "openb.c", "trust": "recalled", "value": "7"},
        {"figure": "openb.d", "trust": "paper", "measured_by": ""},
    ]
    with sandbox.connect(build(*figures)) as connection:
        results = verify.figures(connection, [])
    assert [f"{note.word} {note.name}: {note.text}" for note in verify.trust_summary(results)] == [
        "figures of the publisher: 1 reproduced",
        "figures of papers: 1 not measurable",
        "figures quoted from memory: 1 reproduced, 1 differs",
    ]
    table = verify.as_table(results)
    assert table["trust"].to_pylist() == ["publisher", "recalled", "recalled", "paper"]
    assert set(table["printed_in"].to_pylist()) == {"a paper, table 1"}


def results_with(trust: str, *verdicts: Verdict) -> list[verify.Result]:
    return [verify.Result("a.one", "", 1, 2, "", verdict, trust, "", "") for verdict in verdicts]


def test_failures_are_counted_in_the_singular_and_the_plural() -> None:
    one = results_with("paper", Verdict.DIFFERS, Verdict.EXPLAINED, *[Verdict.REPRODUCED] * 5)
    two = results_with("publisher", Verdict.DIFFERS, Verdict.UNCONFIRMED, *[Verdict.EXPLAINED] * 2)
    of, end = "figures of the publisher and of papers", "without a confirmed reason"
    assert verify.describe_failures(one) == f"1 of 7 {of} differs {end}; 1 other differs as explained"
    assert verify.describe_failures(two) == f"2 of 4 {of} differ {end}; 2 others differ as explained"
    assert verify.describe_failures(results_with("slides", Verdict.EXPLAINED)) == ""


def test_figures_of_others_fail_nothing_and_are_apart() -> None:
    own, others = results_with("paper", Verdict.REPRODUCED), results_with("third party", Verdict.DIFFERS)
    assert verify.by_authors([*others, *own]) == (own, others)
    assert verify.describe_failures([*own, *others]) == ""
    assert {*OF_AUTHORS} < {*TRUSTS}


def test_invalid_number_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(DefinitionError, match=r"published\.csv, line 2: could not convert .*'many'"):
        ledger.published(write_ledger(tmp_path, {"value": "many"}))


def test_sql_that_does_not_give_one_number_differs(build: Build) -> None:
    for sql in (
        "select gpu from openb.node",
        "select sum(gpu), 1 from openb.node",
        "select max(model) from openb.node",
        "select gpus from openb.node",
    ):
        [failed, other] = measure_all(build({"measured_by": sql}, {"figure": "openb.other"}))
        assert failed.verdict is Verdict.DIFFERS and failed.explanation.startswith(verify.NOT_MEASURED)
        assert verify.explanation_summary([failed])[0].text == failed.explanation
        # The others are measured all the same.
        assert other.verdict is Verdict.REPRODUCED


def test_a_query_of_several_figures_gives_each_its_value(build: Build) -> None:
    query = "openb.capacity_by_model('all_node', true)"
    figures = [
        {"figure": f"openb.{model}", "measured_by": f"select gpus from {query} where model = '{model}'"}
        for model in ("T4", "A10")
    ]
    with sandbox.connect(build(*figures)) as connection:
        assert [result.measured for result in verify.figures(connection, [])] == [2, 4]


def test_catalog_lists_the_relations_that_a_figure_reads(build: Build) -> None:
    query = "select max(gpus) from openb.capacity_by_model() where model in (select model from openb.node)"
    with sandbox.connect(build({"measured_by": query})) as connection:
        rows = connection.execute("select reads, value, tolerance from catalog.published").fetchall()
    assert rows == [(["openb.capacity_by_model", "openb.node"], 6.0, 0.0)]


def test_real_machines_are_as_published(real_warehouse: Path) -> None:
    """Only PAI's machine table is available."""
    with sandbox.connect(real_warehouse) as connection:
        results = verify.figures(connection, ["pai"])
    found = {result.figure.removeprefix("pai."): result for result in results}
    of_machines = {name for name in found if name.split("_")[0] in ("P1", "P2", "P3")}
    assert len(of_machines) >= 6
    assert {found[name].verdict for name in of_machines} == {Verdict.REPRODUCED}
    assert (found["P1_gpus"].measured, found["P2_machines"].measured) == (6_742, 1_814)
    others = {name: result.verdict for name, result in found.items() if name not in of_machines}
    assert others.pop("P7_first_hour") is Verdict.NOT_MEASURABLE
    assert set(others.values()) == {Verdict.NO_DATA}


def test_the_publishers_summary_reproduces_nothing(real_warehouse: Path) -> None:
    """Only Acme's table of the publisher's own figures is available. It cannot confirm them."""
    with sandbox.connect(real_warehouse) as connection:
        results = verify.figures(connection, ["acme"])
    not_measurable = {one.figure for one in results if one.verdict is Verdict.NOT_MEASURABLE}
    assert {one.verdict for one in results if one.figure not in not_measurable} == {Verdict.NO_DATA}
    # The others need the curves of other publishers' jobs, or the power of the GPUs.
    summarised = {"acme.A2_jobs", "acme.A2_mean_gpus", "acme.A3_philly_run"}
    assert summarised < not_measurable
    of_others = {name for name in not_measurable - summarised if "_philly" in name or "_helios" in name}
    assert len(of_others) == 10
    assert not_measurable - summarised - of_others == {"acme.A21_gpus"}


def test_real_files_have_the_expected_counts(real_warehouse: Path) -> None:
    with sandbox.connect(real_warehouse) as connection:
        results = verify.expectations(connection, ["itp", "openb", "zeus"])
    # Only Zeus's power files of V100 and A40 are available.
    absent = {result.figure for result in results if result.verdict is Verdict.NO_DATA}
    assert len(absent) == 8 and all(name.endswith(("_p100", "_rtx6000")) for name in absent)
    others = {result.figure: result.verdict for result in results if result.figure not in absent}
    assert len(others) > 200
    assert {name: v for name, v in others.items() if v is not Verdict.REPRODUCED} == {
        "openb.O13_running_at_end": Verdict.EXPLAINED
    }
    assert len([name for name in others if name.startswith("zeus.v100_")]) == 6 * 13


def test_check_compares_expected_counts(build: Build, tmp_path: Path) -> None:
    """`traces check` compares expected counts on real files only."""
    figures = [
        {"figure": "openb.same"},
        {"figure": "openb.other", "value": "7"},
        {"figure": "openb.defined", **EXPLAINED, "explained_value": "6"},
        {"figure": "openb.unconfirmed", "value": "7", "explanation": "Why."},
        {"figure": "openb.absent", "measured_by": "select count(*) from openb.pod"},
    ]
    write_ledger(tmp_path, *figures, name="expected.csv")
    warehouse = build()
    with duckdb.connect(str(warehouse / database.DATABASE)) as connection:
        connection.execute("delete from catalog.expected")
        catalog.fill_figures(connection, "expected", ledger.expected())
    with sandbox.connect(warehouse) as connection:
        table = checks.run_rules(connection, ["openb"])
    rows = {row["check_name"]: row for row in table.to_pylist()}
    assert [(rows[f["figure"]]["status"], rows[f["figure"]]["violations"]) for f in figures] == [
        ("ok", 0),
        ("failed", 1),
        ("known", 1),
        ("failed", 1),
        ("no data", None),
    ]
    assert rows["openb.other"]["rule"] == "There are 7 GPUs. The files give 6."
    assert rows["openb.defined"]["rule"] == "There are 5 GPUs. The files give 6. Why."
    assert table["status"].to_pylist().count("failed") == 2


@pytest.fixture(scope="module")
def sample_results(sample_warehouse: Path) -> list[verify.Result]:
    """The results of all figures of both ledgers on synthetic data. Expected counts do not apply."""
    with sandbox.connect(sample_warehouse) as connection:
        results = [*verify.figures(connection, []), *verify.expectations(connection, [])]
        statuses = checks.run_rules(connection, ["itp"])["status"].to_pylist()
    assert statuses.count("not applicable") == len(
        [figure for figure in ledger.expected() if figure.trace == "itp"]
    )
    return results


@suites.of("long")
def test_every_figure_can_be_computed(sample_results: list[verify.Result]) -> None:
    computed = [result for result in sample_results if result.verdict is not Verdict.NOT_MEASURABLE]
    assert {result.verdict for result in computed} == {Verdict.SYNTHETIC}
    # Synthetic data do not contain ITP's example job.
    without = {result.figure for result in computed if result.measured is None}
    examples = {result.figure for result in computed if result.figure.startswith("itp.I6_example_")}
    assert without == examples


@suites.of("long")
def test_figures_of_pai_equal_its_row_of_the_unified_summary(
    sample_warehouse: Path, sample_results: list[verify.Result]
) -> None:
    """The figures read PAI's tables only, so they need no other trace."""
    columns = {"mean_run": "mean_run_s", "median_run": "median_run_s", "max_run": "max_run_s"}
    columns |= {"mean_wait": "mean_wait_s", "median_wait": "median_wait_s"}
    found = {
        name.removeprefix("pai.summary_"): result.measured
        for result in sample_results
        if (name := result.figure).startswith("pai.summary_")
    }
    assert len(found) == 10
    with sandbox.connect(sample_warehouse) as connection:
        for name, measured in found.items():
            column = columns.get(name, name)
            sql = f"select {column} from unified.summary where trace = 'pai'"
            assert connection.execute(sql).fetchall() == [(pytest.approx(measured, rel=1e-12),)], name
