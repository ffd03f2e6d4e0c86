"""Tensor programs and their schedules."""

from growth.common import (
    family,
)

# ---- tensor programs ----


def next_stage(b, i):
    from tenon import te

    return te.compute((64,), lambda k: b[k] + 1.0, name=f"b{i}")


@family(150)
def te_chain(n):
    import tenon
    from tenon import te

    a = te.placeholder((64,), name="a")
    b = a
    for i in range(n):
        b = next_stage(b, i)
    s = te.create_schedule(b.op)
    return lambda: tenon.build(s, [a, b], "llvm")


@family(100)
def te_inlined(n):
    import tenon
    from tenon import te

    a = te.placeholder((64,), name="a")
    b, all_ = a, []
    for i in range(n):
        b = next_stage(b, i)
        all_.append(b)
    s = te.create_schedule(b.op)
    for t in all_[:-1]:
        s[t].compute_inline()
    return lambda: tenon.build(s, [a, b], "llvm")


def program_of(text):
    import tenon

    return tenon.script.from_source(text)


def script(lines, parameters="A: T.Buffer((4096,), 'float32')", header=()):
    body = "\n".join("    " + line for line in (*header, *lines))
    return (
        "# from tvm.script import tir as T\n@T.prim_func\ndef main("
        + parameters
        + "):\n    T.func_attr({'global_symbol': 'main', 'tir.noalias': True})\n"
        + body
        + "\n"
    )


@family(500)
def statements(n):
    import tenon

    f = program_of(script([f"A[{i}] = A[{i + 1}] + T.float32({i})" for i in range(n)]))
    return lambda: tenon.build(f, target="llvm")


@family(500)
def script_parse(n):
    text = script([f"A[{i}] = A[{i + 1}] + T.float32({i})" for i in range(n)])
    return lambda: program_of(text)


@family(500)
def script_print(n):
    f = program_of(script([f"A[{i}] = A[{i + 1}] + T.float32({i})" for i in range(n)]))
    return lambda: f.script()


@family(256)
def unrolled(n):
    import tenon

    f = program_of(script([f"for i in T.unroll({n}):", "    A[i] = A[i + 1] * A[i + 2]"]))
    return lambda: tenon.build(f, target="llvm")


@family(64)
def vectorized(n):
    import tenon

    f = program_of(script([f"for i in T.vectorized({n}):", "    A[i] = A[i + 1] * A[i + 2]"]))
    return lambda: tenon.build(f, target="llvm")


@family(200)
def loops_in_a_row(n):
    import tenon

    lines = []
    for i in range(n):
        lines += [f"for i in range({i + 2}):", f"    A[i + {i}] = A[i] + T.float32({i})"]
    f = program_of(script(lines))
    return lambda: tenon.build(f, target="llvm")


@family(20)
def loops_nested(n):
    import tenon

    lines = ["    " * i + f"for i{i} in range(2):" for i in range(n)]
    index = " + ".join(f"i{i}" for i in range(n))
    lines.append("    " * n + f"A[{index}] = A[{index} + 1]")
    f = program_of(script(lines))
    return lambda: tenon.build(f, target="llvm")


@family(50)
def conditions_nested(n):
    import tenon

    lines = ["for i in range(2048):"]
    lines += ["    " * (k + 1) + f"if i * {k + 2} < {3000 + k}:" for k in range(n)]
    lines.append("    " * (n + 1) + "A[i] = A[i + 1]")
    f = program_of(script(lines))
    return lambda: tenon.build(f, target="llvm")


@family(100)
def conditions_in_a_row(n):
    import tenon

    lines = ["for i in range(2048):"]
    for k in range(n):
        lines += [f"    if i * {k + 2} < {3000 + k}:", f"        A[i] = A[i + {k}]"]
    f = program_of(script(lines))
    return lambda: tenon.build(f, target="llvm")


@family(50)
def choices_nested(n):
    """if_then_else(i < 0, a, if_then_else(i < 1, b, ...))"""
    import tenon

    value = "A[i]"
    for k in range(n):
        value = f"T.if_then_else(i < {2 * (n - k)}, A[i + {k}], {value})"
    f = program_of(script(["for i in range(2048):", f"    A[i] = {value}"]))
    return lambda: tenon.build(f, target="llvm")


