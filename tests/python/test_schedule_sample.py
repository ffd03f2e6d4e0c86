"""Random choices of schedules: seeds, tiles, weighted numbers, and decisions in traces."""

import collections
import json
import math

import pytest
import tenon
from schedule_programs import chain, failure, func, matmul, scale
from tenon import tir
from tenon.script import tir as T
from tenon.tir.schedule import Trace
from test_schedule_trace import round_trip


def drawn(seed, n):
    """The generator and the way integers are drawn from it, as documented."""
    state, out = seed, []
    for bound in n:
        scaling = 2147483646 // bound
        while True:
            state = state * 48271 % 2147483647
            if state < bound * scaling:
                break
        out.append(state // scaling)
    return out, state


def loop_of(sch, which=0):
    return sch.get_loops(sch.get_block("B"))[which]


def test_fork_seed_follows_the_generator():
    sch = tir.Schedule(scale(), seed=42)
    (state,) = [42 * 48271 % 2147483647]
    assert sch.fork_seed() == state * 32767 % 1999999973
    sch.seed(42)
    assert sch.fork_seed() == state * 32767 % 1999999973
    sch.seed(0)
    assert sch.fork_seed() == 48271 * 32767 % 1999999973


def test_copy_forks_the_random_state():
    a, b = tir.Schedule(scale(), seed=3), tir.Schedule(scale(), seed=3)
    seed = b.fork_seed()
    copy = a.copy()
    b.seed(seed)
    assert copy.fork_seed() == b.fork_seed()
    assert tir.Schedule(scale()).fork_seed() > 0


@pytest.mark.parametrize("seed", range(1, 40, 7))
def test_perfect_tile_is_the_documented_draw(seed):
    sch = tir.Schedule(scale(128), seed=seed)
    tiles = [sch.get(v) for v in sch.sample_perfect_tile(loop_of(sch), 4)]
    assert math.prod(tiles) == 128 and tiles[3] <= 16
    candidates = [1, 2, 4, 8, 16]
    innermost = candidates[drawn(seed, [5])[0][0]]
    factors = (128 // innermost).bit_length() - 1
    places = drawn(seed, [5] + [3] * factors)[0][1:]
    expected = [1, 1, 1, innermost]
    for place in places:
        expected[place] *= 2
    assert tiles == expected


def test_perfect_tile_covers_its_space():
    sch = tir.Schedule(scale(12), seed=1)
    seen = collections.Counter()
    for _ in range(400):
        values = sch.sample_perfect_tile(loop_of(sch), 2, max_innermost_factor=-1)
        seen[tuple(sch.get(v) for v in values)] += 1
    assert set(seen) == {(12, 1), (6, 2), (4, 3), (3, 4), (2, 6), (1, 12)}


def test_tiles_are_factors_of_split():
    sch = tir.Schedule(scale(), seed=7)
    i = loop_of(sch)
    tiles = sch.sample_perfect_tile(i, n=3, decision=[4, 8, 4])
    loops = sch.split(i, tiles)
    assert [sch.get(loop).extent for loop in loops] == [4, 8, 4]
    lines = sch.trace.as_python()
    assert lines[2:] == [
        "v3, v4, v5 = sch.sample_perfect_tile(loop=l1, n=3, max_innermost_factor=16, "
        "decision=[4, 8, 4])",
        "l6, l7, l8 = sch.split(loop=l1, factors=[v3, v4, v5], preserve_unit_iters=True, "
        "disable_predication=False)",
    ]
    assert sch.trace.as_json()[1] == [[2, [4, 8, 4]]]
    assert sch.trace.as_json()[0][2] == ["SamplePerfectTile", ["l1"], [3, 16], ["v3", "v4", "v5"]]
    round_trip(sch, scale())


@pytest.mark.parametrize(
    "decision,expected",
    [([2, 3, 5], [1, 1, 128]), ([9, 2, 4], [16, 2, 4]), ([1, 1, 8], [16, 1, 8])],
)
def test_decisions_are_made_to_fit(decision, expected):
    sch = tir.Schedule(scale())
    values = sch.sample_perfect_tile(loop_of(sch), 3, decision=decision)
    assert [sch.get(v) for v in values] == expected
    (inst,) = [i for i in sch.trace.insts if i.kind.name == "SamplePerfectTile"]
    assert [int(i) for i in sch.trace.get_decision(inst)] == expected


def test_loops_without_constant_extent():
    program = """
for i in range(n):
    with T.block("B"):
        vi = T.axis.spatial(n, i)
        B[vi] = 1.0
"""
    source = "from tenon.script import tir as T\n@T.prim_func\ndef main(b: T.handle, n: T.int32):\n"
    source += '    B = T.match_buffer(b, (n,), "float32")\n'
    source += "\n".join("    " + line for line in program.strip().split("\n"))
    start = tenon.script.from_source(source)
    sch = tir.Schedule(start, seed=1)
    i = loop_of(sch)
    values = sch.sample_perfect_tile(i, 3)
    assert [sch.get(v) for v in values] == [-1, 1, 1]
    assert len(sch.split(i, values)) == 3
    round_trip(sch, start)


@pytest.mark.parametrize("pos,factor", [(0, 2), (1, 4), (2, 8)])
def test_partitioned_tile(pos, factor):
    for seed in range(1, 30):
        sch = tir.Schedule(scale(128), seed=seed)
        values = sch.sample_partitioned_tile(loop_of(sch), 4, pos, factor)
        tiles = [sch.get(v) for v in values]
        assert math.prod(tiles) == 128 and math.prod(tiles[pos:]) % factor == 0
    round_trip(sch, scale(128))


def test_partitioned_tile_that_cannot_be():
    sch = tir.Schedule(scale(128), seed=1)
    values = sch.sample_partitioned_tile(loop_of(sch), 3, 1, 3)
    assert [sch.get(v) for v in values] == [-1, 1, 1]
    values = sch.sample_partitioned_tile(loop_of(sch), 3, 1, 16, decision=[32, 2, 2])
    assert [sch.get(v) for v in values] == [2, 32, 2]


def test_categorical():
    counts = collections.Counter()
    func = scale()
    for seed in range(80):  # a schedule keeps all it has drawn: many short ones are cheaper
        sch = tir.Schedule(func, seed=42 + seed)
        for _ in range(50):
            counts[sch.get(sch.sample_categorical([5, 2, 7, 1], [0.15, 0.55, 0.05, 0.25]))] += 1
    for value, share in {5: 600, 2: 2200, 7: 200, 1: 1000}.items():
        assert abs(counts[value] - share) < 0.15 * share + 30
    sch = tir.Schedule(scale(), seed=1)
    value = sch.sample_categorical([10, 20], [0.5, 0.5], decision=1)
    assert sch.get(value) == 20
    sch.annotate(sch.get_block("B"), "unroll", value)
    assert sch.get(sch.get_block("B")).annotations["unroll"] == 20
    assert sch.trace.as_python()[0] == (
        "v0 = sch.sample_categorical(candidates=[10, 20], probs=[0.5, 0.5], decision=1)"
    )
    round_trip(sch, scale())


def test_another_decision():
    sch = tir.Schedule(scale(), seed=1)
    i = loop_of(sch)
    sch.split(i, sch.sample_perfect_tile(i, 2, decision=[16, 8]))
    sch.enter_postproc()
    sch.parallel(loop_of(sch))
    (inst,) = [i for i in sch.trace.insts if i.kind.name == "SamplePerfectTile"]
    trace = sch.trace.with_decision(inst, [32, 4], remove_postproc=True)
    again = tir.Schedule(scale())
    trace.apply_to_schedule(again, remove_postproc=False)
    assert [again.get(x).extent for x in again.get_loops(again.get_block("B"))] == [32, 4, 64]
    assert len(trace.insts) == 4 and len(sch.trace.insts) == 8
    # a caller's own choice
    seen = []

    def provide(step, inputs, attrs, decision):
        seen.append(str(step.kind.name))
        return [2, 64] if step.same_as(inst) else decision

    other = tir.Schedule(scale())
    sch.trace.apply_to_schedule(other, remove_postproc=True, decision_provider=provide)
    assert [other.get(x).extent for x in other.get_loops(other.get_block("B"))] == [2, 64, 64]
    assert "SamplePerfectTile" in seen


def test_simplified_leaves_unused_choices_out():
    sch = tir.Schedule(scale(), seed=1)
    i = loop_of(sch)
    sch.sample_perfect_tile(i, 2)
    sch.sample_categorical([1], [1.0])
    sch.split(i, sch.sample_perfect_tile(i, 2))
    simple = sch.trace.simplified(remove_postproc=True)
    kinds = [str(inst.kind.name) for inst in simple.insts]
    assert kinds == ["GetBlock", "GetLoops", "SamplePerfectTile", "Split"]
    assert len(simple.decisions) == 1
    again = tir.Schedule(scale())
    Trace.apply_json_to_schedule(json.loads(json.dumps(simple.as_json())), again)
    tenon.ir.assert_structural_equal(again.mod, sch.mod)


def test_errors():
    sch = tir.Schedule(matmul(), seed=1)
    (loop, *_) = sch.get_loops(sch.get_block("C"))
    with pytest.raises(ValueError, match="number of candidates does not match"):
        sch.sample_categorical([1, 2], [1.0])
    with pytest.raises(ValueError, match="Wrong decision value, where n = 2, but decision is: 5"):
        sch.sample_categorical([1, 2], [0.5, 0.5], decision=5)
    with pytest.raises(ValueError, match="add up to 0"):
        sch.sample_categorical([1, 2], [0.0, 0.0])
    with pytest.raises(ValueError, match="Cannot tile a loop into 1 splits"):
        sch.sample_perfect_tile(loop, 1)
    with pytest.raises(ValueError, match="expected a decision of 2 numbers"):
        sch.sample_perfect_tile(loop, 2, decision=[1, 2, 3])
    with pytest.raises(ValueError, match="partition_pos from 0 to 1"):
        sch.sample_partitioned_tile(loop, 2, 2)
    with pytest.raises(ValueError, match="not negative"):
        sch.seed(-5)
    other = tir.Schedule(scale())
    with pytest.raises(IndexError):
        other.sample_perfect_tile(loop, 2)


def test_empty_loop():
    program = func(
        ["A:4", "B:4"],
        """
for i in range(0):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        B[vi] = A[vi]
""",
    )
    sch = tir.Schedule(program)
    assert "cannot be tiled" in failure(sch.sample_perfect_tile, loop_of(sch), 2)


# ---- sample_compute_location ----


def test_compute_location():
    seen = collections.Counter()
    for seed in range(1, 2**31, 2**26):
        sch = tir.Schedule(chain(), seed=seed)
        block = sch.get_block("B")
        loop = sch.sample_compute_location(block)
        sch.compute_at(block, loop)
        decision = int(next(iter(sch.trace.decisions.values())))
        seen[decision] += 1
        if seen[decision] == 1:
            round_trip(sch, chain())
    assert set(seen) == {-2, -1, 0, 1}


@T.prim_func
def rows_of_sums(A: T.Buffer((4, 6, 5), "float32"), C: T.Buffer((4, 5), "float32")):
    B = T.alloc_buffer((4, 6, 5))
    for i, j, k in T.grid(4, 6, 5):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            B[vi, vj, vk] = A[vi, vj, vk] * 2.0
    for i, _once, j, k in T.grid(4, 1, 6, 5):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SRS", [i, j, k])
            with T.init():
                C[vi, vk] = 0.0
            C[vi, vk] = C[vi, vk] + B[vi, vj, vk]


def test_compute_locations_in_reductions():
    """Within a reduction as long as parallel loops follow: then these are left out."""
    for order, places in (([0, 1, 2, 3], {-2, -1, 0, 2}), ([0, 3, 1, 2], {-2, -1, 0, 1})):
        seen = set()
        for seed in range(1, 2**31, 2**26):
            sch = tir.Schedule(rows_of_sums, seed=seed)
            loops = sch.get_loops("C")
            sch.reorder(*[loops[i] for i in order])
            sch.sample_compute_location("B")
            seen.add(int(next(iter(sch.trace.decisions.values()))))
        assert seen == places


def test_compute_location_by_decision():
    sch = tir.Schedule(chain())
    block = sch.get_block("B")
    loop = sch.sample_compute_location(block, decision=0)
    assert sch.trace.as_python()[1] == ("l1 = sch.sample_compute_location(block=b0, decision=0)")
    sch.compute_at(block, loop)
    assert len(sch.get_loops(block)) == 2
    tenon.ir.assert_structural_equal(sch.mod["main"], _moved(chain(), 0))
    # what is not a choice becomes the one before it
    other = tir.Schedule(chain())
    other.sample_compute_location("B", decision=7)
    assert other.trace.as_json()[1] == [[1, 1]]
    # an output stays
    last = tir.Schedule(chain(), seed=1)
    last.sample_compute_location("C")
    assert last.trace.as_json()[1] == [[1, -1]]


def _moved(program, loop):
    sch = tir.Schedule(program)
    sch.compute_at("B", sch.get_loops("C")[loop], preserve_unit_loops=False)
    return sch.mod["main"]
