"""Random programs compute the same in the interpreter, as C and as machine code.

``python random_programs.py`` compares more of them.
"""

import pytest
import random_programs


@pytest.mark.parametrize("seed", range(6))
def test_all_code_generators_agree(seed):
    assert random_programs.compare_module(seed) == random_programs.EACH
