"""Records of measurements: what kernels ask, who answers, and that answers change tiles only."""

import json

import numpy as np
import pytest
import tenon
from tenon import autotvm, relay
from tenon._ffi import get_global_func
from tenon.contrib import graph_executor
from test_cli import call

TARGET = "llvm -mcpu=skylake-avx512 -mattr=+avx512f"  # the same kernels on any machine
DENSE = ("dense_pack.x86", ("TENSOR", (24, 40), "float32"), ("TENSOR", (64, 40), "float32"))
DENSE = (*DENSE, None, "float32")


def dense_module(m=24, k=40, n=64):
    x = relay.var("x", shape=(m, k))
    w = relay.const(np.random.RandomState(1).randn(n, k).astype("float32"))
    return tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.dense(x, w))))


def conv_module(channels=32, size=9, kernel=3, stride=1, groups=1):
    x = relay.var("x", shape=(1, channels, size, size))
    weight = np.random.RandomState(2).randn(32, channels // groups, kernel, kernel)
    conv = relay.nn.conv2d(
        x,
        relay.const(weight.astype("float32")),
        strides=(stride, stride),
        padding=(kernel // 2, kernel // 2),
        channels=32,
        kernel_size=(kernel, kernel),
        groups=groups,
    )
    return tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(conv)))


def batch_module():
    x, y = relay.var("x", shape=(3, 10, 24)), relay.var("y", shape=(3, 32, 24))
    return tenon.IRModule.from_expr(relay.Function([x, y], relay.nn.batch_matmul(x, y)))


def row(workload, seconds=1.0, target="llvm", error=0, **knobs):
    config = autotvm.ConfigEntity(0, None, {name: ["ot", v] for name, v in knobs.items()})
    task = autotvm.record.RecordedTask(workload[0], workload[1:])
    given = autotvm.record.MeasureInput(tenon.target.Target(target), task, config)
    return autotvm.record.encode(given, autotvm.record.MeasureResult((seconds,), error, 0.1, 1.0))


class Listening(autotvm.DispatchContext):
    """A context of a program: keeps what is asked, and answers from a dict."""

    def __init__(self, answers=None):
        super().__init__()
        self.asked = {}
        self.answers = answers or {}

    def _query_inside(self, target, workload):
        self.asked.setdefault(workload, str(target))
        knobs = self.answers.get(workload)
        if knobs is None:
            return None
        return autotvm.ConfigEntity(0, None, {name: ["ot", v] for name, v in knobs.items()})


def asked_by(ask, mod, target=TARGET):
    """Build a module whose kernels ask a function."""
    enter, leave = get_global_func("tune.records_enter"), get_global_func("tune.records_exit")
    enter(ask, None)
    try:
        with tenon.transform.PassContext(opt_level=3):
            targets = tenon.target.Target.canon_multi_target_and_host(target)
            executor = relay.backend.Executor("graph")
            get_global_func("driver.relay_build")(mod, targets, "default", executor, None)
    finally:
        leave()


def spaces(mod, target=TARGET):
    """What kernels ask for a module: knobs by workload, each with its value and what it may be."""
    found = {}

    def ask(target, workload, knobs):
        found.setdefault(str(workload), {}).update(json.loads(str(knobs)))

    asked_by(ask, mod, target)
    return found


def build(mod, target=TARGET, **config):
    with tenon.transform.PassContext(opt_level=3, config=config):
        return relay.build(mod, target)


def code(lib):
    return lib.get_lib().get_source("asm")


@pytest.fixture(scope="module")
def plain():
    return code(build(dense_module(), **{"relay.backend.records": "off"}))


# ---- who is asked ----


def test_a_context_of_a_program_is_asked(plain):
    with Listening() as context:
        assert code(build(dense_module())) == plain
    assert list(context.asked) == [DENSE] and "skylake-avx512" in context.asked[DENSE]
    with Listening({DENSE: {"tile_m": 4, "tile_n": 32}}):
        assert code(build(dense_module())) != plain


