"""JSON, structural comparison, object paths, construction by name, types and attributes."""

import copy
import json
import math
import pickle

import numpy as np
import pytest
import tenon
from tenon import ir, tir
from tenon.runtime import ObjectPath, convert

# ---- JSON


def test_json_keeps_values():
    value = convert(
        {
            "ints": [tir.IntImm("int64", n) for n in (-(2**63), 2**63 - 1, 0)],
            "floats": [tir.FloatImm("float64", x) for x in (math.inf, -math.inf, 1e-300, -0.0)],
            "text": 'quotes " and \\ and\nlines, é',
            "array": tenon.nd.array(np.arange(6, dtype="float32").reshape(2, 3)),
            "shape": tenon.runtime.ShapeTuple([1, 2]),
            "none": None,
            "expr": tir.Var("x", "int32") + 1,
        }
    )
    text = ir.save_json(value)
    assert isinstance(text, str) and {"root", "nodes", "b64ndarrays", "attrs"} <= set(
        json.loads(text)
    )
    again = ir.load_json(text)
    ir.assert_structural_equal(again, value, map_free_vars=True)
    assert [x.value for x in again["ints"]] == [-(2**63), 2**63 - 1, 0]
    assert again["floats"][0].value == math.inf and math.copysign(1, again["floats"][3].value) < 0
    assert again["array"].numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert ir.json_compact.upgrade_json(text)


def test_json_keeps_nan():
    again = ir.load_json(ir.save_json(tir.FloatImm("float32", math.nan)))
    assert math.isnan(again.value)


def test_json_keeps_sharing():
    x = tir.Var("x", "int32")
    again = ir.load_json(ir.save_json(convert([x, x, x + 1])))
    assert again[0].same_as(again[1]) and again[2].a.same_as(again[0])


def test_python_values_are_converted():
    assert ir.load_json(ir.save_json([1, 2]))[1].value == 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{broken",
        "[]",
        "{}",
        '{"root": 5, "nodes": []}',
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "no.such.Type", "attrs": {}}]}',
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Array", "data": [1]}]}',
        '{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "IntImm", "attrs": {"value": "x"}}]}',
    ],
)
def test_broken_json(text):
    with pytest.raises((ValueError, TypeError, AttributeError, tenon.TVMError)):
        ir.load_json(text)


def test_nodes_pickle_and_copy():
    x = tir.Var("x", "float32")
    for again in (pickle.loads(pickle.dumps(x * 2)), copy.deepcopy(x * 2)):
        ir.assert_structural_equal(again, x * 2, map_free_vars=True)
    with pytest.raises((TypeError, ValueError, tenon.TVMError)):
        pickle.dumps(convert(lambda: None))


# ---- structural comparison


def test_free_variables():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert ir.structural_equal(x + 1, x + 1) and not ir.structural_equal(x + 1, y + 1)
    assert ir.structural_equal(x + 1, y + 1, map_free_vars=True)
    assert not ir.structural_equal(convert([x, y]), convert([x, x]), map_free_vars=True)
    assert ir.structural_hash(x + 1, True) == ir.structural_hash(y + 1, True)
    assert ir.structural_hash(x + 1) == ir.structural_hash(x + 1)


def test_bound_variables():
    def let(name):
        var = tir.Var(name, "int32")
        return tir.Let(var, tir.const(1), var + var)

    assert ir.structural_equal(let("a"), let("b"))
    assert ir.structural_hash(let("a")) == ir.structural_hash(let("b"))


def test_array_content_counts():
    a, b = tenon.nd.array([1, 2]), tenon.nd.array([1, 2])
    assert ir.structural_equal(convert([a]), convert([b]))
    assert ir.structural_hash(convert([a])) == ir.structural_hash(convert([b]))
    assert not ir.structural_equal(convert([a]), convert([tenon.nd.array([1, 3])]))


def test_python_values_compare_too():
    assert ir.structural_equal([1, 2], [1, 2]) and not ir.structural_equal([1], [2])


