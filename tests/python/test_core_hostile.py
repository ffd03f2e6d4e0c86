"""Python values that change, lie or end while the extension uses them."""

import gc
import json
import threading
import time

import numpy as np
import pytest
import tenon
from tenon import _core, ir, relay, tir
from test_native_modules import compile_c


class Mover:
    """Runs `act` when it is converted."""

    def __init__(self, act):
        self.act = act

    def asobject(self):
        self.act()
        return tenon.runtime.convert([1, 2, 3])


def test_argument_moved_while_others_are_converted():
    echo = tenon.get_global_func("testing.echo")
    equal = tenon.get_global_func("node.StructuralEqual")
    x = tenon.runtime.convert([4, 5, 6])
    # x is lent to the call: moving it meanwhile shares it, it does not take it away
    assert not equal(x, Mover(lambda: echo(x._move())), False, False)
    assert list(x) == [4, 5, 6]
    y = x._move()
    assert list(echo(y)) == [4, 5, 6]
    with pytest.raises(ValueError, match="moved away"):
        len(x)


def test_map_moved_while_its_key_is_converted():
    echo = tenon.get_global_func("testing.echo")
    m = tenon.runtime.convert({"a": 1})
    assert m.get(Mover(lambda: echo(m._move())), 7) == 7
    assert m["a"] == 1


def test_moved_by_a_callback_of_the_call():
    echo = tenon.get_global_func("testing.echo")
    x = tenon.runtime.convert([1, 2])

    @tenon.register_func("test.moves_argument", override=True)
    def moves(given):
        echo(x._move())
        gc.collect()
        return list(given)

    assert tenon.get_global_func("test.moves_argument")(x) == [1, 2]


class Lying(list):
    length = 10

    def __len__(self):
        return self.length


class Shrinking(list):
    def __iter__(self):
        while self:
            yield self.pop()


def test_lists_that_lie_about_themselves():
    lying = Lying([1, 2])
    assert list(tenon.runtime.convert(lying)) == [1, 2]
    lying.length = 2**62 - 1
    with pytest.raises(MemoryError):  # as tuple(lying) does
        tenon.runtime.convert(lying)
    assert list(tenon.runtime.convert(Shrinking([1, 2, 3]))) == [3, 2, 1]


def test_list_that_shrinks_while_it_is_converted():
    items = [1, 2, 3]
    items[1] = Mover(items.clear)
    assert len(tenon.runtime.convert(items)) == 3


def test_wrapper_takes_only_objects_of_its_class():
    f = tenon.get_global_func("testing.echo")
    other = tenon.runtime.convert([1])
    with pytest.raises(TypeError, match="cannot hold"):
        f.__init_handle_by_constructor__(lambda: other)
    assert f(3) == 3


def test_deep_containers():
    deep = tenon.runtime.convert([])
    for _ in range(100_000):
        deep = tenon.runtime.convert([deep])
    with pytest.raises(RecursionError):
        hash(deep)
    assert ir.structural_hash(deep) == ir.structural_hash(deep)
    del deep


def test_chain_of_callbacks_is_released():
    """Each callback holds the next: their finalizers release one another."""
    f = tenon.runtime.convert(lambda: None)
    for _ in range(20_000):
        f = tenon.runtime.convert(lambda held=f: held)
    del f


def test_chain_of_tensors_is_released():
    """Each tensor's memory belongs to an object that holds the next tensor."""

    class Owner:
        def __init__(self, held):
            self.held, self.data = held, np.zeros(1, "float32")

        def __dlpack__(self, **kwargs):
            view = np.ndarray.__new__(Kept, 1, "float32", self.data)
            view.owner = self
            return view.__dlpack__()

        def __dlpack_device__(self):
            return self.data.__dlpack_device__()

    class Kept(np.ndarray):
        pass

    t = tenon.nd.array(np.zeros(1, "float32"))
    for _ in range(20_000):
        t = tenon.runtime.ndarray.from_dlpack(Owner(t))
    del t


