"""Passes, contexts, options, instruments, diagnostics, modules, operators."""

import gc
import weakref

import pytest
import tenon
from tenon import ir, tir
from tenon.instrument import PassInstrument, PassTimingInstrument, pass_instrument
from tenon.transform import PassContext, PassInfo, PrintIR, Sequential, module_pass


def marking(name, level=1, required=None):
    @module_pass(opt_level=level, name=name, required=required)
    def mark(mod, ctx):
        done = list(mod.get_attr("done") or [])
        return mod.with_attr("done", [*done, name])

    return mark


def done(mod):
    return [str(name) for name in mod.get_attr("done") or []]


def test_module_pass_of_a_function():
    mod = ir.IRModule({})
    p = marking("mine")
    assert p.info.name == "mine" and p.info.opt_level == 1
    assert isinstance(p, tenon.transform.ModulePass)
    assert done(p(mod)) == ["mine"] and done(mod) == []
    with pytest.raises(ValueError, match="opt_level"):
        module_pass(lambda mod, ctx: mod)
    with pytest.raises(TypeError, match="pass f: expected it to return IRModule, got"):
        module_pass(lambda mod, ctx: 1, opt_level=0, name="f")(mod)


def test_module_pass_of_a_class():
    @module_pass(opt_level=2)
    class Tagger:
        """Tags."""

        def __init__(self, tag):
            self.tag = tag

        def transform_module(self, mod, ctx):
            assert ctx.opt_level == PassContext.current().opt_level
            return mod.with_attr("tag", self.tag)

    p = Tagger("blue")
    assert p.tag == "blue" and p.info.name == "Tagger" and Tagger.__doc__ == "Tags."
    assert p(ir.IRModule({})).get_attr("tag") == "blue"
    with pytest.raises(AttributeError):
        assert p.nothing
    alive = weakref.ref(p._inst)
    del p
    gc.collect()
    assert alive() is None


def test_sequences_obey_level_and_lists():
    mod = ir.IRModule({})
    seq = Sequential([marking("a"), marking("b", level=3), marking("c", level=2)], name="all")
    assert seq.info.name == "all"
    assert done(seq(mod)) == ["a", "c"]
    with PassContext(opt_level=3, disabled_pass=["a"]):
        assert done(seq(mod)) == ["b", "c"]
    with PassContext(opt_level=0, required_pass=["c"]):
        assert done(seq(mod)) == ["c"]
        assert done(marking("b", level=3)(mod)) == ["b"]  # alone it runs at any level


def test_required_passes_are_found_by_name():
    tenon.register_func("transform.TestNeeded", lambda: marking("needed"), override=True)
    seq = Sequential([marking("p", required=["TestNeeded"])])
    assert done(seq(ir.IRModule({}))) == ["needed", "p"]
    with pytest.raises(ValueError, match="Cannot use TestMissing to create the pass"):
        Sequential([marking("q", required=["TestMissing"])])(ir.IRModule({}))


def test_contexts_nest():
    outer = PassContext.current()
    assert outer.opt_level == 2
    with PassContext(opt_level=1) as a:
        assert PassContext.current().same_as(a)
        with PassContext(opt_level=3) as b:
            assert PassContext.current().same_as(b)
        assert PassContext.current().same_as(a)
    assert PassContext.current().same_as(outer)
    for argument in ("required_pass", "disabled_pass", "instruments"):
        with pytest.raises(
            TypeError, match=f"{argument} is expected to be the type of list/tuple/set."
        ):
            PassContext(**{argument: "x"})


def test_an_exception_in_a_pass_comes_back_as_itself():
    class Mine(Exception):
        pass

    def give_up(mod, ctx):
        raise Mine("here")

    outer = PassContext.current()
    with pytest.raises(Mine, match="here"), PassContext(opt_level=3):
        Sequential([module_pass(give_up, opt_level=0)])(ir.IRModule({}))
    assert PassContext.current().same_as(outer)


def test_options():
    with PassContext(config={"tir.disable_vectorize": True, "relay.FuseOps.max_depth": 5}) as ctx:
        assert ctx.config["tir.disable_vectorize"] and ctx.config["relay.FuseOps.max_depth"] == 5
    with pytest.raises(AttributeError) as caught:
        PassContext(config={"tir.disable_vectorise": True})
    assert (
        "Invalid config option 'tir.disable_vectorise'; did you mean tir.disable_vectorize?"
        in str(caught.value)
    )
    assert "candidates are: " in str(caught.value) and "tir.usmp.enable" in str(caught.value)
    with pytest.raises(
        AttributeError, match="expect config tir.disable_vectorize to have type IntImm"
    ):
        PassContext(config={"tir.disable_vectorize": "yes"})
    configs = PassContext.list_configs()
    assert configs["relay.backend.use_auto_scheduler"]["type"] == "IntImm"


