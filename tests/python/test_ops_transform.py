"""Operators that move, choose, repeat and fill: types, values, shape functions, errors."""

import numpy as np
import pytest
from op_cases import check, rand, result_type
from tenon import relay
from tenon.error import DiagnosticError

ANY = relay.Any()


def shape_of_type(t):
    return [d if isinstance(d, relay.Any) else int(d) for d in t.shape]


def test_cast_and_clip():
    x = rand(3, 4, low=-9, high=9)
    check(lambda a: relay.cast(a, "int32"), lambda a: a.astype("int32"), x)
    check(lambda a: relay.cast(a, dtype="bool"), lambda a: a.astype("bool"), x)
    check(
        lambda a, b: relay.cast_like(a, b), lambda a, b: a.astype("int8"), x, rand(2, dtype="int8")
    )
    check(lambda a: relay.clip(a, -1.5, 2.5), lambda a: np.clip(a, -1.5, 2.5), x)
    check(
        lambda a: relay.clip(a, a_min=-1, a_max=6), lambda a: np.clip(a, -1, 6), x.astype("int32")
    )
    u = np.arange(8, dtype="uint8") * 32
    check(lambda a: relay.clip(a, -5, 1e9), lambda a: a, u)


def test_where_broadcasts():
    c = rand(2, 1, dtype="bool")
    check(relay.where, np.where, c, rand(3), rand(2, 3, seed=1))
    check(
        relay.where, lambda a, b, d: np.where(a != 0, b, d), np.arange(3), rand(3), rand(3, seed=2)
    )
    with pytest.raises(DiagnosticError, match="same dtype"):
        result_type(
            relay.where,
            relay.TensorType((2,), "bool"),
            relay.TensorType((2,)),
            relay.TensorType((2,), "int32"),
        )


@pytest.mark.parametrize("axes", [None, (0, 2, 1), (-1, 0, 1)])
def test_transpose(axes):
    check(lambda a: relay.transpose(a, axes), lambda a: np.transpose(a, axes), rand(2, 3, 4))


def test_transpose_errors():
    t = relay.TensorType((2, 3))
    with pytest.raises((DiagnosticError, ValueError), match="Duplicate axes"):
        result_type(lambda a: relay.transpose(a, (0, 0)), t)
    with pytest.raises((DiagnosticError, ValueError), match="Dimension mismatch"):
        result_type(lambda a: relay.transpose(a, (0,)), t)


def test_squeeze_and_expand_dims():
    x = rand(2, 1, 3, 1)
    check(lambda a: relay.squeeze(a), np.squeeze, x)
    check(lambda a: relay.squeeze(a, axis=[1]), lambda a: a.squeeze(1), x)
    check(lambda a: relay.squeeze(a, axis=[-1, 1]), np.squeeze, x)
    check(lambda a: relay.expand_dims(a, 1), lambda a: a[:, None], x)
    check(lambda a: relay.expand_dims(a, axis=-1, num_newaxis=2), lambda a: a[..., None, None], x)
    with pytest.raises((DiagnosticError, ValueError), match="only axes of extent 1"):
        result_type(lambda a: relay.squeeze(a, axis=[0]), relay.TensorType((2, 1)))
    t = result_type(lambda a: relay.expand_dims(a, 0), relay.TensorType((ANY, 2)))
    assert shape_of_type(t)[0] == 1 and shape_of_type(t)[2] == 2


def test_reverse():
    check(lambda a: relay.reverse(a, axis=-1), lambda a: a[..., ::-1], rand(2, 3))


@pytest.mark.parametrize("parts", [2, (1, 4)])
def test_split(parts):
    def make(a):
        return relay.split(a, parts, axis=1).tuple_value

    want = parts if isinstance(parts, int) else list(parts)
    check(make, lambda a: np.split(a, want, axis=1), rand(2, 6))


def test_split_gives_fields():
    wrapper = relay.split(relay.var("x", shape=(2, 6)), 3, axis=1)
    assert len(wrapper) == 3 and isinstance(wrapper[0], relay.TupleGetItem)
    with pytest.raises((DiagnosticError, ValueError), match="divide"):
        result_type(lambda a: relay.split(a, 4, axis=1).tuple_value, relay.TensorType((2, 6)))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stack(axis):
    def make(a):
        return relay.stack(a, axis)

    check(make, lambda a: np.stack(a, axis), [rand(2, 3), rand(2, 3, seed=1), rand(2, 3, seed=2)])


def test_tile_and_repeat():
    x = rand(2, 3)
    check(lambda a: relay.tile(a, reps=(2, 1, 2)), lambda a: np.tile(a, (2, 1, 2)), x)
    check(lambda a: relay.tile(a, (2,)), lambda a: np.tile(a, 2), x)
    check(lambda a: relay.repeat(a, repeats=3, axis=-1), lambda a: np.repeat(a, 3, -1), x)
    with pytest.raises((DiagnosticError, ValueError), match="-3 repeats"):
        result_type(lambda a: relay.tile(a, (-3,)), relay.TensorType((2,)))


