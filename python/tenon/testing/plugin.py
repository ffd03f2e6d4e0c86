"""The pytest side of `tenon.testing`: ``-p tenon.testing.plugin``, or
``pytest_plugins = ["tenon.testing.plugin"]`` in a ``conftest.py``.

A test that takes ``target`` or ``dev`` runs once for each enabled target, with the marks of the
target's requirements. Correlated parameters (`tenon.testing.parameters`) change together.
"""

import pytest

from . import _parameters, _requirements, _targets
from ._features import Feature

MARKERS = {
    "gpu": "the test needs a GPU",
    "tensorcore": "the test needs a tensor core",
    "uses_gpu": "the test can use a GPU",
    "cuda": "the test needs CUDA",
    "opencl": "the test needs OpenCL",
    "rocm": "the test needs ROCm",
    "vulkan": "the test needs Vulkan",
    "metal": "the test needs Metal",
    "llvm": "the test needs LLVM",
    "ethosn": "the test needs Ethos-N",
    "hexagon": "the test needs Hexagon",
    "corstone300": "the test needs the Corstone-300 simulator",
    "tvm_excluded_targets": "target kinds that the test does not run for",
    "tvm_known_failing_targets": "target kinds that the test is expected to fail for",
}


def pytest_configure(config):
    """Declare the marks."""
    marks = {name: f"{feature.long_name}" for name, feature in Feature._all_features.items()}
    for name, text in {**marks, **MARKERS}.items():
        config.addinivalue_line("markers", f"{name}: {text}")


def pytest_generate_tests(metafunc):
    """Give tests their targets and their correlated parameters."""
    _parametrize_correlated_parameters(metafunc)
    _auto_parametrize_target(metafunc)


def pytest_collection_modifyitems(config, items):
    """Mark the tests that got a target: requirements, exclusions, expected failures."""
    for item in items:
        callspec = getattr(item, "callspec", None)
        target = callspec.params.get("target") if callspec else None
        if isinstance(target, str | dict) or hasattr(target, "kind"):
            _mark_by_target(item, target)


def _mark_by_target(item, target):
    kind = _targets._kind(target)
    if kind in _kinds_of_marks(item, "tvm_excluded_targets"):
        item.add_marker(pytest.mark.skip(reason=f"test excludes target {kind}"))
    if kind in _kinds_of_marks(item, "tvm_known_failing_targets"):
        item.add_marker(pytest.mark.xfail(reason=f"known to fail for target {kind}"))
    if kind not in {mark.name for mark in item.iter_markers()}:
        for mark in _target_to_requirement(target):
            item.add_marker(mark)


@pytest.fixture
def dev(target):
    """The device of the test's target."""
    from .. import runtime

    return runtime.device(_targets._kind(target))


def _is_parametrized(metafunc, name):
    """Does a mark of the test, or the fixture itself, give the name its values?"""
    for mark in metafunc.definition.iter_markers("parametrize"):
        names = mark.args[0]
        if isinstance(names, str):
            names = [part.strip() for part in names.split(",")]
        if name in names:
            return True
    defs = metafunc.definition._fixtureinfo.name2fixturedefs.get(name)
    return bool(defs) and defs[-1].params is not None


def _auto_parametrize_target(metafunc):
    if "target" not in metafunc.fixturenames:
        return
    if _is_parametrized(metafunc, "target"):
        return
    if metafunc.definition._fixtureinfo.name2fixturedefs.get("target"):
        return  # the test file has its own fixture
    excluded = _kinds_of_marks(metafunc.definition, "tvm_excluded_targets")
    targets = [t["target"] for t in _targets._get_targets() if t["target_kind"] not in excluded]
    metafunc.parametrize("target", targets, scope="session")


def _kinds_of_marks(definition, name):
    return {kind for mark in definition.iter_markers(name) for kind in mark.args[0]}


def _target_to_requirement(target):
    """Marks with the requirements of a target, given as text, dict or Target."""
    kind = _targets._kind(target)
    if kind == "cuda" and "cudnn" in _libs_of(target):
        return _requirements.requires_cudnn.marks()
    if kind == "cuda" and "cublas" in _libs_of(target):
        return _requirements.requires_cublas.marks()
    feature = Feature._all_features.get(kind)
    if feature is not None:
        return feature.marks()
    return []


def _libs_of(target):
    if isinstance(target, dict):
        return target.get("libs", ())
    if hasattr(target, "libs"):
        return [str(lib) for lib in target.libs or ()]
    for option in str(target).split():
        if option.startswith("-libs="):
            return option.removeprefix("-libs=").split(",")
    return ()


def _parametrize_correlated_parameters(metafunc):
    """Parametrize each group of `tenon.testing.parameters` with one call."""
    groups = {}
    for name, fixturedefs in metafunc.definition._fixtureinfo.name2fixturedefs.items():
        entry = _group_of(metafunc, name, fixturedefs[-1])
        if entry is not None:
            _, group, values, ids = entry
            groups.setdefault(group, []).append((name, values, ids))
    for params in groups.values():
        if len(params) == 1:
            name, values, ids = params[0]
            metafunc.parametrize(name, values, indirect=True, ids=ids)
        else:
            names = ",".join(name for name, _, _ in params)
            value_sets = list(zip(*(values for _, values, _ in params), strict=True))
            metafunc.parametrize(names, value_sets, indirect=True, ids=params[0][2])


def _group_of(metafunc, name, fixturedef):
    """The entry of `_parameters._groups` behind a fixture, which a module or class binds."""
    for holder in (metafunc.cls, metafunc.module):
        if holder is None:
            continue
        bound = inspect_getattr(holder, name)
        entry = _parameters._groups.get(id(bound))
        if entry is not None:
            return entry
    function = getattr(fixturedef, "func", None)
    for entry in _parameters._groups.values():
        fixture = entry[0]
        if getattr(fixture, "_fixture_function", fixture) is getattr(
            function, "__func__", function
        ):
            return entry
    return None


def inspect_getattr(holder, name):
    """The attribute as it is stored, without binding."""
    for cls in holder.__mro__ if isinstance(holder, type) else (holder,):
        if name in vars(cls):
            return vars(cls)[name]
    return None
