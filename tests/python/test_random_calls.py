"""Functions of the registry called with values of any class: they answer or refuse, they do not end
the process. ``python random_calls.py`` calls more."""

import pytest
import random_calls
import tenon


@pytest.mark.parametrize("seed", range(4))
def test_calls_do_not_end_the_process(seed):
    status, output = random_calls.run(seed)
    assert status == 0, random_calls.find(seed) + "\n" + output
    assert f"'calls': {random_calls.CALLS}" in output


def test_what_is_left_out_exists():
    names = set(tenon._ffi.registry.list_global_func_names())
    assert set(random_calls.LEFT_OUT) <= names
