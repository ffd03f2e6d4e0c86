"""Objects, their classes and fields, containers."""

import copy
import pickle

import numpy as np
import pytest
import tenon
from tenon import _core

convert = _core.convert_to_object


def box(value):
    return _core.make_node("runtime.BoxInt", {"value": value})


# ---- identity ----


def test_each_result_is_a_wrapper_of_its_own():
    a = convert([[]])
    x, y = a[0], a[0]
    assert x is not y and x.same_as(y) and not x.same_as(a) and not x.same_as(3)
    assert x.handle.value == y.handle.value and x.handle != y.handle


def test_objects_compare_and_hash_by_identity():
    x, y = box(3), box(3)
    assert x != y and x == x and (x == 3) is False
    same = convert([x])[0]
    assert same == x and hash(same) == hash(x) and len({x, same, y}) == 2
    with pytest.raises(TypeError):
        x < y  # noqa: B015


def test_none_stays_none():
    assert convert(None) is None


# ---- fields and classes ----


def test_fields():
    x = box(2**40)
    assert x.value == 2**40 and x.type_key == "runtime.BoxInt"
    with pytest.raises(AttributeError, match="value of .* cannot be set"):
        x.value = 3
    with pytest.raises(AttributeError):
        x.other = 3
    with pytest.raises(AttributeError):
        del x.value
    assert "value" in dir(x)


def test_field_descriptors_tell_about_themselves():
    cls = _core.class_of("runtime.BoxInt")
    field = cls.__dict__["value"]
    assert field.__doc__ == "the integer" and field.__name__ == "value"
    assert field.__objclass__ is cls and "value" in repr(field)
    assert cls.value is field
    with pytest.raises(TypeError):
        field.__get__(3)
    with pytest.raises(TypeError):
        type(field)()


def test_a_field_used_on_another_type_is_looked_up_by_name():
    field = _core.class_of("runtime.BoxInt").__dict__["value"]
    f = _core.make_node("runtime.BoxFloat", {"value": 2.5})
    assert field.__get__(f) == 2.5
    with pytest.raises(AttributeError, match="Array has no field value"):
        field.__get__(convert([]))


def test_types_without_a_class_get_one():
    cls = _core.class_of("runtime.BoxInt")
    assert cls.__name__ == "BoxInt" and issubclass(cls, _core.Object)
    assert cls.__module__ == "tenon.runtime" and cls.__doc__ == "integer as an object"
    assert type(box(1)) is cls and not hasattr(box(1), "__dict__")


def test_registered_classes():
    before = _core.class_of("runtime.BoxBool")

    class Truth(_core.Object):
        __slots__ = ()

        def __bool__(self):
            return self.value

    try:
        assert _core.register_class("runtime.BoxBool", Truth) is Truth
        x = _core.make_node("runtime.BoxBool", {"value": True})
        assert type(x) is Truth and x and x.value is True

        class Other(_core.Object):
            value = 7  # a class's own attribute stays

        _core.register_class("runtime.BoxBool", Other)
        assert _core.make_node("runtime.BoxBool", {"value": True}).value == 7
    finally:
        _core.register_class("runtime.BoxBool", before)


def test_classes_that_do_not_fit_are_refused():
    class Plain:
        pass

    class Node(_core.Object):
        pass

    with pytest.raises(TypeError, match="must derive from"):
        _core.register_class("Array", Plain)
    with pytest.raises(TypeError, match="must derive from"):
        _core.register_class("runtime.PackedFunc", Node)
    with pytest.raises(TypeError, match="must derive from"):
        _core.register_class("runtime.NDArray", Node)
    with pytest.raises(ValueError, match="Cannot find object type index for no.Such"):
        _core.register_class("no.Such", Node)
    with pytest.raises(TypeError):
        _core.set_value_class("Device", Node)
    with pytest.raises(ValueError, match="nothing"):
        _core.set_value_class("nothing", Node)


def test_a_class_of_the_wrong_type_cannot_be_fooled():
    class Fake(_core.Array):
        __slots__ = ()

    f = Fake()
    with pytest.raises(ValueError, match="never made"):
        len(f)
    f.__init_handle_by_constructor__(_core.get_global_func("testing.echo"), {"a": 1})
    with pytest.raises(TypeError, match="not a sequence"):
        len(f)
    with pytest.raises(TypeError, match="not a sequence"):
        f[0]


