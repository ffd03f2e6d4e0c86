"""What `relay.testing` offers: passes on expressions, attributes for a time, networks."""

import numpy as np
import pytest
import tenon
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


def test_networks_that_run():
    """Numbers of parameters are those of the papers' networks (with means and variances)."""

    def size(params):
        return sum(int(np.prod(value.shape)) for value in params.values())

    mod, params = testing.densenet.get_workload()
    assert mod["main"].checked_type.ret_type == relay.TensorType((4, 1000))
    assert list_op_freqs(mod)["nn.conv2d"] == 120 and size(params) == 8062504
    with pytest.raises(ValueError, match="densenet_size 12: expected one of"):
        testing.densenet.get_workload(12)
    mod, params = testing.inception_v3.get_workload()
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 1000))
    assert list_op_freqs(mod)["nn.conv2d"] == 94
    for layout in ("NCHW", "NHWC"):
        shape = (4, 84, 84) if layout == "NCHW" else (84, 84, 4)
        mod, params = testing.dqn.get_workload(2, 5, shape, layout=layout)
        assert mod["main"].checked_type.ret_type == relay.TensorType((2, 5))
    assert size(params) == 1684128 + 512 * 5 + 5
    mod, _ = testing.dcgan.get_workload(1, ngf=8)
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 3, 64, 64))
    mod, _ = testing.dcgan.get_workload(1, ngf=8, layout="NHWC")
    assert mod["main"].checked_type.ret_type == relay.TensorType((1, 64, 64, 3))


def test_lstm_computes_its_cell():
    mod, params = testing.lstm.get_workload(3, 4, batch_size=2)
    rng = np.random.default_rng(0)
    params = {name: rng.normal(size=v.shape).astype("float32") for name, v in params.items()}
    data = rng.normal(size=(2, 4)).astype("float32")
    run = relay.create_executor("vm", mod=mod, device=tenon.cpu(), target="llvm").evaluate()

    def sigmoid(v):
        return 1 / (1 + np.exp(-v))

    hidden = cell = np.zeros((2, 4), "float32")
    for _ in range(3):
        gates = data @ params["i2h_weight"].T + params["i2h_bias"]
        gates = gates + hidden @ params["h2h_weight"].T + params["h2h_bias"]
        enter, forget, change, leave = np.split(gates, 4, axis=1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(change)
        hidden = sigmoid(leave) * np.tanh(cell)
    np.testing.assert_allclose(run(data, **params).numpy(), hidden, rtol=1e-5, atol=1e-6)


def test_natural_numbers():
    prelude = relay.prelude.Prelude()
    testing.add_nat_definitions(prelude)
    assert testing.count(prelude, testing.make_nat_expr(prelude, 3)) == 3
    value = testing.make_nat_value(prelude, 4)
    assert testing.count(prelude, value) == 4
    assert value.constructor.name_hint == "S" and len(value.fields) == 1
    with pytest.raises(TypeError, match="expected a natural number"):
        testing.count(prelude, relay.const(1))
    with pytest.raises(ValueError, match="has the tag"):
        type(value)(value.tag, [], value.constructor)


def test_a_loop():
    i = relay.var("i", shape=(), dtype="int32")
    a = relay.var("a", shape=(2,), dtype="float32")
    loop = relay.loops.while_loop(
        lambda i, a: relay.less(i, relay.const(10)),
        [i, a],
        lambda i, a: [i + relay.const(1), a * relay.const(2.0)],
    )
    first = relay.const(0), relay.const(np.ones(2, "float32"))
    mod = tenon.IRModule.from_expr(relay.Function([], relay.TupleGetItem(loop(*first), 1)))
    for kind in ("vm", "debug"):
        run = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm").evaluate()
        np.testing.assert_array_equal(run().numpy(), [1024, 1024])


def test_old_name_of_the_context():
    seen = []
    x = relay.var("x", shape=(2,))
    with relay.build_config(opt_level=3, trace=lambda mod, info, before: seen.append(before)):
        testing.run_infer_type(x)
        assert tenon.transform.PassContext.current().opt_level == 3
    assert seen == [True, False]


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
