"""tenon run: arrays from numpy archives go through a model; hostile archives are errors."""

import io
import pathlib
import zipfile

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.target.codegen import llvm_version_major
from test_cli import call

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
pytestmark = pytest.mark.skipif(
    llvm_version_major(allow_none=True) is None, reason="libraries are made with LLVM"
)


def export(path, *params, body):
    tenon.compile(relay.Function(list(params), body)).library.export_library(str(path))
    return str(path)


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    body = relay.Tuple([relay.add(x, y), relay.sum(x)])
    return export(tmp_path_factory.mktemp("run") / "add.so", x, y, body=body)


X, Y = np.arange(6, dtype="float32").reshape(2, 3), np.float32([1, 2, 3])


def run(library, path, out):
    return call("run", library, "--inputs", str(path), "--outputs", str(out))


def test_outputs_are_what_numpy_says(add, tmp_path):
    np.savez(tmp_path / "in.npz", x=X, y=Y)
    assert run(add, tmp_path / "in.npz", tmp_path / "out.npz") == (0, "", "")
    with zipfile.ZipFile(tmp_path / "out.npz") as archive:
        assert archive.testzip() is None
    with np.load(tmp_path / "out.npz") as out:
        assert out.files == ["output_0", "output_1"]
        np.testing.assert_array_equal(out["output_0"], X + Y)
        assert out["output_1"].shape == () and out["output_1"] == X.sum()


def skip_without_zlib(err):
    if "built without zlib" in err:
        pytest.skip("the command was built without zlib")


@pytest.mark.parametrize("write", [np.savez, np.savez_compressed])
def test_archives_of_either_kind(write, add, tmp_path):
    write(tmp_path / "in.npz", x=X, y=Y)
    status, out, err = run(add, tmp_path / "in.npz", tmp_path / "out.npz")
    skip_without_zlib(err)
    assert (status, out, err) == (0, "", "")
    with np.load(tmp_path / "out.npz") as out:
        np.testing.assert_array_equal(out["output_0"], X + Y)


@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "int64", "int32", "int16", "int8", "uint8", "uint32", "bool"]
)
def test_types(dtype, tmp_path):
    x = relay.var("x", shape=(3, 4), dtype=dtype)
    library = export(tmp_path / "t.so", x, body=relay.transpose(x))
    value = np.arange(12).reshape(3, 4).astype(dtype)
    np.savez(tmp_path / "in.npz", x=value)
    assert run(library, tmp_path / "in.npz", tmp_path / "out.npz") == (0, "", "")
    with np.load(tmp_path / "out.npz") as out:
        assert out["output_0"].dtype == dtype
        np.testing.assert_array_equal(out["output_0"], value.T)


def archive(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def compressed(method=8, length=None):
    """An archive whose directory says this of its first member."""
    out = io.BytesIO()
    np.savez_compressed(out, x=X, y=Y)
    content = bytearray(out.getvalue())
    row = content.index(b"PK\1\2")
    content[row + 10 : row + 12] = method.to_bytes(2, "little")
    if length is not None:
        content[row + 24 : row + 28] = length.to_bytes(4, "little")
    return bytes(content)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "no archive of numpy"),
        (b"PK\5\6", "no archive of numpy"),
        (archive(x=X), "no array for the input y"),
        (archive(x=X, y=Y, z=Y), "the model has no input z"),
        (archive(x=X, y=X), "in.npz: y: expected float32[3], got float32[2, 3]"),
        (
            archive(x=X.astype("float64"), y=Y),
            "in.npz: x: expected float32[2, 3], got float64[2, 3]",
        ),
        (archive(x=np.asfortranarray(X), y=Y), "Fortran order"),
        (archive(x=X.astype("complex64"), y=Y), "a type that is not supported"),
        (archive(x=X, y=Y).replace(b"(2, 3)", b"(2, 4)"), "checksum"),
        (compressed(method=99), "method 99"),
        (compressed(length=1), "damaged"),
        (compressed(length=1 << 31), "damaged"),
        (archive(x=X, y=Y)[:200] + archive(x=X, y=Y)[230:], "damaged"),
    ],
)
def test_wrong_archives(content, message, add, tmp_path):
    (tmp_path / "in.npz").write_bytes(content)
    status, out, err = run(add, tmp_path / "in.npz", tmp_path / "out.npz")
    skip_without_zlib(err)
    assert status == 1 and not out and message in err
    assert not (tmp_path / "out.npz").exists()


@pytest.mark.parametrize("whole", [archive(x=X, y=Y), compressed()])
def test_every_cut_and_many_flips_end_well(whole, add, tmp_path):
    rng = np.random.default_rng(0)
    for k in range(60):
        bad = bytearray(whole)
        if k < 20:
            del bad[int(rng.integers(len(bad))) :]
        else:
            bad[int(rng.integers(len(bad)))] ^= 1 << int(rng.integers(8))
        (tmp_path / "in.npz").write_bytes(bad)
        status, out, err = run(add, tmp_path / "in.npz", tmp_path / "out.npz")
        assert status in (0, 1) and (status == 0) == (not err), (k, status, err)


@pytest.mark.parametrize(
    "name, message",
    [
        (
            "m.onnx",
            "{path} is a model, not a library: compile it (tenon compile {path} -o model.so), then "
            "give the library",
        ),
        (
            "m.relay",
            "{path} is a model, not a library: compile it (tenon compile {path} -o model.so), then "
            "give the library",
        ),
        (
            "ls",
            "{path}: expected a library (.so) or an archive (.tar), as tenon compile writes them",
        ),
        ("ls.so", "Failed to load dynamic shared library {path}: it is a program, not a library"),
    ],
)
@pytest.mark.parametrize("command", ["run", "bench"])
def test_files_that_are_not_compiled_models(command, name, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(pathlib.Path("/bin/ls").read_bytes())
    np.savez(tmp_path / "x.npz", x=np.ones(3, "float32"))
    options = ["--inputs", str(tmp_path / "x.npz"), "--outputs", str(tmp_path / "y.npz")]
    status, out, err = call(command, str(path), *(options if command == "run" else []))
    assert status == 1 and not out
    assert err == f"tenon: error: {message.format(path=path)}\n"