@pass_instrument
class Watch:
    """Writes down what it is told."""

    def __init__(self, name, events, fail=None):
        self.name_, self.events, self.fail = name, events, fail

    def say(self, what):
        self.events.append(f"{self.name_} {what}")
        if self.fail == what:
            raise RuntimeError("Just a dummy error")

    def enter_pass_ctx(self):
        self.say("enter")

    def exit_pass_ctx(self):
        self.say("exit")

    def run_before_pass(self, mod, info):
        self.say("before " + info.name)

    def run_after_pass(self, mod, info):
        self.say("after " + info.name)


def test_instruments_are_called_in_order():
    events = []
    with PassContext(instruments=[Watch("%1", events), Watch("%2", events)]):
        marking("p")(ir.IRModule({}))
    assert events == [
        "%1 enter",
        "%2 enter",
        "%1 before p",
        "%2 before p",
        "%1 after p",
        "%2 after p",
        "%1 exit",
        "%2 exit",
    ]


def test_an_instrument_that_fails_on_entering():
    events = []
    ctx = PassContext(
        instruments=[Watch("%1", events), Watch("%2", events, fail="enter"), Watch("%3", events)]
    )
    outer = PassContext.current()
    with pytest.raises(RuntimeError, match="Just a dummy error"), ctx:
        raise AssertionError("not reached")
    assert events == ["%1 enter", "%2 enter", "%1 exit"]
    assert PassContext.current().same_as(outer)
    assert len(ctx.instruments) == 0


def test_an_instrument_that_fails_on_leaving():
    events = []
    ctx = PassContext(instruments=[Watch("%1", events, fail="exit"), Watch("%2", events)])
    outer = PassContext.current()
    with pytest.raises(RuntimeError, match="Just a dummy error"), ctx:
        pass
    assert events == ["%1 enter", "%2 enter", "%1 exit"]
    assert PassContext.current().same_as(outer)


@pytest.mark.parametrize("when", ["before p", "after p"])
def test_an_instrument_that_fails_around_a_pass(when):
    events = []
    with pytest.raises(RuntimeError, match="Just a dummy error"):
        with PassContext(instruments=[Watch("%1", events, fail=when), Watch("%2", events)]):
            marking("p")(ir.IRModule({}))
    assert events[-2:] == ["%1 exit", "%2 exit"]
    assert f"%1 {when}" in events and f"%2 {when}" not in events


def test_instruments_decide_what_runs():
    class Only(PassInstrument):
        def __init__(self, name):
            super().__init__()
            self.only = name
            self.asked = []

        def should_run(self, mod, info):
            self.asked.append(str(info.name))
            return info.name == self.only

    only = Only("b")
    seq = [marking("a"), marking("b"), marking("c")]
    with PassContext(instruments=[only], required_pass=["c"]):
        mod = ir.IRModule({})
        for p in seq:
            mod = p(mod)
    assert done(mod) == ["b", "c"] and only.asked == ["a", "b"]
    alive = weakref.ref(only)
    del only
    gc.collect()
    assert alive() is None


def test_override_instruments():
    events = []
    ctx = PassContext(instruments=[Watch("%1", events)])
    with ctx:
        ctx.override_instruments([Watch("%2", events)])
        marking("p")(ir.IRModule({}))
        ctx.override_instruments(None)
        marking("q")(ir.IRModule({}))
    assert events == ["%1 enter", "%1 exit", "%2 enter", "%2 before p", "%2 after p", "%2 exit"]


def test_timing():
    timing = PassTimingInstrument()
    assert timing.render() == ""
    with PassContext(instruments=[timing]):
        Sequential([marking("a"), marking("b")], name="both")(ir.IRModule({}))
        text = timing.render()
    lines = text.splitlines()
    assert [line.split(":")[0] for line in lines] == ["both", "\ta", "\tb"]
    assert "(100.00%; 100.00%)" in lines[0]


def test_printing(capsys):
    with PassContext(
        instruments=[tenon.instrument.PrintBeforeAll(), tenon.instrument.PrintAfterAll()]
    ):
        marking("p")(ir.IRModule({}))
    out = capsys.readouterr().out
    assert "Before Running Pass: The meta data of the pass - pass name: p, opt_level: 1" in out
    assert "After Running Pass:" in out
    PrintIR("here")(ir.IRModule({}))
    assert "PrintIR(here):" in capsys.readouterr().err
    assert "required passes: [a, b]" in repr(PassInfo(1, "p", ["a", "b"]))


