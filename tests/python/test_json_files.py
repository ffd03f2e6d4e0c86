"""JSON of IR objects: round trips, layouts of old releases, structural comparison from Python."""

import json

import numpy as np
import pytest
import tenon
from tenon import ir, tir
from tenon.runtime import ObjectPath


def old_file(*nodes, version="0.6.0"):
    nodes = [{"type_key": ""}, *nodes]
    return json.dumps(
        {"root": 1, "nodes": nodes, "b64ndarrays": [], "attrs": {"tvm_version": version}}
    )


def node(type_key, **attrs):
    return {"type_key": type_key, "attrs": attrs}


# ---- old layouts ----


@pytest.mark.parametrize("key", ["relay.TypeVar", "relay.GlobalTypeVar"])
def test_type_variables_took_their_name_from_a_variable(key):
    var = node("Variable", dtype="int32", name="in0")
    loaded = ir.load_json(old_file(node(key, kind="0", span="0", var="2"), var))
    assert type(loaded).__name__ == key.removeprefix("relay.")
    assert loaded.name_hint == "in0"


def test_types_moved_out_of_relay():
    array = {"type_key": "Array"}
    func = node(
        "relay.FuncType",
        arg_types="2",
        ret_type="3",
        span="0",
        type_constraints="2",
        type_params="2",
    )
    loaded = ir.load_json(old_file(func, array, node("relay.TupleType", fields="2", span="0")))
    assert isinstance(loaded, ir.FuncType)
    assert isinstance(loaded.ret_type, ir.TupleType)


@pytest.mark.parametrize("key", ["relay.GlobalVar", "GlobalVar"])
def test_global_variables(key):
    loaded = ir.load_json(old_file(node(key, _checked_type_="0", name_hint="x", span="0")))
    assert isinstance(loaded, ir.GlobalVar)
    assert loaded.name_hint == "x"


@pytest.mark.parametrize("key, now", [("Variable", tir.Var), ("SizeVar", tir.SizeVar)])
def test_variables_hold_their_name_as_text(key, now):
    loaded = ir.load_json(old_file(node(key, dtype="int32", name="7", span="0")))
    assert isinstance(loaded, now)
    assert loaded.name == "7"


def test_maps_of_strings_and_expressions_without_prefix():
    loaded = ir.load_json(
        old_file(
            {"type_key": "StrMap", "keys": ["z", "x"], "data": [2, 3]},
            node("IntImm", dtype="int32", value="2"),
            node("Max", a="4", b="2", dtype="int32"),
            node("Variable", dtype="int32", name="n"),
        )
    )
    assert loaded["z"].value == 2
    assert isinstance(loaded["x"], tir.Max)
    assert loaded["x"].a.name == "n"


def test_old_names_are_unknown_in_newer_files():
    with pytest.raises(ValueError, match='no type has the key "Variable"'):
        ir.load_json(old_file(node("Variable", dtype="int32", name="x"), version="0.9.0"))


# ---- round trips ----


def test_free_variables_are_new_ones():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    e = x * y + x
    again = ir.load_json(ir.save_json(e))
    assert not ir.structural_equal(e, again)
    assert ir.structural_equal(e, again, map_free_vars=True)
    assert ir.structural_hash(e, map_free_vars=True) == ir.structural_hash(
        again, map_free_vars=True
    )


def test_attributes_are_saved_under_their_old_name():
    attrs = ir.make_node("DictAttrs")
    nodes = json.loads(ir.save_json(attrs))["nodes"]
    assert nodes[1]["attrs"] == {"__dict__": "2"}
    ir.assert_structural_equal(ir.load_json(ir.save_json(attrs)), attrs)


def test_content_of_tensors_counts():
    def tensor(*values):
        return tenon.nd.array(np.array(values, "float32"))

    assert ir.structural_equal(tensor(1, 2), tensor(1, 2))
    assert ir.structural_hash(tensor(1, 2)) == ir.structural_hash(tensor(1, 2))
    assert not ir.structural_equal(tensor(1, 2), tensor(1, 3))
    again = ir.load_json(ir.save_json(tenon.runtime.convert([tensor(np.inf, np.nan)])))
    np.testing.assert_array_equal(again[0].numpy(), np.array([np.inf, np.nan], "float32"))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 0.1, -0.0, 5e-324])
def test_floats(value):
    imm = tir.FloatImm("float64", value)
    ir.assert_structural_equal(ir.load_json(ir.save_json(imm)), imm)


# ---- where values differ ----

ROOT = ObjectPath.root()


@pytest.mark.parametrize(
    "a, b, at_a, at_b",
    [
        ([1, 2, 3], [1, 4, 3], ROOT.array_index(1).attr("value"), None),
        ([1, 3, 4], [1, 2, 3, 4], ROOT.array_index(1).attr("value"), None),
        ([1, 2], [1, 2, 3], ROOT.missing_array_element(2), ROOT.array_index(2)),
        ({"a": 3, "b": 4}, {"a": 3, "b": 5}, ROOT.map_value("b").attr("value"), None),
        ({"a": 3}, {"a": 3, "c": 5}, ROOT.missing_map_entry(), ROOT.map_value("c")),
    ],
)
def test_first_mismatch(a, b, at_a, at_b):
    a, b = tenon.runtime.convert(a), tenon.runtime.convert(b)
    assert ir.get_first_structural_mismatch(a, a) is None
    found = ir.get_first_structural_mismatch(a, b)
    assert found[0] == at_a and found[1] == (at_b or at_a)
    swapped = ir.get_first_structural_mismatch(b, a)
    assert swapped[0] == found[1] and swapped[1] == found[0]


def test_failed_assertion_shows_both_sides():
    x = tir.Var("x", "int32")
    with pytest.raises(ValueError) as error:
        ir.assert_structural_equal(x + 1, x + 2)
    text = str(error.value)
    assert "StructuralEqual check failed, caused by lhs at <root>.b.value" in text
    assert "and rhs at <root>.b.value" in text
    assert text.count("^") >= 2
