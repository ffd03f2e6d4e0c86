"""tir.CoProcSync: whatever order a coprocessor's queues run in, conflicting uses keep theirs."""

import random

import pytest
import tenon
from tenon import te, tir
from tenon.script import from_source

HEAD = '@T.prim_func\ndef main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):\n'
AXIS = 'T.iter_var(cop, T.Range(0, 1), "ThreadIndex", "cop")'


def run(func):
    return tir.transform.CoProcSync()(tenon.IRModule({"main": func}))["main"]


def random_program(seed):
    """Commands of three queues, statements of the program and loops, over two buffers."""
    rng = random.Random(seed)
    lines = ["    cop = T.int32()"]

    def store(depth):
        to, of = rng.choice("AB"), rng.choice(["A[0] + ", "B[0] + ", ""])
        lines.append("    " * depth + f"{to}[0] = {of}T.float32({rng.randrange(9)})")

    def block(depth, level):
        for _ in range(rng.randrange(1, 4)):
            kind = rng.random()
            if kind < 0.3 and level < 3:
                lines.append("    " * depth + f"for i{len(lines)} in range(3):")
                block(depth + 1, level + 1)
            elif kind < 0.85:
                lines.append(
                    "    " * depth + f'with T.attr({AXIS}, "coproc_scope", {rng.randrange(1, 4)}):'
                )
                store(depth + 1)
            else:
                store(depth)

    block(1, 0)
    lines.append(f'    with T.attr({AXIS}, "coproc_scope", 1):\n        A[0] = T.float32(1)')
    return from_source(HEAD + "\n".join(lines))


def buffers(stmt):
    """(data, whether it is written) of all uses."""
    found = []

    def look(node):
        if isinstance(node, tir.BufferStore | tir.BufferLoad):
            found.append((node.buffer.data, isinstance(node, tir.BufferStore)))

    tir.stmt_functor.post_order_visit(stmt, look)
    return found


def trace(stmt, out):
    """Events in the order in which the program comes to them: (queue, kind, what)."""
    if isinstance(stmt, tir.SeqStmt):
        for s in stmt.seq:
            trace(s, out)
    elif isinstance(stmt, tir.For):
        for _ in range(int(stmt.extent)):
            trace(stmt.body, out)
    elif isinstance(stmt, tir.AttrStmt):
        out.append((int(stmt.value), "use", buffers(stmt.body)))
    elif isinstance(stmt, tir.Evaluate):
        name, args = stmt.value.op.name, stmt.value.args
        if name.endswith("_push"):
            out.append((int(args[0]), "push", (int(args[0]), int(args[1]))))
        elif name.endswith("_pop"):
            out.append((int(args[1]), "pop", (int(args[0]), int(args[1]))))
        elif name.endswith("coproc_sync"):
            out.append((0, "sync", None))
    else:
        out.append((0, "use", buffers(stmt)))
    return out


def orders(events):
    """For each event the set of those that are over when it begins."""
    over, last, pushes, pops = [], {}, {}, {}
    for i, (queue, kind, what) in enumerate(events):
        before = set()
        waits = [last.get(queue), last.get(0)]  # the program gives commands out in order
        if kind == "sync":
            waits = list(last.values())
        if kind == "pop":
            number = pops.setdefault(what, 0)
            pops[what] += 1
            assert number < len(pushes.get(what, [])), f"{what} would wait for ever"
            waits.append(pushes[what][number])
        for w in waits:
            if w is not None:
                before |= over[w] | {w}
        if kind == "push":
            pushes.setdefault(what, []).append(i)
        over.append(before)
        last[queue] = i
    assert all(len(p) == pops.get(pair, 0) for pair, p in pushes.items()), "tokens are left"
    return over


def check(func):
    events = trace(func.body, [])
    over = orders(events)
    uses = [i for i, e in enumerate(events) if e[1] == "use"]
    for n, j in enumerate(uses):
        for i in uses[:n]:
            conflict = any(
                x.same_as(y) and (v or w) for x, v in events[i][2] for y, w in events[j][2]
            )
            assert not conflict or i in over[j], f"{events[i]} and {events[j]}\n{func.script()}"
    syncs = [i for i, e in enumerate(events) if e[1] == "sync"]
    assert syncs and all(e[0] == 0 or e[1] == "pop" for e in events[syncs[-1] :])


