"""Plans of memory: algorithms of the caller's, and what is described for them."""

import numpy as np
import pytest
import tenon
from tenon.micro import export_model_library_format, load_model_library_format
from tenon.relay.backend import Executor, Runtime
from tenon.script import tir as T
from tenon.tir.usmp import BufferInfo, PoolAllocation
from tenon.tir.usmp import utils as usmp
from test_aot import build, expected, inputs, needs_cc, needs_llvm, network, pools_of, run

C_INTERFACE = {"interface-api": "c", "unpacked-api": True}
CRT = Runtime("crt")
ALGORITHMS = ("greedy_by_size", "greedy_by_conflicts", "hill_climb")


def pool(name, size=-1):
    return tenon.WorkspacePoolInfo(name, [], tenon.PoolInfoProperties(size_hint_bytes=size))


def made(sizes, lives, pools, alignment=None):
    """Buffers with the conflicts of their lives."""
    infos = [BufferInfo(f"b{i}", n, pools, alignment) for i, n in enumerate(sizes)]
    for i, (first, last) in enumerate(lives):
        infos[i].set_conflicts(
            [b for b, (f, n) in zip(infos, lives, strict=True) if f <= last and first <= n]
        )
    return infos


def forget(infos):
    for info in infos:
        info.set_conflicts([])


