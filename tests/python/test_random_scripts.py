"""Random texts of scripts are refused with a place, or print, parse back and are lowered.

``python random_scripts.py`` tries more.
"""

import pytest
import random_scripts

SLICE = 100


@pytest.mark.parametrize("first", range(0, 20 * SLICE, SLICE))
def test_texts(first):
    for seed in range(first, first + SLICE):
        try:
            random_scripts.check(seed)
        except BaseException as err:
            err.add_note(f"seed {seed}, made smaller:\n{random_scripts.shrink(seed)}")
            raise


def test_all_ends_are_reached():
    ends = {random_scripts.check(seed) for seed in range(300)}
    assert ends == {"refused by the parser", "not lowered", "lowered"}
