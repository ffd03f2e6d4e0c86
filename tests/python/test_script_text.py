"""TVMScript text runs no Python: it may come from anywhere."""

import contextlib
import json
import traceback
import types

import numpy as np
import pytest
import tenon
from tenon import tir
from tenon.script import from_source
from tenon.script import tir as T


def program(expression, annotation="T.Buffer((4,), 'int32')"):
    return f"@T.prim_func\ndef f(A: {annotation}):\n    A[0] = {expression}\n"


class Config:
    """What a user may give: a value with attributes, and something that it should not give away."""

    width = 7
    secret = staticmethod(lambda: ran.append("secret"))


ran = []


def told(error):
    return "".join(traceback.format_exception_only(error))


def run(*args):
    ran.append(args)
    return 1


HOSTILE = [
    "__import__('os').system('true')",
    "eval('run()')",
    "exec('run()')",
    "open('/etc/passwd').read()",
    "getattr(T, 'x')",
    "().__class__.__base__.__subclasses__()",
    "''.__class__",
    "T.__dict__",
    "T.sys",
    "T.inspect",
    "T.re.compile('x')",
    "T.function('Schedule')",
    "T._function('Schedule')",
    "T.register_intrin_lowering('tir.exp', 'default', run)",
    "T.TensorIntrin.register('x', 1, 2)",
    "T.Schedule(1)",
    "tir.sys.modules",
    "I.sys.modules",
    "config.secret()",
    "config.__class__",
    "config.secret.__globals__",
    "given.__globals__",
    "given.__code__",
    "module.getcwd()",
    "module.path",
    "text.format(given)",
    "numbers.tofile('x')",
    "numbers.dump('x')",
    "generator.gi_frame",
    "A.__class__",
    "A.data.__class__.__mro__",
    "A.dtype.format(A)",
    "(lambda: given())()",
    "[given() for _ in (1,)][0]",
    "[c for c in ().__class__.__mro__][0]",
    "f'{given()}'",
    "(x := given())",
    "given(*(1, 2))",
    "given(**{'a': 1})",
    "{**config}",
    "'a' * size",
    "[0] * size",
    "1 << size",
    "size ** size ** size",
    "len('abc')",
    "range(size)",
    "print('x')",
    "help",
    "config.missing",
    "owner.module.getpid()",
    "hidden.system('true')",
    "hidden.value",
    "given.__call__()",
    "T.exp.__call__(1)",
    "T._builder",
    "given(T)",
    "given(I)",
    "given(tir)",
    "given(await given())",
    "given(lambda: 1)",
    "given(i for i in (1,))",
    "given({i: 1 for i in (1,)})",
    "given(f'{given()!r:{given()}}')",
    "given(*[1])",
    "given(__builtins__)",
    "given(__name__)",
    "given(given.__globals__)",
    "given(T.prim_func)",
    "given(T.Environment({})('given()', {}))",
    "given(config.secret)",
    "T.parse_object(given, {})",
    "T.macro(given)",
    "T.get_global_func('x')",
    "T.op._ffi_api.x(1)",
    "1 in A",
    "A not in A",
]


class Lazy(types.ModuleType):
    """A module as packages make it that load their parts late."""

    value = 1
    system = staticmethod(lambda *args: run("system", *args))


GIVEN = {
    "config": Config(),
    "module": __import__("os"),
    "text": "{0.__globals__}",
    "numbers": np.arange(3),
    "generator": (i for i in range(3)),
    "size": 10**9,
    "owner": types.SimpleNamespace(module=__import__("os")),
    "hidden": Lazy("os"),
}


