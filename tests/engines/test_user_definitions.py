"""Views and queries of the user. They are created, and errors in them are reported without other effects."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import command_line
import duckdb
import pytest
import suites

from tracehouse.core.text import identifier
from tracehouse.definitions.user_files import is_reserved
from tracehouse.engines.duckdb.write import catalog, database, queries, template, user_definitions
from tracehouse.engines.duckdb.write.build import BuildReport
from tracehouse.engines.duckdb.write.lint import lint_own
from tracehouse.publish.site import folder

pytestmark = suites.of("long")

NODES = "sn,cpu_milli,memory_mib,gpu,model\na,1000,1024,1,T4\nb,1000,1024,0,\n"

BIG = """-- Nodes with a GPU.
CREATE VIEW mine.big_v1 AS
SELECT sn, gpu, cpu_milli / 1000 AS cores FROM openb.node WHERE gpu > 0;
"""
BY_MODEL = """-- How many nodes have so many GPUs?
-- chart: bar x=sn y=gpus
create macro mine.by_node(min_gpus integer := 1) as table
select sn, sum(gpu) as gpus from mine.big where gpu >= min_gpus group by all;
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "raw").mkdir()
    (folder / "raw" / "openb_node_list_gpu_node.csv").write_text(NODES, encoding="utf-8")
    database.ingest([folder / "raw"], folder / "warehouse", [], lambda *_: None)
    return folder


@pytest.fixture
def warehouse(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "copy") / "warehouse"


def build_with(warehouse: Path, files: Mapping[str, str]) -> BuildReport:
    for name, text in files.items():
        path = warehouse / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return database.build(warehouse)


