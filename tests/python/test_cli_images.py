"""tenon run on images: which sample goes where, scaling, resizing, batches, damaged files."""

import json
import pathlib
import struct
import zlib

import numpy as np
import pytest
from tenon import relay
from tenon.target.codegen import llvm_version_major
from test_cli import call
from test_cli_run import export

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
pytestmark = pytest.mark.skipif(
    llvm_version_major(allow_none=True) is None, reason="libraries are made with LLVM"
)
KINDS = {1: 0, 2: 4, 3: 2, 4: 6}  # channels to the kind of PNG


def png(samples, bits=8, extra=b"", extents=None):
    """A PNG file of an array [H, W, C] of bytes, or of words in network order for 16 bits."""

    def chunk(kind, data):
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    height, width, channels = samples.shape
    width, height = extents or (width, height)
    rows = samples.astype(">u2" if bits == 16 else "u1")
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", width, height, bits, KINDS[channels], 0, 0, 0)
    body = chunk(b"IHDR", head) + extra + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def random(height, width, channels):
    return np.random.default_rng(0).integers(0, 256, (height, width, channels), "uint8")


@pytest.fixture(scope="module", autouse=True)
def needs_libpng(tmp_path_factory):
    folder = tmp_path_factory.mktemp("none")
    library = same(folder, (2, 2))
    (folder / "x.png").write_bytes(png(random(2, 2, 1)))
    err = call("run", library, "--inputs", str(folder / "x.png"), "--top", "1")[2]
    if "without libpng" in err:
        pytest.skip("the command was built without libpng")


def same(folder, shape, dtype="float32", name="same.so"):
    """A library whose output is its input x."""
    x = relay.var("x", shape=shape, dtype=dtype)
    return export(folder / name, x, body=relay.reshape(x, shape))


def run(folder, library, content, *options):
    """Output 0 for images, or the error."""
    contents = content if isinstance(content, list) else [content]
    args = []
    for i, data in enumerate(contents):
        (folder / f"{i}.png").write_bytes(data)
        args += ["--inputs", str(folder / f"{i}.png")]
    status, out, err = call("run", library, *args, "-o", str(folder / "out.npz"), *options)
    assert not out and status == (1 if err else 0)
    if err:
        return err
    with np.load(folder / "out.npz") as made:
        return made["output_0"]


def test_digits_are_read(tmp_path):
    library = str(tmp_path / "cnn.so")
    assert call("compile", str(DIGITS / "digits_cnn.onnx"), "-o", library)[0] == 0
    test = np.load(DIGITS / "digits_test.npz")
    for image, want in zip(test["images"][:20], test["logits_cnn"][:20], strict=True):
        got = run(tmp_path, library, png(image[:, :, None]))
        np.testing.assert_allclose(got[0], want, rtol=1e-4, atol=1e-4)
    named = f"image:{tmp_path / '0.png'}"
    told = json.loads(call("run", library, "--inputs", named, "--top", "1", "--json")[1])
    assert told["top"][0][0][0] == int(np.argmax(want))


def test_a_batch_is_filled_in_order(tmp_path):
    library = str(tmp_path / "mlp.so")
    model = str(DIGITS / "digits_mlp_batch.onnx")
    assert call("compile", model, "-o", library, "-i", "image:3x1x8x8")[0] == 0
    test = np.load(DIGITS / "digits_test.npz")
    images = [png(image[:, :, None]) for image in test["images"][:4]]
    got = run(tmp_path, library, images[:3])
    np.testing.assert_allclose(got, test["logits_mlp"][:3], rtol=1e-4, atol=1e-4)
    assert "takes 3 images, got 2: repeat --inputs" in run(tmp_path, library, images[:2])
    assert "one image too many: the input image takes 3" in run(tmp_path, library, images)


@pytest.mark.parametrize(
    "shape, channels, axes",
    [
        ((1, 3, 4, 5), 3, (2, 0, 1)),
        ((1, 4, 5, 3), 3, (0, 1, 2)),
        ((3, 4, 5), 3, (2, 0, 1)),
        ((4, 5, 3), 3, (0, 1, 2)),
        ((3, 5, 3), 3, None),  # the first is that of channels: 5 x 3
        ((4, 5), 1, (0, 1, 2)),
        ((1, 1, 4, 5), 1, (2, 0, 1)),
        ((6, 5, 4), 4, (0, 1, 2)),
    ],
)
def test_dimensions(shape, channels, axes, tmp_path):
    height, width = (6, 5) if shape == (6, 5, 4) else (4, 5)
    samples = random(height, width, channels)
    got = run(tmp_path, same(tmp_path, shape), png(samples))
    if axes is None:
        assert "an image of 5 x 4, the input x takes 3 x 5" in got
        return
    want = samples.transpose(axes).astype("float32") / np.float32(255)
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=1e-6)


def test_kinds_of_images(tmp_path):
    grey, colour = same(tmp_path, (4, 5)), same(tmp_path, (3, 4, 5), name="colour.so")
    samples = random(4, 5, 1)
    wide = np.repeat(samples.astype("uint16") * 257, 1, axis=2)
    np.testing.assert_allclose(run(tmp_path, grey, png(wide, 16)) * 255, samples[..., 0], atol=1)
    three = run(tmp_path, colour, png(samples)) * 255
    np.testing.assert_allclose(three, np.stack([samples[..., 0]] * 3), rtol=1e-6)
    clear = np.dstack([random(4, 5, 3), np.zeros((4, 5, 1), "uint8")])
    assert (run(tmp_path, colour, png(clear)) == 0).all()
    level = run(tmp_path, grey, png(np.repeat(samples, 3, axis=2))) * 255
    np.testing.assert_allclose(level, samples[..., 0], atol=1.01)


