"""Extents of results: computed without wrapping around, and refused where they cannot be."""

import numpy as np
import pytest
import tenon
from op_cases import result_type, shapes
from tenon import relay

BIG = 2**62
IMAGE = relay.TensorType((1, 4, 6, 6))


def refused(make, *types, match):
    with pytest.raises((tenon.TVMError, ValueError), match=match):
        result_type(make, *types)


TOO_LARGE = {
    "nn.pad": (
        lambda x, v: relay.nn.pad(x, [[0, 0]] * 3 + [[BIG, BIG]], v),
        [IMAGE, relay.TensorType(())],
    ),
    "nn.mirror_pad": (lambda x: relay.nn.mirror_pad(x, [[0, 0]] * 3 + [[2**63 - 1] * 2]), [IMAGE]),
    "repeat": (lambda x: relay.repeat(x, BIG, 1), [IMAGE]),
    "tile": (lambda x: relay.tile(x, (1, BIG, 1, 1)), [IMAGE]),
    "nn.upsampling": (lambda x: relay.nn.upsampling(x, BIG, BIG), [IMAGE]),
    "full": (lambda x: relay.full(x, (2**40, 2**40)), [relay.TensorType(())]),
    "broadcast_to": (lambda x: relay.broadcast_to(x, (2**40, 2**40)), [relay.TensorType(())]),
    "image.resize2d": (lambda x: relay.image.resize2d(x, (2**40, 2**40)), [IMAGE]),
    "concatenate": (
        lambda *x: relay.concatenate(x, 0),
        [relay.TensorType((BIG,), "int8")] * 4,
    ),
    "nn.conv2d": (
        lambda x, w: relay.nn.conv2d(x, w, padding=(BIG, BIG)),
        [IMAGE, relay.TensorType((1, 4, 3, 3))],
    ),
    "nn.max_pool2d": (lambda x: relay.nn.max_pool2d(x, (2, 2), padding=(BIG, BIG)), [IMAGE]),
    "nn.depth_to_space": (lambda x: relay.nn.depth_to_space(x, 2**31), [IMAGE]),
    "nn.dilate": (lambda x: relay.nn.dilate(x, (1, 1, 1, BIG)), [IMAGE]),
    "one_hot": (
        lambda i, a, b: relay.one_hot(i, a, b, BIG, -1, "int8"),
        [relay.TensorType((4,), "int32"), relay.TensorType(()), relay.TensorType(())],
    ),
    "expand_dims": (lambda x: relay.expand_dims(x, 0, 2**63 - 1), [IMAGE]),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_what_does_not_fit_64_bits(name):
    make, types = TOO_LARGE[name]
    refused(make, *types, match=name)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda x: relay.full(x, (-3, 2)), ()),
        (lambda x: relay.broadcast_to(x, (-3, 2)), ()),
        (lambda x: relay.nn.mirror_pad(x, [[-5, 0]]), (3,)),
        (lambda: relay.zeros((-3,), "float32"), None),
    ],
)
def test_negative_extents_are_named(make, shape):
    types = [] if shape is None else [relay.TensorType(shape)]
    refused(make, *types, match="the result would have the extent -[23] along axis 0")


@pytest.mark.parametrize(
    ("make", "fits", "not_"),
    [
        (lambda x: relay.nn.space_to_depth(x, 2), (1, 1, 4, 6), (1, 1, 3, 6)),
        (lambda x: relay.nn.depth_to_space(x, 2), (1, 8, 3, 3), (1, 5, 3, 3)),
        (lambda x: relay.layout_transform(x, "NCHW", "NCHW4c"), (1, 8, 3, 3), (1, 5, 3, 3)),
        (
            lambda x: relay.nn.space_to_batch_nd(x, [2, 2], [[0, 0], [0, 0]]),
            (1, 4, 6, 1),
            (1, 3, 6, 1),
        ),
        (
            lambda x: relay.nn.batch_to_space_nd(x, [2, 2], [[0, 0], [0, 0]]),
            (4, 3, 5, 1),
            (5, 3, 5, 1),
        ),
    ],
)
def test_extents_that_do_not_divide(make, fits, not_):
    refused(make, relay.TensorType(not_), match="divi")
    x = relay.var("x", relay.TensorType([relay.Any()] * 4))
    run = relay.create_executor("vm", tenon.IRModule.from_expr(relay.Function([x], make(x))))
    run = run.evaluate()
    run(np.zeros(fits, "float32"))
    with pytest.raises(tenon.TVMError, match="do not fit"):
        run(np.zeros(not_, "float32"))


def test_windows_that_do_not_fit():
    def make(x):
        return relay.nn.max_pool2d(x, (9, 9))

    refused(
        make, IMAGE, match="nn.max_pool2d: a window of 9 elements does not fit into .* 6 with 0"
    )
    x = relay.var("x", relay.TensorType([relay.Any()] * 4))
    run = relay.create_executor("vm", tenon.IRModule.from_expr(relay.Function([x], make(x))))
    with pytest.raises(tenon.TVMError, match="do not fit"):
        run.evaluate()(np.zeros((1, 1, 6, 6), "float32"))


FAR = [
    0,
    1,
    -1,
    3,
    -3,
    9,
    10,
    11,
    -10,
    -11,
    2**31 - 1,
    -(2**31),
    2**32 + 1,
    BIG,
    2**63 - 1,
    -(2**63),
]


