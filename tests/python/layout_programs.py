"""Programs and helpers of the tests of layouts."""

import numpy as np
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.relay import testing, transform
from tenon.relay.testing.temp_op_attr import TempOpAttr


def run_passes(expr, *passes, target=None):
    mod = expr if isinstance(expr, tenon.IRModule) else tenon.IRModule({"main": expr})
    with tenon.transform.PassContext(opt_level=4), tenon.target.Target(target or "llvm"):
        return tenon.transform.Sequential([transform.InferType(), *passes, transform.InferType()])(
            mod
        )["main"]


def function(body):
    return relay.Function(relay.analysis.free_vars(body), body)


def blocked(data="NCHW16c", kernel="OIHW16i", **more):
    """A hook that makes convolutions work in blocks."""

    def alter(attrs, inputs, tinfos, out_type):
        assert isinstance(out_type, relay.TensorType)
        assert len(tinfos) == 2
        new = {**dict(attrs), "data_layout": data, "kernel_layout": kernel, **more}
        return relay.nn.conv2d(*inputs, **new)

    return TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", alter)


def conv(x, w, **how):
    how = {"channels": 64, "kernel_size": (3, 3), "padding": (1, 1), **how}
    return relay.nn.conv2d(x, w, **how)


def conv16(x, w, **how):
    return conv(x, w, data_layout="NCHW16c", kernel_layout="OIHW16i", **how)


def to(x, src, dst):
    return relay.layout_transform(x, src, dst)


X = relay.var("x", shape=(1, 64, 56, 56))
W = relay.var("w", shape=(64, 64, 3, 3))
W2 = relay.var("w2", shape=(64, 64, 3, 3))
X16, W16 = to(X, "NCHW", "NCHW16c"), to(W, "OIHW", "OIHW16i")


def back(y):
    return to(y, "NCHW16c", "NCHW")


def check(make, expected, hook=None):
    """`make` of the plain convolution becomes `expected` of the one in blocks."""
    with hook or blocked():
        got = run_passes(function(make(conv(X, W))), transform.AlterOpLayout())
    want = run_passes(function(expected(conv16(X16, W16))))
    tenon.ir.assert_structural_equal(got, want, map_free_vars=True)


def transforms(func):
    found = []

    def visit(e):
        if isinstance(e, relay.Call) and getattr(e.op, "name", "") == "layout_transform":
            found.append((e.attrs.src_layout, e.attrs.dst_layout))

    relay.analysis.post_order_visit(func, visit)
    return found


def build_and_run(mod, params, x, **context):
    with tenon.transform.PassContext(opt_level=3, **context):
        lib = relay.build(mod, "llvm", params=params)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(data=x)
    return m.get_output(0).numpy()


def randomised(params, rng):
    """Weights with which values neither vanish nor grow."""
    out = {}
    for name, value in params.items():
        a = value.numpy()
        if "weight" in name and a.ndim > 1:
            a = rng.standard_normal(a.shape) * np.sqrt(2 / np.prod(a.shape[1:]))
        elif "gamma" in name or "var" in name:
            a = rng.random(a.shape) * 0.2 + 0.5
        else:
            a = rng.standard_normal(a.shape) * 0.1
        out[name] = tenon.nd.array(a.astype("float32"))
    return out


NETWORKS = {
    "resnet": lambda: testing.resnet.get_workload(
        num_layers=18, image_shape=(3, 32, 32), num_classes=16
    ),
    "mobilenet": lambda: testing.mobilenet.get_workload(image_shape=(3, 32, 32), num_classes=16),
    "mobilenet NHWC": lambda: testing.mobilenet.get_workload(
        image_shape=(32, 32, 3), num_classes=16, layout="NHWC"
    ),
    "squeezenet": lambda: testing.squeezenet.get_workload(image_shape=(3, 64, 64), num_classes=16),
}


def no_softmax(mod):
    """The numbers before the last softmax, which would hide differences."""
    func = mod["main"]
    body = func.body
    assert body.op.name == "nn.softmax"
    return tenon.IRModule({"main": relay.Function(func.params, body.args[0])})
