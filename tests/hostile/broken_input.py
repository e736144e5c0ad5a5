"""All cases of broken input: a kind of damage, the packing of the damaged file, and the allowed outcomes.

A case lists all allowed outcomes. Ingest either refuses the file, and its table keeps the previous rows, or
accepts it and stores exactly the listed rows.
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
"""The packings in which text is damaged, and the places whose files have such a packing."""
EVERY_OTHER = frozenset({"csv.xz", "parts"})
"""Packings that get every second kind of damage only: once unpacked, they are read as other packings are."""


def text_cases() -> Iterator[Case]:
    """Yield a case for each damage and each packing to which it applies."""
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
    """Return all cases, each with one damaged file."""
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
