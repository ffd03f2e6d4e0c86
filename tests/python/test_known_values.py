"""Passes that use what was stored before, on random programs: the interpreter says that they
compute the same."""

import numpy as np
import pytest
import tenon
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon import tir
from tenon.script import from_source
from tenon.transform import PassContext

HEAD = """@T.prim_func
def main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"),
         n: T.int32):
    T.func_attr({"global_symbol": "main"})
"""
PASSES = {
    "Simplify": {
        "propagate_knowns_to_prove_conditional": True,
        "propagate_knowns_to_simplify_expressions": True,
    },
    "RemoveNoOp": {"use_dataflow_analysis": True},
    "ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": True},
}


class Program:
    """The text of a random program over three arrays of eight numbers."""

    def __init__(self, rng):
        self.rng = rng
        self.names = 0
        self.text = HEAD + "\n".join(self.block([], 3, "    "))

    def index(self, variables):
        kind = self.rng.random()
        if variables and kind < 0.6:
            return self.rng.choice(variables)
        if variables and kind < 0.7:
            return f"({self.rng.choice(variables)} + 1) % 8"
        return "n % 8" if kind < 0.8 else str(self.rng.randrange(8))

    def load(self, variables):
        return f"{self.rng.choice('ABC')}[{self.index(variables)}]"

    def expr(self, variables, depth=1):
        kind = self.rng.random()
        if kind < 0.3 or depth < 0:
            return str(self.rng.randrange(3))
        if kind < 0.45 and variables:
            return self.rng.choice(variables)
        if kind < 0.75:
            return self.load(variables)
        parts = [self.expr(variables, depth - 1) for _ in range(2)]
        return f"({parts[0]} {self.rng.choice('+*-')} {parts[1]})"

    def condition(self, variables):
        left = self.rng.choice([self.expr(variables), self.rng.choice([*variables, "n"])])
        right = self.rng.choice([self.expr(variables, 0), str(self.rng.randrange(8))])
        return f"{left} {self.rng.choice(['<', '>=', '==', '!='])} {right}"

    def new_name(self):
        self.names += 1
        return f"v{self.names}"

    def statement(self, variables, depth, indent):
        kind = self.rng.random()
        inner = (depth - 1, indent + "    ")
        if kind < 0.06:
            begin = f"{self.rng.choice([*variables, 'n'])} % 5"
            value = self.rng.choice(
                [f"T.Broadcast({self.rng.randrange(3)}, 4)", f"T.Ramp({begin}, 1, 4)"]
            )
            return [f"{indent}{self.rng.choice('ABC')}[{begin} : {begin} + 4] = {value}"]
        if kind < 0.5 or depth == 0:
            target = self.load(variables)
            return [f"{indent}{target} = {self.expr(variables)}"]
        if kind < 0.58:
            a, v = self.rng.choice("ABC"), self.new_name()
            cond = f"{a}[{v}] {self.rng.choice(['<', '==', '!='])} {self.rng.randrange(3)}"
            return [
                f"{indent}for {v} in range({self.rng.choice(['8', '4', 'n'])}):",
                f"{indent}    if {cond}:",
                f"{indent}        {a}[{v}] = {self.expr([*variables, v])}",
                *self.block([*variables, v], *inner),
            ]
        if kind < 0.75:
            v, extent = self.new_name(), self.rng.choice(["8", "8", "4", "n", "0"])
            return [f"{indent}for {v} in range({extent}):", *self.block([*variables, v], *inner)]
        if kind < 0.95:
            lines = [f"{indent}if {self.condition(variables)}:", *self.block(variables, *inner)]
            if self.rng.random() < 0.4:
                lines += [f"{indent}else:", *self.block(variables, *inner)]
            return lines
        v = self.new_name()
        body = self.block([*variables, f"({v} % 8)"], *inner)
        return [f"{indent}with T.LetStmt({self.expr(variables)}) as {v}:", *body]

    def block(self, variables, depth, indent):
        lines = []
        for _ in range(self.rng.randrange(1, 4)):
            lines += self.statement(variables, depth, indent)
        return lines


def results(mod):
    """What the program makes of the same arrays for some n."""
    func = tenon.build(mod, target="stackvm")["main"]
    found = []
    for n in (0, 3, 8):
        rng = np.random.default_rng(n)
        arrays = [tenon.nd.array(rng.integers(0, 3, 8).astype("int32")) for _ in range(3)]
        func(*arrays, n)
        found.append([a.numpy().tolist() for a in arrays])
    return found


