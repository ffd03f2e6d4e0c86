"""Files of LLVM's text and bitcode as modules."""

import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon import te

pytestmark = pytest.mark.skipif(
    not tenon.runtime.enabled("llvm"), reason="needs the code generator of LLVM"
)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A module as text and as bitcode."""
    folder = tmp_path_factory.mktemp("llvm")
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0 + 1.0, name="B")
    built = tenon.build(te.create_schedule(B.op), [A, B], "llvm", name="twice")
    for ending in ("ll", "bc"):
        built.save(str(folder / f"m.{ending}"))
    return folder


@pytest.mark.parametrize("ending", ["ll", "bc"])
def test_what_is_saved_is_loaded(saved, ending):
    loaded = tenon.runtime.load_module(str(saved / f"m.{ending}"))
    a = tenon.nd.array(np.arange(5, dtype="float32"))
    b = tenon.nd.array(np.zeros(5, "float32"))
    loaded(a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(5) * 2 + 1)
    assert loaded.type_key == "llvm" and "twice" in loaded.get_source()
    with pytest.raises(tenon.TVMError, match="num_args should be 2"):
        loaded["twice"](a)


def test_in_a_new_process(saved):
    """Nothing has opened the code generator there."""
    code = f"import tenon; m = tenon.runtime.load_module({str(saved / 'm.ll')!r}); m['twice']"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_that_are_damaged(saved, tmp_path):
    text = (saved / "m.ll").read_text()
    bitcode = (saved / "m.bc").read_bytes()
    load = tenon.runtime.load_module
    for name, content in [
        ("empty.bc", b""),
        ("text.ll", b"define what"),
        ("cut.ll", text[: len(text) // 2].encode()),
        ("cut.bc", bitcode[: len(bitcode) // 2]),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises((tenon.TVMError, ValueError), match=name):
            load(str(tmp_path / name))
    with pytest.raises(ValueError, match="cannot find file"):
        load(str(tmp_path / "missing.ll"))


def test_code_that_is_not_for_this_machine(tmp_path):
    path = tmp_path / "other.ll"
    path.write_text('target datalayout = "E-p:16:16"\ntarget triple = "msp430"\n')
    with pytest.raises(ValueError, match=r"the code is for msp430, this machine is"):
        tenon.runtime.load_module(str(path))


def test_code_of_others(tmp_path):
    """Code without what Tenon's own has; and with an entry that is not a name."""
    path = tmp_path / "plain.ll"
    function = (
        "define i32 @plain(ptr %a, ptr %c, i32 %n, ptr %r, ptr %rc, ptr %h) {\n  ret i32 0\n}\n"
    )
    path.write_text(function)
    assert tenon.runtime.load_module(str(path))["plain"](1) is not False
    path.write_text(function + "@__tvm_main__ = global i32 7\n")
    with pytest.raises(ValueError, match="__tvm_main__ is not the name of a function"):
        tenon.runtime.load_module(str(path))
