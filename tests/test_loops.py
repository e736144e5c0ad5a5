"""No test asserts only inside loops that may be empty."""

import ast
from collections.abc import Iterator
from pathlib import Path

from counting import non_empty

FOLDER = Path(__file__).parent
WRITTEN = ast.List | ast.Tuple | ast.Set | ast.Dict
ASSERTING = ("assert_", "check", "fail", "pytest.raises", "pytest.warns", "non_empty")


def asserts(node: ast.AST, constants: set[str]) -> bool:
    """Whether code asserts something, without what it asserts in loops that may be empty."""
    if isinstance(node, ast.For) and not has_values(node.iter, constants):
        return asserts(node.iter, constants)
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func).startswith(ASSERTING)
    children = ast.iter_child_nodes(node)
    return is_call or isinstance(node, ast.Assert) or any(asserts(child, constants) for child in children)


def has_values(loop: ast.expr, constants: set[str]) -> bool:
    """Whether a loop is over all of what the test or its module writes out, or over a range."""
    nodes = [*ast.walk(loop)]
    if isinstance(loop, WRITTEN) or any(isinstance(node, ast.comprehension) for node in nodes):
        return isinstance(loop, WRITTEN)
    return any(isinstance(n, WRITTEN) or (isinstance(n, ast.Name) and n.id in constants) for n in nodes)


def idle_tests(path: Path) -> Iterator[str]:
    module = ast.parse(path.read_text())
    assigned = [node for node in module.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    written = [ast.walk(node) for node in assigned if isinstance(node.value, WRITTEN)]
    constants = {node.id for nodes in written for node in nodes if isinstance(node, ast.Name)} | {"range"}
    for test in ast.walk(module):
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            has_assert = any(isinstance(node, ast.Assert) for node in ast.walk(test))
            if has_assert and not asserts(test, constants):
                yield f"{path.relative_to(FOLDER)}:{test.lineno} {test.name}"


def test_no_test_asserts_only_in_loops_that_may_be_empty() -> None:
    found = [test for path in non_empty(FOLDER.rglob("test_*.py")) for test in idle_tests(path)]
    assert found == [], "loop over counting.non_empty(…)"
