"""What a tensor program computes, by evaluating it as it is written: no pass runs before.

    outputs = evaluate(func, arrays)            the arrays after the call; the given ones stay
    outputs = evaluate(module, arrays, "main")

Each function becomes a Python function over plain numbers. Integers have the width of their type
and wrap around; floats are rounded after each operation. Every index is checked, and an element has
to be written before it is read. What has no meaning raises Undefined, what this evaluator does not
know raises Refused. The iterations of parallel, vectorized and unrolled loops and of threads are
taken one after the other; a block starts its reductions where all of its reduction iterators are at
their first values.
"""

import math

import numpy as np
import tenon
from tir_reference_ops import (
    BINARY,
    CALLS,
    OutOfBounds,
    Pointer,
    Refused,
    Storage,
    Undefined,
    cast_text,
    lanes_of,
    numpy_dtype,
    runtime_names,
    scalar,
)

__all__ = [
    "OutOfBounds",
    "Refused",
    "Undefined",
    "evaluate",
    "expression_function",
    "python_source",
]

MAX_LOOPS = 15  # Python nests no more than 20 blocks in one function


def _name(node):
    return type(node).__name__


class Translator:
    """Writes the Python function of one PrimFunc."""

    def __init__(self, function_name):
        self.lines, self.depth, self.loops, self.count = [], 0, 0, 0
        self.names = {}  # Var -> text
        self.constants = {}  # text -> object that the function refers to
        self.called = []  # functions of the module
        self.function_name = function_name

    # ---- text ----

    def put(self, line):
        self.lines.append("  " * self.depth + line)

    def fresh(self, stem):
        self.count += 1
        stem = "".join(c if c.isalnum() and c.isascii() else "_" for c in stem)
        return f"{stem}_{self.count}"

    def constant(self, value):
        name = self.fresh("k")
        self.constants[name] = value
        return name

    def var(self, v):
        if v not in self.names:
            raise Refused(f"{self.function_name}: variable {v.name} is not bound")
        return self.names[v]

    def bind(self, v):
        if v not in self.names:
            self.names[v] = self.fresh(v.name or "v")
        return self.names[v]

    # ---- functions ----

    def function(self, func):
        args = [self.bind(p) for p in func.params]
        self.put(f"def {self.function_name}({', '.join(args)}):")
        self.depth += 1
        buffers = [(p, b) for p, b in func.buffer_map.items()]
        for p, b in buffers:
            self.parameter(self.var(p), b)
        for p, b in buffers:
            self.match(self.var(p), b)
        self.statement(func.body)
        self.depth -= 1

    def parameter(self, arg, buffer):
        """Variables that the argument tells: its data, and extents and strides that are names."""
        self.put(f"{self.bind(buffer.data)} = {arg}.pointer")
        self.put(f"{arg}.check_rank({len(buffer.shape)}, {buffer.name!r})")
        for i, extent in enumerate(buffer.shape):
            if _name(extent) in ("Var", "SizeVar") and extent not in self.names:
                self.put(f"{self.bind(extent)} = {arg}.shape[{i}]")
        spread = buffer.buffer_type == 2  # an axis of one element is read again and again
        for i, stride in enumerate(buffer.strides):
            if _name(stride) in ("Var", "SizeVar") and stride not in self.names:
                way = "spread_strides" if spread else "strides"
                self.put(f"{self.bind(stride)} = {arg}.{way}[{i}]")
        offset = buffer.elem_offset
        if offset is not None and _name(offset) == "Var" and offset not in self.names:
            self.put(f"{self.bind(offset)} = 0")

    def match(self, arg, buffer):
        shape = ", ".join(self.scalar_of(e) for e in buffer.shape)
        self.put(f"{arg}.check([{shape}], {str(buffer.dtype)!r}, {buffer.name!r})")

    # ---- buffers ----

    def scalar_of(self, e):
        return str(e) if isinstance(e, int) else self.expression(e)

    def strides(self, buffer):
        if len(buffer.strides):
            return [self.scalar_of(s) for s in buffer.strides]
        texts = ["1"]
        for extent in reversed(list(buffer.shape)[1:]):
            known = _name(extent) == "IntImm" and texts[-1].isdigit()
            last = texts[-1]
            texts.append(
                str(int(extent) * int(last)) if known else f"({self.scalar_of(extent)} * {last})"
            )
        return texts[::-1][: len(buffer.shape)] if len(buffer.shape) else []

    def offset(self, buffer):
        e = buffer.elem_offset
        zero = e is None or (_name(e) == "IntImm" and int(e) == 0)
        if zero or (_name(e) == "Var" and e not in self.names):
            return None
        return self.scalar_of(e)

    def place(self, buffer, indices):
        """Text of the place in the storage: a number, a list where an index has lanes."""
        if len(indices) != len(buffer.shape):
            raise Refused(f"{buffer.name}: {len(indices)} indices of {len(buffer.shape)} axes")
        terms, wide = [], False
        for i, n, s in zip(indices, buffer.shape, self.strides(buffer), strict=True):
            name, lanes = repr(buffer.name), lanes_of(i.dtype)
            text, extent = self.expression(i), self.scalar_of(n)
            at = "at_spread" if buffer.buffer_type == 2 else "at"
            if lanes > 1:
                wide = True
                terms.append(f"[{at}(i, {extent}, {name}) * {s} for i in {text}]")
            else:
                terms.append(f"{at}({text}, {extent}, {name})" + ("" if s == "1" else f" * {s}"))
        if (offset := self.offset(buffer)) is not None:
            terms.append(offset)
        if wide:
            return f"add_lanes({', '.join(terms)})", True
        return " + ".join(terms) or "0", False

    def storage(self, buffer):
        return self.var(buffer.data)

    # ---- expressions ----

    def expression(self, e):
        kind = _name(e)
        if kind in BINARY:
            return self.binary(kind, e)
        method = getattr(self, f"visit_{kind}", None)
        if method is None:
            raise Refused(f"expression {kind}")
        return method(e)

    def visit_IntImm(self, e):
        if e.dtype == "bool":
            return str(bool(e.value))
        value = int(e.value)
        if value < 0 and e.dtype == "uint64":
            value += 2**64
        return f"({value})" if value < 0 else str(value)

    def visit_FloatImm(self, e):
        return self.constant(float(e.value)) if not math.isfinite(e.value) else repr(float(e.value))

    def visit_StringImm(self, e):
        return repr(str(e.value))

    def visit_Var(self, e):
        return self.var(e)

    visit_SizeVar = visit_Var

    def visit_Cast(self, e):
        x = self.expression(e.value)
        if lanes_of(e.dtype) > 1:
            return f"[{cast_text(e.value.dtype, e.dtype, 'x')} for x in {x}]"
        return cast_text(e.value.dtype, e.dtype, x)

    def binary(self, kind, e):
        a, b = self.expression(e.a), self.expression(e.b)
        make = BINARY[kind]
        if lanes_of(e.a.dtype) > 1:
            return f"[{make('x', 'y', scalar(e.a.dtype))} for x, y in zip({a}, {b})]"
        return make(a, b, e.a.dtype)

    def visit_Not(self, e):
        a = self.expression(e.a)
        return f"[not x for x in {a}]" if lanes_of(e.dtype) > 1 else f"(not {a})"

    def choice(self, dtype, c, a, b):
        cond, x, y = self.expression(c), self.expression(a), self.expression(b)
        if lanes_of(c.dtype) > 1:
            return f"[x if c else y for c, x, y in zip({cond}, {x}, {y})]"
        return f"({x} if {cond} else {y})"

    def visit_Select(self, e):
        return self.choice(e.dtype, e.condition, e.true_value, e.false_value)

    def visit_Ramp(self, e):
        base, step = self.expression(e.base), self.expression(e.stride)
        each = BINARY["Add"](base_name := "b", BINARY["Mul"]("s", "l", e.base.dtype), e.base.dtype)
        return f"[{each} for {base_name}, s in [({base}, {step})] for l in range({e.lanes})]"

    def visit_Broadcast(self, e):
        return f"([{self.expression(e.value)}] * {e.lanes})"

    def visit_Shuffle(self, e):
        parts = [
            self.expression(v) if lanes_of(v.dtype) > 1 else f"[{self.expression(v)}]"
            for v in e.vectors
        ]
        indices = ", ".join(self.expression(i) for i in e.indices)
        if lanes_of(e.dtype) > 1:
            return f"shuffle([{', '.join(parts)}], [{indices}])"
        return f"shuffle([{', '.join(parts)}], [{indices}])[0]"

    def visit_Let(self, e):
        value = self.expression(e.value)
        return f"({self.bind(e.var)} := {value}, {self.expression(e.body)})[1]"

    def visit_BufferLoad(self, e):
        place, wide = self.place(e.buffer, list(e.indices))
        read = "read_lanes" if wide else "read"
        return f"{read}({self.storage(e.buffer)}, {place}, {str(e.buffer.dtype)!r})"

    def visit_Call(self, e):
        name = e.op.name if hasattr(e.op, "name") else ""
        if _name(e.op) == "GlobalVar":
            name = e.op.name_hint
            self.called.append(name)
            return f"function_{name}({', '.join(self.expression(a) for a in e.args)})"
        name = name.removeprefix("tir.")
        if name == "if_then_else":
            return self.choice(e.dtype, *e.args)
        if name in ("likely", "ignore_loop_partition"):
            return self.expression(e.args[0])
        if name == "address_of":
            place, _ = self.place(e.args[0].buffer, list(e.args[0].indices))
            return f"{self.storage(e.args[0].buffer)}.moved({place})"
        if name == "tvm_access_ptr":
            return f"{self.var(e.args[1])}.moved({self.expression(e.args[2])})"
        if name in ("call_extern", "call_pure_extern", "tvm_call_packed"):
            args = ", ".join(self.expression(a) for a in list(e.args)[1:])
            return f"externs[{str(e.args[0].value)!r}]({args})"
        if name == "ret":
            raise Refused("ret inside an expression")
        if name not in CALLS:
            raise Refused(f"call of {name}")
        return self.intrinsic(CALLS[name], e)

    def intrinsic(self, make, e):
        args = [self.expression(a) for a in e.args]
        if lanes_of(e.dtype) == 1:
            return make(e.dtype, *args)
        given = [f"x{i}" for i in range(len(args))]
        wide = [
            a if lanes_of(x.dtype) > 1 else f"[{a}] * {lanes_of(e.dtype)}"
            for a, x in zip(args, e.args, strict=True)
        ]
        text = make(scalar(e.dtype), *given)
        return f"[{text} for {', '.join(given)}, in zip({', '.join(wide)})]"

    # ---- statements ----

    def statement(self, s):
        method = getattr(self, f"do_{_name(s)}", None)
        if method is None:
            raise Refused(f"statement {_name(s)}")
        method(s)

    def nested(self, s):
        self.depth += 1
        start = len(self.lines)
        self.statement(s)
        if len(self.lines) == start:
            self.put("pass")
        self.depth -= 1

    def do_SeqStmt(self, s):
        for each in s.seq:
            self.statement(each)

    def do_LetStmt(self, s):
        value = self.expression(s.value)
        self.put(f"{self.bind(s.var)} = {value}")
        self.statement(s.body)

    def do_AttrStmt(self, s):
        if s.attr_key in ("thread_extent", "virtual_thread") and _name(s.node) == "IterVar":
            if s.node.var in self.names:  # bound by an attribute outside
                return self.statement(s.body)
            return self.loop(s.node.var, "0", self.expression(s.value), s.body)
        return self.statement(s.body)

    def do_AssertStmt(self, s):
        self.put(f"require({self.expression(s.condition)}, {self.expression(s.message)})")
        self.statement(s.body)

    def do_BufferStore(self, s):
        value = self.expression(s.value)
        place, wide = self.place(s.buffer, list(s.indices))
        write = "write_lanes" if wide else "write"
        self.put(f"{write}({self.storage(s.buffer)}, {place}, {value}, {str(s.buffer.dtype)!r})")

    def allocate(self, var, dtype, extents):
        count = " * ".join(["1", *(self.scalar_of(e) for e in extents)])
        self.put(f"{self.bind(var)} = new_storage({str(dtype)!r}, {count}, {var.name!r})")

    def do_Allocate(self, s):
        self.allocate(s.buffer_var, s.dtype, s.extents)
        self.statement(s.body)

    def do_AllocateConst(self, s):
        data = self.constant(Pointer(Storage.of(s.data.numpy()), 0))
        self.put(f"{self.bind(s.buffer_var)} = {data}")
        self.statement(s.body)

    def do_DeclBuffer(self, s):
        if s.buffer.data not in self.names:  # declared without memory of another: its own
            self.allocate(s.buffer.data, s.buffer.dtype, s.buffer.shape)
        self.statement(s.body)

    def do_BufferRealize(self, s):
        raise Refused("BufferRealize")

    def do_IfThenElse(self, s):
        self.put(f"if {self.expression(s.condition)}:")
        self.nested(s.then_case)
        if s.else_case is not None:
            self.put("else:")
            self.nested(s.else_case)

    def do_Evaluate(self, s):
        call = s.value
        if _name(call) == "Call" and getattr(call.op, "name", "") == "tir.ret":
            self.put(f"return {self.expression(call.args[0])}")
        elif _name(call) not in ("IntImm", "StringImm"):
            self.put(self.expression(call))

    def loop(self, var, first, extent, body):
        outlined = self.loops == MAX_LOOPS
        if outlined:
            saved, self.loops = self.loops, 0
            name = self.fresh("part")
            self.put(f"def {name}():")
            self.depth += 1
        i = self.bind(var)
        self.put(f"for {i} in range({first}, {first} + {extent}):")
        self.loops += 1
        self.nested(body)
        self.loops -= 1
        if outlined:
            self.depth -= 1
            self.loops = saved
            self.put(f"{name}()")

    def do_For(self, s):
        self.loop(s.loop_var, self.expression(s.min), self.expression(s.extent), s.body)

    def do_While(self, s):
        self.put(f"while {self.expression(s.condition)}:")
        self.loops += 1
        self.nested(s.body)
        self.loops -= 1

    def do_Prefetch(self, s):
        pass

    # ---- blocks ----

    def do_BlockRealize(self, s):
        values = [self.expression(v) for v in s.iter_values]
        for iv, v in zip(s.block.iter_vars, values, strict=True):
            self.put(f"{self.bind(iv.var)} = {v}")
        self.put(f"if {self.expression(s.predicate)}:")
        self.nested(s.block)

    def do_Block(self, b):
        for iv in b.iter_vars:
            low, n = self.scalar_of(iv.dom.min), self.scalar_of(iv.dom.extent)
            self.put(f"in_domain({self.var(iv.var)}, {low}, {n}, {iv.var.name!r})")
        for buffer in b.alloc_buffers:
            self.allocate(buffer.data, buffer.dtype, buffer.shape)
        for m in b.match_buffers:
            self.match_region(m)
        if b.init is not None:
            first = " and ".join(
                f"{self.var(iv.var)} == {self.scalar_of(iv.dom.min)}"
                for iv in b.iter_vars
                if iv.iter_type == 2  # a reduction
            )
            self.put(f"if {first or 'True'}:")
            self.nested(b.init)
        self.statement(b.body)

    def match_region(self, m):
        """A buffer over a part of another: its variables are told by the part."""
        source, target = m.source.buffer, m.buffer
        ranges = list(m.source.region)
        place, _ = self.place(source, [r.min for r in ranges])
        strides, extents = self.strides(source), [self.scalar_of(r.extent) for r in ranges]
        skipped = len(ranges) - len(target.shape)  # axes of one element that the buffer lacks
        start = self.fresh("start")
        self.put(f"{start} = {place}")
        offset = target.elem_offset
        if offset is not None and _name(offset) == "Var" and offset not in self.names:
            self.put(f"{self.bind(offset)} = {start}")
            self.put(f"{self.bind(target.data)} = {self.storage(source)}")
        else:
            moved = f"{self.storage(source)}.moved({start})"
            known = self.offset(target)
            self.put(f"{self.bind(target.data)} = {moved}" + (f".moved(-{known})" if known else ""))
        for i, extent in enumerate(target.shape):
            if _name(extent) == "Var" and extent not in self.names:
                self.put(f"{self.bind(extent)} = {extents[i + skipped]}")
        for i, stride in enumerate(target.strides):
            if _name(stride) == "Var" and stride not in self.names:
                self.put(f"{self.bind(stride)} = {strides[i + skipped]}")


