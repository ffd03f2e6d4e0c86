"""Traces of schedules: what is recorded, its texts, and taking the steps again."""

import json

import pytest
import tenon
from schedule_programs import chain, check, failure, func, matmul, scale
from tenon import tir
from tenon.tir.schedule import BlockRV, Instruction, InstructionKind, LoopRV, Trace


def round_trip(sch, start):
    """Take the steps again in all three ways; the program must come out the same each time."""
    by_trace, by_json, by_text = (tir.Schedule(start) for _ in range(3))
    sch.trace.apply_to_schedule(by_trace)
    Trace.apply_json_to_schedule(json.loads(json.dumps(sch.trace.as_json())), by_json)
    exec("\n".join(sch.trace.as_python()), {"sch": by_text})
    for other in (by_trace, by_json, by_text):
        tenon.ir.assert_structural_equal(other.mod, sch.mod)
        assert other.trace.as_python() == sch.trace.as_python()
        assert other.trace.as_json() == sch.trace.as_json()


def loops_done():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops(sch.get_block("B"))
    i0, i1 = sch.split(i, [None, 16])
    sch.reorder(j, i1)
    fused = sch.fuse(i0, j, preserve_unit_iters=False)
    sch.bind(fused, "threadIdx.x")
    sch.vectorize(i1)
    return sch


def test_loops_as_python():
    sch = loops_done()
    assert sch.trace.as_python() == [
        'b0 = sch.get_block(name="B", func_name="main")',
        "l1, l2 = sch.get_loops(block=b0)",
        "l3, l4 = sch.split(loop=l1, factors=[None, 16], preserve_unit_iters=True, "
        "disable_predication=False)",
        "sch.reorder(l2, l4)",
        "l5 = sch.fuse(l3, l2, preserve_unit_iters=False)",
        'sch.bind(loop=l5, thread_axis="threadIdx.x")',
        "sch.vectorize(loop=l4)",
    ]
    lines = str(sch.trace).split("\n")
    assert lines[1] == "def apply_trace(sch: tir.Schedule) -> None:"
    assert lines[2] == '  b0 = sch.get_block(name="B", func_name="main")'
    round_trip(sch, scale())


def test_loops_as_json():
    assert loops_done().trace.as_json() == [
        [
            ["GetBlock", [], ["B", "main"], ["b0"]],
            ["GetLoops", ["b0"], [], ["l1", "l2"]],
            ["Split", ["l1", "None", 16], [1, 0], ["l3", "l4"]],
            ["Reorder", ["l2", "l4"], [], []],
            ["Fuse", ["l3", "l2"], [0], ["l5"]],
            ["Bind", ["l5"], ["threadIdx.x"], []],
            ["Vectorize", ["l4"], [], []],
        ],
        [],
    ]


def test_blocks():
    sch = tir.Schedule(matmul())
    block = sch.get_block("C")
    copied = sch.cache_read(block, "A", "shared")
    sch.cache_write(block, 0, "local")
    sch.set_scope(copied, 0, "local")
    init = sch.decompose_reduction(block, sch.get_loops(block)[2])
    sch.parallel(sch.get_loops(copied)[0])
    sch.unroll(sch.add_unit_loop(init))
    kinds = [inst[0] for inst in sch.trace.as_json()[0]]
    assert kinds[:4] == ["GetBlock", "CacheRead", "CacheWrite", "SetScope"]
    assert 'b1 = sch.cache_read(block=b0, read_buffer_index=0, storage_scope="shared")' in (
        sch.trace.as_python()
    )
    round_trip(sch, matmul())


@pytest.mark.parametrize("step", ["compute_inline", "reverse_compute_inline"])
def test_inlined(step):
    sch = tir.Schedule(chain())
    getattr(sch, step)("B" if step == "compute_inline" else "C")
    round_trip(sch, chain())


def test_handles_of_all_kinds():
    sch = tir.Schedule(chain())
    (root,) = [sch.get_block("root")]
    sch.get_child_blocks(root)
    sch.get_producers("C")
    sch.get_consumers("B")
    sch.get_output_blocks(root)
    lines = sch.trace.as_python()
    assert lines[1] == "b1, b2 = sch.get_child_blocks(block_or_loop=b0)"
    assert lines[3] == "b4, = sch.get_producers(block=b3)"
    round_trip(sch, chain())


def test_annotations():
    sch = tir.Schedule(scale())
    block = sch.get_block("B")
    sch.annotate(block, "text", 'a "b"')
    sch.annotate(block, "number", 3)
    sch.annotate(block, "real", 0.5)
    sch.annotate(block, "list", [1, ["x", 2]])
    sch.annotate(block, "dict", {"k": 1, "t": "None"})
    sch.annotate(block, "gone", 1)
    sch.unannotate(block, "gone")
    assert sch.trace.as_json()[0][1] == ["Annotate", ["b0", '"a \\"b\\""'], ["text"], []]
    assert 'sch.unannotate(block_or_loop=b0, ann_key="gone")' in sch.trace.as_python()
    round_trip(sch, scale())


