"""How operators of Relay are tried out: the type of a call, its value on numpy arrays computed by a
target, its shape function."""

import numpy as np
import tenon
from tenon import relay, te
from tenon.relay.op import _rows  # noqa: F401  makes the native functions known

_api = tenon.get_global_func


def types_of(arrays):
    """Types of arrays; a list of arrays is a tuple."""
    return [
        relay.TupleType(types_of(a)) if isinstance(a, list) else relay.TensorType(a.shape, a.dtype)
        for a in arrays
    ]


def result_type(make, *types):
    """The type of ``make(*variables)`` where the variables have the given types."""
    call = make(*[relay.var("x", t) for t in types])
    return _api("relay.op.ResultType")(call.op, call.attrs, list(types))


def _flat(values):
    return [x for v in values for x in (v if isinstance(v, list) else [v])]


def compute(make, *arrays, target="stackvm"):
    """The value of ``make(*variables)`` on arrays (a list of arrays is a tuple).

    Returns
    -------
    numpy.ndarray or list of numpy.ndarray
    """
    types = types_of(arrays)
    call = make(*[relay.var("x", t) for t in types])
    result = _api("relay.op.ResultType")(call.op, call.attrs, types)
    flat = _flat(arrays)
    inputs = [te.placeholder(a.shape, str(a.dtype), f"p{i}") for i, a in enumerate(flat)]
    outputs = list(_api("relay.op.Compute")(call.op, call.attrs, inputs, result))
    many = isinstance(result, relay.TupleType)
    wanted = list(result.fields) if many else [result]
    for output, t in zip(outputs, wanted, strict=True):
        assert [int(x) for x in output.shape] == list(t.concrete_shape), output.op.name
        assert output.dtype == t.dtype
    program = te.create_prim_func([*inputs, *outputs])
    unbounded = tenon.tir.analysis.unbounded_data_indices(program)
    assert not unbounded, f"{call.op.name}: {unbounded}"
    func = tenon.build(program, target=target)
    buffers = [tenon.nd.array(a) for a in flat]
    empty = [tenon.nd.empty(t.concrete_shape, t.dtype) for t in wanted]
    func(*buffers, *empty)
    values = [e.numpy() for e in empty]
    return values if many else values[0]


def shapes(make, *arrays):
    """What the shape function of ``make(*variables)`` says for arrays of these shapes."""
    types = types_of(arrays)
    call = make(*[relay.var("x", t) for t in types])
    result = _api("relay.op.ResultType")(call.op, call.attrs, types)
    given = [list(a.shape) for a in _flat(arrays)]
    found = _api("relay.op.Shapes")(call.op, call.attrs, types, given, None, result)
    return [tuple(int(x) for x in shape) for shape in found]


def check(make, reference, *arrays, rtol=1e-5, atol=1e-6, target="stackvm"):
    """``make`` computes what ``reference`` does with numpy, of the type and shape it says."""
    want = reference(*arrays)
    many = isinstance(want, list | tuple)
    got = compute(make, *arrays, target=target)
    said = shapes(make, *arrays)
    pairs = list(zip(got, want, strict=True)) if many else [(got, want)]
    for (value, expected), shape in zip(pairs, said, strict=True):
        expected = np.asarray(expected)
        assert value.shape == expected.shape == shape
        np.testing.assert_allclose(value, expected.astype(value.dtype), rtol=rtol, atol=atol)


def rand(*shape, dtype="float32", low=-2.0, high=2.0, seed=0):
    """A random array."""
    values = np.random.default_rng(seed).uniform(low, high, shape)
    return values > 0 if dtype == "bool" else values.astype(dtype)