class Argument:
    """An array that a function is called with."""

    def __init__(self, array):
        self.array = np.array(array)
        self.pointer = Pointer(Storage.of(self.array), 0)
        self.shape = self.array.shape
        self.strides = [s // self.array.itemsize for s in np.ascontiguousarray(self.array).strides]
        self.spread_strides = [
            0 if n == 1 else s for n, s in zip(self.shape, self.strides, strict=True)
        ]

    def check_rank(self, rank, name):
        if rank != len(self.shape):
            raise Undefined(f"argument {name}: {rank} axes expected, got {len(self.shape)}")

    def check(self, shape, dtype, name):
        if numpy_dtype(dtype) != self.array.dtype:
            raise Undefined(f"argument {name}: {dtype} expected, got {self.array.dtype}")
        if shape != list(self.shape):
            raise Undefined(f"argument {name}: shape {shape} expected, got {self.shape}")

    def result(self):
        values = self.pointer.storage.values
        return np.array(values, self.array.dtype).reshape(self.shape)


def _sources(mod, name):
    """Text of the function and those it calls, and the objects that they name."""
    texts, names, pending, done = [], {}, [name], set()
    while pending:
        each = pending.pop()
        if each in done:
            continue
        done.add(each)
        t = Translator(f"function_{each}")
        t.count = len(names) * 1000
        t.function(mod[each])
        texts += t.lines
        names |= t.constants
        pending += t.called
    return "\n".join(texts) + "\n", names


def _module(program, name):
    if isinstance(program, tenon.IRModule):
        return program
    return tenon.IRModule({name: program})


def python_source(program, name="main"):
    """The Python text that is evaluated, to look at."""
    return _sources(_module(program, name), name)[0]


def expression_function(e, variables, buffers=()):
    """A Python function of numbers, one for each variable, and of arrays, one for each buffer."""
    t = Translator("expression")
    args = [t.bind(v) for v in variables] + [t.bind(b.data) for b in buffers]
    text = f"def f({', '.join(args)}):\n  return {t.expression(e)}\n"
    scope = {**runtime_names(), **t.constants}
    exec(compile(text, "<expression>", "exec"), scope)
    count = len(variables)

    def call(*values):
        arrays = [Pointer(Storage.of(np.array(a)), 0) for a in values[count:]]
        with np.errstate(all="ignore"):
            return scope["f"](*values[:count], *arrays)

    return call


def evaluate(program, args, name="main", externs=None):
    """Call a function with arrays and numbers; the arrays as they are after the call, in order.

    `externs` gives Python functions for names that the program calls.
    """
    text, names = _sources(_module(program, name), name)
    scope = {**runtime_names(), **names, "externs": externs or {}}
    exec(compile(text, f"<{name}>", "exec"), scope)
    given = [a if isinstance(a, (int, float)) else Argument(a) for a in args]
    with np.errstate(all="ignore"):
        scope[f"function_{name}"](*given)
    return [a.result() for a in given if isinstance(a, Argument)]