def test_first_mismatch():
    find = ir.get_first_structural_mismatch
    root = ObjectPath.root()
    assert find(convert([1]), convert([1])) is None
    lhs, rhs = find(convert([1, 2, 3]), convert([1, 4, 3]))
    assert lhs == rhs == root.array_index(1).attr("value")
    lhs, rhs = find(convert([1]), convert([1, 2]))
    assert lhs == root.missing_array_element(1) and rhs == root.array_index(1)
    lhs, rhs = find(convert({"a": 1}), convert({"a": 2}))
    assert lhs == root.map_value("a").attr("value")
    lhs, rhs = find(convert({"a": 1}), convert({"b": 1}))
    assert lhs == root.map_value("a") and rhs == root.missing_map_entry()


def test_assert_structural_equal_shows_the_place():
    with pytest.raises(ValueError, match="StructuralEqual check failed, caused by lhs at") as err:
        ir.assert_structural_equal(convert([1, 2]), convert([1, 3]))
    text = str(err.value)
    assert "<root>[1].value" in text and "^" in text
    ir.assert_structural_equal(convert([1]), convert([1]))


# ---- object paths


def test_paths():
    root = ObjectPath.root()
    path = root.attr("body").array_index(2).map_value("k")
    assert str(path) == repr(path) == '<root>.body[2]["k"]'
    assert len(root) == 1 and len(path) == 4
    assert path.parent == root.attr("body").array_index(2) and root.parent is None
    assert path.get_prefix(1) == root and path.get_prefix(4) == path
    assert root.is_prefix_of(path) and path.is_prefix_of(path) and not path.is_prefix_of(root)
    assert hash(path) == hash(root.attr("body").array_index(2).map_value("k"))
    assert path != root and path != "text" and {path: 1}[path] == 1
    assert str(root.attr(None)) == "<root>.<unknown attribute>"
    assert str(root.missing_array_element(2)) == "<root>[<missing element #2>]"
    assert str(root.missing_map_entry()) == "<root>[<missing entry>]"
    assert str(ObjectPath.root("mod").attr("x")) == "mod.x"
    assert root.attr("body").attr_key == "body" and root.array_index(2).index == 2
    with pytest.raises(IndexError, match="Prefix length must be at least 1"):
        path.get_prefix(0)
    with pytest.raises(IndexError, match="longer than the path itself"):
        path.get_prefix(5)
    with pytest.raises(ValueError, match="root"):
        ObjectPath()


def test_classes_of_paths():
    from tenon.runtime import object_path

    root = ObjectPath.root()
    for path, cls in [
        (root, "RootPath"),
        (root.attr("x"), "AttributeAccessPath"),
        (root.attr(None), "UnknownAttributeAccessPath"),
        (root.array_index(0), "ArrayIndexPath"),
        (root.missing_array_element(0), "MissingArrayElementPath"),
        (root.map_value(1), "MapValuePath"),
        (root.missing_map_entry(), "MissingMapEntryPath"),
    ]:
        assert type(path) is getattr(object_path, cls) and isinstance(path, ObjectPath)


# ---- construction, types, attributes


def test_make_node():
    node = ir.make_node("IntImm", dtype="int32", value=10, span=None)
    assert isinstance(node, tir.IntImm) and node.value == 10 and node.span is None
    with pytest.raises(TypeError, match="tir.Add.*b"):
        ir.make_node("tir.Add", dtype="int32", a=node)


def test_env_func():
    tenon.register_func("test.env_func", lambda x: x + 1, override=True)
    f = ir.EnvFunc.get("test.env_func")
    assert f(1) == 2 and f.name == "test.env_func" and f.func(2) == 3
    again = ir.load_json(ir.save_json(f))
    assert again(5) == 6 and isinstance(again, ir.EnvFunc)
    assert ir.structural_equal(f, ir.EnvFunc.get("test.env_func")) and ir.structural_equal(f, again)
    assert ir.structural_hash(f) == ir.structural_hash(again)
    tenon.register_func("test.env_func2", lambda x: x + 1, override=True)
    assert not ir.structural_equal(f, ir.EnvFunc.get("test.env_func2"))
    with pytest.raises(ValueError, match="test.no_env_func"):
        ir.EnvFunc.get("test.no_env_func")


def test_spans():
    name = ir.SourceName("file.py")
    span = ir.Span(name, 1, 2, 3, 4)
    assert (span.line, span.end_line, span.column, span.end_column) == (1, 2, 3, 4)
    assert span.source_name.same_as(name) and ir.SourceName("file.py").same_as(name)
    both = ir.SequentialSpan([span, ir.Span(name, 5, 5, 1, 2)])
    assert len(both.spans) == 2
    x = tir.Var("x", "int32", span)
    assert x.span.same_as(span)


