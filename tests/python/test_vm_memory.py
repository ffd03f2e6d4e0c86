"""Memory that tensors of a function share, one after the other."""

import re

import numpy as np
import pytest
import tenon
from tenon import relay


def chain(sizes, result=lambda values: values[-1]):
    """Products one after the other: values of (2, n) for each size; opaque to fusion."""
    rng = np.random.default_rng(0)
    x = relay.var("x", shape=(2, sizes[0]))
    values = [x]
    for before, after in zip(sizes, sizes[1:], strict=False):
        weight = relay.const(rng.standard_normal((after, before)).astype("float32"))
        values.append(relay.nn.dense(values[-1], weight))
    return tenon.IRModule.from_expr(relay.Function([x], result(values)))


def storages(mod, target="llvm"):
    """Sizes of the storages that the bytecode allocates, in order."""
    text = relay.vm.compile(mod, target).bytecode
    sizes, numbers = [], {}
    for line in text.splitlines():
        if found := re.search(r"load_consti \$(\d+) (\d+)", line):
            numbers[found[1]] = int(found[2])
        if found := re.search(r"alloc_storage \$\d+ \$(\d+)", line):
            sizes.append(numbers[found[1]])
    return sizes


def agree(mod, *args):
    def run(kind):
        got = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm").evaluate()
        got = got(*args)
        many = isinstance(got, tenon.runtime.container.ADT) or isinstance(got, tuple | list)
        return [g.numpy() for g in got] if many else [got.numpy()]

    for got, want in zip(run("vm"), run("debug"), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


X = np.random.default_rng(1).standard_normal((2, 8)).astype("float32")


def test_two_storages_take_turns():
    mod = chain([8] * 8)
    assert storages(mod) == [64, 64, 64]  # two in turns, and the result's own
    agree(mod, X)


def test_planning_can_be_left_out():
    mod = chain([8] * 8)
    with tenon.transform.PassContext(opt_level=3, disabled_pass=["MemoryPlan"]):
        assert storages(mod) == [64] * 7


def test_lifetimes_are_explicit():
    """What the last call before the end does not use was given up before."""
    text = relay.vm.compile(chain([8] * 8), "llvm").bytecode
    alive = set()
    for line in text.splitlines():
        if found := re.search(r"# (alloc_storage|alloc_tensor|load_const) \$(\d+)", line):
            assert found[2] not in alive
            alive.add(found[2])
        if found := re.search(r"# kill_register \$(\d+)", line):
            alive.discard(found[1])
    last = [line for line in text.splitlines() if "# invoke_packed" in line][-1]
    assert alive == set(re.findall(r"\$(\d+)", last))


def test_a_storage_grows_to_its_largest_tensor():
    mod = chain([8, 4, 4, 32, 4, 16, 8])
    assert sorted(storages(mod)) == [32, 64, 256]
    agree(mod, X)


def test_what_is_returned_keeps_its_memory():
    mod = chain([8] * 6, lambda values: relay.Tuple(values[1:]))
    assert storages(mod) == [64] * 5
    agree(mod, X)


def test_what_is_looked_at_under_another_shape_keeps_its_memory():
    mod = chain([8] * 6, lambda values: relay.Tuple([relay.reshape(values[1], (16,)), values[-1]]))
    agree(mod, X)
    assert "reshape_tensor" in relay.vm.compile(mod, "llvm").bytecode
    assert storages(mod) == [64] * 4  # the first and the last of their own, two in turns


def test_branches_share_nothing_with_each_other():
    x, c = relay.var("x", shape=(2, 8)), relay.var("c", shape=(), dtype="bool")
    weights = [
        relay.const(np.random.default_rng(i).standard_normal((8, 8)).astype("float32"))
        for i in range(4)
    ]

    def products(value, n):
        for weight in weights[:n]:
            value = relay.nn.dense(value, weight)
        return value

    before = products(x, 2)
    body = relay.If(c, products(before, 4), products(before, 1))
    mod = tenon.IRModule.from_expr(relay.Function([x, c], products(body, 3)))
    for value in (True, False):
        agree(mod, X, np.array(value))


@pytest.mark.parametrize("seed", range(8))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    x = relay.var("x", shape=(2, 8))
    values = [x]
    for _ in range(25):
        a, b = (values[int(i)] for i in rng.integers(max(0, len(values) - 6), len(values), 2))
        weight = relay.const((rng.standard_normal((8, 8)) / 3).astype("float32"))
        kind = rng.integers(5)
        if kind == 0:
            values.append(relay.tanh(relay.nn.dense(a, weight)))
        elif kind == 1:
            values.append(relay.nn.softmax(relay.add(a, b)))
        elif kind == 2:
            values.append(relay.nn.dense(relay.reshape(relay.reshape(a, (16,)), (2, 8)), weight))
        elif kind == 3:
            values.append(relay.nn.dense(relay.concatenate((a, b), 0), weight))
            values[-1] = relay.strided_slice(values[-1], [1, 0], [3, 8])
        else:
            parts = relay.split(relay.nn.dense(a, weight), 2, axis=1)
            values.append(relay.concatenate((parts[1], parts[0]), 1))
    picked = [values[int(i)] for i in rng.integers(0, len(values), 3)]
    agree(tenon.IRModule.from_expr(relay.Function([x], relay.Tuple([*picked, values[-1]]))), X)
