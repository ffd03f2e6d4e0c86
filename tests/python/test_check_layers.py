"""tools/check_layers finds what it is there to find."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    path = str(ROOT / "tools" / "check_layers")
    loader = importlib.machinery.SourceFileLoader("check_layers", path)
    spec = importlib.util.spec_from_loader("check_layers", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def layers(tmp_path, monkeypatch):
    module = load()
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for name in ("include/tenon/ffi.h", "src/base/buf.h", "src/object/map_impl.h", "src/ir/expr.h"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return module


def breaches(layers, name, text):
    path = layers.ROOT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return layers.breaches(path)


@pytest.mark.parametrize(
    "name, include",
    [
        ("src/object/a.c", "base/buf.h"),
        ("src/object/a.c", "object/map_impl.h"),
        ("src/tir/a.c", "ir/expr.h"),
        ("src/base/a.c", "tenon/ffi.h"),
        ("python/ext/a.c", "base/buf.h"),
    ],
)
def test_allowed(layers, name, include):
    assert breaches(layers, name, f'#include "{include}"\n') == []


@pytest.mark.parametrize(
    "name, include, why",
    [
        ("src/base/a.c", "object/object.h", "base may include only from base"),
        ("src/runtime/a.c", "ir/expr.h", "runtime may include only from base, object, runtime"),
        ("src/runtime/a.c", "object/map_impl.h", "private to object"),
        ("src/runtime/a.c", "tenon/compiler.h", "runtime is below the compiler"),
        ("src/ir/a.c", "../object/object.h", "name the header from src/ or include/"),
        ("python/ext/a.c", "ir/expr.h", "python/ext may include only from"),
        ("include/tenon/runtime.h", "base/buf.h", "public headers include public headers only"),
    ],
)
def test_refused(layers, name, include, why):
    (line,) = breaches(layers, name, f'\n#include "{include}"\n')
    assert line.startswith(f'{name}:2: include of "{include}": ')
    assert why in line


def test_folders_that_include_each_other(layers):
    files = {
        "src/ir/a/one.c": '#include "ir/b/two.h"\n',
        "src/ir/a/one.h": "",
        "src/ir/b/two.h": "",
        "src/ir/init.c": '#include "ir/a/one.h"\n#include "ir/b/two.h"\n',
        "src/ir/b/two.c": '#include "ir/expr.h"\n#include "ir/b/two.h"\n',
    }
    for name, text in files.items():
        (layers.ROOT / name).parent.mkdir(exist_ok=True)
        (layers.ROOT / name).write_text(text)
    assert layers.circles() == []
    (layers.ROOT / "src/ir/b/two.c").write_text('#include "ir/a/one.h"\n')
    (line,) = layers.circles()
    assert "folders include each other" in line
    assert 'ir/a (one.c "ir/b/two.h") -> ir/b' in line
    assert 'ir/b (two.c "ir/a/one.h") -> ir/a' in line


def test_calls(layers):
    text = """
/* malloc(1) */ const char *s = "free(p)";
void f(void) { hooks->free(p); tn_free(p); my_exit(1); }
void g(void) { free(p); }
"""
    assert breaches(layers, "src/ir/a.c", text) == ["src/ir/a.c:4: free(): use src/base/alloc.h"]


@pytest.mark.parametrize(
    "argument, refused",
    [
        ("(size_t)n * sizeof *p", True),
        ("(a + 1) * b", True),
        ("sizeof *p + (size_t)n * sizeof(int)", True),
        ("(size_t)1 << bits", True),
        ("sizeof *p", False),
        ("sizeof(int *)", False),
        ("2 * sizeof(int64_t)", False),
        ("(MOST + 1) * sizeof *p->items[0].x", False),
        ("*n + 1", False),
        ("(size_t)*n + 1", False),
    ],
)
def test_products_in_allocations(layers, argument, refused):
    found = breaches(
        layers, "src/ir/a.c", f"void *f(void) {{\n  return tn_alloc({argument});\n}}\n"
    )
    assert [line.split(" a product")[0] for line in found] == [
        "src/ir/a.c:2: tn_alloc():"
    ] * refused


def test_header_that_does_not_stand_alone(layers):
    header = layers.ROOT / "include/tenon/bad.h"
    header.write_text("typedef size_t unguarded;\n")
    (line,) = layers.compiles_alone((header, "c"))
    assert line.startswith("include/tenon/bad.h: does not compile alone as c:")


def test_long_file(layers):
    path = layers.ROOT / "src/ir/long.c"
    path.write_text("\n" * 601)
    (line,) = layers.too_long(path)
    assert "601 lines, at most 600" in line


@pytest.mark.parametrize(
    "name, text, wrong",
    [
        ("src/ir/a.c", 'f = fopen(path, "wb");', 1),
        ("src/ir/a.c", 'f = fopen(path, "rb");', 0),
        ("src/ir/a.c", "fd = open(path, O_WRONLY | O_CREAT, 0600);", 1),
        ("src/base/file.c", "fd = open(path, O_WRONLY | O_CREAT, 0600);", 0),
        ("python/tenon/a.py", 'open(path, "w", encoding="utf-8")', 1),
        ("python/tenon/a.py", 'open(path, mode="wb")', 1),
        ("python/tenon/a.py", 'open(path, encoding="utf-8")', 0),
        ("python/tenon/a.py", 'path.write_text("x")', 1),
    ],
)
def test_files_are_written_in_one_place(layers, name, text, wrong):
    path = layers.ROOT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert len(layers.writes(path)) == wrong


@pytest.mark.parametrize("call", ['getenv("HOME")', "rename(a, b)", "mkdtemp(name)"])
def test_calls_with_one_place(layers, call):
    (why,) = breaches(layers, "src/ir/a.c", f"x = {call};")
    assert call.split("(")[0] in why
    assert breaches(layers, "src/ir/a.c", 'x = secure_getenv("HOME");') == []
