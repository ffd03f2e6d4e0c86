"""What `relay.testing` offers: passes on expressions, attributes for a time, networks."""

import numpy as np
import pytest
from tenon import relay
from tenon.relay import testing
from tenon.relay.analysis import get_total_mac_number, list_op_freqs
from tenon.relay.testing.temp_op_attr import TempOpAttr
from tenon.relay.transform import InferType


def test_passes_on_expressions():
    x = relay.var("x", shape=(2, 3))
    y = testing.run_infer_type(relay.exp(x))
    assert isinstance(y, relay.Call) and y.checked_type == relay.TensorType((2, 3))
    f = testing.run_opt_pass(relay.Function([x], x), InferType())
    assert isinstance(f, relay.Function) and f.checked_type.ret_type == y.checked_type
    with pytest.raises(TypeError, match="expected a pass"):
        testing.run_opt_pass(x, "InferType")


def test_attributes_for_a_time():
    op = relay.op.get("nn.relu")
    before = op.get_attr("TOpPattern")
    with TempOpAttr("nn.relu", "TOpPattern", 8):
        assert int(op.get_attr("TOpPattern")) == 8
        with TempOpAttr("nn.relu", "FTest", lambda: 5):
            assert op.get_attr("FTest")() == 5
    assert op.get_attr("TOpPattern") == before and op.get_attr("FTest") is None


def types_of(mod):
    return {str(v.name_hint): v.checked_type for v in mod["main"].params}


def test_mlp():
    mod, params = testing.mlp.get_workload(4)
    assert mod["main"].checked_type.ret_type == relay.TensorType((4, 10))
    assert set(params) == {f"fc{i}_{p}" for i in (1, 2, 3) for p in ("weight", "bias")}
    assert params["fc1_weight"].shape == (128, 784)
    assert not params["fc1_bias"].numpy().any() and params["fc1_weight"].numpy().any()
    again = testing.mlp.get_workload(4)[1]
    np.testing.assert_equal(again["fc2_weight"].numpy(), params["fc2_weight"].numpy())
    assert get_total_mac_number(mod["main"]) == 4 * (784 * 128 + 128 * 64 + 64 * 10)


def test_resnet():
    mod, params = testing.resnet.get_workload(num_layers=18)
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 1000))
    assert list_op_freqs(mod)["nn.conv2d"] == 21
    assert types_of(mod)["stage4_unit2_conv2_weight"] == relay.TensorType((512, 512, 3, 3))
    assert len(params) == len(mod["main"].params) - 1
    with pytest.raises(ValueError, match="num_layers 17"):
        testing.resnet.get_net(1, 10, 17)
    small = testing.resnet.get_net(1, 10, 20, (3, 28, 28))
    assert testing.run_infer_type(small).checked_type.ret_type == relay.TensorType((1, 10))
    wide = testing.resnet.get_net(1, 10, 50, (64, 64, 3), layout="NHWC")
    assert testing.run_infer_type(wide).checked_type.ret_type == relay.TensorType((1, 10))


def test_other_networks():
    mod, _ = testing.mobilenet.get_workload()
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 1000))
    assert list_op_freqs(mod)["nn.conv2d"] == 27
    nhwc, _ = testing.mobilenet.get_workload(image_shape=(224, 224, 3), layout="NHWC")
    assert nhwc["main"].checked_type.ret_type == relay.TensorType((1, 1000))
    net = testing.vgg.get_net(1, (3, 32, 32), 10, "float32", 16, batch_norm=True)
    net = testing.run_infer_type(net)
    assert net.checked_type.ret_type == relay.TensorType((1, 10))
    mod, _ = testing.synthetic.get_workload()
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 3, 24, 12))
    for version in ("1.0", "1.1"):
        net = testing.run_infer_type(
            testing.squeezenet.get_net(1, (3, 224, 224), 10, version, "float32")
        )
        assert net.checked_type.ret_type == relay.TensorType((1, 10))


def test_initializers():
    arr = np.zeros((4, 4), "float32")
    testing.init.Constant(3)("a_weight", arr)
    assert (arr == 3).all()
    testing.init.Xavier("gaussian", "in")("a_weight", arr)
    assert arr.std() > 0
    with pytest.raises(ValueError, match="Unknown initialization pattern"):
        testing.init.Xavier()("strange", arr)
    with pytest.raises(ValueError, match="2 at least"):
        testing.init.Xavier()("x_weight", np.zeros(3))


def test_printed_networks_read_back():
    from tenon import ir

    mod, _ = testing.resnet.get_workload(num_layers=18)
    again = relay.parse(mod.astext())
    ir.assert_structural_equal(InferType()(again), mod)
