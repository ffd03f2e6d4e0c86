"""The tenon command on models for the virtual machine: dynamic extents, branches, more results."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.target.codegen import llvm_version_major
from test_cli import COMMAND, call

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
MODEL = DIGITS / "digits_mlp_batch.onnx"
pytestmark = pytest.mark.skipif(
    llvm_version_major(allow_none=True) is None, reason="libraries are made with LLVM"
)


@pytest.fixture(scope="module")
def images():
    with np.load(DIGITS / "digits_test.npz") as data:
        return next(data[name] for name in data.files if data[name].size > 6400)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("machine") / "digits.so"
    status, out, err = call("compile", str(MODEL), "-o", str(path))
    assert (status, err) == (0, "")
    assert "for the virtual machine: the model has a shape that is known at run time only" in out
    return str(path)


def test_compiled_models_are_run(library, images, tmp_path):
    batch = np.float32(images[:3] / 255).reshape(3, 1, 8, 8)
    np.savez(tmp_path / "x.npz", image=batch)
    args = ("--inputs", str(tmp_path / "x.npz"), "--outputs", str(tmp_path / "y.npz"))
    told = call("run", library, *args, "--top", "1", "--repeat", "3", "--profile", "--json")
    assert told[0] == 0, told
    told = json.loads(told[1])
    expected = tenon.compile(MODEL)(batch)
    with np.load(tmp_path / "y.npz") as out:
        np.testing.assert_allclose(out["output_0"], expected, rtol=1e-5)
    assert [row[0][0] for row in told["top"]] == list(expected.argmax(1))
    assert told["runs"] == 3 and "fused_nn_contrib_dense_pack" in str(told["profile"])


def test_loaded_models_know_their_types(library):
    loaded = tenon.CompiledModel.load(library)
    assert loaded.inputs == {"image": ((None, 1, 8, 8), "float32")}
    assert loaded.outputs == [((None, 10), "float32")]
    with pytest.raises(ValueError, match=r"input image: expected float32\[\?, 1, 8, 8\]"):
        loaded(np.ones((2, 1, 8, 9), "float32"))
    with pytest.raises(tenon.TVMError, match=r"of shape \(\?, 1, 8, 8\), got float64 of shape"):
        loaded.module.run(np.ones((2, 1, 8, 8)))


def test_inspect_and_bench(library):
    told = json.loads(call("inspect", library, "--json")[1])
    assert told["executor"] == "vm" and told["weights_bytes"] > 0
    assert told["inputs"] == [{"name": "image", "type": "float32[?, 1, 8, 8]"}]
    assert told["outputs"] == [{"name": "output_0", "type": "float32[?, 10]"}]
    told = json.loads(call("bench", library, "-n", "2", "-i", "image:4x1x8x8", "--json")[1])
    assert told["runs"] == 2 and told["median"] > 0


@pytest.mark.parametrize(
    "args, message",
    [
        (("bench",), "open: say which, as --input image:"),
        (("bench", "-i", "image:4x1x8x9"), "the library takes float32[?, 1, 8, 8]"),
        (("bench", "-i", "imgae:4x1x8x8"), "no input imgae; did you mean image?"),
        (("run", "-i", "{bad}", "-n", "1"), "expected float32[?, 1, 8, 8], got float32[4, 64]"),
    ],
)
def test_errors(library, args, message, tmp_path):
    np.savez(tmp_path / "bad.npz", image=np.ones((4, 64), "float32"))
    args = [arg.format(bad=tmp_path / "bad.npz") for arg in args]
    status, out, err = call(args[0], library, *args[1:])
    assert status == 1 and not out and message in err


def test_several_results_and_branches(tmp_path):
    x, flag = relay.var("x", shape=(2,)), relay.var("flag", shape=(), dtype="bool")
    body = relay.If(flag, relay.Tuple([x, relay.sum(x)]), relay.Tuple([x + x, relay.max(x)]))
    relay_file = tmp_path / "branch.relay"
    relay_file.write_text(tenon.IRModule.from_expr(relay.Function([x, flag], body)).astext())
    library, data = str(tmp_path / "branch.so"), str(tmp_path / "in.npz")
    told = json.loads(call("compile", str(relay_file), "-o", library, "--json")[1])
    assert told["executor"] == "vm"
    for value, wanted in ((True, ([1, 2], 3)), (False, ([2, 4], 2))):
        np.savez(data, x=np.float32([1, 2]), flag=np.bool_(value))
        status, _, err = call("run", library, "-i", data, "-o", str(tmp_path / "out.npz"))
        assert (status, err) == (0, "")
        with np.load(tmp_path / "out.npz") as out:
            np.testing.assert_array_equal(out["output_0"], np.float32(wanted[0]))
            assert out["output_1"] == wanted[1]


def test_sequences_and_missing_values(tmp_path):
    """Archives of arrays hold neither; an optional array may be left out."""
    program = """#[version = "0.0.5"]
    extern type Sequence[A]
    extern type Optional[A]
    def @main(%o: Optional[Tensor[(2), float32]], %s: Sequence[Tensor[(2), float32]]) {
      (optional.has(%o), sequence.length(%s))
    }
    """
    library, data = str(tmp_path / "m.so"), str(tmp_path / "x.npz")
    (tmp_path / "m.relay").write_text(program)
    np.savez(data, o=np.ones(2, "float32"))
    assert call("compile", str(tmp_path / "m.relay"), "-o", library)[0] == 0
    status, _, err = call("run", library, "-i", data, "-n", "1")
    assert status == 1 and "input s is a sequence of float32 of shape (2,): the command" in err
    both = tenon.CompiledModel.load(library)
    assert [int(v) for v in both(None, [np.ones(2, "float32")] * 3)] == [0, 3]
    (tmp_path / "m.relay").write_text(
        program.replace(", %s: Sequence[Tensor[(2), float32]]", "").replace(
            "(optional.has(%o), sequence.length(%s))", "optional.has(%o)"
        )
    )
    assert call("compile", str(tmp_path / "m.relay"), "-o", library)[0] == 0
    for arrays, there in (({"o": np.ones(2, "float32")}, 1), ({}, 0)):
        np.savez(data, **arrays)
        out = str(tmp_path / "y.npz")
        assert call("run", library, "-i", data, "-o", out)[0] == 0
        with np.load(out) as made:
            assert int(made["output_0"]) == there


def on_terminal(*args):
    """What a command writes where standard error is a terminal."""
    ours, theirs = os.openpty()
    command = subprocess.Popen([str(COMMAND), *args], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    told = b""
    with open(ours, "rb", buffering=0) as terminal:
        try:
            while chunk := terminal.read(4096):
                told += chunk
        except OSError:  # the other end is closed
            pass
    assert command.wait(60) == 0
    return told.decode()


def test_progress_is_shown_on_a_terminal(library, tmp_path):
    told = on_terminal("compile", str(MODEL), "-o", str(tmp_path / "x.so"))
    assert "reading the model" in told and told.endswith("\r\x1b[K")
    assert on_terminal("compile", str(MODEL), "-o", str(tmp_path / "x.so"), "--json") == ""
    shape = ("-i", "image:256x1x8x8")
    median = json.loads(call("bench", library, *shape, "-n", "9", "--json")[1])["median"]
    runs = str(max(2, int(2.5 / median)))
    told = on_terminal("bench", library, *shape, "-n", runs)
    assert f" of {runs} runs" in told and told.endswith("\r\x1b[K")
