"""Parameters and fixtures of tests."""

import itertools
import os

from ._fixture_cache import cached

__all__ = [
    "exclude_targets",
    "fixture",
    "known_failing_targets",
    "parameter",
    "parameters",
    "parametrize_targets",
]

# scope of test parameters: made once, as they do not change
_PARAMETER_SCOPE = "session"


def parametrize_targets(*args):
    """Decorator: run a test for each of these targets that is built in.

    The test takes ``target``, ``dev`` or both. Used bare it stands for all enabled targets.

    Parameters
    ----------
    args : str or pytest.param
        Targets.
    """
    import pytest

    # one function: the decorator is used bare
    if len(args) == 1 and callable(args[0]):
        return args[0]
    return pytest.mark.parametrize("target", list(args), scope="session")


def exclude_targets(*args):
    """Decorator: do not run a test that takes ``target`` for targets of these kinds."""
    import pytest

    return pytest.mark.tvm_excluded_targets(list(args))


def known_failing_targets(*args):
    """Decorator: a test that takes ``target`` is expected to fail for targets of these kinds."""
    import pytest

    return pytest.mark.tvm_known_failing_targets(list(args))


def parameter(*values, ids=None, by_dict=None):
    """A test parameter, to be bound to a name at module or class level.

    Tests and fixtures that take the name run once for each value. Several parameters give every
    combination.

    Parameters
    ----------
    values : Any
        The values.
    ids : list of str, optional
        Names in the test's id; default: made from the values.
    by_dict : dict of str to Any, optional
        Names and values instead of `values`.

    Examples
    --------
    >>> size = tenon.testing.parameter(1, 10, 100)
    >>> def test_using_size(size):
    ...     ...
    """
    import pytest

    if by_dict is not None:
        if values or ids:
            raise RuntimeError(
                "Use of the by_dict parameter cannot be used alongside values or ids"
            )
        ids, values = zip(*by_dict.items(), strict=True)

    # a fixture of pytest takes its name from the variable that it is bound to
    @pytest.fixture(scope=_PARAMETER_SCOPE, params=values, ids=ids)
    def as_fixture(*_cls, request):
        return request.param

    return as_fixture


_parametrize_group = itertools.count()
# id of a fixture -> (number of the group, values, ids); the fixture is kept alive here
_groups = {}


def parameters(*value_sets, ids=None):
    """Test parameters that change together: no combinations are made.

    Parameters
    ----------
    value_sets : tuple
        One tuple for each run, all of one length.
    ids : list of str, optional
        Names in the test's id.

    Returns
    -------
    list of parameters, one for each position of the tuples

    Examples
    --------
    >>> size, dtype = tenon.testing.parameters((16, "float32"), (512, "float16"))
    """
    import pytest

    lengths = {len(values) for values in value_sets}
    if len(lengths) > 1:
        raise ValueError(f"parameters: the tuples have different lengths: {sorted(lengths)}")
    group = next(_parametrize_group)
    outputs = []
    for values in zip(*value_sets, strict=True):

        @pytest.fixture(scope=_PARAMETER_SCOPE)
        def as_fixture(*_cls, request):
            return request.param

        _groups[id(as_fixture)] = (as_fixture, group, values, ids)
        outputs.append(as_fixture)
    return outputs


def fixture(func=None, *, cache_return_value=False):
    """Decorator like ``pytest.fixture``, that can keep results for equal parameters.

    Parameters
    ----------
    func : function, optional
        The fixture.
    cache_return_value : bool
        Call the function once for each set of arguments; each test gets a deep copy. For setup
        that takes long.
    """
    import pytest

    disabled = any(
        os.environ.get(name, "0") not in ("", "0")
        for name in ("TENON_TEST_DISABLE_CACHE", "TVM_TEST_DISABLE_CACHE")
    )

    def wraps(func):
        if cache_return_value and not disabled:
            func = cached(func)
        return pytest.fixture(func, scope="function")

    return wraps if func is None else wraps(func)
