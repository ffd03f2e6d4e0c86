"""Every allocation of the library failing in turn below tenon._core: MemoryError, nothing lost."""

import copy
import ctypes
import shutil
import subprocess

import numpy as np
import pytest
from tenon import _core

SOURCE = r"""
#include <stddef.h>
typedef struct { void *(*alloc)(void *, void *, size_t); void *ctx; } tn_allocator;
tn_allocator tn_set_allocator(tn_allocator a);
static tn_allocator before;
static long left = -1, failed;
static void *limited(void *ctx, void *old, size_t size) {
  (void)ctx;
  if (size && left >= 0 && left-- == 0) { ++failed; return NULL; }
  return before.alloc(before.ctx, old, size);
}
void start(void) { tn_allocator a = {limited, NULL}; before = tn_set_allocator(a); }
void stop(void) { tn_set_allocator(before); }
void fail_after(long n) { left = n; failed = 0; }
long count_failed(void) { left = -1; return failed; }
"""


@pytest.fixture(scope="module")
def allocator(tmp_path_factory):
    cc = shutil.which("cc")
    if not cc:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("allocator")
    source = folder / "limited.c"
    source.write_text(SOURCE)
    library = folder / "limited.so"
    subprocess.run([cc, "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    lib = ctypes.CDLL(str(library))
    lib.fail_after.argtypes = [ctypes.c_long]
    lib.count_failed.restype = ctypes.c_long
    lib.start()
    yield lib
    lib.stop()


echo = _core.get_global_func("testing.echo")
tensor = _core.from_buffer(np.arange(6.0).reshape(2, 3))
array = _core.convert_to_object([1, "a", {"k": [2.5]}])
mapping = _core.convert_to_object({"a": 1})
anything = _core.Function(lambda *a: [a[0], "r", {"k": 1}])


def raise_through():
    def boom():
        raise LookupError("x" * 50)

    with pytest.raises(LookupError):
        _core.get_global_func("testing.test_wrap_callback")(boom)()


def register():
    _core.register_global_func("test_core.memory", len, True)
    assert _core.get_global_func("test_core.memory")
    assert "test_core.memory" in _core.list_global_func_names()
    _core.remove_global_func("test_core.memory")


def wrong_call():
    with pytest.raises(TypeError):
        echo()


CASES = {
    "containers": lambda: echo([1, "two", {"k": (3.0, None)}, bytearray(b"x")]),
    "text": lambda: echo("text"),
    "function": lambda: _core.Function(lambda x: x)(1),
    "callback": lambda: anything("x", array, tensor, b"y", lambda: 1),
    "exception": raise_through,
    "error": wrong_call,
    "node": lambda: _core.make_node("runtime.BoxInt", {"value": 3}),
    "buffer": lambda: _core.from_buffer(np.arange(5)),
    "capsule": lambda: _core.from_dlpack(tensor.to_dlpack()),
    "numpy reads": lambda: np.from_dlpack(tensor),
    "numpy writes": lambda: _core.from_dlpack(np.arange(3)),
    "copy": lambda: copy.deepcopy(tensor),
    "shape": lambda: copy.copy(_core.ShapeTuple((1, 2, 3))),
    "adt": lambda: _core.ADT(1, [1, "x"]),
    "registry": register,
    "reading": lambda: (array[:], mapping["a"], mapping.get("q"), mapping.items()),
}


@pytest.mark.parametrize("case", CASES)
def test_each_allocation_fails_in_turn(allocator, case):
    run = CASES[case]
    run()  # what is made once is there
    for n in range(1000):
        allocator.fail_after(n)
        error = None
        try:
            run()
        except MemoryError as e:
            error = e
        if not allocator.count_failed():
            break
        assert error is not None, f"allocation {n} failed without an error"
    assert error is None
    run()
    assert _core.use_count(array) == 1 and _core.use_count(tensor) == 1
