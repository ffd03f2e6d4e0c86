"""Rules of random_operators.py (operator_calls.py): random numbers from keys."""

import numpy as np
from operator_calls import Call, rule, said
from tenon import relay


def key(g):
    """Of any state: fresh, deep in a path, with a counter or a path that is used up."""
    words = g.rng.integers(0, 2**64, 10, dtype="uint64")
    words[6] = 0
    words[7] = g.one_of([0, 8, 2**40, 2**64 - 9, 2**64 - 1])
    words[8:] = g.one_of([(1 << 63, 0), (1 << 20, 0), (1, 0), (0, 1 << 63), (0, 1), (0, 0)])
    return words


@rule("random.threefry_generate")
def generate(g, name):
    shape = g.shape()
    f = lambda k: relay.random.threefry_generate(k, shape).tuple_value  # noqa: E731
    return Call(f, key(g), text=said(out_shape=shape))


@rule("random.threefry_split")
def split(g, name):
    return Call(lambda k: relay.random.threefry_split(k).tuple_value, key(g))


@rule("random.uniform", "random.normal")
def floats(g, name):
    shape, dtype = g.shape(), g.dtype(["float32", "float64"])
    f = getattr(relay.random, name.split(".")[1])
    return Call(
        lambda k, a, b: f(k, shape, dtype, a, b).tuple_value,
        key(g),
        *[np.asarray(g.array([], dtype)) for _ in range(2)],
        loose=True,
        text=said(out_shape=shape, out_dtype=dtype),
    )


@rule("random.multinomial")
def multinomial(g, name):
    shape, n = [max(d, 1) if i == 0 else d for i, d in enumerate(g.shape(1)[::-1])][::-1], 3
    probs = g.array(shape, g.dtype(["float32", "float64", "float16"]), special=True)
    f = lambda k, p: relay.random.multinomial(k, p, n).tuple_value  # noqa: E731
    return Call(f, key(g), probs, text=said(num_samples=n))
