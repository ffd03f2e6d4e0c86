"""Passes that programs ask for by themselves: numbers of expressions, batches, layouts, blocks."""

import numpy as np
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay
from tenon.relay import transform


def test_numbers_of_expressions_as_places():
    x = relay.var("x", shape=(4,))
    y = relay.exp(x)
    func = relay.Function([x], relay.Tuple([relay.add(y, relay.negative(y)), x]))
    mod = transform.CapturePostDfsIndexInSpans()(tenon.IRModule.from_expr(func))
    func = mod["main"]
    tup = func.body
    add = tup.fields[0]
    exp, negative = add.args
    places = [(e.span.line, e.span.column) for e in (func.params[0], exp, negative, add, tup, func)]
    # operators count too: add is 1, exp 2, negative 4
    assert places == [(0, 8), (3, 6), (5, 6), (6, 7), (7, 8), (8, -1)]
    assert "span=index:6:7" in str(mod)
    assert all(e.span.source_name.name == "index" for e in (func, add))


@pytest.mark.parametrize("infer", [True, False])
def test_change_batch(infer):
    mod, _ = relay.testing.mlp.get_workload(1)
    mod = transform.InferType()(mod) if infer else mod
    data = mod["main"].params[0]
    mod = transform.ChangeBatch({data: 0}, batch_size=123)(mod)
    assert list(mod["main"].ret_type.concrete_shape) == [123, 10]
    with pytest.raises(ValueError, match="%data has no axis 4"):
        transform.ChangeBatch({"data": 4})(mod)
    with pytest.raises(ValueError, match="positive extent, got 0"):
        transform.ChangeBatch({"data": 0}, 0)(mod)


def test_layers_that_keep_their_layout():
    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    y = x
    for _ in range(3):
        y = relay.nn.conv2d(y, w, padding=(1, 1), channels=4, kernel_size=(3, 3))
    mod = tenon.IRModule.from_expr(relay.Function([x, w], y))
    convert = transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]})

    def layouts():
        found = []

        def visit(e):
            if isinstance(e, relay.Call) and e.op.name == "nn.conv2d":
                found.append(str(e.attrs.data_layout))

        with tenon.transform.PassContext(opt_level=3):
            relay.analysis.post_order_visit(convert(mod)["main"], visit)
        return found

    with transform.LayoutConfig(skip_layers=[0, 2]) as config:
        assert transform.LayoutConfig.current is config
        assert layouts() == ["NCHW", "NHWC", "NCHW"]
        with transform.LayoutConfig():
            assert layouts() == ["NHWC"] * 3
    assert transform.LayoutConfig.current is None and layouts() == ["NHWC"] * 3


# ---- blocks of places as images ----