def test_fill():
    check(
        lambda a: relay.broadcast_to(a, (4, 2, 3)),
        lambda a: np.broadcast_to(a, (4, 2, 3)),
        rand(2, 1),
    )
    check(relay.broadcast_to_like, lambda a, b: np.broadcast_to(a, b.shape), rand(3), rand(2, 3))
    check(lambda: relay.zeros((2, 3), "float32"), lambda: np.zeros((2, 3)))
    check(lambda: relay.ones((2,), "int32"), lambda: np.ones(2))
    one = np.float32(7)
    check(lambda v: relay.full(v, (2, 2), "int32"), lambda v: np.full((2, 2), v), np.asarray(one))
    check(relay.full_like, np.full_like, rand(2, 3), np.asarray(one))
    with pytest.raises(DiagnosticError, match="does not fit"):
        result_type(lambda a: relay.broadcast_to(a, (3, 4)), relay.TensorType((3, 3)))


def test_shape_of():
    check(relay.shape_of, lambda a: np.array(a.shape), rand(2, 5, 3))
    check(lambda a: relay.ndarray_size(a, "int64"), lambda a: np.asarray(a.size), rand(2, 5, 3))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("mode", ["clip", "wrap", "fast"])
def test_take(axis, mode):
    i = np.array([[0, 2], [1, 1]], "int32")
    check(
        lambda a, b: relay.take(a, b, axis=axis, mode=mode),
        lambda a, b: np.take(a, b, axis),
        rand(3, 4),
        i,
    )


def test_take_out_of_range_and_batches():
    i = np.array([-7, 5], "int64")
    check(lambda a, b: relay.take(a, b, axis=0), lambda a, b: a[[0, 2]], rand(3, 2), i)
    check(lambda a, b: relay.take(a, b, axis=0, mode="wrap"), lambda a, b: a[[2, 2]], rand(3, 2), i)
    j = np.array([[0, 1], [2, 2]], "int32")
    check(
        lambda a, b: relay.take(a, b, axis=1, batch_dims=1),
        lambda a, b: np.stack([a[k, b[k]] for k in range(2)]),
        rand(2, 3, 2),
        j,
    )


def test_gather():
    i = np.array([[0, -1], [1, 0]], "int32")
    check(
        lambda a, b: relay.gather(a, 1, b),
        lambda a, b: np.take_along_axis(a, b, 1),
        rand(2, 3),
        i,
    )
    k = np.array([[0, 1], [1, 0]], "int64")
    check(relay.gather_nd, lambda a, b: a[tuple(b)], rand(2, 2, 3), k)


def test_one_hot():
    i = np.array([0, 2, 1], "int32")
    on, off = np.asarray(np.float32(1)), np.asarray(np.float32(0))
    check(
        lambda a, b, c: relay.one_hot(a, b, c, 4, -1, "float32"),
        lambda a, b, c: np.eye(4)[a],
        i,
        on,
        off,
    )
    check(
        lambda a, b, c: relay.one_hot(a, b, c, 4, 0, "float32"),
        lambda a, b, c: np.eye(4)[a].T,
        i,
        on,
        off,
    )


@pytest.mark.parametrize(
    "begin, end, strides, index",
    [
        ([1, 0], [3, 2], None, np.s_[1:3, 0:2]),
        ([-2, 1], [9, -1], [1, 1], np.s_[-2:9, 1:-1]),
        ([4, 3], [0, 0], [-2, -1], np.s_[4:0:-2, 3:0:-1]),
        ([-1], [-9], [-1], np.s_[-1::-1]),
        ([0], [5], [2], np.s_[0:5:2]),
        ([3], [1], None, np.s_[3:1]),
    ],
)
def test_strided_slice(begin, end, strides, index):
    check(lambda a: relay.strided_slice(a, begin, end, strides), lambda a: a[index], rand(5, 4))


def test_slices_by_size_and_axes():
    x = rand(5, 4)
    check(
        lambda a: relay.strided_slice(a, [1, 2], [2, -1], slice_mode="size"),
        lambda a: a[1:3, 2:],
        x,
    )
    check(lambda a: relay.strided_slice(a, [1], [3], axes=[-1]), lambda a: a[:, 1:3], x)
    check(relay.slice_like, lambda a, b: a[:2, :3], x, rand(2, 3))
    t = result_type(
        lambda a: relay.strided_slice(a, [0, 0], [2**31, 2]), relay.TensorType((ANY, 4))
    )
    assert isinstance(t.shape[0], relay.Any) and int(t.shape[1]) == 2
    with pytest.raises((DiagnosticError, ValueError), match="stride"):
        result_type(lambda a: relay.strided_slice(a, [0], [1], [0]), relay.TensorType((3,)))


def test_arange_type():
    call = relay.arange(1, 10, 4, dtype="int32")
    t = result_type(lambda *a: call, *[relay.TensorType((), "int32")] * 3)
    assert shape_of_type(t) == [3]
