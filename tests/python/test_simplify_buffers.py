"""Simplifying keeps different buffers apart, however alike they are."""

from tenon import arith, tir


def test_loads_of_two_buffers_differ():
    a, b = (tir.decl_buffer((8,), "int32", name) for name in "ab")
    i, x = tir.Var("i", "int32"), tir.Var("x", "int32")
    la, lb = tir.BufferLoad(a, [i]), tir.BufferLoad(b, [i])
    simplify = arith.Analyzer().simplify
    assert "T.min" in str(simplify(tir.Min(la, lb)))
    assert not simplify(la - lb).same_as(tir.IntImm("int32", 0)) and "-" in str(simplify(la - lb))
    assert "T.max" in str(simplify(tir.Max(x, tir.Select(x > 0, la, lb))))
    assert simplify(tir.BufferLoad(a, [i]) - la).value == 0
    assert simplify(tir.Min(tir.BufferLoad(a, [i + 0]), la)).buffer.same_as(a)
