"""tools/check_extents finds what it is there to find."""

import importlib.machinery
import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def extents(tmp_path, monkeypatch):
    path = str(ROOT / "tools" / "check_extents")
    loader = importlib.machinery.SourceFileLoader("check_extents", path)
    spec = importlib.util.spec_from_loader("check_extents", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def lines(extents, name, text):
    path = extents.ROOT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return [line for line, _ in extents.breaches(path)]


@pytest.mark.parametrize(
    "text",
    [
        "x *= relay_listed(t->shape, i);",
        "const tn_arr *shape = t->shape;\nint64_t n = relay_listed(shape, 0);",
        "return tir_as_int(tn_arr_obj(a, i), &v) ? v : 0;",
        "int64_t v = 0;\ntir_as_int(e, &v);",
        "int64_t v = 0; (void)tir_as_int((tn_obj *)e, &v);",
        "if (e) (void)tir_as_int((tn_obj *)e, &v);",
        "bool kept = !tir_is_one(te_extent(t, i));",
        "if (tir_is_zero(e)) return x;",
        'F(S, REF, Array, strides, 0, "steps")',
        'F(S, REF, Array, axes, TN_OPT, "axes", "None")',
    ],
)
def test_breaches(extents, text):
    assert lines(extents, "src/ops/a.c", text)


@pytest.mark.parametrize(
    "text",
    [
        "x *= relay_listed(a->window_shape, i);",
        "if (!relay_known_int(t->shape, i, &v)) return false;",
        "bool known = tir_as_int(e, &v);",
        "bool kept = relay_dim_is(e, 1) == 0;",
        "RELAY_CHECK(r,\n            tir_as_int(e, &v),\n  text);",
        'F(S, REF, Array, strides, TN_INTS, "steps")',
        'F(S, REF, Array, newshape, 0, "extents")',
    ],
)
def test_what_is_right(extents, text):
    assert not lines(extents, "src/ops/a.c", text)


def test_fields_of_other_layers_are_their_own(extents):
    assert not lines(extents, "src/relay/a.def", 'F(S, REF, Array, args, 0, "arguments")')