@pytest.mark.parametrize("seed", range(4))
def test_slices_with_bounds_and_steps_far_away(seed):
    rng = np.random.default_rng(seed)
    x = np.arange(10, dtype="float32")
    var = relay.var("x", shape=(10,))
    dynamic = relay.var("x", relay.TensorType((relay.Any(),)))
    numbers = [relay.var(n, shape=(1,), dtype="int64") for n in "bes"]
    run = relay.create_executor(
        "vm",
        tenon.IRModule.from_expr(
            relay.Function([var, *numbers], relay.strided_slice(var, *numbers))
        ),
    ).evaluate()
    for k in range(40):
        b, e, s = (int(rng.choice(FAR)) for _ in range(3))
        s = s or 1
        want = x[b:e:s]
        made = relay.strided_slice(var, [b], [e], [s])
        static = result_type(lambda _, c=made: c, var.type_annotation)
        assert tuple(static.concrete_shape) == want.shape, (b, e, s)
        np.testing.assert_array_equal(
            run(x, *[np.array([v], "int64") for v in (b, e, s)]).numpy(), want
        )
        if k < 4:
            f = relay.Function([dynamic], relay.strided_slice(dynamic, [b], [e], [s]))
            got = relay.create_executor("vm", tenon.IRModule.from_expr(f)).evaluate()(x).numpy()
            np.testing.assert_array_equal(got, want)


def test_shape_functions_agree_with_types():
    assert shapes(lambda x: relay.nn.dilate(x, (3,)), np.zeros(0, "float32")) == [(0,)]


def test_results_without_elements_are_not_divided_by_anything():
    for make, shape, want in [
        (lambda x: relay.tile(x, (2, 2)), (0, 4), (0, 8)),
        (lambda x: relay.image.resize2d(x, (0, 3)), (1, 1, 4, 4), (1, 1, 0, 3)),
        (lambda x: relay.reshape(x, (0, -1)), (0, 4), (0, 4)),
        (lambda x: relay.reshape(x, (4, 0), allowzero=True), (0, 4), (4, 0)),
    ]:
        for level in (0, 3):
            x = relay.var("x", shape=shape)
            with tenon.transform.PassContext(opt_level=level):
                run = relay.create_executor(
                    "graph", tenon.IRModule.from_expr(relay.Function([x], make(x)))
                ).evaluate()
            assert run(np.zeros(shape, "float32")).numpy().shape == want


# ---- numbers of a run whose products and sums leave 64 bits, so that a small one is left ----


@pytest.mark.parametrize("executor", ["vm", "debug"])
@pytest.mark.parametrize("reps", [(1, 2**62 + 1), (2**63 - 1, 1), (3, -1)])
def test_repeats_of_a_run_do_not_wrap(executor, reps):
    x, n = relay.var("x", shape=(3, 4)), relay.var("n", shape=(2,), dtype="int64")
    run = relay.create_executor(
        executor, mod=tenon.IRModule.from_expr(relay.Function([x, n], relay.tile(x, n)))
    ).evaluate()
    with pytest.raises(ValueError, match="do not fit together"):
        run(np.ones((3, 4), "float32"), np.array(reps))
    assert run(np.ones((3, 4), "float32"), np.array([2, 3])).shape == (6, 12)


@pytest.mark.parametrize("executor", ["vm", "debug"])
def test_borders_of_a_run_do_not_wrap(executor):
    x, width = relay.var("x", shape=(3, 4)), relay.var("width", shape=(2, 2), dtype="int64")
    run = relay.create_executor(
        executor, mod=tenon.IRModule.from_expr(relay.Function([x, width], relay.nn.pad(x, width)))
    ).evaluate()
    with pytest.raises(ValueError, match="do not fit together"):
        run(np.ones((3, 4), "float32"), np.array([[2**63 - 1, 2**63 - 1], [0, 0]]))
    assert run(np.ones((3, 4), "float32"), np.array([[1, 0], [-1, 2]])).shape == (4, 5)


@pytest.mark.parametrize("executor", ["vm", "debug"])
@pytest.mark.parametrize(
    "make", [lambda x, n: relay.tile(x, (n,)), lambda x, n: relay.repeat(x, n, 0)]
)
@pytest.mark.parametrize("n", [2**62, 2**62 + 1, 2**63 - 1])
def test_open_extents_times_large_numbers(executor, make, n):
    x = relay.var("x", shape=(relay.Any(),))
    run = relay.create_executor(
        executor, mod=tenon.IRModule.from_expr(relay.Function([x], make(x, n)))
    ).evaluate()
    with pytest.raises(ValueError, match="fit"):
        run(np.ones(4, "float32"))
    assert run(np.ones(0, "float32")).shape == (0,)


@pytest.mark.parametrize("executor", ["vm", "debug"])
@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_ranges_whose_step_is_zero_in_a_run(executor, dtype):
    """Written in the program it is an error; of a run it has no elements."""
    parts = [relay.var(name, shape=(), dtype=dtype) for name in ("start", "stop", "step")]
    run = relay.create_executor(
        executor,
        mod=tenon.IRModule.from_expr(relay.Function(parts, relay.arange(*parts, dtype=dtype))),
    ).evaluate()
    assert run(*(np.array(v, dtype) for v in (0, 5, 0))).shape == (0,)
    np.testing.assert_array_equal(run(*(np.array(v, dtype) for v in (0, 5, 2))).numpy(), [0, 2, 4])
