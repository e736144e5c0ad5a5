"""Kinds of broken input: each a damage, the form of file that it is done to, and what may become of it.

A case says all that is allowed, and no more: a file is refused, and its table keeps the rows that it had, or
it is taken, and exactly these rows are stored.
"""

from collections.abc import Callable, Iterator
from itertools import chain

from hostile.broken_archives import part_cases, tar_cases
from hostile.broken_packings import members_cases, other_packing_cases, packed_cases
from hostile.broken_texts import TEXTS, Damage
from hostile.cases import Case, Packed
from hostile.dumps import ARCHIVED, FORMS, NARROW, WIDE, Form, Place

TEXT_FORMS = {
    "csv": NARROW,
    "csv.gz": NARROW,
    "csv.xz": NARROW,
    "tar.gz": ARCHIVED,
    "parts": ARCHIVED,
    "wide csv": WIDE,
    "wide csv.gz": WIDE,
}
"""Every damage to a text is done in each of these forms, where it fits a place."""
EVERY_OTHER = frozenset({"csv.xz", "parts"})
"""Which are read as others are, once unpacked: in them, every other damage."""


def text_cases() -> Iterator[Case]:
    """Every damage in every form that it fits."""
    for form_name, places in TEXT_FORMS.items():
        for damage in TEXTS[:: 2 if form_name in EVERY_OTHER else 1]:
            fitting = [place for place in places if damage.fits(place)]
            if fitting:
                form = FORMS[form_name.removeprefix("wide ")]
                yield Case(f"text in {form_name}: {damage.name}", fitting, form.ending, _packed(form, damage))


def _packed(form: Form, damage: Damage) -> Callable[[Place], Packed]:
    def make(place: Place) -> Packed:
        text, ways = damage.make(place)
        return form.pieces(place, text), ways

    return make


def all_cases() -> list[Case]:
    """Every case that one damaged file makes."""
    cases = [
        *chain(
            tar_cases(),
            part_cases(),
            text_cases(),
            packed_cases(),
            members_cases(),
            other_packing_cases(),
        )
    ]
    assert len({case.name for case in cases}) == len(cases)
    return cases
