"""No test asserts only inside loops that may be empty."""

import ast
from collections.abc import Iterator
from pathlib import Path

from counting import non_empty

FOLDER = Path(__file__).parent
LITERAL = ast.List | ast.Tuple | ast.Set | ast.Dict
ASSERTING = ("assert_", "check", "fail", "pytest.raises", "pytest.warns", "non_empty", "some")


def has_assertion(node: ast.AST, constants: set[str]) -> bool:
    """Return whether code has an assertion outside of loops that may be empty."""
    if isinstance(node, ast.For) and not has_values(node.iter, constants):
        return has_assertion(node.iter, constants)
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func).startswith(ASSERTING)
    children = ast.iter_child_nodes(node)
    return (
        is_call or isinstance(node, ast.Assert) or any(has_assertion(child, constants) for child in children)
    )


def has_values(loop: ast.expr, constants: set[str]) -> bool:
    """Return whether a loop runs over a range, or over all values of a literal in the test or its module."""
    nodes = [*ast.walk(loop)]
    if isinstance(loop, LITERAL) or any(isinstance(node, ast.comprehension) for node in nodes):
        return isinstance(loop, LITERAL)
    return any(isinstance(n, LITERAL) or (isinstance(n, ast.Name) and n.id in constants) for n in nodes)


def idle_tests(path: Path) -> Iterator[str]:
    module = ast.parse(path.read_text(encoding="utf-8"))
    assigned = [node for node in module.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    literals = [ast.walk(node) for node in assigned if isinstance(node.value, LITERAL)]
    constants = {node.id for nodes in literals for node in nodes if isinstance(node, ast.Name)} | {"range"}
    for test in ast.walk(module):
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            has_assert = any(isinstance(node, ast.Assert) for node in ast.walk(test))
            if has_assert and not has_assertion(test, constants):
                yield f"{path.relative_to(FOLDER)}:{test.lineno} {test.name}"


def test_no_test_asserts_only_in_loops_that_may_be_empty() -> None:
    found = [test for path in non_empty(FOLDER.rglob("test_*.py")) for test in idle_tests(path)]
    assert found == [], "loop over counting.non_empty(…)"