def test_records_that_took_forever_are_left_out(tmp_path, plain):
    path = tmp_path / "forever.log"
    path.write_text("\n".join(row(DENSE, float(t), tile_m=4) for t in ("inf", "nan")) + "\n")
    with autotvm.apply_history_best(str(path)):
        assert code(build(dense_module())) == plain


def test_a_log_of_ones_own(tmp_path, plain):
    path = tmp_path / "own.log"
    path.write_text(
        row(DENSE, 2.0, tile_m=8) + "\n" + row(DENSE, 1.0, tile_m=4) + "\n"
        "# a comment\n\n" + row(DENSE, 0.5, error=1, tile_m=2) + "\n"
    )
    with autotvm.apply_history_best(str(path)):
        best = code(build(dense_module()))
    assert best != plain
    assert code(build(dense_module())) == plain  # kernels of other records are not reused
    with Listening({DENSE: {"tile_m": 4}}):
        assert code(build(dense_module())) == best
    with autotvm.ApplyHistoryBest(None) as context:
        assert code(build(dense_module())) == plain
        context.update(tenon.target.Target("llvm"), DENSE, autotvm.ConfigEntity(0, None, {}))
        assert code(build(dense_module())) == plain
        tile = autotvm.ConfigEntity(0, None, {"tile_m": ["ot", 4]})
        context.update(tenon.target.Target("llvm"), DENSE, tile)
        assert code(build(dense_module())) == best
    autotvm.DispatchContext.current.update(tenon.target.Target("llvm"), DENSE, tile)
    try:
        assert code(build(dense_module())) == best
    finally:
        autotvm.DispatchContext.current.memory.clear()
    assert code(build(dense_module())) == plain


def test_contexts_inside_of_others(plain):
    with Listening({DENSE: {"tile_m": 4}}):
        outer = code(build(dense_module()))
        with Listening():
            assert code(build(dense_module())) == outer
        with autotvm.ApplyHistoryBest([]):
            assert code(build(dense_module())) == outer
        with Listening({DENSE: {"tile_m": 3}}):
            assert code(build(dense_module())) not in (outer, plain)


def test_the_virtual_machine_asks_too():
    with tenon.transform.PassContext(opt_level=3), Listening() as context:
        relay.vm.compile(dense_module(), TARGET)
        assert list(context.asked) == [DENSE]
        context.asked.clear()
        relay.vm.VMCompiler().optimize(conv_module(), TARGET)
    assert [w[0] for w in context.asked] == ["conv2d_NCHWc.x86"]


def test_errors_of_a_context_come_out():
    class Broken(autotvm.DispatchContext):
        def _query_inside(self, target, workload):
            raise KeyError("mine")

    with Broken(), pytest.raises(KeyError, match="mine"):
        build(dense_module())
    assert get_global_func("tune.records_shipped")() is not None
    with pytest.raises(ValueError, match="no source"):
        get_global_func("tune.records_exit")()


# ---- for which target ----


@pytest.mark.parametrize(
    "of, yes",
    [
        ("llvm", True),
        ("llvm -mcpu=skylake-avx512", True),
        ("llvm -mcpu=haswell", False),
        ("llvm -model=other", False),
        ("llvm -num-cores=4095", False),
        ("c", False),
    ],
)
def test_records_of_other_processors(of, yes):
    fits = get_global_func("tune.records_fit")
    assert fits(tenon.target.Target(of), tenon.target.Target(TARGET)) == yes
    source = get_global_func("tune.records_source")(row(DENSE, target=of, tile_m=4), False)
    workload = json.dumps(DENSE, separators=(",", ":"))
    found = source(tenon.target.Target(TARGET), workload, "{}")
    assert found == ('[["tile_m","ot",4]]' if yes else None)


