"""Change bytes at random, in files of any format."""

import random
from collections.abc import Callable, Sequence

Mutate = Callable[[bytes, random.Random], bytes]


def flip_bits(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        changed[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def truncate(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(1, len(data))]


def leave_out(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    return data[:start] + data[start + chance.randint(1, 40) :]


def repeat(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    return data[: start + chance.randint(1, 40)] + data[start:]


def overwrite(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    length = min(chance.randint(1, 40), len(data) - start)
    return data[:start] + chance.randbytes(length) + data[start + length :]


def zero(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) - 1)
    length = min(chance.randint(1, 40), len(data) - start)
    return data[:start] + bytes(length) + data[start + length :]


def exchange(data: bytes, chance: random.Random) -> bytes:
    one, two = sorted(chance.sample(range(len(data)), 2))
    length = min(16, two - one, len(data) - two)
    return (
        data[:one]
        + data[two : two + length]
        + data[one + length : two]
        + data[one : one + length]
        + data[two + length :]
    )


DAMAGES: tuple[Mutate, ...] = (
    *(flip_bits, flip_bits, flip_bits),
    *(truncate, leave_out, repeat, overwrite, zero, exchange),
)


def damage(data: bytes, chance: random.Random) -> bytes:
    """Change, insert or delete some bytes, once or several times."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        if len(data) > 1:
            data = chance.choice(DAMAGES)(data, chance)
    return data


def insert(texts: Sequence[bytes]) -> Mutate:
    """Return a mutation that inserts one of the texts, or replaces some bytes by it."""

    def mutate(data: bytes, chance: random.Random) -> bytes:
        start = chance.randrange(len(data) + 1)
        return data[:start] + chance.choice(texts) + data[start + chance.choice((0, 0, 1, 9)) :]

    return mutate


def one_of(*mutations: Mutate) -> Mutate:
    """Return a mutation that makes one of several changes. One that is listed twice is twice as likely."""
    return lambda data, chance: chance.choice(mutations)(data, chance)