@pytest.mark.parametrize("seed", range(60))
def test_every_order_of_the_queues_is_right(seed):
    check(run(random_program(seed)))


def test_barriers_name_what_they_cover():
    ib = tir.ir_builder.create()
    n = te.size_var("n")
    cop = te.thread_axis((0, 1), "cop")
    a = ib.allocate("float32", 128, name="A", scope="global.cache")
    with ib.for_range(0, n, name="i") as i:
        a[i] = a[i] + 1
        with ib.for_range(0, 8, name="k") as k, ib.for_range(0, 10, name="j") as j:
            ib.scope_attr(cop, "coproc_scope", 1)
            a[j] = a[j + k * 10] + 2
    func = run(tir.PrimFunc([n], ib.get()))
    loop = func.body
    while not isinstance(loop, tir.For):
        loop = loop.body
    calls = [s.value for s in loop.body.seq if isinstance(s, tir.Evaluate)]
    names = [c.op.name for c in calls]
    assert names == [f"tir.cop.coproc_{x}" for x in ("read_barrier", "sync", "write_barrier")]
    assert [int(x) for x in calls[0].args[1:]] == [32, 0, 80]
    assert [int(x) for x in calls[2].args[1:]] == [32, 0, 10]


def test_what_cannot_be_ordered_is_refused():
    def program(lines):
        return from_source(HEAD + "    cop = T.int32()\n    other = T.int32()\n" + lines)

    queue = f'    T.attr({AXIS}, "coproc_scope", cop)\n    A[0] = 1.0'
    with pytest.raises(ValueError, match="expected the number of a queue"):
        run(program(queue))
    two = f'    with T.attr({AXIS}, "coproc_scope", 1):\n        A[0] = 1.0\n'
    two += two.replace("iter_var(cop", "iter_var(other")
    with pytest.raises(NotImplementedError, match="two coprocessors"):
        run(program(two))
    with pytest.raises(TypeError, match="expected the axis of a coprocessor"):
        run(program('    T.attr(A, "coproc_scope", 1)\n    A[0] = 1.0'))
    queue = f'T.attr({AXIS}, "coproc_scope", 1)'
    with pytest.raises(NotImplementedError, match="commands in a tir.While"):
        loop = f"    while A[0] < 3.0:\n        with {queue}:\n            A[0] = B[0]"
        run(program(loop))


def test_bounds_of_loops_are_read():
    for low, extent in (("B", 4), (0, "B")):
        i, cop = tir.Var("i", "int32"), te.thread_axis((0, 1), "cop")
        a, b = tir.decl_buffer((8,), "int32", "A"), tir.decl_buffer((8,), "int32", "B")
        low, extent = (tir.BufferLoad(b, [0]) if isinstance(v, str) else v for v in (low, extent))
        body = tir.BufferStore(a, tir.IntImm("int32", 0), [i])
        loop = tir.For(i, low, extent, tir.ForKind.SERIAL, body)
        command = tir.AttrStmt(
            cop, "coproc_scope", tir.IntImm("int32", 1), tir.BufferStore(b, 1, [0])
        )
        func = run(tir.PrimFunc([a.data, b.data], tir.SeqStmt([command, loop])))
        names = [s.value.op.name for s in func.body.seq if isinstance(s, tir.Evaluate)]
        assert names[0] == "tir.cop.coproc_sync"
        assert isinstance(func.body.seq[-1], tir.For)


def test_a_program_too_deep_is_an_error():
    """Not the end of the process."""
    i, cop = tir.Var("i", "int32"), te.thread_axis((0, 1), "cop")
    a = tir.decl_buffer((8,), "int32", "A")
    value = i
    for _ in range(200000):
        value = tir.Add(value, i)
    command = tir.AttrStmt(
        cop, "coproc_scope", tir.IntImm("int32", 1), tir.BufferStore(a, value, [0])
    )
    with pytest.raises(RuntimeError, match="nested too deeply"):
        run(tir.PrimFunc([a.data, i], command))
