"""A case of broken input: a damaged file and the allowed outcomes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hostile.dumps import Place
from hostile.expectations import Refused, Way

Damaged = tuple[bytes, Sequence[Way]]
Packed = tuple[dict[str, bytes], Sequence[Way]]

REFUSED = (Refused(),)
LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 12345\n"


@dataclass(frozen=True)
class Case:
    """A damaged file: its form, its possible places, and the function that writes it."""

    name: str
    places: Sequence[Place]
    ending: str
    make: Callable[[Place], Packed]


def rounds(cases: Sequence[Case]) -> list[list[tuple[Case, Place]]]:
    """Divide the cases into rounds with at most one case per place."""
    dealt: list[list[tuple[Case, Place]]] = []
    for case in cases:
        for of_round in dealt:
            taken = {place for _, place in of_round}
            free = next((place for place in case.places if place not in taken), None)
            if free:
                of_round.append((case, free))
                break
        else:
            dealt.append([(case, case.places[0])])
    return dealt
