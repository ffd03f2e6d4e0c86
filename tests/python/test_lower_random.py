"""Random programs compute the same whatever the passes that may be left out do to them."""

import random

import numpy as np
import pytest
import tenon
from tenon.ir.transform import PassContext
from tenon.script import from_source

PLAIN = {
    "tir.disable_storage_rewrite": True,
    "tir.disable_cse_tir": True,
    "tir.disable_vectorize": True,
}
EAGER = {
    "tir.LoopPartition": {"partition_const_loop": True},
    "tir.UnrollLoop": {"auto_max_step": 16},
    "tir.Simplify": {"apply_constraints_to_boolean_branches": True},
    "tir.enable_equiv_terms_in_cse_tir": True,
}
SIZE = 48


class Writer:
    """Writes the text of a program with arrays of SIZE elements."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.arrays = ["A"]
        self.names = 0
        self.budget = 40  # statements that may still hold others

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def emit(self, depth, text):
        self.lines.append("    " * depth + text)

    def index(self, loops):
        """An index within the bounds, from variables below 8."""
        rng = self.rng
        v = [rng.choice([*loops, str(rng.randrange(8))]) for _ in range(3)]
        choices = [
            f"{v[0]} * 5 + {v[1]}",
            f"({v[0]} * 4 + {v[1]} + {v[2]}) % {SIZE}",
            f"({v[0]} * 8 + {v[1]}) // 2 + {v[2]}",
            f"T.min({v[0]} * {v[1]}, {SIZE - 1})",
            v[0],
        ]
        return rng.choice(choices)

    def value(self, loops):
        rng = self.rng
        load = f"{rng.choice(self.arrays)}[{self.index(loops)}]"
        if rng.random() < 0.4:
            other = f"{rng.choice(self.arrays)}[{self.index(loops)}]"
            return f"{load} {rng.choice('+-')} {other}"
        if rng.random() < 0.2:
            return f"T.if_then_else({self.condition(loops)}, {load}, {rng.randrange(9)})"
        return f"{load} + {self.index(loops)}"

    def condition(self, loops):
        rng = self.rng
        v = rng.choice(loops)
        w = rng.choice([*loops, "n"])
        return rng.choice(
            [
                f"{v} < {rng.randrange(9)}",
                f"{v} * 2 + {w} >= {rng.randrange(20)}",
                f"{v} + 1 < {w}",
                f"{v} > 1 and {w} < 6",
                f"{v} % 3 == {rng.randrange(3)} or {w} < 3",
            ]
        )

    def statement(self, depth, loops):
        rng = self.rng
        self.budget -= 1
        kind = rng.random() if self.budget > 0 else 1
        if kind < 0.25 and len(loops) < 3:
            self.loop(depth, loops)
        elif kind < 0.45 and loops:
            test = self.condition(loops)
            self.emit(depth, f"if {f'T.likely({test})' if rng.random() < 0.5 else test}:")
            self.block(depth + 1, loops)
            if rng.random() < 0.3:
                self.emit(depth, "else:")
                self.block(depth + 1, loops)
        elif kind < 0.55 and loops:
            x = self.name("x")
            self.emit(depth, f"{x}: T.int32 = ({self.index(loops)}) % 8")
            self.block(depth, [*loops, x])
        elif kind < 0.65 and len(loops) < 2:
            self.array(depth, loops)
        else:
            target = rng.choice(self.arrays)
            at = loops or ["3"]
            self.emit(depth, f"{target}[{self.index(at)}] = {self.value(at)}")

    def loop(self, depth, loops):
        v = self.name("i")
        kinds = ["T.serial(8)", "range(8)", "T.unroll(4)", "range(n)", "T.serial(1, 6)"]
        self.emit(depth, f"for {v} in {self.rng.choice(kinds)}:")
        self.block(depth + 1, [*loops, v])

    def array(self, depth, loops):
        """An array of its own, filled as a whole, and statements that use it."""
        b, v = self.name("B"), self.name("i")
        source = self.rng.choice(self.arrays)
        self.emit(depth, f'{b}_ = T.allocate([{SIZE}], "int32", "global")')
        self.emit(depth, f'{b} = T.decl_buffer(({SIZE},), "int32", data={b}_)')
        self.emit(depth, f"for {v} in range({SIZE}):")
        how = self.rng.choice([f"{v}", f"{SIZE - 1} - {v}", f"{v} // 2"])
        self.emit(depth + 1, f"{b}[{v}] = {source}[{how}] + {v}")
        self.arrays.append(b)
        self.block(depth, loops)
        self.emit(depth, f"A[{self.rng.randrange(SIZE)}] = {b}[{self.rng.randrange(SIZE)}]")
        self.arrays.remove(b)

    def block(self, depth, loops):
        for _ in range(self.rng.randrange(1, 4)):
            self.statement(depth, loops)

    def program(self):
        self.array(1, [])
        self.block(1, [])
        self.loop(1, [])
        head = f'@T.prim_func\ndef main(A: T.Buffer(({SIZE},), "int32"), n: T.int32):\n'
        return "from tenon.script import tir as T\n\n" + head + "\n".join(self.lines) + "\n"


def run(func, config):
    """The array after the program, computed by the interpreter."""
    with PassContext(config=config):
        built = tenon.build(func, target="stackvm")
    results = []
    for n in (0, 5, 8):
        a = tenon.nd.array(np.arange(SIZE, dtype="int32") * 7 % 31)
        built(a, n)
        results.append(a.numpy())
    return results


@pytest.mark.parametrize("seed", range(40))
def test_passes_keep_the_meaning(seed):
    text = Writer(seed).program()
    func = from_source(text)
    wanted = run(func, PLAIN)
    for config in ({}, EAGER):
        for w, got in zip(wanted, run(func, config), strict=True):
            np.testing.assert_array_equal(got, w, err_msg=text)
