"""Normalised SQL text and its hash ignore comments, white space and case outside quotes, nothing else."""

import pytest

from tracehouse.definitions.sql_text import (
    first_statement,
    normal,
    sql_hash,
    statements,
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a,\n  b -- why\nFROM t WHERE a > 1;\n", "select a, b from t where a > 1"),
        ("-- above\n\nselect 1 -- behind", "select 1"),
        ("select a--b\nfrom t", "select a from t"),
        ("select a - -b", "select a - -b"),
        ("select /* block\n -- ' */ 1", "select 1"),
        ("select 'A  -- b'  as c", "select 'A  -- b' as c"),
        ("select 'it''s -- ;  X'", "select 'it''s -- ;  X'"),
        ("select '' -- '\n, 'B'", "select '' , 'B'"),
        ("select ''''  , '--'", "select '''' , '--'"),
        ('select "Sys  --Power" from T', 'select "Sys  --Power" from t'),
        ('select "a""B -- \'" , \'C\'', 'select "a""B -- \'" , \'C\''),
        ("select e'it\\'s  -- ;  X'  , Y", "select e'it\\'s  -- ;  X' , y"),
        ("select value'A\\'  , B", "select value'A\\' , b"),
        ("select $$it's  -- ;  X$$  , Y", "select $$it's  -- ;  X$$ , y"),
        ("select $q$a  $$ B$q$  , Y", "select $q$a  $$ B$q$ , y"),
        ("select $One  , $two", "select $one , $two"),
        ("select\t1\r\n", "select 1"),
        ("select 'ä\n  B'", "select 'ä\n  B'"),
        ("", ""),
        (" ; -- nothing\n;", ""),
        ("select 'never ends", "select 'never ends"),
    ],
)
def test_normal_form(sql: str, expected: str) -> None:
    assert normal(sql) == expected
    assert normal(expected) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select a > 1", "select a > 2"),
        ("select a > 1", "select a > '1'"),
        ("select 'a b'", "select 'a  b'"),
        ("select 'a'", "select 'A'"),
        ('select "a"', 'select "A"'),
        ('select "a"', "select a"),
        ("select 'a' -- b", "select 'a -- b'"),
        ("select ab", "select a b"),
        ("select a < @b", "select a <@ b"),
        ("select 'a''b'", "select 'a' 'b'"),
        ("select 1; select 2", "select 1 select 2"),
    ],
)
def test_statements_of_different_meaning_have_different_hashes(one: str, other: str) -> None:
    assert sql_hash(one) != sql_hash(other)


def test_splits_statements() -> None:
    text = "-- Title; more.\n\nselect ';' -- ;\n from T ; -- between\ncomment on view a is 'b;''c';\n-- end\n"
    assert statements(text) == ["select ';' -- ;\n from T", "comment on view a is 'b;''c'"]
    assert first_statement(text) == "select ';' -- ;\n from T"
    assert (statements("-- ;"), first_statement("")) == ([], "")