def test_what_cannot_be_written():
    sch = tir.Schedule(scale())
    block = sch.get_block("B")
    sch.annotate(block, "sum", tir.Var("n", "int32") + 1)
    with pytest.raises(TypeError, match="Stringifying is not supported for type"):
        sch.trace.as_json()
    sch.trace.pop()
    inst = Instruction(InstructionKind.get("ComputeInline"), [block], [], [])
    for text in (Trace([inst]).as_json, Trace([inst]).as_python):
        with pytest.raises(IndexError, match="Random variable is not defined"):
            text()
    with pytest.raises(IndexError, match="Random variable is not defined"):
        Trace([inst]).apply_to_schedule(tir.Schedule(scale()))


def test_bad_json():
    def take(json_obj):
        Trace.apply_json_to_schedule(json_obj, tir.Schedule(scale()))

    with pytest.raises(ValueError, match="not a trace"):
        take([[["GetBlock"]], []])
    with pytest.raises(ValueError, match="not a kind of instruction"):
        take([[["NoSuch", [], [], []]], []])
    with pytest.raises(IndexError, match="not defined: b0"):
        take([[["GetLoops", ["b0"], [], ["l1"]]], []])
    with pytest.raises(ValueError, match="GetBlock gave 1 handles, 2 are recorded"):
        take([[["GetBlock", [], ["B", "main"], ["b0", "b1"]]], []])
    with pytest.raises(ValueError, match="takes 1 inputs and 0 attributes, got 0 and 0"):
        take([[["GetLoops", [], [], []]], []])


def test_a_step_that_fails_is_not_recorded():
    sch = tir.Schedule(scale())
    i, _ = sch.get_loops("B")
    failure(sch.split, i, [2, 16])
    assert [str(inst.kind.name) for inst in sch.trace.insts] == ["GetBlock", "GetLoops"]


def test_a_copy_has_the_steps_and_goes_on_alone():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    other = sch.copy()
    other.reorder(j, i)
    assert len(sch.trace.insts) == 2 and len(other.trace.insts) == 3
    round_trip(other, scale())


def test_postprocessing_is_left_out():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    sch.enter_postproc()
    sch.reorder(j, i)
    assert sch.trace.as_python()[2] == "sch.enter_postproc()"
    assert len(sch.trace.as_python(remove_postproc=True)) == 2
    assert len(sch.trace.as_json(remove_postproc=True)[0]) == 2
    other = tir.Schedule(scale())
    sch.trace.apply_to_schedule(other, remove_postproc=True)
    check(other, scale())
    round_trip(sch, scale())


def test_simplified():
    sch = tir.Schedule(scale())
    sch.get_block("B")
    i, j = sch.get_loops("B")
    sch.get_loops("B")
    sch.reorder(j, i)
    assert sch.trace.simplified(remove_postproc=False).as_python() == [
        'b0 = sch.get_block(name="B", func_name="main")',
        "l1, l2 = sch.get_loops(block=b0)",
        "sch.reorder(l2, l1)",
    ]


def test_what_lists_name_is_used():
    """Handles in lists of inputs count: consumers, blocks of blockize."""
    sch = tir.Schedule(chain())
    blocks = [sch.get_block("B"), sch.get_block("C")]
    sch.blockize(blocks)
    kinds = [str(inst.kind.name) for inst in sch.trace.simplified(False).insts]
    assert kinds == ["GetBlock", "GetBlock", "Blockize"]


def test_annotations_keep_their_types():
    sch, other = tir.Schedule(scale()), tir.Schedule(scale())
    sch.annotate("B", "wide", tir.const(5, "int64"))
    sch.trace.apply_to_schedule(other)
    assert other.get(other.get_block("B")).annotations["wide"].dtype == "int64"
    with pytest.raises(TypeError, match="ann_val: expected a value, got None"):
        sch.annotate("B", "nothing", None)
    with pytest.raises(TypeError, match=r"ann_val\[0\]: expected a value, got tir.BlockRV"):
        sch.annotate("B", "handle", [sch.get_block("B")])
    drawn = sch.sample_categorical([3], [1.0])
    sch.annotate("B", "drawn", {"list": [drawn]})
    found = sch.get(sch.get_block("B")).annotations["drawn"]["list"][0]
    assert isinstance(found, tir.IntImm) and found.value == 3
    sch.annotate("B", "endless", float("inf"))
    with pytest.raises(ValueError, match="JSON has no number for inf"):
        sch.trace.as_json()