@family(50)
def condition_of_choices(n):
    """The nest in the condition."""
    import tenon

    value = "i"
    for k in range(n):
        value = f"T.if_then_else({value} < {k + 5}, i + {k}, i * 2)"
    f = program_of(script(["for i in range(2048):", f"    A[{value}] = T.float32(0)"]))
    return lambda: tenon.build(f, target="llvm")


@family(100)
def minima(n):
    import tenon

    value = "i"
    for k in range(n):
        value = f"T.{'min' if k % 2 else 'max'}({value} * 2 + {k}, i + {3 * k})"
    f = program_of(script(["for i in range(2048):", f"    A[T.min({value}, 7)] = T.float32(0)"]))
    return lambda: tenon.build(f, target="llvm")


@family(50)
def divisions(n):
    import tenon

    value = "i"
    for k in range(n):
        value = f"(({value}) * 3 + {k}) // 2 % 1021"
    f = program_of(script(["for i in range(2048):", f"    A[{value}] = T.float32(0)"]))
    return lambda: tenon.build(f, target="llvm")


@family(100)
def sum_of_indices(n):
    """A polynomial of n variables."""
    import tenon

    loops = [
        "    " * 0 + f"for {', '.join(f'i{k}' for k in range(6))} in T.grid(2, 2, 2, 2, 2, 2):"
    ]
    value = " + ".join(f"i{k % 6} * {k + 1}" for k in range(n))
    loops.append(f"    A[({value}) % 4096] = T.float32(0)")
    f = program_of(script(loops))
    return lambda: tenon.build(f, target="llvm")


@family(100)
def lets_tir(n):
    import tenon

    lines = ["v0: T.int32 = T.Cast('int32', A[0])"]
    lines += [f"v{k + 1}: T.int32 = v{k} * 3 + v{k} % 7" for k in range(n)]
    lines.append(f"A[v{n} % 4096] = T.float32(0)")
    f = program_of(script(lines))
    return lambda: tenon.build(f, target="llvm")


@family(100)
def buffers(n):
    import tenon

    header = [f"B{k} = T.alloc_buffer((64,))" for k in range(n)]
    lines = []
    for k in range(n):
        lines += ["for i in range(64):", f"    with T.block('b{k}'):"]
        lines += ["        v = T.axis.spatial(64, i)"]
        lines += [f"        B{k}[v] = {'A' if k == 0 else f'B{k - 1}'}[v] + T.float32({k})"]
    lines += ["for i in range(64):", "    with T.block('last'):"]
    lines += ["        v = T.axis.spatial(64, i)", f"        A[v + 64] = B{n - 1}[v]"]
    f = program_of(script(lines, header=header))
    return lambda: tenon.build(f, target="llvm")


def blocks(n):
    header = [f"B{k} = T.alloc_buffer((64,))" for k in range(n)]
    lines = []
    for k in range(n):
        lines += ["for i in range(64):", f"    with T.block('b{k}'):"]
        lines += ["        v = T.axis.spatial(64, i)"]
        lines += [f"        B{k}[v] = {'A' if k == 0 else f'B{k - 1}'}[v] + T.float32({k})"]
    lines += ["for i in range(64):", "    with T.block('last'):"]
    lines += ["        v = T.axis.spatial(64, i)", f"        A[v + 64] = B{n - 1}[v]"]
    return program_of(script(lines, header=header))


@family(50)
def schedule_steps(n):
    """Two steps for each of n blocks."""
    import tenon

    f = blocks(n)

    def run():
        s = tenon.tir.Schedule(f)
        for k in range(n):
            (loop,) = s.get_loops(s.get_block(f"b{k}"))
            _, inner = s.split(loop, [None, 8])
            s.vectorize(inner)
        return s.mod

    return run


@family(50)
def schedule_inline(n):
    import tenon

    f = blocks(n)

    def run():
        s = tenon.tir.Schedule(f)
        for k in range(n):
            s.compute_inline(s.get_block(f"b{k}"))
        return s.mod

    return run


@family(100)
def schedule_one_block(n):
    """n steps, on one loop."""
    import tenon

    f = blocks(1)

    def run():
        s = tenon.tir.Schedule(f)
        block = s.get_block("b0")
        for _ in range(n):
            (loop,) = s.get_loops(block)
            s.fuse(*s.split(loop, [None, 8]))
        return s.mod

    return run