@pytest.mark.parametrize("expression", HOSTILE)
@pytest.mark.parametrize("form", ["value", "annotation", "statement", "argument"])
def test_refused(expression, form):
    text = {
        "value": program(expression),
        "annotation": program("1", f"T.Buffer(({expression},), 'int32')"),
        "statement": f"@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    {expression}\n",
        "argument": program(f"T.exp({expression})"),
    }[form]
    ran.clear()
    # a function that the caller gives may be called: here each call would be told
    with pytest.raises((tenon.error.TenonError, AttributeError)) as e:
        from_source(text, GIVEN | {"given": run})
    calls = [] if "given" not in expression else [c for c in ran if c != "secret"]
    assert ran == calls and "<string>:" in told(e.value)


def lines(*statements):
    head = "@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n"
    return head + "".join(f"    {s}\n" for s in statements)


@T.macro
def store(A, x):
    A[0] = x


@T.macro
def apply(A, function, x):
    A[0] = function(x)


x = tir.Var("x", "int32")


class Owner:
    """Values with functions in them, none of which was given by its name."""

    module = __import__("os")
    lazy = Lazy("os")

    def method(self, *args):
        return run(*args)


FUNCTIONS = {
    "owner": Owner(),
    "data": np.arange(3),
    "table": {"f": run},
    "items": [run, run],
    "pair": ([run], 1),
    "array": tenon.runtime.convert([run]),
    "map": tenon.runtime.convert({"f": run}),
    "store": store,
    "apply": apply,
    "x": x,
    "same": lambda x: x,
}

# Each comes to a function that is not named in extra_vars, and calls it.
UNNAMED = [
    ["m = owner.method", "A[0] = m(1)"],
    ["m = data.tofile", "A[0] = m('{file}')"],
    ["m = T.meta_var(owner.method)", "A[0] = m(1)"],
    ["m, n = owner.method, 1", "A[0] = m(1)"],
    ["for m in (owner.method, owner.method):", "    A[0] = m(1)"],
    ["A[0] = (owner.method,)[0](1)"],
    ["A[0] = {'a': owner.method}['a'](1)"],
    ["A[0] = (owner.method if True else 1)(1)"],
    ["apply(A, owner.method, 1)"],
    ["A[0] = same(owner.method)"],
    ["m = owner.module", "A[0] = m.getpid()"],
    ["A[0] = owner.lazy.system(1)"],
    ["m = owner.lazy.system", "A[0] = m(1)"],
    ["A[0] = table['f'](1)"],
    ["m = table['f']", "A[0] = m(1)"],
    ["m = table", "A[0] = m['f'](1)"],
    ["for m in items:", "    A[0] = m(1)"],
    ["m, n = items", "A[0] = m(1)"],
    ["m, n = pair", "A[0] = m[0](1)"],
    ["for m in array:", "    A[0] = m(1)"],
    ["m = map", "A[0] = m['f'](1)"],
    ["m = same(items)", "A[0] = m[0](1)"],
    ["m = same", "A[0] = m(1)"],
    ["p = store", 'p.host(\'open("{file}", "w")\', {})'],
    ["p = store", "h = p.host", 'h(\'open("{file}", "w")\', {})'],
    ["for p in (store, store):", '    p.host(\'open("{file}", "w")\', {})'],
    ["A[0] = same(T)"],
    ["A[0] = same(I)"],
    ["x.show()"],
    ["m = x.show", "m()"],
    ["A[0] = x.same_as(x)"],
]


@pytest.mark.parametrize("statements", UNNAMED)
def test_functions_that_are_not_named(statements, tmp_path):
    file = tmp_path / "written"
    text = lines(*(s.replace("{file}", str(file)) for s in statements))
    ran.clear()
    with pytest.raises(tenon.error.DiagnosticError) as e:
        from_source(text, FUNCTIONS)
    assert ran == [] and not file.exists() and "<string>:" in told(e.value)


def test_macros_and_methods_that_build():
    """A macro is the caller's program; astype builds an expression."""
    names = FUNCTIONS | {"n": tir.IntImm("int32", 3)}
    assert "A[0] = 1" in from_source(lines("store(A, 1)"), names).script()
    made = from_source(lines("p = store", "p(A, x.astype('int64') + n)"), names)
    assert 'A[0] = T.Cast("int32", T.Cast("int64", x) +' in made.script()
    # each call in the text is one call
    ran.clear()
    called = from_source(lines("A[0] = make(1).astype('int32')"), {"make": lambda i: run(i) + x})
    assert len(ran) == 1 and "1 + x" in called.script()