def test_the_one_that_names_more_goes_first():
    rows = [
        row(DENSE, 0.1, "llvm", tile_m=1),
        row(DENSE, 0.2, "llvm -mcpu=skylake-avx512", tile_m=2),
        row(DENSE, 0.3, "llvm -mcpu=skylake-avx512", tile_m=3),
    ]
    source = get_global_func("tune.records_source")("\n".join(rows), False)
    workload = json.dumps(DENSE, separators=(",", ":"))
    assert json.loads(source(tenon.target.Target(TARGET), workload, "{}"))[0][2] == 2


# ---- what cannot be used ----


@pytest.mark.parametrize(
    "knobs",
    [
        {"tile_m": 0},
        {"tile_m": -4},
        {"tile_m": 1 << 40},
        {"tile_m": "4"},
        {"tile_m": [1, 4]},
        {"tile_m": True},
        {"tile_m": 4.5},
        {"tile_n": 17},
        {"tile_m": 24, "tile_n": 32},  # more than the registers hold
        {"tile_k": 7},
        {"band_m": 5},
        {"other": 3},
    ],
)
def test_impossible_values_are_not_used(knobs, plain, caplog):
    with Listening({DENSE: knobs}):
        assert code(build(dense_module())) == plain
    assert ("not used" in caplog.text) == ("other" not in knobs)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"version": 0.2}',
        '{"version": 0.2, "input": [], "config": {}, "result": []}',
        row(DENSE, tile_m=4).replace("[1.0]", "[]"),
        row(DENSE, tile_m=4).replace("[1.0]", '["x"]'),
        row(DENSE, tile_m=4).replace('"entity": [', '"entity": 3, "x": ['),
        row(DENSE, tile_m=4)[:-1],
    ],
)
def test_what_is_no_record(text):
    with pytest.raises(ValueError, match="line 2 of the text"):
        get_global_func("tune.records_source")(row(DENSE) + "\n" + text, False)


def test_records_that_are_left_out():
    other = row(DENSE).replace('"version": 0.2', '"version": 0.1')
    unknown = row(DENSE).replace('"llvm', '"pdp11 -keys=x', 1)
    source = get_global_func("tune.records_source")(f"{other}\n{unknown}\n", False)
    workload = json.dumps(DENSE, separators=(",", ":"))
    assert source(tenon.target.Target(TARGET), workload, "{}") is None


@pytest.mark.parametrize(
    "answer, error", [("{}", ValueError), ("[", ValueError), (3, TypeError), ("3", ValueError)]
)
def test_answers_that_are_no_configuration(answer, error):
    with pytest.raises(error):
        asked_by(lambda *args: answer, dense_module())
    asked_by(lambda *args: '[[], 3, ["tile_m"], ["tile_m", "ot"], {"tile_m": 4}]', dense_module())


# ---- options, messages ----


def test_the_option(plain):
    with Listening({DENSE: {"tile_m": 4}}) as context:
        assert code(build(dense_module(), **{"relay.backend.records": "off"})) == plain
        assert not context.asked
    with pytest.raises(ValueError, match='expected "auto" or "off"'):
        build(dense_module(), **{"relay.backend.records": "on"})


def test_a_build_warns_of_nothing(caplog):
    build(dense_module())
    with Listening():
        build(dense_module(k=48))
    assert not caplog.records
    target, context = tenon.target.Target("llvm"), autotvm.FallbackContext()
    for _ in range(2):
        assert context.query(target, ("mine", 3)).is_fallback
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert caplog.messages[0].startswith("Cannot find config for target=llvm -keys=cpu, workload=(")
    assert caplog.messages[0].endswith("which may bring great performance regression.")


# ---- any value gives the same result ----


def run(mod, lib):
    module = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    state = np.random.RandomState(7)
    for param in mod["main"].params:
        shape = [int(d) for d in param.type_annotation.shape]
        module.set_input(param.name_hint, state.randn(*shape).astype("float32"))
    module.run()
    return module.get_output(0).numpy()


