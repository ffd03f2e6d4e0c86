"""Simplify on random conditions, for all values of their variables: the interpreter says that they
stay the same. Terms that guard each other keep their order."""

import numpy as np
import pytest
import tenon
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon import tir
from tenon.script import from_source
from tenon.transform import PassContext

OPTIONS = [
    "transitively_prove_inequalities",
    "convert_boolean_to_and_of_ors",
    "apply_constraints_to_boolean_branches",
]


class Program:
    """Nested conditions over three variables; every path stores a condition."""

    def __init__(self, rng):
        self.rng = rng
        self.lets = 0
        self.terms = ["i", "j", "k", "i", "j", "k", "0", "1", "2", "j + 1", "k - 1", "-i", "i + k"]
        self.text = f"""@T.prim_func
def main(A: T.Buffer((5, 5, 5), "int8"), p: T.int32):
    T.func_attr({{"global_symbol": "main"}})
    for x, y, z in T.grid(5, 5, 5):
        i: T.int32 = {self.rng.choice(["x", "x - 2", "T.min(x, p)"])}
        j: T.int32 = {self.rng.choice(["y", "y - 2", "y - p"])}
        k: T.int32 = {self.rng.choice(["z", "z - 2"])}
{self.statement(3, "        ", [])}"""

    def condition(self, depth, lets):
        kind = self.rng.random()
        if depth > 0 and kind < 0.55:
            op = self.rng.choice([" and ", " or "])
            return f"({self.condition(depth - 1, lets)}{op}{self.condition(depth - 1, lets)})"
        if depth > 0 and kind < 0.6:
            return f"(not {self.condition(depth - 1, lets)})"
        if lets and kind < 0.75:
            return self.rng.choice(lets)
        op = self.rng.choice(["<", "<=", ">", ">=", "==", "!="])
        return f"{self.rng.choice(self.terms[:6])} {op} {self.rng.choice(self.terms)}"

    def statement(self, depth, indent, lets):
        kind = self.rng.random()
        if depth == 0 or kind < 0.15:
            return f'{indent}A[x, y, z] = T.Cast("int8", {self.condition(2, lets)})\n'
        if kind < 0.35:
            self.lets += 1
            name = f"c{self.lets}"
            inner = self.statement(depth - 1, indent + "    ", [*lets, name])
            value = self.condition(1, lets)
            return f"{indent}with T.LetStmt({value}) as {name}:\n{inner}"
        text = f"{indent}if {self.condition(2, lets)}:\n"
        text += self.statement(depth - 1, indent + "    ", lets)
        if self.rng.random() < 0.7:
            text += f"{indent}else:\n" + self.statement(depth - 1, indent + "    ", lets)
        return text


def results(mod):
    func = tenon.build(mod, target="stackvm")["main"]
    found = []
    for p in (-1, 2):
        a = tenon.nd.array(np.full((5, 5, 5), 7, "int8"))
        func(a, p)
        found.append(a.numpy().tolist())
    return found


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_random_conditions(rng):
    mod = tenon.IRModule({"main": from_source(Program(rng).text)})
    options = {name: rng.random() < 0.5 for name in OPTIONS}
    with PassContext(config={"tir.Simplify": options}):
        made = tir.transform.Simplify()(mod)
    assert results(made) == results(mod), f"{options}:\n{mod.script()}\n{made.script()}"


def simplified(head, condition, **options):
    text = f'@T.prim_func\ndef main(A: T.Buffer((8,), "bool"), {head}):\n    A[0] = {condition}\n'
    with PassContext(config={"tir.Simplify": options}):
        made = tir.transform.Simplify()(tenon.IRModule({"main": from_source(text)}))
    return made["main"].script().rsplit("A[0] = ", 1)[1].strip()


INTS = "i: T.int32, j: T.int32, k: T.int32"
DATA = 'D: T.Buffer((8,), "int32"), i: T.int32, j: T.int32'


@pytest.mark.parametrize(
    "condition, wanted",
    [
        ("i == 1 or (j == 2 and k == 3)", "(i == 1 or j == 2) and (i == 1 or k == 3)"),
        ("i == 1 and j == 2 and i != 5", "j == 2 and i == 1"),
        ("i == 1 or j == 2 or i != 5", "j == 2 or i != 5"),
        ("(i == 1 or j == 2) and (j == 2 or i == 1)", "i == 1 or j == 2"),
        ("(i == 1 or j == 2) and (i != 3 or j == 2)", "i == 1 or j == 2"),
    ],
)
def test_conjunctions(condition, wanted):
    assert simplified(INTS, condition, convert_boolean_to_and_of_ors=True) == wanted


