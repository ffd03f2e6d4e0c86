"""Global functions and classes of native types."""

import sys
import types

import pytest
import tenon
from tenon import _ffi
from tenon._ffi import registry


@pytest.fixture
def name():
    """A name that no function has; what is registered under it goes afterwards."""
    text = "test.registry.f"
    yield text
    if text in _ffi.list_global_func_names():
        _ffi.remove_global_func(text)


def test_decorator_with_and_without_a_name(name):
    @tenon.register_func(name)
    def add(a, b):
        return a + b

    assert add(1, 2) == 3  # the function itself is returned
    assert tenon.get_global_func(name)(1, 2) == 3

    @tenon.register_func
    def test_registry_bare(x):
        return x

    assert tenon.get_global_func("test_registry_bare")("kept") == "kept"
    _ffi.remove_global_func("test_registry_bare")


def test_second_registration_needs_override(name):
    tenon.register_func(name, lambda: 1)
    with pytest.raises(tenon.TVMError, match=f"Global PackedFunc {name} is already registered"):
        tenon.register_func(name, lambda: 2)
    assert tenon.get_global_func(name)() == 1
    tenon.register_func(name, lambda: 2, override=True)
    assert tenon.get_global_func(name)() == 2


def test_missing_function(name):
    with pytest.raises(ValueError, match=f"Cannot find global function {name}"):
        tenon.get_global_func(name)
    assert tenon.get_global_func(name, allow_missing=True) is None
    with pytest.raises(TypeError, match="expected a name, got <class 'int'>"):
        tenon.get_global_func(3)
    with pytest.raises(KeyError, match=name):
        _ffi.remove_global_func(name)


def test_names_are_listed_until_removed(name):
    tenon.register_func(name, lambda: None)
    names = registry.list_global_func_names()
    assert name in names and names == sorted(names) and all(type(n) is str for n in names)
    _ffi.remove_global_func(name)
    assert name not in registry.list_global_func_names()


def test_name_must_be_text():
    with pytest.raises(ValueError, match="expect string function name"):
        tenon.register_func(3, lambda: None)


def test_init_api_attaches_a_namespace():
    module = types.ModuleType("test_init_api_module")
    module.own = 1
    sys.modules[module.__name__] = module
    try:
        registry._init_api("tvm.testing", module.__name__)
        assert module.echo(5) == 5
        assert "echo" in vars(module)  # found once, then an ordinary attribute
        assert {"own", "echo", "nop", "ErrorTest"} <= set(dir(module))
        with pytest.raises(AttributeError, match="global function testing.missing is unknown"):
            module.missing  # noqa: B018
        tenon.register_func("testing.later", lambda: "later")
        assert module.later() == "later"
    finally:
        del sys.modules[module.__name__]
        _ffi.remove_global_func("testing.later")


def test_init_api_leaves_deeper_namespaces_out():
    from tenon.runtime import _ffi_api

    assert tenon.get_global_func("runtime.module.loadfile_so") is not None
    assert not hasattr(_ffi_api, "module.loadfile_so")
    assert all("." not in name for name in dir(_ffi_api))


def test_init_api_keeps_a_getattr_of_the_module():
    assert tenon.testing.plugin.__name__ == "tenon.testing.plugin"
    assert callable(tenon.testing.nop)


def test_register_object_gives_results_a_class():
    assert type(tenon.runtime.ObjectPath.root()).__name__ == "RootPath"
    with pytest.raises(ValueError, match="no.such.Type"):

        @tenon.register_object("no.such.Type")
        class Nothing(tenon.runtime.Object):
            pass

    with pytest.raises(TypeError):
        tenon.register_object("RootPath")(int)


def test_register_extension():
    class View:
        _tvm_tcode = _ffi.runtime_ctypes.ArgTypeCode.DLTENSOR_HANDLE

        def __init__(self, array):
            self.array = array

        @property
        def _tvm_handle(self):
            return self.array._tvm_handle

    assert tenon.register_extension(View) is View
    array = tenon.nd.array([1.0, 2.0])
    seen = []
    tenon.runtime.convert(lambda x: seen.append(x.numpy().tolist()))(View(array))
    assert seen == [[1.0, 2.0]]
    with pytest.raises(ValueError, match="no longer supported"):
        tenon.register_extension(View, fcreate=View)
    with pytest.raises(TypeError, match="_tvm_tcode"):
        tenon.register_extension(int)
