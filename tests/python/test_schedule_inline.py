"""reverse_compute_inline where the consumer reads at indices other than its iterators."""

import itertools

import pytest
import tenon
from schedule_programs import check, failure, func
from schedule_run import same_results, verified
from tenon import tir


def program(out, read, domain, shape=(12, 16), where="True", value="{}", dims=None, size=None):
    """B = A * 2 over `shape` (where so), C[v] = B[read] + 1 over `domain`."""
    rows, columns = shape
    names = ["va", "vb", "vc", "vd"][: len(domain)]
    axes = "".join(
        f"        {v} = T.axis.spatial({n}, x{k})\n"
        for k, (v, n) in enumerate(zip(names, domain, strict=True))
    )
    loops = ", ".join(f"x{k}" for k in range(len(domain)))
    body = f"""
for i, j in T.grid({rows}, {columns}):
    with T.block("B"):
        T.where({where})
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for {loops} in T.grid({", ".join(str(n) for n in domain)}{"," if len(domain) == 1 else ""}):
    with T.block("C"):
{axes}        C[{out}] = {value.format(f"B[{read}]")} + 1.0
"""
    sizes = ",".join(str(n) for n in (size or domain))
    return func(
        [f"A:{rows},{columns}", f"C:{sizes}"],
        body,
        f"B = T.alloc_buffer(({dims or shape[0]}, {columns}))\n",
    )


ACCEPTED = {
    "split": program("va, vb, vc", "va * 4 + vb, vc", (3, 4, 16)),
    "fused": program("va", "va // 16, va % 16", (192,)),
    "part": program("va, vb", "va, vb", (11, 7)),
    "shifted": program("va, vb", "va + 3, 15 - vb", (9, 16)),
    "every other": program("va, vb", "va * 2, vb", (6, 16)),
    "transposed part": program("vb, va", "vb, va", (13, 5), size=(5, 13)),
    "one row": program("va", "7, va", (16,)),
    "part of tiles": program("va", "va // 16, va % 16", (150,)),
    "unit axis": program("va, vb, vc", "vb, vc", (1, 12, 16)),
    "predicate": program("va, vb", "va, vb", (10, 16), where="i < 10"),
    "predicate and part": program("va, vb", "va + 1, vb", (9, 8), where="i < 10"),
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_results_stay(what):
    sch = tir.Schedule(ACCEPTED[what], debug_mask="all")
    sch.reverse_compute_inline("C")
    assert "alloc_buffer" not in sch.mod.script()
    verified(sch, ACCEPTED[what])


def test_text():
    sch = tir.Schedule(ACCEPTED["split"])
    sch.reverse_compute_inline("C")
    body = """
for i, j in T.grid(12, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi // 4, vi % 4, vj] = A[vi, vj] * 2.0 + 1.0
"""
    check(sch, func(["A:12,16", "C:3,4,16"], body))
    sch = tir.Schedule(ACCEPTED["part"])
    sch.reverse_compute_inline("C")
    assert "T.where(i < 11 and j < 7)" in sch.mod.script()
    sch = tir.Schedule(ACCEPTED["predicate"])
    sch.reverse_compute_inline("C")
    assert "T.where(i < 10)" in sch.mod.script()


def test_only_what_is_read_is_written():
    """Elements between those that are read write nothing."""
    sch = tir.Schedule(ACCEPTED["every other"])
    sch.reverse_compute_inline("C")
    assert "T.where(i // 2 * 2 == i)" in sch.mod.script()


REFUSED = {
    "twice": program("va, vb, vc", "va, vb", (12, 16, 2)),
    "diagonal": program("va, vb", "va, va", (12, 16)),
    "overlap": program("va, vb", "0, va + vb", (8, 8)),
    "not affine": program("va, vb", "va * vb, vb", (3, 4)),
    "quotient": program("va, vb", "va // 2, vb", (12, 16)),
    "outside": program(
        "va, vb", "va - 4, vb", (16, 16), value="T.if_then_else(va >= 4, {}, T.float32(0.0))"
    ),
    "not written": program(
        "va, vb",
        "va, vb",
        (12, 16),
        where="i >= 4",
        value="T.if_then_else(va >= 4, {}, T.float32(0.0))",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what):
    sch = tir.Schedule(REFUSED[what])
    text = failure(sch.reverse_compute_inline, "C")
    tenon.ir.assert_structural_equal(sch.mod["main"], REFUSED[what])
    if what == "not written":
        assert "may read elements that the block" in text
    else:
        assert "at indices that tell its iterators" in text


def test_a_consumer_that_does_not_run_everywhere():
    body = """
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi] = A[vi] * 2.0
for i in range(16):
    with T.block("C"):
        T.where(i % 3 == 0)
        vi = T.axis.spatial(16, i)
        C[vi] = B[vi] + 1.0
"""
    sch = tir.Schedule(func(["A:16", "C:16"], body, "B = T.alloc_buffer((16,))\n"))
    assert "proven to run for all values" in failure(sch.reverse_compute_inline, "C")
    own = body.replace("T.where(i % 3 == 0)", "T.reads(B[vi])").replace("B[vi] + 1.0", "B[vi] + i")
    own = own.replace(
        "        T.reads(B[vi])\n        vi = T.axis.spatial(16, i)\n",
        "        vi = T.axis.spatial(16, i)\n",
    )
    sch = tir.Schedule(func(["A:16", "C:16"], own, "B = T.alloc_buffer((16,))\n"))
    assert "uses the variable of the loop" in failure(sch.reverse_compute_inline, "C")


SPACES = [((4, 6), "va, vb"), ((24,), "va // 6, va % 6"), ((2, 2, 6), "va * 2 + vb, vc")]
PARTS = [(0, 0), (1, 0), (0, 1), (1, 2)]


@pytest.mark.parametrize("space,part", list(itertools.product(SPACES, PARTS)))
def test_parts_of_spaces(space, part):
    """Domains that are smaller, read at an offset."""
    (domain, read), (cut, shift) = space, part
    domain = (domain[0] - cut, *domain[1:])
    names = ", ".join(["va", "vb", "vc"][: len(domain)])
    first, second = read.split(", ")
    start = program(names, f"{first} + {shift}, {second}", domain, shape=(6, 6))
    sch = tir.Schedule(start, debug_mask="all")
    sch.reverse_compute_inline("C")
    same_results(sch, start)


def test_reads_by_pointer_stay_declared():
    """A block that uses a buffer by its pointer says itself what it reads of it."""
    body = """
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi] = A[vi] * 2.0
for i in range(16):
    with T.block("C"):
        vi = T.axis.spatial(16, i)
        T.reads(E[0:4], B[vi])
        T.writes(C[vi])
        T.evaluate(T.call_extern("int32", "prefetch", E.data))
        C[vi] = B[vi] + 1.0
"""
    sch = tir.Schedule(func(["A:16", "E:16", "C:16"], body, "B = T.alloc_buffer((16,))\n"))
    sch.compute_inline("B")
    assert "T.reads(E[0:4], A[vi])" in sch.mod.script()