@pytest.mark.parametrize(
    "condition",
    [
        # D[i] would be read where i < 8 says that it must not be
        "i < 8 and D[i] == 0 or j == 0",
        "i < 8 and D[i] == 0 and i < 9",
        "j // i == 1 and i != 3 and D[j] == 0",
    ],
)
def test_guards_stay_in_front(condition):
    assert simplified(DATA, condition, convert_boolean_to_and_of_ors=True) == condition


def test_large_conditions_stay():
    condition = " or ".join(f"(i == {3 * n} and j == {3 * n + 1})" for n in range(12))
    assert simplified(INTS, condition, convert_boolean_to_and_of_ors=True) == simplified(
        INTS, condition
    )


def body(text):
    func = from_source(f'@T.prim_func\ndef main(A: T.Buffer((8,), "bool"), {INTS}):\n{text}')
    return tir.transform.Simplify()(tenon.IRModule({"main": func}))["main"].script()


def test_comparisons_become_narrow():
    text = "    if i <= j:\n        A[0] = j <= i\n        A[1] = i != j\n"
    assert "A[0] = j == i\n        A[1] = i < j" in body(text)
    assert "A[0] = i < j" in body("    if i != j:\n        A[0] = i <= j\n")


def test_bound_conditions_are_known_by_their_values():
    text = "    c: T.bool = i < 3\n    if c or 3 <= i:\n        A[0] = c\n"
    assert "if" not in body(text).split("i < 3")[1]
    text = "    c: T.bool = A[1]\n    A[1] = False\n    if c:\n        A[0] = A[1]\n"
    assert "A[0] = A[1]" in body(text)


def test_equal_operands_order_others():
    text = """@T.prim_func
def main(A: T.Buffer((8,), "bool")):
    for i, j, k in T.grid(8, 8, 8):
        if i < j and j == k:
            A[0] = i < k
"""
    made = tir.transform.Simplify()(tenon.IRModule({"main": from_source(text)}))
    assert "A[0] = T.bool(True)" in made["main"].script()


def test_extents_are_not_negative():
    text = """@T.prim_func
def main(a: T.handle, n: T.int64):
    A = T.match_buffer(a, (n * 32,), "float32")
    A[T.min(T.int64(0), n)] = T.float32(0)
"""
    made = tir.transform.Simplify()(tenon.IRModule({"main": from_source(text)}))
    assert "A[0]" in made["main"].script() or "A[T.int64(0)]" in made["main"].script()


def test_a_condition_that_is_bound_again():
    """Within its binding: behind the inner one the outer value counts."""
    x, c = tir.Var("x", "int32"), tir.Var("c", "bool")
    buffer = tir.decl_buffer((2,), "int32", name="A")
    store = lambda i, v: tir.BufferStore(buffer, tir.const(v, "int32"), [i])  # noqa: E731
    inner = tir.LetStmt(c, x >= 5, tir.IfThenElse(c, store(1, 7), None))
    both = tir.SeqStmt([inner, tir.IfThenElse(c, store(0, 1), store(0, 2))])
    body = tir.IfThenElse(x < 3, tir.LetStmt(c, x < 1, both), None)
    a = tir.Var("a", "handle")
    func = tir.PrimFunc([a, x], body, buffer_map={a: buffer}).with_attr("global_symbol", "main")
    mod = tir.transform.Simplify()(tenon.IRModule({"main": func}))
    built = tenon.build(mod, target="stackvm")
    for value, want in ((0, 1), (2, 2), (4, 0)):
        out = tenon.nd.array(np.zeros(2, "int32"))
        built["main"](out, value)
        assert out.numpy().tolist() == [want, 0]


def test_a_value_under_many_conditions_has_no_variable_whose_definition_goes():
    """Arms that share a choice are simplified a few times only; then they stay as they are, but for
    the variables that a let binds."""
    i, v = tir.Var("i", "int32"), tir.Var("v", "int32")
    A, B = (tir.decl_buffer((64,), "int32", name=name) for name in "AB")
    e = tir.BufferLoad(A, [v % 64])
    for _ in range(8):
        e = tir.if_then_else(tir.BufferLoad(A, [e % 64]) < v, e + 1, e * 2)
    body = tir.LetStmt(v, i + 7, tir.BufferStore(B, e, [v]))
    func = tir.PrimFunc([i, A.data, B.data], body)
    (got,) = tir.transform.Simplify()(tenon.IRModule({"main": func})).functions.values()
    assert "v" not in [str(u.name) for u in tir.analysis.undefined_vars(got.body, [])]