@pytest.mark.parametrize("name", ALGORITHMS)
def test_buffers_that_are_described(name):
    rng = np.random.default_rng(3)
    sizes = [int(n) for n in rng.integers(1, 2000, 40)]
    lives = [(i, i + int(rng.integers(0, 4))) for i in range(40)]
    pressure = max(
        sum(n for n, (f, e) in zip(sizes, lives, strict=True) if f <= t <= e) for t in range(44)
    )
    fast, slow = pool("fast", pressure // 2), pool("slow")
    infos = made(sizes, lives, [fast, slow], 8)
    plan = tenon.get_global_func(f"tir.usmp.algo.{name}")(infos, pressure)
    assert set(plan) == set(infos)
    places = [plan[info] for info in infos]
    for i, a in enumerate(places):
        assert a.byte_offset % 8 == 0
        assert not a.pool_info.same_as(fast) or a.byte_offset + sizes[i] <= pressure // 2
        for j in range(i):
            b = places[j]
            if not a.pool_info.same_as(b.pool_info):
                continue
            apart = (
                a.byte_offset + sizes[i] <= b.byte_offset
                or b.byte_offset + sizes[j] <= a.byte_offset
            )
            assert apart or lives[i][0] > lives[j][1] or lives[j][0] > lives[i][1]
    assert {str(a.pool_info.pool_name) for a in places} == {"fast", "slow"}
    forget(infos)


def test_buffers_have_pools_of_their_own():
    one, other = pool("one"), pool("other", 100)
    infos = [BufferInfo("a", 60, [other]), BufferInfo("b", 60, [other, one])]
    infos[0].set_conflicts([infos[1]])  # one side is enough
    plan = tenon.get_global_func("tir.usmp.algo.greedy_by_size")(infos, 120)
    assert [str(plan[i].pool_info.pool_name) for i in infos] == ["other", "one"]
    infos.append(BufferInfo("c", 60, [other]))
    infos[0].set_conflicts(infos[1:])
    with pytest.raises(ValueError, match=r"c \(60 bytes\) fits .*: other of 100 bytes needs 20"):
        tenon.get_global_func("tir.usmp.algo.hill_climb")(infos, 180)
    with pytest.raises(ValueError, match="d may lie in no pool"):
        tenon.get_global_func("tir.usmp.algo.hill_climb")([BufferInfo("d", 4, [])], 4)
    with pytest.raises(ValueError, match="BufferInfo e: expected an alignment"):
        BufferInfo("e", 4, [one], 0)
    forget(infos)


def register(f):
    tenon.register_func("tir.usmp.algo.mine", f, override=True)
    return {"tir.usmp.enable": True, "tir.usmp.custom_algorithm": "mine"}


def in_a_row(infos, pressure, first=0):
    """Nothing shares memory."""
    plan, end = {}, first
    for info in infos:
        plan[info] = PoolAllocation(info.pool_candidates[0], end)
        end += int(info.size_bytes + info.alignment - 1) // 16 * 16
    return plan


@needs_llvm
@needs_cc
def test_an_algorithm_of_the_callers(tmp_path):
    program, values = network(), inputs()
    seen = []

    def algorithm(infos, pressure):
        seen.append((len(infos), int(pressure), [len(info.conflicts) for info in infos]))
        return in_a_row(infos, pressure)

    factory = build(program, C_INTERFACE, CRT, config=register(algorithm))
    shared = build(program, C_INTERFACE, CRT, config={"tir.usmp.enable": True})
    (count, pressure, conflicts), metadata = seen[0], factory.executor_codegen_metadata
    assert count > 3 and 0 < max(conflicts) < count and pressure == metadata.live_bytes
    assert metadata.workspace_bytes > shared.executor_codegen_metadata.workspace_bytes
    path = export_model_library_format(factory, tmp_path / "m.tar")
    loaded = tenon.contrib.graph_executor.GraphModule(
        load_model_library_format(path)["default"](tenon.cpu())
    )
    for got, right in zip(run(loaded, values), expected(program, values), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-4)


@pytest.mark.parametrize(
    "algorithm, error, message",
    [
        (lambda infos, _: dict.fromkeys(infos, PoolAllocation(infos[0].pool_candidates[0], 0)),
         ValueError, "overlap in workspace and are needed at the same time"),
        (lambda infos, _: {}, ValueError, "tir.usmp.algo.mine: expected a PoolAllocation of "),
        (lambda infos, _: None, TypeError, "expected a map from BufferInfo to PoolAllocation"),
        (lambda infos, _: in_a_row(infos, 0, 4), ValueError, "expected a multiple of 16"),
        (lambda infos, _: in_a_row(infos, 0, -16), ValueError, "lies at -16 of workspace"),
        (lambda infos, _: {i: PoolAllocation(pool("else"), 0) for i in infos},
         ValueError, "not a candidate of its: else"),
    ],
)  # fmt: skip
def test_plans_that_are_wrong(algorithm, error, message):
    with pytest.raises(error, match=message):
        build(network(), C_INTERFACE, CRT, config=register(algorithm))


def test_what_an_algorithm_raises_comes_through():
    def algorithm(infos, pressure):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        build(network(), C_INTERFACE, CRT, config=register(algorithm))
    config = register(in_a_row)
    with pytest.raises(ValueError, match="ends at .* of sram, which has 9000 bytes: .* missing"):
        build(network(), C_INTERFACE, CRT, config=config,
              workspace_memory_pools=pools_of(("sram", 9000)))  # fmt: skip
    config["tir.usmp.custom_algorithm"] = "nobody"
    with pytest.raises(ValueError, match=r"tir\.usmp\.algo\.nobody is not registered"):
        build(network(), C_INTERFACE, CRT, config=config)


IO = {"tir.usmp.enable": True, "tir.usmp.use_workspace_io": True}


@needs_llvm
@needs_cc
@pytest.mark.parametrize("banks", [None, [("dtcm", 9000), ("sram", -1)]])
def test_inputs_and_outputs_in_pools(banks, tmp_path):
    program, values = network(), inputs()
    more = {"workspace_memory_pools": pools_of(*banks)} if banks else {}
    factory = build(program, C_INTERFACE, CRT, config=IO, **more)
    metadata = factory.executor_codegen_metadata
    places = {str(k): v for k, v in metadata.io_pool_allocations.items()}
    assert set(places) == {"x", "int", *(f"output{i}" for i in range(5))}
    assert places["output0"].byte_offset == places["output4"].byte_offset
    assert metadata.io_bytes < metadata.workspace_bytes + 8 * 256 * 4 + 8192
    path = export_model_library_format(factory, tmp_path / "m.tar")
    loaded = load_model_library_format(path)
    module = tenon.contrib.graph_executor.GraphModule(loaded["default"](tenon.cpu()))
    want = expected(program, values)
    for _ in range(2):
        for got, right in zip(run(module, values), want, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-4)


def test_an_own_pool_of_another_model():
    """It is memory of this model too, of whole words."""

    def made(**more):
        x = tenon.relay.var("x", shape=(3,), dtype="int8")
        body = tenon.relay.cumsum(tenon.relay.cumsum(x, dtype="int8"), dtype="int8")
        options = {**C_INTERFACE, "workspace-byte-alignment": 1}
        config = {"tir.usmp.enable": True}
        program = tenon.IRModule.from_expr(tenon.relay.Function([x], body))
        return build(program, options, CRT, target="c", config=config, **more)

    own = made().executor_codegen_metadata.pools[0].pool_info
    factory = made(workspace_memory_pools=tenon.ir.memory_pools.WorkspaceMemoryPools([own]))
    (pool,) = factory.executor_codegen_metadata.pools
    assert int(pool.allocated_size) == 3
    sources = [m.get_source() for m in (factory.lib, *factory.lib.imported_modules)]
    assert any("static uint64_t workspace_[1];" in text for text in sources)


def test_constants_as_outputs_are_copied():
    x = tenon.relay.var("x", shape=(4,))
    body = tenon.relay.Tuple([tenon.relay.const(np.ones(3, "float32")), tenon.relay.exp(x), x])
    program = tenon.IRModule.from_expr(tenon.relay.Function([x], body))
    metadata = build(program, C_INTERFACE, CRT, config=IO).executor_codegen_metadata
    at = {str(k): int(v.byte_offset) for k, v in metadata.io_pool_allocations.items()}
    assert at["x"] == at["output2"] and len({at["output0"], at["output1"], at["x"]}) == 3


def test_where_workspace_io_is_not_possible():
    with pytest.raises(tenon.TVMError, match="use_workspace_io needs interface-api c, got packed"):
        build(network(), {}, CRT, config=IO)
    with pytest.raises(ValueError, match="no memory pools: set tir.usmp.enable"):
        build(network(), C_INTERFACE, CRT, config={"tir.usmp.use_workspace_io": True})


def test_the_header_tells_where(tmp_path):
    from tenon.micro.model_library_format import generate_c_interface_header

    sram = tenon.ir.memory_pools.AllocatedPoolInfo(pool("sram"), 64)
    at = {"in": PoolAllocation(sram.pool_info, 0), "out": PoolAllocation(sram.pool_info, 32)}
    path = generate_c_interface_header(
        "cat", ["in"], ["out"], [sram], at, [], 0, tmp_path, {"in": 16}, {"out": 16}
    )
    with open(path) as file:
        text = file.read()
    args = "(struct tvmgen_cat_workspace_pools* workspace_pools);"
    for head in ("struct tvmgen_cat_inputs tvmgen_cat_map_inputs",
                 "struct tvmgen_cat_outputs tvmgen_cat_map_outputs",
                 "int32_t tvmgen_cat_run"):  # fmt: skip
        assert head + args in text
    assert usmp.CANDIDATE_MEMORY_POOL_ATTR == "candidate_memory_pools"
    assert Executor("aot", C_INTERFACE)["interface-api"] == "c"


FAST = pool("fast")


@tenon.script.ir_module
class Program:
    @T.prim_func
    def first(a: T.handle, b: T.handle):
        x = T.match_buffer(a, (8,), "float32")
        y = T.match_buffer(b, (8,), "float32")
        own = T.allocate([64], "float32", "global")
        kept = T.Buffer((64,), data=own)
        for i in range(8):
            kept[i] = x[i]
        for i in range(8):
            y[i] = kept[i]

    @T.prim_func
    def main(a: T.handle, b: T.handle):
        x = T.match_buffer(a, (8,), "float32")
        y = T.match_buffer(b, (8,), "float32")
        one = T.allocate([8], "float32", "global")
        two = T.allocate([8], "float32", "global")
        three = T.allocate([8], "float32", "global")
        T.evaluate(T.call_extern("int32", "first", x.data, one))
        T.evaluate(T.call_extern("int32", "first", one, two))
        T.evaluate(T.call_extern("int32", "first", two, three))
        T.evaluate(T.call_extern("int32", "first", three, y.data))


def with_pools(mod):
    """All allocations may lie in the pool."""

    def mark(stmt):
        if not isinstance(stmt, tenon.tir.Allocate):
            return None
        return tenon.tir.Allocate(
            stmt.buffer_var, stmt.dtype, stmt.extents, stmt.condition, stmt.body,
            {usmp.CANDIDATE_MEMORY_POOL_ATTR: [FAST]},
        )  # fmt: skip

    def marked(f):
        body = tenon.tir.stmt_functor.ir_transform(f.body, None, mark, ["tir.Allocate"])
        return f.with_body(body)

    return tenon.IRModule({v: marked(f) for v, f in mod.functions.items()})


def test_what_a_program_needs():
    mod = with_pools(Program)
    found = tenon.tir.usmp.analysis.extract_buffer_info(mod["main"], mod)
    infos = {str(info.name_hint): info for info in found.buffer_info_stmts}
    assert set(infos) == {"own", "one", "two", "three"}
    assert {n: int(i.size_bytes) for n, i in infos.items()} == {
        "own": 256, "one": 32, "two": 32, "three": 32
    }  # fmt: skip
    conflicts = {n: {str(c.name_hint) for c in i.conflicts} for n, i in infos.items()}
    assert conflicts["one"] == {"own", "two"} and conflicts["three"] == {"own", "two"}
    assert conflicts["own"] == {"one", "two", "three"}  # while it is called again
    assert int(found.memory_pressure) == 256 + 64
    for name, stmt in ((str(k.name_hint), v) for k, v in found.buffer_info_stmts.items()):
        assert isinstance(stmt, tenon.tir.Allocate) and stmt.buffer_var.name == name
    array = tenon.get_global_func("tir.usmp.CreateArrayBufferInfo")(found.buffer_info_stmts)
    for algorithm in ALGORITHMS:
        plan = tenon.get_global_func(f"tir.usmp.algo.{algorithm}")(array, found.memory_pressure)
        at = {str(info.name_hint): int(place.byte_offset) for info, place in plan.items()}
        assert at["one"] == at["three"] and max(at.values()) <= 288
        placed = tenon.get_global_func("tir.usmp.AssignStmtPoolAllocations")(
            found.buffer_info_stmts, plan
        )
        assert all(isinstance(stmt, tenon.tir.Allocate) for stmt in placed) and len(placed) == 4


def test_functions_that_call_themselves_are_refused():
    @T.prim_func
    def main():
        T.evaluate(T.call_extern("int32", "main"))

    with pytest.raises(ValueError, match="nested more than 512 deep"):
        tenon.tir.usmp.analysis.extract_buffer_info(main, tenon.IRModule({"main": main}))