@given(st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_random_programs(rng):
    mod = tenon.IRModule({"main": from_source(Program(rng).text)})
    want = results(mod)
    for name, options in PASSES.items():
        with PassContext(config={f"tir.{name}": options}):
            made = getattr(tir.transform, name)()(mod)
        assert results(made) == want, f"{name}:\n{mod.script()}\n{made.script()}"


def simplified(body):
    func = from_source(HEAD + body)
    with PassContext(config={"tir.Simplify": PASSES["Simplify"]}):
        return tir.transform.Simplify()(tenon.IRModule({"main": func}))["main"].script()


@pytest.mark.parametrize(
    "between",
    [
        "    A[n % 8] = 2",
        "    for i in range(n):\n        A[i] = 2",
        '    T.evaluate(T.call_extern("int32", "f", A.data))',
        '    T.evaluate(T.call_packed("f", T.address_of(A[0])))',
        "    while C[0] < 3:\n        A[1] = 2\n        C[0] = C[0] + 1",
        "    if n > 3:\n        A[0] = 2",
    ],
)
def test_what_makes_values_unknown(between):
    assert "B[0] = 5" in simplified("    A[0] = 5\n    B[0] = A[0]\n")
    assert "B[0] = A[0]" in simplified(f"    A[0] = 5\n{between}\n    B[0] = A[0]\n")


@pytest.mark.parametrize(
    "text, wanted",
    [
        ("    A[0] = 1\n    A[0] = A[0] + 1\n    B[0] = A[0]\n", "B[0] = 2"),
        ("    A[0] = 1\n    A[1] = 2\n    B[0] = A[0]\n", "B[0] = 1"),
        ("    A[0] = 1\n    A[n % 8] = 2\n    B[0] = A[0]\n", "B[0] = A[0]"),
        ("    A[0:4] = T.Ramp(5, 2, 4)\n    B[0] = A[1]\n", "B[0] = 7"),
        ("    A[T.Broadcast(1, 4)] = T.Ramp(5, 2, 4)\n    B[0] = A[1]\n", "B[0] = A[1]"),
        ("    T.assume(n == 3)\n    if n < 4:\n        B[0] = 1\n", "assume(n == 3)\n    B[0] = 1"),
        (
            "    if B[1] == 0:\n        T.assume(n == 3)\n    if n < 4:\n        B[0] = 1\n",
            "if n < 4",
        ),
    ],
)
def test_what_is_known(text, wanted):
    assert wanted in simplified(text)


def test_iterations_know_their_own_elements():
    text = "    for i in range(8):\n        A[i] = i\n    for j in range({n}):\n        {store}\n"
    own = simplified(text.format(n=8, store="A[j] = A[j] * 2"))
    assert "A[j] = j * 2" in own
    other = simplified(text.format(n=8, store="A[7 - j] = A[j] * 2"))
    assert "A[7 - j] = A[j] * 2" in other
    twice = "        A[0] = 1\n        A[j] = A[j] * 2"
    assert "A[j] = A[j] * 2" in simplified(text.format(n=8, store=twice.strip()))


def without_no_ops(text):
    func = from_source(HEAD + text)
    with PassContext(config={"tir.RemoveNoOp": {"use_dataflow_analysis": True}}):
        return tir.transform.RemoveNoOp()(tenon.IRModule({"main": func}))["main"].script()


@pytest.mark.parametrize(
    "first, then, gone",
    [
        ("for i in range(2, 6):\n        A[i] = 1", "for j in range(8):\n        A[j] = 2", True),
        ("if n < 4:\n        A[n] = 1", "A[n] = 2", True),
        ("for i in range(8):\n        A[i] = 1", "for j in range(7):\n        A[j] = 2", False),
        (
            "for i in range(8):\n        A[i] = 1",
            "for j in range(8):\n        A[j] = A[7 - j]",
            False,
        ),
        (
            "for i in range(8):\n        A[i] = 1",
            "B[0] = A[2]\n    for j in range(8):\n        A[j] = 2",
            False,
        ),
        ("A[0] = 1", "for j in range(n):\n        A[0] = 2", False),
        ("A[0] = 1", "if n < 3:\n        A[0] = 2", False),
        ("A[0] = 1", 'T.evaluate(T.call_extern("int32", "f"))\n    A[0] = 2', False),
    ],
)
def test_overwritten_stores(first, then, gone):
    made = without_no_ops(f"    {first}\n    {then}\n    B[1] = 3\n")
    assert ("] = 1\n" not in made) == gone


def test_the_effect_of_an_overwritten_value_stays():
    made = without_no_ops('    A[0] = T.call_extern("int32", "f")\n    A[0] = 2\n')
    assert 'T.call_extern("int32", "f")' in made and "A[0] = T.call" not in made


def test_threads_do_not_know_of_each_other():
    body = """    tx = T.launch_thread("threadIdx.x", 8)
    A[tx] = 1
    B[tx] = A[7 - tx]
"""
    assert "B[tx] = A[7 - tx]" in simplified(body)


def test_branches_that_write_alike_buffers_stay():
    body = "    if n < 3:\n        A[n % 8] = 0\n    else:\n        B[n % 8] = 0\n"
    func = from_source(HEAD + body)
    made = tir.transform.ReduceBranchingThroughOvercompute()(tenon.IRModule({"main": func}))
    tenon.ir.assert_structural_equal(made["main"], func)