def test_reflection():
    info = _core.type_info("runtime.BoxInt")
    assert info["key"] == "runtime.BoxInt" and info["base"] == "Object"
    assert info["fields"] == [("value", "I64", "", 0, "the integer", None)]
    assert "Array" in _core.list_types() and info["index"] > 0


def test_keyword_construction():
    with pytest.raises(AttributeError, match="no field 'valeu'"):
        _core.make_node("runtime.BoxInt", {"valeu": 3})
    with pytest.raises(TypeError, match="value"):
        _core.make_node("runtime.BoxInt", {"value": "three"})
    with pytest.raises(TypeError):
        _core.make_node("runtime.BoxInt", {3: 3})
    with pytest.raises(TypeError, match="cannot be made"):
        _core.make_node("Array", {})
    with pytest.raises(TypeError, match="no constructor"):
        _core.Object(1)


# ---- Array ----


def test_arrays_are_sequences():
    a = convert([10, 20, 30])
    assert len(a) == 3 and [x.value for x in a] == [10, 20, 30]
    assert a[0].value == 10 and a[-1].value == 30 and a[np.int64(1)].value == 20
    assert [x.value for x in a[-3:-1]] == [10, 20] and isinstance(a[:], list)
    assert [x.value for x in a[::-2]] == [30, 10] and a[5:] == []
    for i in (3, -4, 2**70):
        with pytest.raises(IndexError):
            a[i]
    with pytest.raises(TypeError):
        a["x"]
    with pytest.raises(TypeError):
        a[0] = 1
    with pytest.raises(TypeError):
        del a[0]


def test_arrays_of_strings_compare_by_value():
    a = convert(["x", "y", "x"])
    assert "x" in a and "z" not in a and a.index("y") == 1 and a.count("x") == 2
    assert a == ["x", "y", "x"] and a == ("x", "y", "x") and a != ["x", "y"] and a != 3
    assert a == convert(["x", "y", "x"]) and hash(a) == hash(convert(["x", "y", "x"]))
    assert ["x", "y", "x"] == a and list(a + ["w"]) == ["x", "y", "x", "w"] == a + ("w",)
    assert ["w"] + a == ["w", "x", "y", "x"]
    with pytest.raises(TypeError):
        a + 3


def test_comparison_that_raises():
    class Angry:
        def __eq__(self, other):
            raise LookupError("no comparison")

    with pytest.raises(LookupError):
        Angry() in convert(["x"])  # noqa: B015


# ---- Map ----


def test_maps_are_mappings_in_order():
    m = convert({"b": 2, "a": 1, "c": None})
    assert len(m) == 3 and list(m) == ["b", "a", "c"] == m.keys()
    assert m["a"].value == 1 and m["c"] is None and "a" in m and "x" not in m
    assert [(k, v and v.value) for k, v in m.items()] == [("b", 2), ("a", 1), ("c", None)]
    assert m.values()[0].value == 2 and m.get("x") is None and m.get("x", 5) == 5
    assert m.get("b").value == 2 and dict(m)["b"].value == 2
    with pytest.raises(RuntimeError, match="IndexError: key is not in Map"):
        m["x"]
    with pytest.raises(TypeError):
        m["x"] = 1


def test_map_keys_that_are_objects_compare_by_identity():
    x, y = convert([1]), convert([1])
    m = convert({x: "x", 3: "three"})
    assert m[x] == "x" and x in m and y not in m
    assert m[3] == "three" and m.keys()[0].same_as(x)


def test_maps_compare_by_content():
    a = convert({"k": "v", "l": "w"})
    assert a == {"l": "w", "k": "v"} and a == convert({"l": "w", "k": "v"})
    assert a != {"k": "v"} and a != {"k": "v", "l": "x"} and a != {"k": "v", "m": "w"} and a != 3
    assert hash(a) == hash(convert({"l": "w", "k": "v"}))


# ---- ShapeTuple, ADT ----