LARGE = [
    (["s = same('7')", *["s = same(s + s)"] * 60], "a value that grows too large"),
    (["s = same([7])", *["s = same(s + s)"] * 60], "a value that grows too large"),
    (["A[0] = same(" + "9 * " * 5000 + "9)"], "nested too deeply"),
    (["A[0] = same(" + " * ".join(["9" * 2000] * 9) + ")"], "a value that grows too large"),
    (["A[0] = same(" + "9" * 5000 + ")"], "not an expression of Python"),
    (["A[0] = same" + ".a" * 300000], "nested too deeply"),
    (["A[0] = x" + " + x" * 100000], "nested too deeply"),
    (["s = same([7])", *["s = same([s, s])"] * 60], "holds more than 4096 lists"),
    (["a = (1, 1)", *["a = (a, a)"] * 60, "T.func_attr({'k': a})"], "too large for its text"),
    (["a = {'k': 1}", *["a = {'k': a, 'l': a}"] * 60], "too large for its text"),
    (["a = (1,)", *["a = (a,)"] * 300], "lists are nested too deeply"),
    (["a = (1,)", *["a = (a, a)"] * 15, "b = 1 in a"], "holds more than 4096 lists"),
    (
        ["    " * i + f"for a{i} in {(0,) * 40}:" for i in range(9)] + ["    " * 9 + "A[0] = 1"],
        "the program is too large for its text",
    ),
]


@pytest.mark.parametrize("statements, message", LARGE)
def test_short_texts_stay_small(statements, message):
    """What a text makes is bounded by its length."""
    with pytest.raises(tenon.error.DiagnosticError) as e:
        from_source(lines(*statements, "A[0] = 1"), FUNCTIONS)
    assert message in told(e.value)
    assert len(told(e.value)) < 500 + 2 * max(len(s) for s in statements)


def test_values_that_a_text_makes_up():
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["script.HostValue"], "data": [2]},
        {"type_key": "Array", "data": [3]},
        {"type_key": "script.HostValue", "attrs": {"key": "7"}},
    ]
    metadata = json.dumps({"root": 1, "nodes": nodes, "b64ndarrays": []})
    text = f"metadata = tvm.ir.load_json({metadata!r})\n"
    text += lines("v = metadata['script.HostValue'][0]", "A[0] = same(v)")
    with pytest.raises(ValueError, match="stands for nothing"):
        from_source(text, FUNCTIONS)


@pytest.mark.parametrize(
    "expression",
    [
        "9223372036854775807 * 3",
        "-9223372036854775807 - 2",
        "1000000 * 1000000 * 1000000 * 1000000",
        "10 ** 30",
        "(1 << 62) << 2",
        "(-9223372036854775807 - 1) // -1",
    ],
)
def test_numbers_that_do_not_fit(expression):
    """They do not become floats, nor lose their upper bits."""
    with pytest.raises(tenon.error.DiagnosticError, match="does not fit 64 bits"):
        from_source(lines(f"A[0] = {expression}"))


@pytest.mark.parametrize(
    "text",
    [
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    for i in run():\n        A[0] = 1\n",
        "@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    with run():\n        A[0] = 1\n",
        "@run\n@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    A[0] = 1\n",
        "@T.prim_func(private=run())\ndef f(A: T.Buffer((4,), 'int32')):\n    A[0] = 1\n",
        "import os\n@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    A[0] = 1\n",
        "@I.ir_module\nclass M(run()):\n    pass\n",
    ],
)
def test_statements_run_nothing(text):
    """Imports and other decorators are for Python; the parser passes over them."""
    ran.clear()
    with contextlib.suppress(tenon.error.TenonError):
        from_source(text, {"run": run} if "@run" in text else None)
    assert ran == []


