"""The type stubs say what the library says."""

import ast
import importlib.util
import pathlib
import subprocess
import sys

import pytest
import tenon

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "tenon"


@pytest.fixture(scope="module")
def nodes():
    """Class -> fields, as _nodes.pyi has them."""
    tree = ast.parse((PACKAGE / "_nodes.pyi").read_text())
    return {
        node.name: {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }


def test_stubs_are_up_to_date():
    if "IntImm" not in tenon._core.list_types():
        pytest.skip("a build without the compiler has fewer types")
    command = [sys.executable, "-B", str(ROOT / "tools" / "make_stubs"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_fields(nodes):
    assert nodes["PrimExpr"] == {"dtype"} and nodes["IntImm"] == {"value"}
    assert nodes["Span"] >= {"line", "column"}


def test_stubs_are_python():
    for path in PACKAGE.glob("*.pyi"):
        ast.parse(path.read_text())
    assert (PACKAGE / "py.typed").exists()


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="no mypy")
def test_stubs_have_no_type_errors():
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, PACKAGE.glob("*.pyi"))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def public(module):
    """Functions and classes that a module offers of its own."""
    for name, value in vars(module).items():
        if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
            continue
        if callable(value):
            yield name, value


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in ("tenon.as_tvm",):
            yield name


@pytest.mark.parametrize("name", list(modules()))
def test_everything_is_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    for attribute, value in public(module):
        assert value.__doc__, f"{name}.{attribute} has no docstring"
        if isinstance(value, type):
            for method, function in vars(value).items():
                plain = not method.startswith("_") and callable(function)
                assert not plain or function.__doc__ or _inherited(value, method), (
                    f"{name}.{attribute}.{method} has no docstring"
                )


def _inherited(cls, method):
    return any(getattr(getattr(base, method, None), "__doc__", None) for base in cls.__mro__[1:])


def test_help_is_useful():
    import pydoc

    text = pydoc.plain(pydoc.render_doc(tenon.nd.array))
    assert "Parameters" in text and "Returns" in text and "Raises" in text
    text = pydoc.plain(pydoc.render_doc(tenon.tir.IntImm))
    assert "the number, in the range of dtype" in text  # fields bring their own text