def nested(depth, wrap):
    """1 in that many lists or maps."""
    value = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: {"k": x}], ids=["lists", "maps"])
def test_lists_in_lists(wrap):
    sch = tir.Schedule(scale())
    sch.annotate("B", "deep", nested(32, wrap))
    round_trip(sch, scale())
    with pytest.raises(ValueError, match="annotate: ann_val.*: lists nested more than 32 deep"):
        sch.annotate("B", "deeper", nested(33, wrap))


def test_lists_in_very_many_lists():
    deep = nested(100_000, lambda x: tenon.runtime.convert([x]))
    sch = tir.Schedule(scale())
    with pytest.raises(ValueError, match="lists nested more than 32 deep"):
        sch.annotate("B", "deep", deep)
    block = sch.get_block("B")
    annotate = Instruction(InstructionKind.get("Annotate"), [block, deep], ["deep"], [])
    trace = Trace([sch.trace.insts[-1], annotate])
    assert len(trace.simplified(False).insts) == 2
    for use, args in [
        (trace.as_json, ()),
        (trace.as_python, ()),
        (trace.apply_to_schedule, (tir.Schedule(scale()),)),
    ]:
        with pytest.raises(ValueError, match="trace: lists nested more than 32 deep"):
            use(*args)


def test_wrong_arguments_name_the_parameter():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    for step, args, message in [
        (sch.split, ("i", [2, 2]), "split: loop: expected the handle of a loop"),
        (sch.split, (i, 4), "split: factors: expected a list of extents, got int"),
        (sch.split, (i, [2, "x"]), r"split: factors\[1\]: expected an extent"),
        (sch.fuse, (i, "j"), r"fuse: loops\[1\]: expected the handle of a loop"),
        (sch.get_loops, (i,), "get_loops: block: expected a block"),
        (sch.cache_read, ("B", 1.5, "local"), "read_buffer_index: expected a number, a name"),
        (sch.sample_categorical, ([1, "x"], [0.5, 0.5]), r"candidates\[1\]: expected an int"),
    ]:
        with pytest.raises(TypeError, match=message):
            step(*args)
    with pytest.raises(ValueError, match="the block writes 0 buffers D, expected one"):
        sch.set_scope("B", "D", "local")
    with pytest.raises(TypeError, match="JSON has no Var"):
        Trace.apply_json_to_schedule([[["GetBlock", [], [tir.Var("x", "int32")], []]], []], sch)


def test_instructions():
    sch = loops_done()
    inst = sch.trace.insts[2]
    assert inst.kind.name == "Split" and not inst.kind.is_pure
    assert InstructionKind.get("GetBlock").is_pure
    assert inst.outputs[1].same_as(sch.trace.insts[6].inputs[0])
    trace = Trace(sch.trace.insts)
    assert trace.pop().same_as(sch.trace.insts[6])
    assert len(trace.insts) == 6 and len(sch.trace.insts) == 7
    assert Trace().pop() is None
    assert str(Trace()).endswith("\n  pass")
    with pytest.raises(ValueError, match="not a kind"):
        InstructionKind.get("NoSuch")


def test_the_function_is_recorded():
    mod = tenon.IRModule({"f": scale(), "g": func(["A:4", "B:4"], "B[0] = A[0]")})
    sch = tir.Schedule(mod)
    sch.work_on("f")
    sch.get_block("B")
    assert sch.trace.as_python() == ['b0 = sch.get_block(name="B", func_name="f")']
    round_trip(sch, mod)


def test_handles_that_stand_for_nothing():
    """Instructions may be written down before any schedule knows their handles."""
    block = BlockRV()
    inst = Instruction(InstructionKind.get("GetBlock"), [], ["B", "main"], [block])
    trace = Trace([inst], {})
    assert str(trace).splitlines()[-1] == '  b0 = sch.get_block(name="B", func_name="main")'
    assert not LoopRV().same_as(LoopRV())
    with pytest.raises(IndexError):
        tir.Schedule(chain()).get(block)


def test_text_of_an_instruction():
    """Only a trace names its handles."""
    kind = InstructionKind.get("GetLoops")
    block, loops = BlockRV(), [LoopRV(), LoopRV()]
    step = Instruction(kind, [block], [], loops)
    assert str(step) == repr(step) == "_, _ = sch.get_loops(block=_)"
    assert step.kind.same_as(InstructionKind.get("GetLoops"))
    sch = tir.Schedule(chain())
    sch.split(sch.get_loops("B")[0], [None, 4])
    assert "sch.split(loop=_, factors=[None, 4]" in str(sch.trace.insts[-1])