def test_the_message_says_what_to_do():
    with pytest.raises(tenon.error.TenonError) as e:
        from_source(program("[n for n in (1, 2)][0]"), {"n": 1})
    text = told(e.value)
    assert "text cannot run Python: give the value in extra_vars" in text
    assert "<string>:3:12" in text


ALLOWED = [
    ("n", 5),
    ("n + 2 * n - n // 2 % 3", 13),
    ("-n", -5),
    ("given(n, 3)", 8),
    ("config.width", 7),
    ("sizes[1]", 20),
    ("table['key'] + sizes[n - 5]", 21),
    ("n if n > 3 and n < 9 else 0", 5),
    ("(n, 2)[1]", 2),
    ("1 if 20 in sizes and 3 not in (1, 2) and 'key' in table else 0", 1),
]


@pytest.mark.parametrize("expression, value", ALLOWED)
def test_values_that_are_given(expression, value):
    names = {"n": 5, "given": lambda a, b: a + b, "config": Config(), "sizes": [10, 20]}
    made = from_source(program(expression), names | {"table": {"key": 11}})
    (store,) = [made.body]
    expected = tir.const(value, "int32")
    assert tenon.ir.structural_equal(tenon.arith.Analyzer().simplify(store.value), expected)


def test_names_need_not_be_constants():
    @T.prim_func
    def want(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = A[i] * T.float32(2)

    text = want.script().replace("8", "n").replace("T.float32(2.0)", "scale(T.float32(1))")
    made = from_source(text, {"n": 8, "scale": lambda x: x + x})
    assert tenon.ir.structural_equal(made.params, want.params, map_free_vars=True)


def test_trusted_text_is_python():
    made = from_source(program("len([given(i) for i in range(3)])"), {"given": run}, trusted=True)
    assert made.body.value == 3


def test_functions_are_python():
    numbers = [1, 2, 3]

    @T.prim_func
    def f(A: T.Buffer((4,), "int32")):
        A[0] = sum(n for n in numbers)

    assert f.body.value == 6


def test_allocated_buffers_in_attributes():
    """An attribute of the function that names a buffer of the root block."""
    body = """
    B = T.alloc_buffer((4,))
    T.func_attr({"layout_transform_map": {B: T.index_map(lambda x: (x // 2, x % 2))}})
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi] + 1.0
"""
    text = f'@T.prim_func\ndef main(A: T.Buffer((4,), "float32")):{body}'
    f = from_source("from tenon.script import tir as T\n" + text)
    again = from_source(f.script())
    tenon.ir.assert_structural_equal(again, f)
    assert again.script() == f.script()


def test_typed_pointers_of_buffers():
    text = """
@T.prim_func
def main(a: T.Ptr[T.float32]):
    A = T.match_buffer(a, (4,), "float64")
    A[0] = T.float64(1)
"""
    f = from_source(text)
    tenon.ir.assert_structural_equal(from_source(f.script()), f)


def test_what_begins_with_a_bracket():
    """The host evaluates the text of the whole comparison."""
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    if (("x")) == "x":
        A[0] = T.float32(1)
    A[1] = T.float32(((2) if ("a") < "b" else 3))
"""
    assert "A[1] = T.float32(2.0)" in from_source(text).script()


def test_a_buffer_that_is_first_read_under_not():
    """Its declaration stands among the statements and outlives the printing of the operand."""
    text = """
@T.prim_func
def main(A: T.Buffer((4,), "int8"), B: T.Buffer((4,), "bool")):
    C = T.Buffer((4,), "int8", data=A.data)
    B[0] = not T.Cast("bool", C[0])
"""
    f = from_source(text)
    assert 'C = T.Buffer((4,), "int8", data=A.data)' in f.script()
    tenon.ir.assert_structural_equal(from_source(f.script()), f)
