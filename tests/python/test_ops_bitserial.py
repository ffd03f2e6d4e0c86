"""Products of integers of a few bits, and what packs these: against numpy."""

import numpy as np
import pytest
import tenon
from op_cases import check, result_type
from tenon import relay

RNG = np.random.default_rng(7)


def packed(x, bits, axis, bit_axis, word):
    """Bit planes along a new axis; the first element of a word is its highest bit."""
    width = np.iinfo(word).bits
    x = np.moveaxis(x, axis, -1)
    x = x.reshape(*x.shape[:-1], -1, width)
    weights = 2 ** np.arange(width - 1, -1, -1, dtype="uint64")
    planes = [((x >> b & 1).astype("uint64") * weights).sum(-1).astype(word) for b in range(bits)]
    return np.stack([np.moveaxis(p, -1, axis) for p in planes], bit_axis)


def meant(w, bits, unipolar):
    w = w.astype("int64") & (2**bits - 1)
    return 2 * w - (2**bits - 1) if unipolar else w


@pytest.mark.parametrize("word", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("bits, axis, bit_axis", [(1, 1, 2), (3, 0, 0), (8, -1, -1)])
def test_bitpack(word, bits, axis, bit_axis):
    shape = [2, 3, 2]
    shape[axis] *= np.iinfo(word).bits
    x = RNG.integers(-300, 300, shape).astype("int16")
    check(
        lambda x: relay.nn.bitpack(x, bits, axis, bit_axis, word),
        lambda x: packed(x, bits, axis % 3, bit_axis % 4, word),
        x,
    )


@pytest.mark.parametrize("unipolar", [False, True])
@pytest.mark.parametrize("bits, words", [((1, 1), False), ((2, 3), False), ((3, 2), True)])
def test_bitserial_dense(unipolar, bits, words):
    x = RNG.integers(0, 8, (3, 32)).astype("int16")
    w = RNG.integers(0, 8, (5, 32)).astype("int16")
    data_bits, weight_bits = bits
    given = packed(w, weight_bits, 1, 1, "uint16") if words else w
    check(
        lambda x, w: relay.nn.bitserial_dense(
            x, w, 5, data_bits, weight_bits, "uint16", "int32", unipolar
        ),
        lambda x, _: (
            (x & (2**data_bits - 1)) @ meant(w, weight_bits, unipolar).T.astype("int32")
        ).astype("int32"),
        x,
        given,
    )


def test_as_many_bits_as_the_type_has():
    x = RNG.integers(-128, 128, (3, 16)).astype("int8")
    w = RNG.integers(-128, 128, (5, 16)).astype("int8")
    check(
        lambda x, w: relay.nn.bitserial_dense(x, w, 5, 8, 8, out_dtype="int32", unipolar=False),
        lambda x, w: (x.astype("int32") & 255) @ (w.astype("int32") & 255).T,
        x,
        w,
    )


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("unipolar", [False, True])
@pytest.mark.parametrize("words", [False, True])
def test_bitserial_conv2d(layout, unipolar, words):
    x = RNG.integers(0, 4, (1, 8, 5, 6)).astype("int8")
    w = RNG.integers(0, 4, (4, 8, 3, 2)).astype("int8")
    kernel = "OIHW"
    if layout == "NHWC":
        x, w, kernel = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0), "HWIO"
    how = {"strides": (2, 1), "padding": (1, 1), "channels": 4, "kernel_size": (3, 2)}
    plain = relay.nn.conv2d(
        relay.const(x.astype("int32") & 3),
        relay.const(meant(w, 2, unipolar).astype("int32")),
        data_layout=layout,
        kernel_layout=kernel,
        **how,
    )
    want = relay.create_executor("debug", target="stackvm").evaluate(plain).numpy()
    check(
        lambda x, w: relay.nn.bitserial_conv2d(
            x,
            w,
            activation_bits=2,
            weight_bits=2,
            data_layout=layout,
            kernel_layout=kernel,
            pack_dtype="uint8",
            out_dtype="int32",
            unipolar=unipolar,
            **how,
        ),
        lambda *_: want,
        x,
        packed(w, 2, kernel.index("I"), 4, "uint8") if words else w,
    )


def tensor(*shape, dtype="int16"):
    return relay.TensorType(shape, dtype)


N = relay.nn
REFUSED = {
    "7 is not divided by 8": (lambda x: N.bitpack(x, pack_type="uint8"), tensor(2, 7)),
    "bits: expected 1 to 8, got 9": (lambda x: N.bitpack(x, 9), tensor(2, 32)),
    "pack_type: expected uint8, uint16": (lambda x: N.bitpack(x, pack_type="int8"), tensor(2, 32)),
    "data: expected integers, got": (N.bitpack, tensor(2, 32, dtype="float32")),
    "axis 2 is out of range": (lambda x: N.bitpack(x, 1, 2), tensor(2, 32)),
    "weight: expected 2 dimensions, or 3 of words": (
        N.bitserial_dense, tensor(2, 32), tensor(1, 1, 2, 32)),
    "weight: expected 1 planes of uint32": (
        N.bitserial_dense, tensor(2, 32), tensor(4, 2, 1, dtype="uint32")),
    "weight_bits: expected 1 to 8, got 0": (
        lambda x, w: N.bitserial_dense(x, w, weight_bits=0), tensor(2, 32), tensor(4, 32)),
    "out_dtype: expected integers, got float32": (
        lambda x, w: N.bitserial_dense(x, w, out_dtype="float32"), tensor(2, 32), tensor(4, 32)),
    "kernel_layout: expected one of four axes with I": (
        lambda x, w: N.bitserial_conv2d(x, w, kernel_layout="OHW"),
        tensor(1, 8, 5, 5), tensor(4, 8, 3, 3)),
    "another number of channels": (
        N.bitserial_conv2d, tensor(1, 8, 5, 5), tensor(4, 9, 3, 3)),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    make, *types = REFUSED[message]
    with pytest.raises(tenon.TVMError, match=message):
        result_type(make, *types)