# ---- modules ----


def test_modules_hold_functions_by_name():
    mod = ir.IRModule({})
    with pytest.raises(
        ValueError, match=r'Cannot find global var "main" in the Module; candidates are: \[\]'
    ):
        mod["main"]
    with pytest.raises(TypeError):
        mod["main"] = tir.const(1)
    with pytest.raises(TypeError, match="functions maps GlobalVar to functions"):
        ir.IRModule({"main": tir.const(1)})
    with pytest.raises(TypeError, match="Expect functions to be Dict"):
        ir.IRModule({1: 2})
    assert mod.with_attr("a", 1).get_attr("a") == 1 and mod.get_attr("a") is None
    assert mod.with_attr("a", 1).without_attr("a").get_attr("a") is None
    assert ir.IRModule({}, attrs={"k": "v"}).attrs["k"] == "v"


def test_names_are_unique():
    names = ir.NameSupply("prefix")
    assert names.fresh_name("test") == "prefix_test"
    assert names.contains_name("test") and not names.contains_name("test", add_prefix=False)
    assert names.fresh_name("test") == "prefix_test_1"
    assert names.fresh_name("test", add_underscore=False) == "prefix_test2"
    assert names.fresh_name("a.b", add_prefix=False) == "a_b"
    assert names.reserve_name("x") == "prefix_x" and names.fresh_name("x") == "prefix_x_1"
    supply = ir.GlobalVarSupply(ir.NameSupply())
    v = supply.unique_global_for("f")
    assert supply.unique_global_for("f").same_as(v)
    assert supply.fresh_global("f").name_hint == "f_1"
    with pytest.raises(ValueError, match="conflicts by name"):
        supply.reserve_global(ir.GlobalVar("f"))
    supply.reserve_global(ir.GlobalVar("g"))
    assert supply.fresh_global("g").name_hint == "g_1"


# ---- operators ----


def test_operators():
    ir.register_op("test.mine", "does something")
    op = ir.Op.get("test.mine")
    assert op.name == "test.mine" and op.description == "does something"
    with pytest.raises(tenon.TVMError, match="Operator test.mine is registered before"):
        ir.register_op("test.mine")
    with pytest.raises(AttributeError, match="Operator test.other is not registered"):
        ir.Op.get("test.other")
    with pytest.raises(RuntimeError, match="use get instead"):
        ir.Op()
    op.set_num_inputs(2)
    op.set_support_level(3)
    op.add_argument("x", "Tensor", "the input")
    assert (op.num_inputs, op.support_level) == (2, 3)
    assert [a.name for a in op.arguments] == ["x"]
    assert "test.mine" in list(ir.Op.list_op_names())


def test_operator_attributes():
    ir.register_op_attr("test.attrs", "a", 1)
    op = ir.Op.get("test.attrs")

    @ir.register_op_attr("test.attrs", "f")
    def f(x):
        return x + 1

    assert op.get_attr("f")(1) == 2 and op.get_attr("none") is None
    assert op.has_attr("a") and not op.has_attr("none")
    op.set_attr("a", 2, 5)
    assert op.get_attr("a") == 1
    with pytest.raises(
        tenon.TVMError, match="Attribute a of test.attrs is already registered with same plevel=10"
    ):
        op.set_attr("a", 2)
    op.set_attr("a", 2, 11)
    assert op.get_attr("a") == 2
    op.reset_attr("a")
    assert not op.has_attr("a")
    loaded = ir.load_json(ir.save_json(op))
    assert loaded.same_as(op)


# ---- diagnostics ----


def test_diagnostics_show_their_places():
    from tenon.ir.diagnostics import Diagnostic, DiagnosticContext, DiagnosticLevel

    mod = ir.IRModule({})
    tenon.get_global_func("ir.SourceMapAdd")(mod, "model.txt", "one\ntwo three\n")
    span = ir.Span(ir.SourceName("model.txt"), 2, 2, 5, 10)
    ctx = DiagnosticContext(mod)
    ctx.emit(Diagnostic(DiagnosticLevel.WARNING, None, "careful"))
    ctx.render()
    ctx.emit(Diagnostic(DiagnosticLevel.ERROR, span, "no such name"))
    expected = (
        "warning: careful\n"
        "error: no such name\n"
        " --> model.txt:2:5\n"
        "  |\n"
        "2 | two three\n"
        "  |     ^^^^^\n"
    )
    assert ctx.text() == expected
    with pytest.raises(tenon.error.DiagnosticError) as caught:
        ctx.render()
    assert expected.rstrip() in str(caught.value)