def test_types():
    i32 = ir.PrimType("int32")
    assert i32 == ir.PrimType("int32") and i32 != ir.PrimType("int64") and i32 != "int32"
    pointer = ir.PointerType(i32, "global")
    assert pointer.element_type == i32 and pointer.storage_scope == "global"
    t = ir.TypeVar("t", ir.TypeKind.ShapeVar)
    assert t.name_hint == "t" and t.kind == ir.TypeKind.ShapeVar and t != ir.TypeVar("t")
    function = ir.FuncType([i32, t], i32, [t])
    assert len(function.arg_types) == 2 and len(function.type_params) == 1
    assert function.ret_type == i32
    assert ir.FuncType([t], t, [t]) == ir.FuncType([ir.TypeVar("u", 1)] * 0 + [t], t, [t])
    assert len(ir.TupleType([i32, i32]).fields) == 2
    assert ir.GlobalTypeVar("List").kind == ir.TypeKind.AdtHandle
    assert isinstance(i32, ir.Type) and hash(i32) is not None


def test_dict_attrs():
    attrs = ir.make_attrs(units=3, name="x")
    assert isinstance(attrs, ir.DictAttrs) and isinstance(attrs, ir.Attrs)
    assert sorted(attrs.keys()) == ["name", "units"] and attrs["name"] == "x"
    assert attrs["units"].value == 3 and attrs.get_int("units") == 3
    assert attrs.get_str("name") == "x" and "units" in attrs and len(attrs) == 2
    assert attrs.get("nothing", 5) == 5 and dict(attrs.items())["name"] == "x"
    assert attrs.units == 3 and attrs.name == "x"
    with pytest.raises(AttributeError, match="has no attribute nothing"):
        attrs.nothing  # noqa: B018
    made = ir.make_node("DictAttrs", units=3, name="x", padding=(0, 0))
    assert made.units == 3 and made.padding == [0, 0] and len(made) == 3
    assert ir.load_json(ir.save_json(made)).name == "x"
    assert ir.structural_equal(ir.make_node("DictAttrs", dict=made.dict), made)


def test_descriptions_of_attributes():
    fields = ir.make_node("tir.transform.UnrollLoopConfig").list_field_info()
    assert (fields[0].name, fields[0].type_info) == ("auto_max_step", "int, default=0")
    assert all(field.description for field in fields)


def test_ranges():
    r = ir.Range(0, 10)
    assert r.min.value == 0 and r.extent.value == 10 and ir.Range(10) == r
    assert ir.Range.from_min_extent(5, 3).min.value == 5
    assert ir.Range(2, 10).extent.value == 8 and r != 5


def test_global_vars():
    g = ir.GlobalVar("main")
    assert g.name_hint == "main" and not g.same_as(ir.GlobalVar("main"))
    with pytest.raises(ValueError, match="type checker"):
        g.checked_type  # noqa: B018
    call = g(1, tir.Var("x", "int32"))
    assert isinstance(call, tir.Call) and call.op.same_as(g) and len(call.args) == 2
    with pytest.raises(RuntimeError, match="Do not know how to handle"):
        g("text")


def test_classes_are_found_without_importing_them():
    import subprocess
    import sys

    code = (
        "import tenon\n"
        "x = tenon.runtime.convert(3)\n"
        "assert 'tenon.tir.expr' in __import__('sys').modules\n"
        "from tenon.tir import IntImm\n"
        "assert type(x) is IntImm\n"
        "p = tenon._core.make_node('PrimType', {'dtype': 'int32'})\n"
        "assert type(p) is tenon.ir.PrimType\n"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_lazy_packages_list_what_they_offer():
    assert {"Array", "save_json", "Range", "expr"} <= set(dir(ir))
    assert {"nd", "ir", "tir", "testing", "cpu", "TVMError", "as_tvm"} <= set(dir(tenon))
    for package in (tenon, ir, tenon.runtime, tenon.contrib, tenon.testing, tenon._ffi):
        for name in dir(package):
            if name != "as_tvm":
                getattr(package, name)
    with pytest.raises(AttributeError, match="module 'tenon' has no attribute 'nothing'"):
        tenon.nothing  # noqa: B018