MODULES = {
    "dense": dense_module,
    "one_row": lambda: dense_module(m=1, n=128),
    "odd": lambda: dense_module(m=7, k=33, n=50),
    "direct": lambda: conv_module(stride=2),
    "point": lambda: conv_module(kernel=1, size=7),
    "depthwise": lambda: conv_module(groups=32),
    "winograd": conv_module,
    "batch": batch_module,
}


@pytest.mark.parametrize("name", MODULES)
def test_every_value_of_a_knob_gives_the_same(name):
    mod = MODULES[name]()
    want = run(mod, build(mod, "llvm", **{"relay.backend.records": "off"}))
    known = spaces(mod, "llvm")
    assert known
    seen = 0
    state = np.random.RandomState(3)
    for workload, knobs in known.items():
        decoded = autotvm.record.plain(json.loads(workload))
        for knob, (chosen, values) in knobs.items():
            others = [v for v in values if v != chosen]
            for value in state.permutation(others)[:3]:
                with Listening({decoded: {knob: int(value)}}):
                    np.testing.assert_allclose(
                        run(mod, build(mod, "llvm")), want, rtol=1e-3, atol=1e-3
                    )
                seen += 1
    assert seen


# ---- tasks, other ways to records ----


def test_tasks_of_a_program():
    with tenon.transform.PassContext(opt_level=3):
        (task,) = autotvm.task.extract_from_program(dense_module(), {}, TARGET)
        assert task.workload == DENSE and str(task.target).startswith("llvm -keys=cpu")
        chosen, values = task.knobs["tile_m"]
        assert chosen in values and values == list(range(1, 25))
        mods = [dense_module(), conv_module(), dense_module()]
        tasks = autotvm.task.extract_from_multiple_program(mods, [{}] * 3, TARGET)
        assert [t.name for t in tasks] == ["dense_pack.x86", "conv2d_NCHWc.x86"]
        ops = [tenon.ir.Op.get("nn.dense")]
        assert not autotvm.task.extract_from_program(conv_module(), {}, TARGET, ops=ops)


def test_the_command(tmp_path):
    program, log, library = tmp_path / "x.relay", tmp_path / "x.log", tmp_path / "x.so"
    program.write_text(
        "def @main(%x: Tensor[(24, 40), float32], %w: Tensor[(64, 40), float32]) "
        "-> Tensor[(24, 64), float32] { nn.dense(%x, %w) }"
    )
    workload = ("dense_nopack.x86", *DENSE[1:])
    log.write_text(row(workload, tile_m=4) + "\n")
    found = []
    for options in [[], ["--records", str(log)], ["--records", "/dev/null"]]:
        status, _, err = call("compile", str(program), "-o", str(library), *options)
        assert status == 0, err
        found.append(library.read_bytes())
    assert found[0] == found[2] != found[1]
    log.write_text("{\n")
    status, _, err = call("compile", str(program), "-o", str(library), "--records", str(log))
    assert status == 1 and "line 1 of" in err


def test_what_ships_is_read_and_fits_its_processor():
    text = str(get_global_func("tune.records_shipped")())
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    fits = get_global_func("tune.records_fit")
    threads = get_global_func("runtime.NumThreads")()
    assert rows
    for inp, res in map(autotvm.record.decode, rows):
        own = tenon.target.Target(f"llvm -mcpu={inp.target.mcpu}")
        cores = inp.target.attrs.get("num-cores")
        assert inp.target.mcpu and res.error_no == 0
        assert fits(inp.target, own) == (cores is None or int(cores) == threads)
        assert not fits(inp.target, tenon.target.Target("llvm -mcpu=haswell"))
        found = autotvm.tophub.context(own)._query_inside(inp.target, inp.task.workload)
        assert (found is not None) >= fits(inp.target, own)