def test_scaling(tmp_path):
    samples = random(4, 5, 3)
    colour = same(tmp_path, (1, 4, 5, 3))
    mean, std = np.float32([0.485, 0.456, 0.406]), np.float32([0.229, 0.224, 0.225])
    given = "--mean=0.485,0.456,0.406", "--std=0.229,0.224,0.225"
    got = run(tmp_path, colour, png(samples), *given)
    np.testing.assert_allclose(
        got[0], (samples / np.float32(255) - mean) / std, rtol=1e-4, atol=1e-6
    )
    got = run(tmp_path, colour, png(samples), "--scale", "2", "--mean", "1")
    np.testing.assert_allclose(got[0], samples * 2.0 - 1)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "int64", "float16", "float64"])
def test_types(dtype, tmp_path):
    samples = random(4, 5, 1)
    shift = 128 if dtype == "int8" else 0
    library = same(tmp_path, (4, 5), dtype)
    got = run(tmp_path, library, png(samples), "--scale", "1", "--mean", str(shift))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.astype("float64"), samples[..., 0].astype("float64") - shift)
    if dtype == "uint8":
        np.testing.assert_array_equal(run(tmp_path, library, png(samples)), samples[..., 0])
        assert "outside of uint8" in run(tmp_path, library, png(samples), "--mean", "-200")


def test_resizing(tmp_path):
    library = same(tmp_path, (4, 6))
    flat = np.full((9, 7, 1), 51, "uint8")
    assert "(--resize makes it fit)" in run(tmp_path, library, png(flat))
    np.testing.assert_allclose(run(tmp_path, library, png(flat), "--resize"), 0.2, rtol=1e-5)
    ramp = np.repeat(np.arange(12, dtype="uint8")[None, :] * 10, 8, axis=0)[:, :, None]
    got = run(tmp_path, library, png(ramp), "--resize", "--scale", "1")
    np.testing.assert_allclose(got[:, 1:-1], np.tile(np.arange(25, 100, 20.0), (4, 1)), rtol=1e-5)
    small = ramp[:2, :3]
    got = run(tmp_path, library, png(small), "--resize", "--scale", "1")
    np.testing.assert_allclose(got, np.tile([0, 2.5, 7.5, 12.5, 17.5, 20], (4, 1)), rtol=1e-5)


@pytest.mark.parametrize(
    "shape, content, options, message",
    [
        ((7, 5, 2), png(random(4, 5, 1)), (), "the input x does not take an image"),
        ((7,), png(random(4, 5, 1)), (), "the input x does not take an image"),
        ((4, 5), png(random(4, 5, 1)), ("--scale", "0"), "--scale: expected one number above 0"),
        ((4, 5), png(random(4, 5, 1)), ("--std", "-1"), "--std: expected numbers above 0"),
        ((4, 5), png(random(4, 5, 1)), ("--mean", "1,x"), "--mean: expected a number"),
        ((4, 5), png(random(4, 5, 1)), ("--mean", "1,2"), "2 numbers, the input x has 1 channels"),
        ((4, 5), png(random(4, 5, 1))[:-30], (), "a damaged image"),
        ((4, 5), png(random(4, 5, 1), extents=(60000, 60000)), (), "more than 67108864 pixels"),
        ((4, 5), png(random(4, 5, 1), extents=(2**31 - 1, 9)), (), "0.png: "),
        ((4, 5), b"\x89PNG\r\n\x1a\n", (), "not an image in PNG format"),
    ],
)
def test_errors(shape, content, options, message, tmp_path):
    assert message in run(tmp_path, same(tmp_path, shape), content, *options)


def test_names_of_inputs(tmp_path):
    x, y = relay.var("x", shape=(2, 2)), relay.var("y:0", shape=(2, 2))
    library = export(tmp_path / "two.so", x, y, body=relay.subtract(x, y))
    image, array = tmp_path / "p.png", tmp_path / "a.npy"
    image.write_bytes(png(random(2, 2, 1)))
    np.save(array, np.ones((2, 2), "float32"))
    np.savez(tmp_path / "y.npz", **{"y:0": np.zeros((2, 2), "float32")})

    def inputs(*files):
        args = [word for file in files for word in ("--inputs", str(file))]
        return call("run", library, *args, "-o", str(tmp_path / "out.npz"))[2]

    assert inputs(f"x:{image}", f"y:0:{array}") == ""
    with np.load(tmp_path / "out.npz") as made:
        want = random(2, 2, 1)[..., 0] / np.float32(255) - 1
        np.testing.assert_allclose(made["output_0"], want, rtol=1e-6)
    assert inputs(f"x:{image}", tmp_path / "y.npz") == ""
    assert "say which it is for, as NAME:" in inputs(image)
    assert "the model has no input z" in inputs(f"z:{image}")
    assert "the input x is given twice" in inputs(f"x:{array}", f"x:{image}")
    assert "no array for the input y:0" in inputs(f"x:{image}")
    assert "neither an image (.png) nor an array" in inputs(f"x:{tmp_path / 'y.npz'}")


def test_damaged_files_end_well(tmp_path):
    library = same(tmp_path, (4, 5))
    whole = png(random(4, 5, 3))
    rng = np.random.default_rng(1)
    for k in range(60):
        bad = bytearray(whole)
        if k < 20:
            del bad[int(rng.integers(8, len(bad))) :]
        else:
            bad[int(rng.integers(len(bad)))] ^= 1 << int(rng.integers(8))
        made = run(tmp_path, library, bytes(bad))
        assert isinstance(made, str) or made.shape == (4, 5)