def to_batch(x, block, pads, value=0.0):
    m = len(block)
    x = np.pad(x, [(0, 0), *pads] + [(0, 0)] * (x.ndim - 1 - m), constant_values=value)
    shape = [x.shape[0]]
    for n, b in zip(x.shape[1 : 1 + m], block, strict=True):
        shape += [n // b, b]
    x = x.reshape(shape + list(x.shape[1 + m :]))
    order = [2 + 2 * i for i in range(m)] + [0] + [1 + 2 * i for i in range(m)]
    x = x.transpose(order + list(range(1 + 2 * m, x.ndim)))
    return x.reshape((-1, *x.shape[m + 1 :]))


BLOCKS = [((2, 2), ((0, 0), (1, 1))), ((3,), ((1, 1),)), ((1, 2), ((2, 0), (0, 2)))]


@pytest.mark.parametrize(("block", "pads"), BLOCKS)
def test_blocks_of_places(block, pads):
    x = rand(2, 4, 6, 3)
    y = to_batch(x, block, pads, 0.5)
    make = relay.nn.space_to_batch_nd
    check(lambda a: make(a, block, pads, pad_value=0.5), lambda a: y, x)
    check(lambda a: relay.nn.batch_to_space_nd(a, block, pads), lambda a: x, y)


def test_errors_of_blocks():
    x = relay.TensorType((2, 4, 5))
    for make, message in [
        (lambda a: relay.nn.space_to_batch_nd(a, [2], [[0, 2]]), "7 is not divided by 2"),
        (lambda a: relay.nn.space_to_batch_nd(a, [2, 2], [[0, 0]]), "a pair of numbers for each"),
        (lambda a: relay.nn.space_to_batch_nd(a, [2, 2], [[0, 0], [0, 0]]), "5 is not divided"),
        (lambda a: relay.nn.space_to_batch_nd(a, [0, 1], [[0, 0]] * 2), "must be positive"),
        (lambda a: relay.nn.space_to_batch_nd(a, [2], [[2**62, 2**62]]), "axis 1: too much is add"),
        (lambda a: relay.nn.batch_to_space_nd(a, [3], [[0, 0]]), "2 is not divided by 3"),
        (lambda a: relay.nn.batch_to_space_nd(a, [2], [[9, 0]]), "more than there is"),
        (lambda a: relay.nn.batch_to_space_nd(a, [2] * 3, [[0, 0]] * 3), "3 extents for 3 dimen"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            result_type(
                make, relay.TensorType((2, 5, 5)) if "is not divided by 2" in message else x
            )


def test_convolutions_of_blocks_are_dilated_ones():
    x, w = relay.var("x", shape=(1, 5, 5, 4)), relay.var("w", shape=(3, 3, 4, 2))
    y = relay.nn.space_to_batch_nd(x, [2, 2], [[2, 3], [1, 2]])
    how = {"data_layout": "NHWC", "kernel_layout": "HWIO", "channels": 2, "kernel_size": (3, 3)}
    y = relay.nn.conv2d(y, w, padding=(1, 0, 0, 0), **how)
    y = relay.nn.batch_to_space_nd(y, [2, 2], [[1, 0], [0, 1]])
    mod = transform.InferType()(tenon.IRModule.from_expr(relay.Function([x, w], y)))
    flat = transform.FlattenAtrousConv()(mod)
    assert [str(op) for op in relay.analysis.list_op_freqs(flat)] == ["nn.conv2d"]
    a, b = rand(1, 5, 5, 4), rand(3, 3, 4, 2, seed=1)
    run = [
        relay.create_executor("debug", mod=m, target="stackvm").evaluate()(a, b).numpy()
        for m in (mod, flat)
    ]
    np.testing.assert_allclose(run[0], run[1], rtol=1e-5)


@pytest.mark.parametrize("zero, pad_value, left", [(3, 3, 1), (3, 0, 3), (None, 0, 3)])
def test_quantized_convolutions_of_blocks_have_the_border_of_their_zero_point(
    zero, pad_value, left
):
    x = relay.var("x", shape=(1, 4, 4, 2), dtype="int8")
    z = relay.var("z", shape=(), dtype="int32")
    w = relay.const(np.arange(36, dtype="int8").reshape(3, 3, 2, 2) - 18)
    y = relay.nn.space_to_batch_nd(x, [2, 2], [[2, 2], [2, 2]], pad_value=pad_value)
    at = z if zero is None else relay.const(zero)
    one = relay.const(np.float32(1))
    how = {"data_layout": "NHWC", "kernel_layout": "HWIO", "channels": 2, "kernel_size": (3, 3)}
    y = relay.qnn.op.conv2d(y, w, at, relay.const(0), one, one, **how)
    y = relay.nn.batch_to_space_nd(y, [2, 2], [[0, 0], [0, 0]])
    func = relay.Function([x, z], y)
    mod = transform.InferType()(tenon.IRModule.from_expr(func))
    flat = transform.FlattenAtrousConv()(mod)
    assert len(relay.analysis.list_op_freqs(flat)) == left
    a = np.arange(32, dtype="int8").reshape(1, 4, 4, 2) - 16
    run = [
        relay.create_executor("debug", mod=m, target="stackvm").evaluate()(a, np.int32(3)).numpy()
        for m in (mod, flat)
    ]
    np.testing.assert_array_equal(run[0], run[1])


@pytest.mark.parametrize("kind", ["graph", "vm", "aot"])
def test_checkpoints_are_marks_that_programs_run_without(kind):
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    both = relay.annotation.checkpoint(relay.Tuple([x + y, x * y]))
    body = relay.annotation.checkpoint(relay.TupleGetItem(both, 0) - relay.TupleGetItem(both, 1))
    mod = tenon.IRModule.from_expr(relay.Function([x, y], body))
    run = relay.create_executor(kind, mod=mod, target="llvm").evaluate()
    a, b = np.float32([1, 2]), np.float32([3, 5])
    np.testing.assert_array_equal(run(a, b).numpy(), a + b - a * b)


# ---- dynamic extents ----


@pytest.mark.parametrize("auto_pad", [False, True])
def test_functions_for_some_extents(auto_pad):
    x, w = relay.var("x", shape=(1, 3)), relay.var("w", shape=(3,))
    body = relay.Tuple([x + w, relay.sum(x, axis=1)])
    mod = tenon.IRModule.from_expr(relay.Function([x, w], body))
    flexible = transform.FlexibleShapeDispatch([4, 2], auto_pad=auto_pad, input_indices=[0])
    mod = flexible(mod)
    names = {v.name_hint for v in mod.get_global_vars()}
    assert names == {"main", "main_2", "main_4", "main_any"}
    assert list(mod["main_4"].params[0].checked_type.concrete_shape) == [4, 3]
    exe = relay.vm.compile(mod, "llvm")
    vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
    for n in (1, 2, 3, 4, 6):
        a, b = rand(n, 3), rand(3, seed=1)
        y, s = vm.run(a, b)
        np.testing.assert_allclose(y.numpy(), a + b, rtol=1e-6)
        np.testing.assert_allclose(s.numpy(), a.sum(1), rtol=1e-5)


def test_errors_of_open_extents():
    x = relay.var("x", shape=(1, 3))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.sum(x)))
    for args, message in [
        (([],), "expected a list of extents"),
        (([0],), "positive extents, got 0"),
        (([2], 5), "%x has no axis 5"),
        (([2], 0, False, 0, [3]), "main has no input 3"),
        (([2], 0, True), "a result has no axis 0 that is known: use affects_output=False"),
    ]:
        with pytest.raises(ValueError, match=message):
            transform.FlexibleShapeDispatch(*args)(mod)
    transform.FlexibleShapeDispatch([2], auto_pad=True, affects_output=False)(mod)
    func = tenon.tir.PrimFunc([], tenon.tir.Evaluate(0))
    with pytest.raises(TypeError, match="@main is not a function of Relay"):
        transform.FlexibleShapeDispatch([2])(tenon.IRModule({"main": func}))
