"""Random Relay programs without control flow: what test_random_graphs.py compares executors on.

``python random_graphs.py`` compares as many as one likes (endless.py).
"""

import sys

import endless
import numpy as np
import tenon
from tenon import relay
from tenon.relay.testing import run_infer_type

MAX_ELEMENTS, MAX_DIMS = 4000, 5
MAX_STEPS = 29
UNARY = ("tanh", "negative", "abs", "sigmoid", "exp", "ceil")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
REDUCE = ("sum", "mean", "max", "min")


class NoSuchValue(Exception):
    """No value of the program is what a step needs."""


def is_float(shape, dtype):
    return dtype == "float32"


def is_array(shape, dtype):
    return is_float(shape, dtype) and len(shape) > 0


def has_dims(n):
    return lambda shape, dtype: is_float(shape, dtype) and len(shape) == n


class Graph:
    """A program that grows step by step; every value may be read again."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.values = []  # (expression, shape, dtype)
        self.params, self.args = [], []
        for shape in [(1, 4, 6, 6), (3, 8), (2, 3, 4), (16,)]:
            self.add_param(shape)

    def random(self, shape, dtype="float32"):
        if dtype == "float32":
            return (self.rng.random(shape) * 2 - 1).astype(dtype)
        return self.rng.integers(-5, 5, shape).astype(dtype)

    def number(self, low, high):
        return int(self.rng.integers(low, high))

    def one_of(self, items):
        return items[self.number(0, len(items))]

    def chance(self, p):
        return self.rng.random() < p

    def const(self, shape, dtype="float32"):
        return relay.const(self.random(shape, dtype))

    def positive(self, n):
        return relay.const((self.rng.random(n) + 0.5).astype("float32"))

    def add_param(self, shape):
        var = relay.var(f"v{len(self.params)}", shape=shape)
        self.params.append(var)
        self.args.append(self.random(shape))
        self.values.append((var, shape, "float32"))

    def add(self, expr):
        expr = run_infer_type(expr)
        type_ = expr.checked_type
        if isinstance(type_, relay.TupleType):
            for i in range(len(type_.fields)):
                if self.chance(0.6):
                    self.add(relay.TupleGetItem(expr, i))
            return
        shape = tuple(int(d) for d in type_.shape)
        if np.prod(shape) <= MAX_ELEMENTS and len(shape) <= MAX_DIMS:
            self.values.append((expr, shape, type_.dtype))

    def pick(self, fits=lambda shape, dtype: True):
        """A value, rather a new one."""
        found = [v for v in self.values if fits(v[1], v[2])]
        if not found:
            raise NoSuchValue
        return found[min(int(len(found) * (1 - self.rng.random() ** 2)), len(found) - 1)]

    def like(self, shape, dtype="float32"):
        return self.pick(lambda s, t: s == shape and t == dtype)[0]

    def axis(self, shape):
        return self.number(0, len(shape))


def unary(g):
    g.add(getattr(relay, g.one_of(UNARY))(relay.clip(g.pick(is_float)[0], -3.0, 3.0)))


def relu(g):
    kinds = (relay.nn.relu, lambda x: relay.nn.leaky_relu(x, 0.1), lambda x: relay.clip(x, -1, 1))
    g.add(g.one_of(kinds)(g.pick(is_float)[0]))


def binary(g):
    a, shape, _ = g.pick(is_float)
    other = g.const(tuple(d if g.chance(0.6) else 1 for d in shape))
    b = g.like(shape) if g.chance(0.6) else other
    g.add(getattr(relay, g.one_of(BINARY))(*((a, b) if g.chance(0.5) else (b, a))))


def reshape(g):
    x, shape, _ = g.pick()
    g.add(relay.reshape(x, (shape[0], -1) if shape and g.chance(0.5) else (-1,)))


def transpose(g):
    x, shape, _ = g.pick(is_array)
    g.add(relay.transpose(x, [int(i) for i in g.rng.permutation(len(shape))]))


def split(g):
    x, shape, _ = g.pick(lambda shape, dtype: any(d > 1 for d in shape))
    axis = g.one_of([i for i, d in enumerate(shape) if d > 1])
    even = g.one_of([n for n in range(2, shape[axis] + 1) if shape[axis] % n == 0])
    at = sorted({g.number(1, shape[axis]) for _ in range(2)})
    g.add(relay.split(x, even if g.chance(0.5) else at, axis).astuple())


def concatenate(g):
    x, shape, dtype = g.pick(is_array)
    g.add(relay.concatenate([x, g.like(shape, dtype)], g.axis(shape)))


def stack(g):
    x, shape, _ = g.pick(lambda shape, dtype: is_float(shape, dtype) and len(shape) < 4)
    g.add(relay.stack([x, g.like(shape)], g.number(0, len(shape) + 1)))


def reduce(g):
    x, shape, _ = g.pick(is_array)
    op = getattr(relay, g.one_of(REDUCE))
    g.add(op(x, axis=g.axis(shape), keepdims=g.chance(0.5)))


def argmax(g):
    x, shape, _ = g.pick(is_array)
    g.add(relay.argmax(x, axis=g.axis(shape)))


def softmax(g):
    x, shape, _ = g.pick(is_array)
    op = relay.nn.softmax if g.chance(0.7) else relay.nn.log_softmax
    g.add(op(x, axis=g.axis(shape)))


def dense(g):
    x, shape, _ = g.pick(has_dims(2))
    g.add(relay.nn.dense(x, g.const((g.number(1, 9), shape[1]))))


def batch_matmul(g):
    x, shape, _ = g.pick(has_dims(3))
    fits = lambda s, t: has_dims(3)(s, t) and (s[0], s[2]) == (shape[0], shape[2])  # noqa: E731
    g.add(relay.nn.batch_matmul(x, g.pick(fits)[0]))


def conv2d(g):
    x, shape, _ = g.pick(has_dims(4))
    groups, size, stride = g.one_of([1, 1, shape[1]]), g.one_of([1, 3]), g.number(1, 3)
    out = groups * g.number(1, 4) if groups > 1 else g.number(1, 18)
    y = relay.nn.conv2d(
        x,
        g.const((out, shape[1] // groups, size, size)),
        channels=out,
        kernel_size=(size, size),
        padding=(size // 2, size // 2),
        strides=(stride, stride),
        groups=groups,
    )
    y = relay.nn.bias_add(y, g.const((out,))) if g.chance(0.5) else y
    y = relay.multiply(y, g.const((out, 1, 1))) if g.chance(0.3) else y
    g.add(batch_norm_of(g, y, out, 1) if g.chance(0.3) else y)


def batch_norm_of(g, x, channels, axis):
    scale, shift, mean = (g.const((channels,)) for _ in range(3))
    variance = g.positive(channels)
    norm = relay.nn.batch_norm(x, scale, shift, mean, variance, axis=axis)
    return relay.TupleGetItem(norm.astuple(), 0)


def normalize(g):
    x, shape, _ = g.pick(is_array)
    n = shape[-1]
    layer = relay.nn.layer_norm(x, g.const((n,)), g.const((n,)))
    g.add(batch_norm_of(g, x, n, len(shape) - 1) if g.chance(0.5) else layer)


def pool(g):
    x, _, _ = g.pick(lambda s, t: has_dims(4)(s, t) and min(s[2:]) >= 3)
    op = g.one_of([relay.nn.max_pool2d, relay.nn.avg_pool2d])
    g.add(op(x, (3, 3), strides=(g.number(1, 3),) * 2, padding=(1, 1)))


def whole_images(g):
    ops = (
        relay.nn.global_avg_pool2d,
        relay.nn.batch_flatten,
        lambda x: relay.nn.adaptive_avg_pool2d(x, (2, 2)),
        lambda x: relay.nn.upsampling(x, 2, 2),
    )
    g.add(g.one_of(ops)(g.pick(has_dims(4))[0]))


def take(g):
    x, shape, _ = g.pick(is_array)
    axis = g.axis(shape)
    which = g.rng.integers(0, shape[axis], g.number(1, 4)).astype("int32")
    g.add(relay.take(x, relay.const(which), axis=axis))


def strided_slice(g):
    x, shape, _ = g.pick(is_array)
    begin = [g.number(0, d) for d in shape]
    end = [g.number(b + 1, d + 1) for b, d in zip(begin, shape, strict=True)]
    g.add(relay.strided_slice(x, begin, end, [g.number(1, 3) for _ in shape]))


def where(g):
    x, _, _ = g.pick(is_float)
    other = relay.zeros_like(x) if g.chance(0.5) else relay.const(2.0)
    g.add(relay.where(relay.greater(x, relay.const(0.1)), x, other))


def cast(g):
    x, _, dtype = g.pick()
    g.add(relay.cast(x, "int32" if dtype == "float32" else "float32"))


def pad(g):
    x, shape, _ = g.pick(is_array)
    g.add(relay.nn.pad(x, [(g.number(0, 3), g.number(0, 3)) for _ in shape], pad_value=1.5))


def topk(g):
    x, _, _ = g.pick(lambda shape, dtype: is_array(shape, dtype) and shape[-1] > 1)
    g.add(relay.topk(x, 2, axis=-1, ret_type="both").astuple())


def dims(g):
    x, shape, _ = g.pick(lambda shape, dtype: len(shape) < 4)
    squeeze = 1 in shape and g.chance(0.5)
    at = shape.index(1) if squeeze else g.number(0, len(shape) + 1)
    g.add(relay.squeeze(x, [at]) if squeeze else relay.expand_dims(x, at))


STEPS = (unary, unary, relu, binary, binary, binary, reshape, transpose, split, concatenate, stack)
STEPS += (reduce, argmax, softmax, dense, batch_matmul, conv2d, conv2d, conv2d, normalize, pool)
STEPS += (whole_images, take, strided_slice, where, cast, pad, topk, dims)


def make(seed, most=MAX_STEPS):
    """A module and its arguments as numpy arrays; of its steps only the first `most`."""
    g = Graph(seed)
    for _ in range(min(most, g.number(1, MAX_STEPS + 1))):
        try:
            g.one_of(STEPS)(g)
        except NoSuchValue:
            pass
    last = g.values[-6:]
    results = [g.one_of(last)[0] for _ in range(g.number(1, 4))]
    body = results[0] if len(results) == 1 else relay.Tuple(results)
    if len(results) == 3:
        body = relay.Tuple([relay.Tuple(results[:2]), results[2]])
    return tenon.IRModule.from_expr(relay.Function(g.params, body)), g.args


def flat(value):
    if hasattr(value, "numpy"):
        return [value.numpy()]
    return [x for field in value for x in flat(field)]


def run(kind, level, mod, args):
    """What an executor makes of a program, as a list of numpy arrays."""
    with tenon.transform.PassContext(opt_level=level):
        executor = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm")
        return flat(executor.evaluate()(*args))


def reference(mod, args):
    """What the interpreter makes of it without any optimisation; None where numbers are too large
    to be compared."""
    values = run("debug", 0, mod, args)
    floats = [v for v in values if v.dtype == np.float32]
    return values if all(np.isfinite(v).all() and np.abs(v).max() < 1e6 for v in floats) else None


def check(got, want, level):
    """Floats within a tolerance. Near a step, integers may differ in a few places."""
    assert [(v.shape, v.dtype) for v in got] == [(v.shape, v.dtype) for v in want]
    for a, b in zip(got, want, strict=True):
        if b.dtype == np.float32:
            rough = 2e-2 if level == 4 else 2e-4
            np.testing.assert_allclose(a, b, rtol=0, atol=rough * max(1, np.abs(b).max()))
        else:
            assert np.mean(a != b) <= 0.34


EXECUTORS = (("graph", 3), ("vm", 3), ("graph", 0), ("aot", 3), ("vm", 1), ("graph", 4))


def check_all(seed, most=MAX_STEPS):
    """All executors on one program."""
    mod, args = make(seed, most)
    want = reference(mod, args)
    if want is None:
        return "too large to compare"
    for kind, level in EXECUTORS:
        try:
            check(run(kind, level, mod, args), want, level)
        except Exception as e:
            e.add_note(f"in executor {kind} at level {level}")
            raise
    return "compared"


def shrink(seed):
    """The program of the fewest steps that fails."""
    for most in range(1, MAX_STEPS + 1):
        try:
            check_all(seed, most)
        except Exception as e:
            return f"{most} steps: {type(e).__name__}: {e}\n{make(seed, most)[0].astext(False)}"
    return "it does not fail again"


if __name__ == "__main__":
    sys.exit(endless.main(check_all, shrink))
