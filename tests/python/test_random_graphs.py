"""Random Relay programs: executors at all levels agree with the interpreter, which optimises
nothing. ``python random_graphs.py`` compares more of them."""

import pytest
import random_graphs


@pytest.mark.parametrize("seed", range(24))
def test_executors_agree(seed):
    mod, args = random_graphs.make(seed)
    want = random_graphs.reference(mod, args)
    if want is None:
        pytest.skip("numbers too large to compare")
    pairs = random_graphs.EXECUTORS
    for kind, level in (pairs[seed % len(pairs)], pairs[(seed + 1) % len(pairs)]):
        random_graphs.check(random_graphs.run(kind, level, mod, args), want, level)