def query_rows(warehouse: Path, sql: str) -> list[tuple]:
    with duckdb.connect(str(warehouse / database.DATABASE), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_user_views_and_queries_work_like_built_in_ones(warehouse: Path) -> None:
    built = build_with(warehouse, {"views/mine/big.v1.sql": BIG, "sql/mine/by_node.sql": BY_MODEL})
    assert built.problems == []
    assert (
        query_rows(warehouse, "from mine.big") == query_rows(warehouse, "from mine.big_v1") == [("a", 1, 1.0)]
    )
    assert query_rows(warehouse, "from mine.by_node(min_gpus := 1)") == [("a", 1)]
    assert query_rows(warehouse, "select status from catalog.views where view_name = 'mine.big'") == [
        ("local",)
    ]
    listed = command_line.server().run("list", "queries", "mine", "--warehouse", warehouse, "--format", "csv")
    assert listed.stdout.splitlines()[1] == "mine.by_node,How many nodes have so many GPUs?,min_gpus=1"
    refused = command_line.server().run("query", "mine.by_node", "-p", "min_gpus=x", "--warehouse", warehouse)
    assert "min_gpus must be of type INTEGER, not 'x'" in refused.stderr


def test_lint_says_what_a_build_would_without_a_warehouse(tmp_path: Path) -> None:
    files = {
        "views/mine/big.v1.sql": BIG,
        "sql/mine/by_node.sql": BY_MODEL,
        "sql/mine/names.sql": "create macro mine.names() as table\n"
        "from (describe openb.node) select column_name",
        "sql/mine/curve.sql": "create macro mine.curve() as table\n"
        "from stats.cdf_points('openb.node', model, gpu, 1)",
    }
    wrong = {
        "views/mine/sorted.v1.sql": "create view mine.sorted_v1 as\nselect sn, core\nfrom mine.big",
        "views/mine/named.v1.sql": "create view mine.named_v1 as\nselect n.gpus from openb.node as n",
        "sql/mine/all.sql": "create macro mine.all(least integer := 1) as table\n"
        "select sn, models from openb.node where gpu >= least",
        "sql/mine/drawn.sql": "-- chart: bar x=sn y=gpus\n"
        "create macro mine.drawn(\n-- letter [a b]\nkind varchar := 'c') as table\n"
        "select sn, gpu from openb.node",
    }
    for name, text in {**files, **wrong}.items():
        path = tmp_path / "local" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for schema in ([], ["mine"]):
        run = command_line.server().run("lint", *schema, "--warehouse", tmp_path)
        found = [line.removeprefix(f"{tmp_path}/local/") for line in run.stdout.splitlines()]
        assert found == [
            'sql/mine/all.sql, line 2: No column "models" in openb.node. Close matches: model. '
            "List all: `traces describe openb.node` [valid]",
            "sql/mine/drawn.sql, line 1: `chart` names gpus, which the query does not return. "
            "Did you mean gpu? [chart column]",
            "sql/mine/drawn.sql, line 4: the default of kind, c, is outside its limit [parameter]",
            'views/mine/named.v1.sql, line 2: No column "gpus" in openb.node. Close matches: gpu. '
            "List all: `traces describe openb.node` [valid]",
            'views/mine/sorted.v1.sql, line 2: No column "core" in mine.big. Close matches: cores. '
            "List all: `traces describe mine.big` [valid]",
        ]
    for name in wrong:
        (tmp_path / "local" / name).unlink()
    assert command_line.server().run("lint", "mine", "--warehouse", tmp_path).code == 0


def test_a_query_inherits_caveats_of_a_base_table(warehouse: Path) -> None:
    select = "select sum(gpu) as gpus from openb.node where node_list = 'gpu_node'"
    query = f"create macro mine.{{}}() as table {select}"
    avoids = f"-- resolves_caveat: openb.node_lists_overlap\n{query.format('avoids')}"
    built = build_with(warehouse, {"sql/mine/sees.sql": query.format("sees"), "sql/mine/avoids.sql": avoids})
    assert built.problems == []
    others = ["openb.cpu_classes_fragment", "openb.gpu_models_undisclosed", "openb.no_placement"]
    others += ["openb.node_sn_differs_by_list", "openb.pods_are_not_all_load"]
    for name, caveats in {"sees": ["openb.node_lists_overlap", *others], "avoids": others}.items():
        of_query = f"select caveats from catalog.queries where query_name = 'mine.{name}'"
        assert query_rows(warehouse, of_query) == [(sorted(caveats),)]
        of_catalog = (
            f"select caveat from catalog.caveats where list_contains(objects, 'mine.{name}') order by 1"
        )
        assert query_rows(warehouse, of_catalog) == [(caveat,) for caveat in sorted(caveats)]
        answer = command_line.server().run("query", f"mine.{name}", "--warehouse", warehouse, "--caveats")
        assert [one for one in caveats if one not in answer.stderr] == []
        assert ("openb.node_lists_overlap" in answer.stderr) == (name == "sees")


def test_a_query_reads_another_query_and_inherits_its_caveats(warehouse: Path) -> None:
    select = "select model, nodes from openb.capacity_by_model() where nodes > 0"
    built = build_with(warehouse, {"sql/mine/few.sql": f"create macro mine.few() as table {select}"})
    assert built.problems == []
    of_query = "select caveats from catalog.queries where query_name = "
    [(inherited,)] = query_rows(warehouse, f"{of_query}'openb.capacity_by_model'")
    assert inherited
    assert query_rows(warehouse, f"{of_query}'mine.few'") == [(inherited,)]


def test_own_views_and_queries_inherit_all_caveats_of_what_they_read(warehouse: Path) -> None:
    files = {
        "views/mine/ids.v1.sql": "create view mine.ids_v1 as select job_id from itp.job",
        "views/mine/nodes.v1.sql": "-- resolves_caveat: openb.node_lists_overlap\n"
        "create view mine.nodes_v1 as select count(*) as nodes from openb.node",
        "sql/mine/count.sql": "create macro mine.count() as table\n"
        "select count(*) as jobs from mine.ids, mine.nodes",
    }
    assert build_with(warehouse, files).problems == []
    caveats = "select list_sort(caveats) from catalog.{} where {} = '{}'"
    [(of_jobs,)] = query_rows(warehouse, caveats.format("views", "versioned_name", "itp.job_v1"))
    [(of_ids,)] = query_rows(warehouse, caveats.format("views", "versioned_name", "mine.ids_v1"))
    [(of_nodes,)] = query_rows(warehouse, caveats.format("views", "versioned_name", "mine.nodes_v1"))
    [(of_count,)] = query_rows(warehouse, caveats.format("queries", "query_name", "mine.count"))
    assert of_ids == of_jobs and "itp.min_duration_600" in of_jobs
    assert "openb.pods_are_not_all_load" in of_nodes and "openb.node_lists_overlap" not in of_nodes
    assert of_count == sorted([*of_ids, *of_nodes])


OUTSIDE = (
    "but views and queries in `local/` read the warehouse only. Put your own tables into another DuckDB "
    "database, and attach it in the DuckDB shell (see docs/sql.md)"
)
WRONG = {
    "views/mine/big.v1.sql": (
        BIG.replace("sn,", "sn,\n    gpus,"),
        ', line 4: No column "gpus" in openb.node. Close matches: gpu. List all: `traces describe openb.',
    ),
    "views/mine/syntax.v1.sql": ("create view mine.syntax_v1 as\nselect\n  1 1 1", ", line 3: "),
    "views/mine/other.v1.sql": (BIG, "creates mine.big_v1, but its name says mine.other_v1"),
    "views/mine/two.v1.sql": (
        "create view mine.two_v1 as select 1 as a; drop schema itp cascade",
        "more than one view and its comments: 'drop schema itp cascade'",
    ),
    "views/mine/on_ours.v1.sql": (
        "create view mine.on_ours_v1 as select 1 as a; comment on view itp.job_v1 is 'mine'",
        "more than one view and its comments",
    ),
    "views/mine/empty.v1.sql": ("", "the first statement must begin with `create or replace view … as`"),
    "views/mine/binary.v1.sql": ("\udcff", "not UTF-8"),
    "views/mine/circle.v1.sql": (
        "create view mine.circle_v1 as select * from mine.round",
        ": is circular: mine.circle_v1 reads mine.round_v1, which reads mine.circle_v1",
    ),
    "views/mine/round.v1.sql": (
        "create view mine.round_v1 as select * from mine.circle_v1",
        ": is circular: mine.round_v1 reads mine.circle_v1, which reads mine.round_v1",
    ),
    "views/mine/itself.v2.sql": (
        "create view mine.itself_v2 as select * from Mine.Itself",
        ": is circular: mine.itself_v2 reads mine.itself_v2",
    ),
    "views/mine/on_circle.v1.sql": (
        "create view mine.on_circle_v1 as select * from mine.circle",
        ": reads mine.circle, which failed",
    ),
    "sql/mine/calls_itself.sql": (
        "create macro mine.calls_itself() as table select * from mine.calls_itself()",
        ": is circular: mine.calls_itself reads mine.calls_itself",
    ),
    "views/mine/caveat.v1.sql": (
        "-- caveat: no.such\ncreate view mine.caveat_v1 as select 1 as a",
        "no caveat is called no.such",
    ),
    "views/mine/stored.v1.sql": (
        "-- materialize: parquet\ncreate view mine.stored_v1 as select 1 as one",
        "only built-in views can have a line `-- materialize:`",
    ),
    "views/itp/mine.v1.sql": ("create view itp.mine_v1 as select 1", "the schema itp is reserved"),
    "views/each_trace/mine.v1.sql": ("create view each_trace.mine_v1 as select 1", "is reserved"),
    "views/main/mine.v1.sql": ("create view main.mine_v1 as select 1", "is reserved"),
    "views/Main/other.v1.sql": ("create view Main.other_v1 as select 1", "the schema Main is reserved"),
    "sql/mine/Capital.sql": (
        "create macro mine.Capital() as table select 1",
        "/local/sql/mine/capital.sql",
    ),
    "views/mine/suffix.v1.SQL": ("create view mine.suffix_v1 as select 1", "/local/views/mine/suffix.v1.sql"),
    "views/mine/large.v99999999999999999999.sql": (
        "create view mine.large_v99999999999999999999 as select 1 as one",
        "name a view file <name>.v<N>.sql, where N has at most 9 digits",
    ),
    "views/mine/right_v1.v1.sql": (
        "create view mine.right_v1_v1 as select 1 as one",
        "creates mine.right_v1, as ",
    ),
    "sql/mine/right.sql": ("create macro mine.right() as table select 1 as one", "creates mine.right, as "),
    "views/mine/csv.v1.sql": (
        "create view mine.csv_v1 as\nselect * from read_csv('/tmp/own.csv')",
        f": reads /tmp/own.csv, {OUTSIDE}",
    ),
    "views/mine/scan.v1.sql": (
        "create view mine.scan_v1 as select * from openb.node, '/tmp/own.parquet'",
        f": reads /tmp/own.parquet, {OUTSIDE}",
    ),
    "sql/mine/text.sql": (
        "create macro mine.text() as table select content from read_text('own.txt')",
        f": reads own.txt, {OUTSIDE}",
    ),
    "sql/mine/sheet.sql": (
        "create macro mine.sheet() as table select * from read_xlsx('own.xlsx')",
        f": needs DuckDB's extension excel, {OUTSIDE}",
    ),
    "views/mine/attached.v1.sql": (
        "create view mine.attached_v1 as select * from prices.main.price",
        ": names the database prices: write <schema>.<name>, because views and queries in `local/` read the",
    ),
    "views/mine/building.v1.sql": (
        "create view mine.building_v1 as select sn from building.openb.node",
        ": names the database building: ",
    ),
    "views/mine/unversioned.sql": (BIG, "name a view file <name>.v<N>.sql"),
    "views/flat.v1.sql": (BIG, "not in a folder for views or queries. A view is "),
    "notes.sql": ("select 1", "not in a folder for views or queries. A view is "),
    "sql/mine/on_big.sql": (
        "create macro mine.on_big() as table select sn from mine.big",
        "reads mine.big, which failed",
    ),
    "sql/mine/limited.sql": (
        "create macro mine.limited(\n-- [x y]\na varchar := 'x') as table\nselect nosuch from openb.node",
        ', line 4: No column "nosuch" in openb.node.',
    ),
    "sql/mine/quote.sql": (
        "create macro mine.quote(a varchar := 'b) as table select 1",
        "in its parameters is not closed",
    ),
    "sql/mine/values.sql": (
        "create macro mine.values(\n-- [mine.no.column]\na varchar := '') as table select a as b",
        "a takes its values from mine.no.column, which does not exist",
    ),
    "sql/mine/default.sql": (
        "create macro mine.default(a integer := 'b') as table select a as b",
        """Default value ''b'' for parameter "a" cannot be implicitly cast""",
    ),
    "sql/mine/key.sql": (
        "-- grain: a\ncreate macro mine.key() as table select 1",
        "the keys of its header",
    ),
    "sql/mine/huge.sql": ("-- " + "x" * 300_000, "larger than 256 KiB"),
    f"sql/mine/{'l' * 61}.sql": ("select 1", "a name or schema is longer than 60 characters"),
    "sql/warehouse/mine.sql": ("create macro warehouse.mine() as table select 1", "is reserved"),
    "sql/mine/ünï 'x' \"y\".sql": (
        "create macro mine.x() as table select 1",
        "creates mine.x; rename",
    ),
    "sql/mine/no_macro.sql": ("select 1", "must contain `create or replace macro … as table …`"),
    "sql/mine/untyped.sql": (
        "create macro mine.untyped(a) as table select 1",
        "write each parameter as `name type := default`",
    ),
}


def test_reports_errors_with_location_and_creates_the_rest(warehouse: Path) -> None:
    right = {"views/mine/right.v1.sql": "create view mine.right_v1 as select sn from openb.node"}
    files = {name: text for name, (text, _) in WRONG.items() if "binary" not in name}
    (warehouse / "local" / "views" / "mine").mkdir(parents=True)
    (warehouse / "local" / "views" / "mine" / "binary.v1.sql").write_bytes(b"-- \xff\n")
    Path(os.fsdecode(bytes(warehouse) + b"/local/views/mine/\xff.v1.sql")).write_text(BIG, encoding="utf-8")
    problems = {problem.name: problem.error for problem in build_with(warehouse, right | files).problems}
    assert r"local/views/mine/\xff.v1.sql: rename the file" in problems.pop(r"mine.\xff")
    errors = sorted(problems.values())
    for name, (_, message) in WRONG.items():
        [found] = [error for error in errors if error.startswith(str(warehouse / "local" / name))]
        assert message in found, name
    assert len(errors) == len(WRONG)
    assert len(query_rows(warehouse, "from mine.right")) == 2
    assert len(query_rows(warehouse, "from openb.node")) == 2
    assert query_rows(warehouse, "select comment from duckdb_views() where view_name = 'job_v1'") != [
        ("mine",)
    ]
    assert query_rows(warehouse, "select count(*) from catalog.not_built") == [(len(WRONG) + 1,)]
    for command in (("query", "mine.big"), ("describe", "mine.big")):
        refused = command_line.server().run(*command, "--warehouse", warehouse)
        assert (refused.code, refused.stdout) == (1, "")
        assert "mine.big could not be built: " in refused.stderr
        assert "gpus" in refused.stderr


def test_lint_reports_what_a_build_leaves_out(warehouse: Path) -> None:
    files = {name: text for name, (text, _) in WRONG.items() if "binary" not in name}
    files["views/mine/right.v1.sql"] = "create view mine.right_v1 as select sn from openb.node"
    problems = build_with(warehouse, files).problems
    findings = [f"{one.place}: {one.message}" for one in lint_own(warehouse / "local")]
    assert sorted(findings) == sorted(problem.error for problem in problems)


UPPER = {
    "views/mine/big.v1.sql": """-- Nodes with a GPU.
CREATE OR REPLACE VIEW MINE.Big_V1 AS
SELECT SN, Gpu AS "Gpus", Cpu_Milli / 1000 AS Cores FROM OPENB.NODE WHERE GPU > 0;
COMMENT ON COLUMN MINE.BIG_V1.cores IS 'Cores; derived.';
COMMENT ON COLUMN Mine.Big_v1."gpus" IS 'GPUs of the node; derived.';
""",
    "views/mine/cores.v1.sql": "create view mine.CORES_v1 as select cores, GPUS as g from MINE.BIG",
    "sql/mine/by_node.sql": """-- How many nodes have so many GPUs?
-- chart: bar x=sn y=gpus
CREATE MACRO MINE.By_Node(
-- smallest number of GPUs [0 to 8]
Min_GPUs INTEGER := 1
) AS TABLE
SELECT sn, sum(gpus) AS gpus FROM mine.big_V1 WHERE GPUS >= min_gpus GROUP BY ALL;
COMMENT ON MACRO TABLE Mine.BY_NODE IS 'By node.';
""",
}


def test_names_may_have_capital_letters(warehouse: Path) -> None:
    built = build_with(warehouse, UPPER)
    assert (built.problems, built.notes) == ([], [])
    assert list(lint_own(warehouse / "local")) == []
    assert query_rows(warehouse, "from mine.by_node(min_gpus := 1)") == [("a", 1)]
    assert query_rows(warehouse, "from mine.cores") == [(1.0, 1)]
    of_columns = "select object_name, column_name, meaning from catalog.columns"
    assert query_rows(
        warehouse, f"{of_columns} where object_name in ('mine.big', 'mine.cores_v1') order by all"
    ) == [
        ("mine.big", "Cores", "Cores"),
        ("mine.big", "Gpus", "GPUs of the node"),
        ("mine.big", "sn", ""),
        ("mine.cores_v1", "Cores", ""),
        ("mine.cores_v1", "g", ""),
    ]
    [(comment,)] = query_rows(
        warehouse, "select description from catalog.queries where query_name = 'mine.by_node'"
    )
    assert comment == "By node."
    for arguments in (("query", "mine.by_node", "-p", "Min_GPUs=1"), ("describe", "mine.cores")):
        run = command_line.server().run(*arguments, "--warehouse", warehouse)
        assert (run.code, run.errors) == (0, [])


def test_a_column_without_a_name_may_be_stored_in_another_spelling(warehouse: Path) -> None:
    text = "create view mine.thousand_v1 as select 1_000, gpu from openb.node limit 1"
    assert build_with(warehouse, {"views/mine/thousand.v1.sql": text}).problems == []
    assert query_rows(warehouse, "from mine.thousand") == [(1_000, 1)]


def test_a_file_that_the_catalog_refuses_is_reported_alone(
    warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    insert = catalog.insert

    def refuse(connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[tuple]) -> None:
        if any("mine.refused" in str(row[0]) for row in rows) and table != "not_built":
            connection.execute("select cast('x' as integer)")
        insert(connection, table, rows)

    for module in (catalog, queries):
        monkeypatch.setattr(module, "insert", refuse)
    files = {
        "views/mine/big.v1.sql": BIG,
        "views/mine/refused.v1.sql": "create view mine.refused_v1 as select sn from mine.big",
        "views/mine/reader.v1.sql": "create view mine.reader_v1 as select sn from mine.refused",
        "sql/mine/refused_too.sql": "create macro mine.refused_too() as table select sn from mine.big",
        "sql/mine/by_node.sql": BY_MODEL,
    }
    built = build_with(warehouse, files)
    assert [problem.name for problem in built.problems] == [
        "mine.refused_too",
        "mine.reader",
        "mine.refused",
    ]
    assert query_rows(warehouse, "from mine.by_node()") == [("a", 1)]
    names = "select distinct object_name from catalog.columns where object_name like 'mine.%' order by all"
    assert query_rows(warehouse, names) == [("mine.big",), ("mine.big_v1",), ("mine.by_node",)]


def test_a_file_that_reads_a_view_of_the_package_that_was_left_out(tmp_path: Path) -> None:
    path = shutil.copy(template.template(), tmp_path / "building.duckdb")
    for name, text in {
        "reader": "create view mine.reader_v1 as select * from openb.gone",
        "right": "create view mine.right_v1 as select sn from openb.node",
    }.items():
        file = tmp_path / "local" / "views" / "mine" / f"{name}.v1.sql"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    with template.open_for_writing(path) as connection:
        catalog.insert(connection, "not_built", [("openb.gone", "is wrong")])
        [problem], _ = user_definitions.create(connection, tmp_path / "local")
        assert connection.execute("from mine.right").fetchall() == []
    assert "reader.v1.sql, line 1: openb.gone could not be built: is wrong" in problem.error


def test_all_schemas_of_a_database_are_reserved(warehouse: Path) -> None:
    sql = "select schema_name from duckdb_schemas() where database_name in (current_database(), 'system')"
    assert [name for (name,) in query_rows(warehouse, sql) if not is_reserved(name)] == []


def test_ingest_creates_them_and_reports_errors(warehouse: Path) -> None:
    build_with(warehouse, {"views/mine/big.v1.sql": BIG})
    (warehouse / "local" / "views" / "mine" / "wrong.v1.sql").write_text("select", encoding="utf-8")
    for name, (text, _) in WRONG.items():
        if "large" in name or "Capital" in name:
            (warehouse / "local" / name).parent.mkdir(parents=True, exist_ok=True)
            (warehouse / "local" / name).write_text(text, encoding="utf-8")
    with (warehouse.parent / "raw" / "openb_node_list_gpu_node.csv").open("a", encoding="utf-8") as file:
        file.write("c,1000,1024,2,T4\n")
    outcome = database.ingest([warehouse.parent / "raw"], warehouse, [], lambda *_: None)
    assert [note for note in outcome.notes if "wrong.v1.sql" in note and note.endswith("It was not created")]
    assert query_rows(warehouse, "select sum(gpu) from mine.big") == [(3,)]


def test_build_fails_until_errors_are_fixed(warehouse: Path) -> None:
    path = warehouse / "local" / "views" / "mine" / "big.v1.sql"
    path.parent.mkdir(parents=True)
    path.write_text(BIG.replace("gpu > 0", "gpus > 0"), encoding="utf-8")
    failed = command_line.server().run("build", "--warehouse", warehouse)
    assert failed.code == 1
    assert failed.stderr.endswith("error: could not build 1 view or query; all others are built\n")
    path.write_text(BIG, encoding="utf-8")
    assert command_line.server().run("build", "--warehouse", warehouse).code == 0
    assert query_rows(warehouse, "select count(*) from catalog.not_built") == [(0,)]
    shutil.rmtree(warehouse / "local")
    database.build(warehouse)
    assert query_rows(warehouse, "select count(*) from catalog.views where status = 'local'") == [(0,)]


def test_any_name_of_a_column_is_allowed(warehouse: Path) -> None:
    columns = {'a"b': 1, "it's": 2, "ünï code": 3, "select": 4, "()": 5}
    listed = ", ".join(f"{value} as {identifier(name)}" for name, value in columns.items())
    files = {
        "views/mine/odd.v1.sql": f"create view mine.odd_v1 as select {listed}",
        "sql/mine/odder.sql": "create macro mine.odder() as table select *, sn, sn from mine.odd, openb.node",
    }
    assert build_with(warehouse, files).problems == []
    assert query_rows(warehouse, "from mine.odd") == [tuple(columns.values())]
    named = "select column_name from catalog.columns where object_name = 'mine.odd' order by position"
    assert query_rows(warehouse, named) == [(name,) for name in columns]
    for name in ("mine.odd", "mine.odder"):
        for command in ("query", "describe"):
            run = command_line.server().run(command, name, "--warehouse", warehouse)
            assert (run.code, run.faults()) == (0, [])


def test_a_query_that_only_duckdb_can_parse_has_the_caveats_of_what_it_reads(warehouse: Path) -> None:
    every = "create macro mine.every() as table select * from openb.node"
    body = "pivot openb.node on model in ('T4') using count(*) group by gpu"
    pivot = f"create macro mine.pivot(\n-- [0 to 9]\na integer := 1) as table {body}"
    built = build_with(warehouse, {"sql/mine/every.sql": every, "sql/mine/pivot.sql": pivot})
    assert (built.problems, built.notes) == ([], [])
    of_query = "select caveats from catalog.queries where query_name = "
    [(inherited,)] = query_rows(warehouse, f"{of_query}'mine.every'")
    assert inherited and query_rows(warehouse, f"{of_query}'mine.pivot'") == [(inherited,)]
    assert query_rows(warehouse, "from mine.pivot()") == query_rows(warehouse, body)
    with pytest.raises(duckdb.InvalidInputException, match="a is 0 to 9, not 10"):
        query_rows(warehouse, "from mine.pivot(a := 10)")


NEEDED = "residual_table must be a table or view with the columns sn, model, free_cpu_milli, free_gpu_milli. "
NOT_TABLES = {
    "0": "There is no '0'.",
    "openb.empty_residuals": "There is no 'openb.empty_residuals'. Close matches: openb.empty_residual",
    "openb.node": "openb.node has no free_cpu_milli, free_gpu_milli",
    "mine.texts": "Those of mine.texts do not fit: Binder Error: ",
    "x'; drop": 'There is no "x\'; drop".',
}


def test_a_parameter_that_names_a_table_is_checked(warehouse: Path) -> None:
    selected = "select sn, model, 1 as free_cpu_milli, {} as free_gpu_milli from openb.node"
    files = {
        f"views/mine/{name}.v1.sql": f"create view mine.{name}_v1 as {selected.format(value)}"
        for name, value in (("texts", "[gpu]"), ("numbers", "gpu"))
    }
    assert build_with(warehouse, files).problems == []
    query = ("query", "openb.fragmentation_of", "--warehouse", warehouse, "-p")
    for value, message in NOT_TABLES.items():
        refused = command_line.server().run(*query, f"residual_table={value}")
        assert f"error: openb.fragmentation_of: {NEEDED}{message}" in refused.stderr
        assert refused.faults((1, 2)) == []
    for value in ("mine.numbers", "openb.Empty_Residual_v1"):
        assert command_line.server().run(*query, f"residual_table={value}").code == 0


def test_the_error_of_a_parameter_without_a_meaning_names_none(warehouse: Path) -> None:
    build_with(warehouse, {"views/mine/big.v1.sql": BIG, "sql/mine/by_node.sql": BY_MODEL})
    query = ("query", "mine.by_node", "--warehouse", warehouse, "-p", "min_gpus=x")
    refused = command_line.server().run(*query)
    assert refused.stderr.rstrip().endswith("must be of type INTEGER, not 'x'. Its default is 1")


def test_own_views_call_the_shared_macros(warehouse: Path) -> None:
    text = (
        "create view mine.sums_v1 as select stats.fsum(x) as s from (values (1e16), (1.0), (-1e16)) as v(x)"
    )
    assert build_with(warehouse, {"views/mine/sums.v1.sql": text}).problems == []
    assert query_rows(warehouse, "from mine.sums") == [(1.0,)]


def test_deeply_nested_file_and_named_pipe_are_reported(warehouse: Path) -> None:
    nested = f"create view mine.deep_v1 as select {'(' * 5000}1{')' * 5000} as one;"
    (warehouse / "local" / "views" / "mine").mkdir(parents=True)
    os.mkfifo(warehouse / "local" / "views" / "mine" / "pipe.v1.sql")
    built = build_with(warehouse, {"views/mine/deep.v1.sql": nested, "views/mine/big.v1.sql": BIG})
    errors = {problem.name: problem.error for problem in built.problems}
    assert errors.keys() == {"mine.deep", "mine.pipe"}
    assert "nested" in errors["mine.deep"] and "not a regular file" in errors["mine.pipe"]
    assert query_rows(warehouse, "from mine.big") == [("a", 1, 1.0)]


def test_refused_file_does_not_hide_the_built_in_view_of_its_name(warehouse: Path) -> None:
    nodes = "create view mine.nodes_v1 as select count(*) as nodes from openb.capacity;"
    taken = "create view openb.capacity_v9 as select 1 as one;"
    files = {"views/mine/nodes.v1.sql": nodes, "views/openb/capacity.v9.sql": taken}
    [problem] = build_with(warehouse, files).problems
    assert problem.name == "openb.capacity" and "reserved" in problem.error
    assert query_rows(warehouse, "select nodes from mine.nodes")


def test_publishes_own_views_and_queries_except_those_that_fail(warehouse: Path, tmp_path: Path) -> None:
    fails = "create view mine.fails_v1 as select cast(sn as integer) as number from openb.node;"
    reads = "-- Numbers\ncreate macro mine.numbers() as table select sum(number) as sum from mine.fails;"
    files = {
        "views/mine/fails.v1.sql": fails,
        "views/mine/big.v1.sql": BIG,
        "sql/mine/by_node.sql": BY_MODEL,
        "sql/mine/numbers.sql": reads,
    }
    assert build_with(warehouse, files).problems == []
    run = command_line.server().run(
        "publish", "--out", tmp_path / "published.duckdb", "--warehouse", warehouse
    )
    assert run.code == 0, run.stderr
    assert "because local/views/mine/fails.v1.sql fails (Conversion Error: " in run.stderr
    with duckdb.connect(str(tmp_path / "published.duckdb"), read_only=True) as connection:
        assert connection.execute("from mine.big").fetchall() == [("a", 1, 1.0)]
        assert connection.execute("from mine.by_node(min_gpus := 1)").fetchall() == [("a", 1)]


@suites.of("hostile")
def test_publishes_a_site_without_own_queries_that_fail(
    warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {
        "cast": "select cast(sn as integer) as number from openb.node",
        "error": "select error('no') as message from openb.node",
        "pivot": "pivot openb.node on sn in ('a') using sum(gpu)",
        "odd": 'select [1] as "it\'s", \'x\'::blob as "a""b", sn, sn from openb.node',
    }
    titles = "-- Own\n-- chart: bar x=it's y=sn\n"
    files = {
        f"sql/mine/{name}.sql": f"{titles}create macro mine.{name}() as table {body}"
        for name, body in own.items()
    }
    assert build_with(warehouse, files).problems == []
    # The programs of the site are not needed to write its files.
    monkeypatch.setattr(folder, "_read_programs", lambda _: {})
    published = folder.publish(warehouse, tmp_path / "site", tmp_path, whole=False)
    for name, error in (("cast", "Conversion Error"), ("error", "Invalid Input")):
        assert published.left_out[f"mine.{name}"].startswith(f"local/sql/mine/{name}.sql fails ({error}")
    listed = json.loads((tmp_path / "site" / folder.LIST).read_text(encoding="utf-8"))
    names = {found["name"] for found in listed["objects"]}
    assert {name for name in names if name.startswith("mine.")} == {"mine.pivot", "mine.odd"}
    assert {"mine.cast", "mine.error"} <= {found["name"] for found in listed["left_out"]}
    answer = json.loads((tmp_path / "site" / "api/answer/mine.odd.json").read_text(encoding="utf-8"))
    assert [column["name"] for column in answer["columns"]][:2] == ["it's", 'a"b']
