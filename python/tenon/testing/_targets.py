"""Targets that tests run on: those that ``TVM_TEST_TARGETS`` names, or a usual list."""

import os

__all__ = [
    "DEFAULT_TEST_TARGETS",
    "DEVICE_TEST_TARGETS",
    "device_enabled",
    "enabled_targets",
]

# targets that tests run on unless TVM_TEST_TARGETS says otherwise; those not built in are left out
DEFAULT_TEST_TARGETS = [
    "llvm",
    "cuda",
    "nvptx",
    "vulkan -from_device=0",
    "opencl",
    "opencl -device=mali,aocl_sw_emu",
    "opencl -device=intel_graphics",
    "metal",
    "rocm",
    "hexagon",
]
DEVICE_TEST_TARGETS = DEFAULT_TEST_TARGETS


def _kind(target):
    """Kind of a target given as text, dict or Target."""
    if isinstance(target, dict):
        return target["kind"]
    if hasattr(target, "kind"):
        return str(target.kind.name)
    return str(target).split()[0]


def _get_targets(target_names=None):
    """Descriptions of targets: dicts of target, target_kind, is_enabled, is_runnable, device."""
    from .. import runtime

    if target_names is None:
        target_names = _tvm_test_targets()
    if not target_names:
        target_names = DEFAULT_TEST_TARGETS
    found = []
    for target in target_names:
        kind = _kind(target)
        enabled = runtime.enabled(kind)
        found.append(
            {
                "target": target,
                "target_kind": kind,
                "is_enabled": enabled,
                "is_runnable": enabled and runtime.device(kind).exist,
            }
        )
    if any(t["is_runnable"] for t in found):
        return found
    if target_names == DEFAULT_TEST_TARGETS or target_names == ["llvm"]:
        raise RuntimeError(
            "none of these targets is built in and has a device: "
            + ", ".join(map(str, target_names))
            + "; set TVM_TEST_TARGETS to targets that are"
        )
    return _get_targets(["llvm"])


def _tvm_test_targets():
    text = os.environ.get("TVM_TEST_TARGETS", "").strip()
    return list(dict.fromkeys(t.strip() for t in text.split(";") if t.strip()))


def enabled_targets():
    """Targets to test: those of ``TVM_TEST_TARGETS`` (or a usual list) that can be compiled for and
    have a device.

    Returns
    -------
    list of (str, Device)
    """
    from .. import runtime

    return [
        (t["target"], runtime.device(t["target_kind"])) for t in _get_targets() if t["is_runnable"]
    ]


def device_enabled(target):
    """Should tests of a target run? True when a target of its kind is among `enabled_targets`.

    Parameters
    ----------
    target : str
        Target, with or without options.

    Returns
    -------
    bool
    """
    if not isinstance(target, str):
        raise TypeError("device_enabled requires a target as a string")
    kind = _kind(target)
    return any(t["target_kind"] == kind for t in _get_targets() if t["is_runnable"])
