"""Rules of one's own for making code of intrinsics: tvm.ir.register_intrin_lowering."""

import itertools

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.ir import Op

counter = itertools.count()
names = []


@pytest.fixture(autouse=True)
def rules_end_with_the_test():
    """While there are any, no kernel is kept for other builds."""
    yield
    for name in names:
        for target in ("default", "llvm", "stackvm"):
            Op.get(name).reset_attr(f"{target}.FLowerIntrinsic")
    names.clear()


def fresh():
    """A new intrinsic: operators stay as long as the process."""
    name = f"test.intrin_{next(counter)}"
    names.append(name)
    tenon.ir.register_op_attr(name, "TCallEffectKind", tir.CallEffectKind.Pure)
    return name


def run(name, target, dtype="float32"):
    a = te.placeholder((8,), dtype, name="A")
    b = te.compute((8,), lambda i: tir.call_intrin(dtype, Op.get(name), a[i]), name="B")
    built = tenon.build(te.create_schedule(b.op), [a, b], target)
    x, y = np.arange(1, 9).astype(dtype), tenon.nd.empty((8,), dtype)
    built(tenon.nd.array(x), y)
    return x, y.numpy()


def rule(call):
    if call.dtype == "float32":
        return tir.call_pure_extern("float32", "logf", call.args[0])
    return call


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_one_target(target):
    name = fresh()
    tenon.ir.register_intrin_lowering(name, target=target, f=rule, level=99)
    x, y = run(name, target)
    np.testing.assert_allclose(y, np.log(x), rtol=1e-5)


def test_default_rule_and_rules_in_a_row():
    inner, outer = fresh(), fresh()

    @tenon.ir.register_intrin_lowering(outer, target="default")
    def _(call):
        return tir.call_intrin(call.dtype, Op.get(inner), call.args[0]) + tir.const(1, call.dtype)

    tenon.ir.register_intrin_lowering(inner, "llvm", f=lambda c: c.args[0] * c.args[0])
    x, y = run(outer, "llvm")
    np.testing.assert_allclose(y, x * x + 1)


def test_a_rule_that_leaves_the_call_asks_the_next():
    name = fresh()
    tenon.ir.register_intrin_lowering(name, "llvm", f=rule)
    tenon.ir.register_intrin_lowering(name, "default", f=lambda c: -c.args[0])
    x, y = run(name, "llvm", "float64")
    np.testing.assert_allclose(y, -x)


def test_known_intrinsics():
    """Another way to compute exp, for as long as the test runs."""
    tenon.ir.register_intrin_lowering("tir.exp10", "llvm", f=lambda c: c.args[0] + 1, level=50)
    try:
        x, y = run("tir.exp10", "llvm")
        np.testing.assert_allclose(y, x + 1)
    finally:
        Op.get("tir.exp10").reset_attr("llvm.FLowerIntrinsic")


def test_the_pass():
    name = fresh()
    tenon.ir.register_intrin_lowering(name, "default", f=lambda c: c.args[0] + 2)

    call = tir.call_intrin("int32", Op.get(name), tir.Var("x", "int32"))
    func = tir.PrimFunc([call.args[0]], tir.Evaluate(call))
    lowered = tir.transform.LowerIntrin()(tenon.IRModule({"main": func}))["main"]
    tenon.ir.assert_structural_equal(lowered.body.value, lowered.params[0] + 2)


def test_what_rules_must_give():
    name = fresh()
    tenon.ir.register_intrin_lowering(name, "llvm", f=lambda c: tir.const(1, "int32"))
    with pytest.raises(
        TypeError, match=f"rule llvm.FLowerIntrinsic of {name}: .* float32, got int32"
    ):
        run(name, "llvm")
    other = fresh()
    tenon.ir.register_intrin_lowering(other, "llvm", f=lambda c: None)
    with pytest.raises(TypeError, match="float32, got no object"):
        run(other, "llvm")

    def raises(call):
        raise KeyError("from the rule")

    third = fresh()
    tenon.ir.register_intrin_lowering(third, "llvm", f=raises)
    with pytest.raises(KeyError, match="from the rule"):
        run(third, "llvm")
