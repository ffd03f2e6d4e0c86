"""The package under its old name. In their own processes: an alias stays for good."""

import subprocess
import sys
import textwrap

import pytest


def run(code, *options):
    """Run a program with tvm meaning tenon; returns what it prints."""
    program = "import tenon.as_tvm\n" + textwrap.dedent(code)
    done = subprocess.run(
        [sys.executable, "-B", *options, "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_are_the_very_same():
    run("""
        import sys, importlib
        import tenon, tvm, tvm.testing, tvm.runtime.container
        from tvm import te, tir, runtime
        from tvm.contrib import utils, cc
        from tvm._ffi.base import TVMError
        import tvm.contrib.tar as tar
        import tenon.contrib.tar
        assert sys.modules["tvm"] is tenon is tvm
        assert tvm.testing is tenon.testing is sys.modules["tvm.testing"]
        assert tvm.runtime.container is tenon.runtime.container
        assert te is tenon.te and tir is tenon.tir and runtime is tenon.runtime
        assert utils is tenon.contrib.utils and tar is tenon.contrib.tar
        assert TVMError is tenon.TVMError
        assert importlib.import_module("tvm.contrib.popen_pool") is tenon.contrib.popen_pool
        assert sys.modules["tenon.contrib.popen_pool"] is tvm.contrib.popen_pool
        for name, module in list(sys.modules.items()):
            if name == "tvm" or name.startswith("tvm."):
                assert module is sys.modules["tenon" + name[3:]], name
    """)


def test_specs_and_names_stay_tenons():
    run("""
        import importlib.util
        import tvm.contrib.cc, tenon.contrib.cc
        assert tenon.contrib.cc.__spec__.name == "tenon.contrib.cc" == tvm.contrib.cc.__name__
        assert importlib.util.find_spec("tvm.contrib.tar") is not None
        assert importlib.util.find_spec("tvm.nothing") is None
        importlib.reload(tvm.contrib.cc)
        assert tvm.contrib.cc is tenon.contrib.cc
    """)


def test_errors_name_what_was_asked_for():
    run("""
        import tvm
        for statement, text in [
            ("import tvm.nothing", "tvm.nothing"),
            ("import tvm.contrib.nothing.deeper", "tvm.contrib.nothing"),
            ("from tvm import nothing", "nothing"),
            ("from tvm.contrib.nothing import x", "tvm.contrib.nothing"),
        ]:
            try:
                exec(statement)
            except ImportError as err:
                assert text in str(err), (statement, err)
            else:
                raise AssertionError(statement)
        try:
            tvm.nothing
        except AttributeError as err:
            assert "nothing" in str(err)
        else:
            raise AssertionError
    """)


def test_an_installed_tvm_is_not_used(tmp_path, monkeypatch):
    other = tmp_path / "tvm"
    other.mkdir()
    (other / "__init__.py").write_text("foreign = True\n")
    (other / "foreign_part.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    path = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    run(path + "import tvm, tenon\nassert tvm is tenon\n")
    before = path + textwrap.dedent("""
        import tvm, tvm.foreign_part, warnings
        assert tvm.foreign
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            import tenon.as_tvm
        assert "set aside" in str(seen[0].message)
        import tvm, tenon
        assert tvm is tenon
        try:
            import tvm.foreign_part
        except ImportError:
            pass
        else:
            raise AssertionError
    """)
    done = subprocess.run([sys.executable, "-B", "-c", before], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_pickles_cross_the_names():
    run("""
        import pickle, tvm
        value = tvm.runtime.convert([1, "a"])
        tvm.ir.assert_structural_equal(pickle.loads(pickle.dumps(value)), value)
    """)


@pytest.mark.parametrize("form", ["script", "module"])
def test_running_a_program(tmp_path, form):
    script = tmp_path / "old_program.py"
    script.write_text(
        "import sys, tvm\nfrom helper import two\n"
        "print(__name__, tvm.__name__, sys.argv[1:], two)\n"
    )
    (tmp_path / "helper.py").write_text("two = 2\n")
    what = [str(script)] if form == "script" else ["-m", "old_program"]
    done = subprocess.run(
        [sys.executable, "-B", "-m", "tenon.as_tvm", *what, "--flag", "x"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "__main__ tenon ['--flag', 'x'] 2"


def test_modules_run_under_the_old_name():
    out = run("""
        import runpy, sys
        sys.argv = ["x", "--version"]
        try:
            runpy.run_module("tvm.config", run_name="__main__")
        except SystemExit as err:
            assert err.code == 0
    """)
    assert out.strip() == __import__("tenon").__version__