def test_shapes():
    s = _core.ShapeTuple([1, 2, np.int64(3)])
    assert s == (1, 2, 3) and len(s) == 3 and s[-1] == 3 and s[1:] == (2, 3) and 2 in s
    assert hash(s) == hash((1, 2, 3)) and repr(s) == "(1, 2, 3)"
    assert _core.get_global_func("testing.echo")(s) == s
    assert pickle.loads(pickle.dumps(s)) == s
    with pytest.raises(TypeError):
        _core.ShapeTuple(["x"])
    with pytest.raises(OverflowError):
        _core.ShapeTuple([2**63])


def test_tuples_with_tags():
    t = _core.ADT(3, ["a", [1]])
    assert t.tag == 3 and len(t) == 2 and t[0] == "a" and t[1][0].value == 1
    back = _core.get_global_func("testing.echo")(t)
    assert isinstance(back, _core.ADT) and back.same_as(t)


# ---- copies ----


@pytest.mark.skipif(
    _core.get_global_func("node.SaveJSON") is None, reason="JSON is not in this library"
)
def test_pickle_and_deepcopy():
    a = convert([1, "two", {"k": 2.5}, None])
    for b in (pickle.loads(pickle.dumps(a)), copy.deepcopy(a)):
        assert not b.same_as(a) and b[0].value == 1 and b[1] == "two"
        assert b[2]["k"].value == 2.5 and b[3] is None
    assert pickle.loads(pickle.dumps(_core.Device(2, 3))) == _core.Device(2, 3)
    assert pickle.loads(pickle.dumps(_core.DataType("int8x4"))) == "int8x4"
    with pytest.raises((TypeError, RuntimeError, ValueError)):
        pickle.dumps(_core.get_global_func("testing.echo"))


def test_instance_dictionaries_are_pickled():
    if _core.get_global_func("node.SaveJSON") is None:
        pytest.skip("JSON is not in this library")
    before = _core.class_of("runtime.BoxFloat")
    try:
        _core.register_class("runtime.BoxFloat", WithDict)
        x = _core.make_node("runtime.BoxFloat", {"value": 1.5})
        x.note = "kept"
        y = pickle.loads(pickle.dumps(x))
        assert y.value == 1.5 and y.note == "kept"
    finally:
        _core.register_class("runtime.BoxFloat", before)


class WithDict(_core.Object):
    pass


def test_repr_of_everything():
    for x in (convert([1]), convert({}), _core.ADT(0, []), _core.Function(len), box(1)):
        assert isinstance(repr(x), str) and repr(x)


def test_containers_are_objects_of_the_package():
    from collections.abc import Mapping, Sequence

    import tenon

    a, m = convert([1]), convert({"k": 1})
    assert isinstance(a, tenon.runtime.Object) and isinstance(a, tenon.ir.Array)
    assert isinstance(a, tenon.ir.Node) and isinstance(a, Sequence)
    assert isinstance(m, tenon.ir.Node) and isinstance(m, Mapping)
    assert isinstance(_core.get_global_func("testing.echo"), tenon.runtime.PackedFunc)


def test_a_node_becomes_a_copy_of_another():
    from tenon import tir

    i = tir.Var("i", "int32")
    loop = tir.For(i, min=0, extent=4, kind=tir.ForKind.SERIAL, body=tir.Evaluate(i))
    other = tir.For(i, 1, 5, tir.ForKind.SERIAL, tir.Evaluate(i))
    state = loop.__getstate__()
    other.__setstate__(state)
    tenon.ir.assert_structural_equal(other, loop)
    assert not other.same_as(loop) and not other.loop_var.same_as(i)
    loop.__setstate__(state)  # of itself: another object of the same content
    assert not loop.loop_var.same_as(i)
    with pytest.raises(TypeError, match="once"):
        tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.Evaluate(i), min=0)
    with pytest.raises(TypeError, match="extent, kind and body"):
        tir.For(i, 0)


def test_attributes_of_functions_may_use_parameters():
    def func(which):
        x, y = (tenon.tir.Var(name, "int32") for name in "xy")
        body = tenon.tir.Evaluate(x + y)
        return tenon.tir.PrimFunc([x, y], body).with_attr("size", (x, y)[which] * 2)

    assert tenon.ir.structural_equal(func(0), func(0))
    assert tenon.ir.structural_hash(func(0)) == tenon.ir.structural_hash(func(0))
    assert not tenon.ir.structural_equal(func(0), func(1))
    assert tenon.ir.structural_hash(func(0)) != tenon.ir.structural_hash(func(1))
