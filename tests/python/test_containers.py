"""Arrays, maps, shapes, tuples, strings."""

import copy
import pickle

import pytest
import tenon
from tenon.runtime import convert
from tenon.runtime.container import ADT, ShapeTuple, String, tuple_object


def values(items):
    return [item.value for item in items]


def test_array_is_a_sequence():
    a = convert([1, 2, 3])
    assert isinstance(a, tenon.ir.Array) and isinstance(a, tenon.ir.container.Array)
    assert isinstance(a, tenon.container.Array)
    assert len(a) == 3 and a[-1].value == 3 and values(a) == [1, 2, 3]
    part = a[-3:-1]
    assert isinstance(part, list) and values(part) == [1, 2]
    assert values(a[::-1]) == [3, 2, 1] and a[5:] == []
    for index in (3, -4):
        with pytest.raises(IndexError):
            a[index]
    with pytest.raises(TypeError):
        a["x"]
    with pytest.raises(TypeError):
        a[0] = 4


def test_array_compares_by_content():
    assert convert([1, 2]) == convert([1, 2]) and convert([1, 2]) != convert([2, 1])
    assert convert(["a"]) == ["a"]
    names = convert(["a", "b"])
    assert "a" in names and "c" not in names
    assert tenon.tir.StringImm("a") in convert([tenon.tir.StringImm("a")])


def test_array_attributes():
    a = convert([1])
    assert "same_as" in dir(a) and a.type_key == "Array"
    with pytest.raises(AttributeError, match="has no attribute nothing"):
        a.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        a.other = 1


def test_map_is_a_mapping():
    m = convert({"a": 1, "b": 2, "c": 3})
    assert isinstance(m, tenon.ir.Map)
    assert list(m) == list(m.keys()) == ["a", "b", "c"] and values(m.values()) == [1, 2, 3]
    assert {k: v.value for k, v in m.items()} == {"a": 1, "b": 2, "c": 3}
    assert "a" in m and "z" not in m and len(m) == 3
    assert m.get("z") is None and m.get("z", 5) == 5 and m.get("a").value == 1
    with pytest.raises(tenon.TVMError, match="IndexError: key is not in Map"):
        m["z"]


def test_map_keys_that_are_objects_go_by_identity():
    x, y = tenon.tir.Var("x", "int32"), tenon.tir.Var("x", "int32")
    m = convert({x: 1})
    assert x in m and y not in m and m[x].value == 1


def test_shape_tuple():
    s = ShapeTuple([3, 4])
    assert len(s) == 2 and s[1] == 4 and list(s) == [3, 4] and s[-1] == 4
    assert s == ShapeTuple((3, 4)) and s == (3, 4) and s != ShapeTuple([3])
    assert tenon.runtime.ShapeTuple is ShapeTuple
    with pytest.raises(IndexError):
        s[2]
    with pytest.raises(TypeError):
        ShapeTuple(["x"])


def test_adt_and_tuples():
    array = tenon.nd.array([1])
    t = tuple_object([array, array])
    assert isinstance(t, ADT) and t.tag == 0 and len(t) == 2 and t[1].same_as(array)
    value = ADT(3, [array])
    assert value.tag == 3 and len(value) == 1
    assert len(tuple_object()) == 0
    with pytest.raises(IndexError):
        t[2]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_pickle_and_deepcopy(again):
    assert again(String("text")) == "text" and isinstance(again(String("text")), String)
    assert again(ShapeTuple([1, 2])) == (1, 2)
    a = convert([1, "two", [3.5]])
    tenon.ir.assert_structural_equal(again(a), a)
    m = convert({"a": 1, "b": "x"})
    tenon.ir.assert_structural_equal(again(m), m)
    x = tenon.tir.Var("x", "int32")
    assert again(x).name == "x" and not again(x).same_as(x)


def test_names_of_old_modules():
    assert tenon.container.Map is tenon.ir.container.Map
    assert tenon.runtime.container.ADT is tenon.container.ADT
