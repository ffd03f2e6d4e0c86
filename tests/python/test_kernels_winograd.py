"""Convolutions by tiles: numbers, when they are chosen, and the option that turns them off."""

import numpy as np
import pytest
import tenon
from built import kernels_of
from machines import CPUS
from tenon import relay
from tenon.contrib import graph_executor
from test_kernels_conv import blocked, reference, scheduled


def weights(w, tile):
    """G w G' in float64, from the places by which the method is defined."""
    points = [0, 1, -1] if tile == 2 else [0, 1, -1, 2, -2]
    rows = []
    for p in points:
        scale = np.prod([p - q for q in points if q != p], dtype=float)
        rows.append([p**k / scale for k in range(3)])
    rows.append([0, 0, 1])
    g = np.array(rows)
    return np.einsum("ey,oiyx,fx->efoi", g, w, g)


def run(expr, data, level=3, target="llvm", **config):
    with tenon.transform.PassContext(opt_level=level, config=config):
        lib = relay.build(tenon.IRModule.from_expr(expr), target=target)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(**data)
    return lib, m.get_output(0).numpy()


@pytest.mark.parametrize("tile", [2, 4])
def test_transform_of_weights(tile):
    w = np.random.default_rng(0).standard_normal((8, 5, 3, 3)).astype("float32")
    data = relay.var("w", shape=w.shape)
    call = relay.nn.contrib_conv2d_winograd_weight_transform(data, tile_size=tile)
    f = relay.Function(relay.analysis.free_vars(call), call)
    got = run(f, {"w": w})[1]
    # rows of the matrices are defined up to sign: products have the same sign on both sides
    want = weights(w, tile)
    np.testing.assert_allclose(np.abs(got), np.abs(want), rtol=1e-5, atol=1e-6)


def problem(seed):
    rng = np.random.default_rng(seed)
    hw = tuple(int(v) for v in rng.integers(8, 31, 2))
    pads = tuple(int(v) for v in rng.integers(0, 3, 4))
    ic, oc = (int(16 * v) for v in rng.integers(2, 6, 2))
    return int(rng.integers(1, 3)), ic, hw, oc, pads


def convolution(n, ic, hw, oc, pads, tail=True):
    rng = np.random.default_rng(1)
    x = np.maximum(rng.standard_normal((n, ic, *hw)), 0).astype("float32")
    w = (rng.standard_normal((oc, ic, 3, 3)) * np.sqrt(2 / (9 * ic))).astype("float32")
    b = rng.standard_normal((oc, 1, 1)).astype("float32")
    data = relay.var("x", shape=x.shape)
    y = relay.nn.conv2d(data, relay.const(w), padding=pads, channels=oc, kernel_size=(3, 3))
    want = reference(x, w, (1, 1), pads, (1, 1))
    if tail:
        y, want = relay.nn.relu(y + relay.const(b)), np.maximum(want + b, 0)
    return relay.Function([data], y), {"x": x}, want


@pytest.mark.parametrize("mode", ["auto", "f2"])
@pytest.mark.parametrize("seed", range(5))
def test_random_problems(seed, mode):
    f, data, want = convolution(*problem(seed), tail=seed % 2 == 0)
    lib, got = run(f, data, **{"relay.backend.winograd": mode})
    assert any("winograd" in name for name in kernels_of(lib))
    limit = 1e-5 if mode == "f2" else 1e-4
    np.testing.assert_allclose(got, want, rtol=limit, atol=limit * np.abs(want).max())


def test_narrow_vectors():
    f, data, want = convolution(1, 32, (14, 15), 48, (1, 1, 1, 1))
    lib, got = run(f, data, target="llvm -mcpu=haswell")
    assert any("winograd" in name for name in kernels_of(lib))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


@pytest.mark.skipif("skylake-avx512" not in CPUS, reason="tiles of a machine with AVX-512")
def test_stages_stay_in_the_part():
    """Everything between data and result is made part by part, and tiles lie in registers."""
    f, data, _ = convolution(1, 32, (28, 28), 32, (1, 1, 1, 1))
    text = scheduled(run(f, data)[0])
    loops = text[text.index("T.parallel(") :]
    for block in ("pad_temp", "winograd_data", "winograd_product_init", "winograd_sums"):
        assert f'T.block("{block}")' in loops
    assert text.count('scope="local"') == 3


def test_off_and_elsewhere():
    f, data, want = convolution(1, 32, (14, 14), 32, (1, 1, 1, 1))
    lib, got = run(f, data, **{"relay.backend.winograd": "off"})
    assert not any("winograd" in name for name in kernels_of(lib))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * np.abs(want).max())
    with pytest.raises(ValueError, match='expected "auto", "f2" or "off", got "fast"'):
        run(f, data, **{"relay.backend.winograd": "fast"})
    x, w = relay.var("x", shape=(1, 32, 14, 14)), relay.var("w", shape=(32, 32, 3, 3))
    y = relay.nn.conv2d(x, w, padding=(1, 1), channels=32, kernel_size=(3, 3))
    with tenon.transform.PassContext(opt_level=3):  # weights that are not known: directly
        lib = relay.build(tenon.IRModule.from_expr(relay.Function([x, w], y)), target="llvm")
    assert not any("winograd" in name for name in kernels_of(lib))


def test_errors_of_types():
    def types(shape, weight, **attrs):
        x, u = relay.var("x", shape=shape), relay.var("u", shape=weight)
        call = relay.nn.contrib_conv2d_winograd_NCHWc(x, u, **attrs)
        return relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([x, u], call)))

    fine = types((1, 2, 9, 9, 16), (6, 6, 3, 32, 16), tile_size=4, padding=[1, 1])
    assert str(fine["main"].ret_type.shape) == "[1, 3, 9, 9, 16]"
    with pytest.raises(Exception, match="2 or 4"):
        types((1, 2, 9, 9, 16), (6, 6, 3, 32, 16), tile_size=3)
    with pytest.raises(Exception, match="4 x 4 transformed values"):
        types((1, 2, 9, 9, 16), (6, 6, 3, 32, 16), tile_size=2)


def test_interpreter():
    """The stages as they stand, without a schedule of the kernel's."""
    x = np.random.default_rng(0).standard_normal((1, 4, 7, 6)).astype("float32")
    w = np.random.default_rng(1).standard_normal((4, 4, 3, 3)).astype("float32")
    data = relay.var("x", shape=(1, 1, 7, 6, 4))
    u = relay.nn.contrib_conv2d_winograd_weight_transform(relay.const(w), tile_size=4)
    u = relay.layout_transform(u, "HWOI", "HWOI4o")
    y = relay.nn.contrib_conv2d_winograd_NCHWc(
        data,
        u,
        tile_size=4,
        padding=[1, 1],
        data_layout="NCHW4c",
        kernel_layout="HWOI4o",
        out_layout="NCHW4c",
    )
    _, got = run(relay.Function([data], y), {"x": blocked(x, 4)}, target="stackvm")
    want = reference(x, w, (1, 1), (1, 1, 1, 1), (1, 1))
    got = got.transpose(0, 1, 4, 2, 3).reshape(want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