def test_another_renderer():
    from tenon.ir import diagnostics as d

    seen = []
    d.override_renderer(lambda ctx: seen.append(len(ctx.diagnostics)))
    try:
        ctx = d.DiagnosticContext(ir.IRModule({}))
        ctx.emit(d.Diagnostic(d.DiagnosticLevel.ERROR, None, "bad"))
        with pytest.raises(tenon.error.DiagnosticError, match="please check diagnostic render"):
            ctx.render()
        assert seen == [1] and d.get_renderer() is not None
    finally:
        d.override_renderer(None)
    assert d.get_renderer() is None


# ---- passes over tensor programs ----


def program(name):
    return tir.PrimFunc([], tir.Evaluate(0)).with_attr("global_symbol", name)


def test_passes_over_functions():
    mod = ir.IRModule({"f": program("f"), "g": program("g")})

    @tir.transform.prim_func_pass(opt_level=1)
    def mark(func, mod, ctx):
        assert len(mod.functions) == 2 and ctx.opt_level == 2
        return func.with_attr("marked", True)

    assert isinstance(mark, tir.transform.PrimFuncPass) and mark.info.name == "mark"
    out = mark(mod)
    assert out["f"].attrs["marked"] and out["g"].attrs["marked"]
    assert "marked" not in mod["f"].attrs
    assert tir.transform.Apply(lambda f: f)(mod).same_as(mod)
    only_f = tir.transform.Filter(lambda f: f.attrs["global_symbol"] == "f")(mod)
    assert [v.name_hint for v in only_f.get_global_vars()] == ["f"]
    with pytest.raises(TypeError, match="pass Apply: expected it to return BaseFunc, got"):
        tir.transform.Apply(lambda f: 1)(mod)


def test_a_class_of_passes_over_functions():
    @tir.transform.prim_func_pass(opt_level=1, name="tag")
    class Tag:
        def __init__(self, tag):
            self.tag = tag

        def transform_function(self, func, mod, ctx):
            return func.with_attr("tag", self.tag)

    p = Tag("red")
    assert p.tag == "red" and p.info.name == "tag"
    assert p(ir.IRModule({"f": program("f")}))["f"].attrs["tag"] == "red"


def test_a_pass_on_functions_of_some_names():
    mod = ir.IRModule({"main": program("main"), "helper_1": program("helper_1")})
    mark = tir.transform.Apply(lambda f: f.with_attr("marked", True))
    out = tenon.transform.ApplyPassToFunction(mark, "helper_.*")(mod)
    assert "marked" in out["helper_1"].attrs and "marked" not in out["main"].attrs
    with pytest.raises(ValueError, match="No function matched regex 'none'"):
        tenon.transform.ApplyPassToFunction(mark, "none", True)(mod)


# ---- memory pools ----


def test_memory_pools():
    properties = tenon.PoolInfoProperties(size_hint_bytes=1 << 20, read_latency_cycles=3)
    pool = tenon.WorkspacePoolInfo("sram", [], properties)
    assert pool.pool_name == "sram" and pool.size_hint_bytes == 1 << 20
    assert pool.read_latency_cycles == 3 and pool.clock_frequency_hz == -1 and not pool.is_internal
    pools = tenon.WorkspaceMemoryPools([pool, tenon.WorkspacePoolInfo("dram", [])])
    assert [p.pool_name for p in pools.pools] == ["sram", "dram"]
    data = tenon.nd.array([1, 2])
    constants = tenon.ConstantPoolInfo("flash", [], [ir.memory_pools.ConstantInfo("c", 8, data)])
    assert constants.constant_info_array[0].byte_offset == 8
    used = ir.memory_pools.AllocatedPoolInfo(pool, 64)
    assert used.pool_info.same_as(pool) and used.allocated_size == 64 and used.pool_var_idx == 0
    place = tenon.tir.usmp.utils.PoolAllocation(pool, 16)
    assert place.pool_info.same_as(pool) and place.byte_offset == 16
    ir.assert_structural_equal(ir.load_json(ir.save_json(pools)), pools)
    with pytest.raises(TypeError):
        ir.memory_pools.AllocatedPoolInfo("sram", 64)


@pytest.mark.parametrize("size, asks", [(16, False), (1 << 16, True)])
def test_memory_that_code_asks_for(size, asks):
    func = tenon.script.from_source(f"""
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    B = T.allocate([{size}], "float32", "global")
    C = T.Buffer(({size},), data=B)
    for i in range({size}):
        C[i] = A[i % 8]
    A[0] = C[{size} - 1]
""")
    built = tenon.build(func, target="c")
    assert tenon.testing.usmp.is_tvm_backendallocworkspace_calls(built) == asks
