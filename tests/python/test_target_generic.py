"""Functions with a variant for each kind of target; targets of devices."""

import pytest
import tenon
from tenon import target as tgt
from tenon.target import Target


def test_python_function():
    @tgt.generic_func
    def pick(x, *, y=1):
        return ("default", x, y)

    @pick.register(["cuda", "rocm"])
    def _(x, *, y=1):
        return ("gpu", x, y)

    pick.register("cpu", lambda x, *, y=1: ("cpu", x, y))
    assert pick(1) == ("default", 1, 1)
    with Target("llvm"):
        assert pick(2, y=3) == ("cpu", 2, 3)
        with Target("cuda"):
            assert pick(2) == ("gpu", 2, 1)
    with Target("opencl"):
        assert pick.fdefault(4) == pick(4)
    with pytest.raises(ValueError, match="cuda is already registered for pick"):
        pick.register("cuda", lambda x: x)
    pick.register("cuda", lambda x: x, override=True)
    with Target("cuda"):
        assert pick(7) == 7


def test_first_key_wins():
    @tgt.override_native_generic_func("test.first_key")
    def first():
        return "default"

    first.register("arm_cpu", lambda: "arm")
    first.register("cpu", lambda: "cpu")
    with Target("llvm -keys=arm_cpu,cpu"):
        assert first() == "arm"
        assert str(first.get_packed_func()()) == "arm"
        assert str(tgt.get_native_generic_func("test.first_key")()) == "arm"
    assert str(tgt.get_native_generic_func("test.first_key")()) == "default"


def test_variants_that_come_and_go():
    """What is registered with the native function counts, and get_packed_func brings it back."""

    @tgt.override_native_generic_func("test.come_and_go")
    def pick(x):
        return x

    pick.register("cpu", lambda x: 2 * x)
    with Target("c"):
        native = tgt.get_native_generic_func("test.come_and_go")
        before = native.get_packed_func()
        native.register(lambda x: 3 * x, "cpu", allow_override=True)
        assert pick(5) == 15
        native.register(before, "cpu", allow_override=True)
        assert pick(5) == 10
    assert pick(5) == 5
    with pytest.raises(TypeError, match="pick: a native generic function takes no keywords"):
        pick(x=5)


def test_native_function():
    func = tgt.get_native_generic_func("test.native")
    assert func.same_as(tgt.get_native_generic_func("test.native"))
    with pytest.raises(ValueError, match="test.native: nothing is registered for the target None"):
        func(1)
    func.set_default(lambda x: x + 1)
    func.register(lambda x: x * 10, ["gpu"])
    packed = func.get_packed_func()
    assert func(1) == 2 and packed(1) == 2
    with Target("opencl"):
        assert func(1) == 10 and packed(3) == 4 and func.get_packed_func()(3) == 30
    with pytest.raises(ValueError, match="there is a default function already"):
        func.set_default(lambda x: x)
    with pytest.raises(ValueError, match="there is a function for gpu already"):
        func.register(lambda x: x, ["gpu"])
    func.register(lambda x: -x, ["gpu"], allow_override=True)
    with Target("opencl"):
        assert func(1) == -1


def test_target_of_host():
    target = Target.from_device("cpu")
    assert target.kind.name in ("llvm", "c")
    if target.kind.name == "llvm":
        assert target.mcpu and target.attrs["mtriple"]
    assert str(Target.from_device(tenon.cpu(0))) == str(target)


def test_target_of_missing_device():
    with pytest.raises(ValueError, match="unknown device metal"):
        Target.from_device("metal")
    with pytest.raises(ValueError, match="no target is known for devices of type"):
        Target.from_device("ext_dev")


def test_vta():
    target = tgt.vta(model="pynq")
    assert [str(key) for key in target.keys] == ["vta", "cpu"]
    assert (target.kind.name, target.device_name, target.model) == ("ext_dev", "vta", "pynq")


def test_a_python_generic_function_as_a_packed_one():
    @tgt.generic_func
    def pick(x):
        return x

    pick.register("gpu", lambda x: x + 1)
    with Target("cuda"):
        assert pick.get_packed_func()(1) == 2
    assert pick.get_packed_func()(1) == 1
    native = tgt.get_native_generic_func("test.one_key")
    native.register(lambda x: x * 3, "gpu")
    with Target("opencl"):
        assert native(2) == 6
