"""Virtual devices and the devices of a build."""

import pytest
import tenon
from tenon.target import Target, VirtualDevice, make_compilation_config


def test_unconstrained():
    d = VirtualDevice()
    assert d.device_type == -1
    assert d.virtual_device_id == -1
    assert d.target is None
    assert d.memory_scope == ""
    assert str(d) == "VirtualDevice(?)"


def test_device_target_and_memory():
    target = Target("cuda", host="llvm")
    d = VirtualDevice(tenon.cuda(2), target, "shared")
    assert (d.device_type, d.virtual_device_id, d.memory_scope) == (2, 2, "shared")
    assert d.target.same_as(target)
    assert str(d) == (
        "VirtualDevice(device_type=2, virtual_device_id=2, target=Target(kind='cuda', "
        "keys={'cuda', 'gpu'}, host=Target(kind='llvm', keys={'cpu'})), memory_scope='shared')"
    )
    again = tenon.ir.load_json(tenon.ir.save_json(d))
    tenon.ir.assert_structural_equal(d, again)
    assert not tenon.ir.structural_equal(d, VirtualDevice(tenon.cuda(1), target, "shared"))
    with pytest.raises(ValueError, match="target cuda is for device type 2, not 1"):
        VirtualDevice(tenon.cpu(), target)


def test_config_of_one_target():
    config = make_compilation_config(tenon.transform.PassContext(), "llvm", "c")
    assert len(config.primitive_targets) == 1
    assert config.host_target.kind.name == "c"
    assert config.optional_homogeneous_target.host.kind.name == "c"
    assert config.default_primitive_virtual_device.device_type == 1
    assert config.host_virtual_device.target.kind.name == "c"


def test_config_of_several_targets():
    context = tenon.transform.PassContext(config={"relay.fallback_device_type": 2})
    config = make_compilation_config(context, ["llvm", "cuda"])
    assert config.optional_homogeneous_target is None
    assert config.default_primitive_virtual_device.device_type == 2
    assert config.host_target.kind.name == "llvm"
    assert [t.host.kind.name for t in config.primitive_targets] == ["llvm", "llvm"]
    context = tenon.transform.PassContext(config={"relay.fallback_device_type": 4})
    with pytest.raises(ValueError, match="no target is given for device type 4"):
        make_compilation_config(context, ["llvm", "cuda"])


def test_targets_of_chips():
    target = tenon.target.target.micro("stm32f746xx", options=["-keys=arm_cpu,cpu"])
    assert (target.kind.name, target.model, target.mcpu) == ("c", "stm32f746xx", "cortex-m7")
    with pytest.raises(ValueError, match="Model nothing not supported"):
        tenon.target.micro("nothing")
    assert tenon.target.bifrost().device_name == "bifrost"