NATIVE = """
#include <tvm/runtime/c_runtime_api.h>
#include <tvm/runtime/c_backend_api.h>

void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);

static int call(TVMFunctionHandle f, int64_t i) {
  TVMValue arg = {.v_int64 = i}, ret;
  int code = kTVMArgInt, ret_code;
  return TVMFuncCall(f, &arg, &code, 1, &ret, &ret_code);
}

/* gives up the lock of the interpreter, as any native code may, and calls back */
TVM_DLL int32_t unlocked(void *args, int32_t *codes, int32_t n, void *ret, int32_t *rc, void *r) {
  void *state = PyEval_SaveThread();
  int err = call(((TVMValue *)args)[0].v_handle, 7);
  PyEval_RestoreThread(state);
  return err;
}

static int task(int id, TVMParallelGroupEnv *env, void *f) {
  if (TVMBackendParallelBarrier(id, env)) return -1;
  return call(f, id);
}

/* tasks that meet, so that each has a thread, and call back */
TVM_DLL int32_t meet(void *args, int32_t *codes, int32_t n, void *ret, int32_t *rc, void *r) {
  return TVMBackendParallelLaunch(task, ((TVMValue *)args)[0].v_handle, 6);
}

static void *handle;
static int once(void *f) { return call(*(TVMFunctionHandle *)f, 1); }

TVM_DLL int32_t run_once(void *args, int32_t *codes, int32_t n, void *ret, int32_t *rc, void *r) {
  return TVMBackendRunOnce(&handle, once, &((TVMValue *)args)[0].v_handle, sizeof(void *));
}
"""


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    return tenon.runtime.load_module(
        compile_c(tmp_path_factory.mktemp("native"), "callbacks", NATIVE)
    )


def test_callback_from_native_code_that_gave_up_the_lock(native):
    seen = []
    native["unlocked"](tenon.runtime.convert(seen.append))
    assert seen == [7]


def test_threads_of_a_launch_may_need_the_interpreter(native):
    """The launch waits for them without the lock, which their callbacks need."""
    seen = []
    native["meet"](tenon.runtime.convert(seen.append))
    assert sorted(seen) == list(range(6))


def test_what_runs_once_may_need_the_interpreter(native):
    """Two threads ask; the second waits without the lock, which the first needs again and again."""
    seen = []

    def slow(i):
        for _ in range(20):
            time.sleep(0.001)
        seen.append(i)
        native["run_once"](tenon.runtime.convert(slow))  # the thread that runs it may ask again

    threads = [
        threading.Thread(target=lambda: native["run_once"](tenon.runtime.convert(slow)))
        for _ in range(4)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert seen == [1]


def load(nodes, root):
    attrs = {"tenon_version": "0"}
    return ir.load_json(
        json.dumps({"root": root, "nodes": nodes, "b64ndarrays": [], "attrs": attrs})
    )


TEXT = {"type_key": "runtime.String", "repr_str": "x"}


def container_fields():
    """(type, field, class) of every field whose elements have a class."""
    for key in sorted(_core.list_types()):
        for name, kind, cls, *_ in _core.type_info(key)["fields"]:
            if kind == "REF" and cls.startswith(("Array(", "Map(")) and "Object" not in cls:
                yield key, name, cls


@pytest.mark.parametrize("key, field, cls", list(container_fields()))
def test_elements_of_containers_are_checked(key, field, cls):
    wrong = relay.PatternWildcard() if "Pattern" not in cls else tir.Evaluate(0)
    held = [wrong] if cls.startswith("Array") else {wrong: wrong}
    if cls.startswith("Array(Array") or cls.startswith("Array(Map"):
        held = [[wrong]] if cls.startswith("Array(Array") else [wrong]
    with pytest.raises(TypeError):
        ir.make_node(key, **{field: held})


def test_json_with_elements_of_another_class():
    for key, field in (("TupleType", "fields"), ("FuncType", "arg_types")):
        nodes = [
            {"type_key": ""},
            TEXT,
            {"type_key": "Array", "data": [1]},
            {"type_key": key, "attrs": {field: "2", "span": "0"}},
        ]
        with pytest.raises(TypeError, match=f"{key}.{field}: element 0: expected Type, got"):
            load(nodes, 3)


def test_functions_refuse_containers_of_another_class():
    with pytest.raises(TypeError, match="TupleType.fields: element 0: expected Type"):
        ir.TupleType([1])
    with pytest.raises(TypeError, match="argument 0: element 0: expected Operation"):
        tenon.get_global_func("te.schedule.CreateSchedule")(["x"])
