"""Names of files in messages."""

import pytest

from tracehouse.core.text import escape_name, join_names


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("zeus/summary_train.csv", "zeus/summary_train.csv"),
        ("Größe 表 🎉.csv", "Größe 表 🎉.csv"),
        ("caf\udce9.csv", r"caf\xe9.csv"),
        ("\x1b[2J\x1b]8;;x\x07.csv", r"\x1b[2J\x1b]8;;x\x07.csv"),
        ("a\nerror: b\r\t", r"a\nerror: b\r\t"),
        ("a\u202egpj.csv", r"a\u202egpj.csv"),
        ("\ud800", r"\ud800"),
        (r"c:\x.csv", r"c:\x.csv"),
    ],
)
def test_prints_name_on_one_line_of_utf8(name: str, shown: str) -> None:
    assert escape_name(name) == shown
    assert escape_name(shown) == shown
    assert shown.isprintable()
    shown.encode()


def test_truncates_long_list() -> None:
    names = [f"{number}.csv" for number in range(1, 1235)]
    assert join_names(names[:20]).endswith("19.csv, 20.csv")
    assert join_names(names[:21]).endswith("19.csv, 20.csv and 1 more")
    assert join_names(names).endswith("20.csv and 1,214 more")
