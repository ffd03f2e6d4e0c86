"""The ahead-of-time executor: a model as one function, on the host and as C."""

import ctypes
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib.graph_executor import GraphModule
from tenon.micro import get_include_dirs, get_standalone_crt_dir
from tenon.relay.backend import Executor, Runtime
from tenon.runtime.executor import AotModule
from tenon.target.codegen import llvm_version_major

needs_llvm = pytest.mark.skipif(
    llvm_version_major(allow_none=True) is None, reason="hosts run code of LLVM"
)
needs_cc = pytest.mark.skipif(not shutil.which("cc"), reason="no C compiler")
STRICT = "-std=c99 -Os -Wall -Wextra -Wpedantic -Werror".split()
CRT = Runtime("crt")
RNG = np.random.default_rng(0)


def network():
    """Several outputs, one of them a view, one an input, one twice; a name that is a word of C."""
    x = relay.var("x", shape=(1, 3, 16, 16))
    y = relay.var("int", shape=(1, 8, 16, 16))
    weight = relay.const(RNG.random((8, 3, 3, 3), dtype="float32"))
    conv = relay.nn.relu(relay.nn.conv2d(x, weight, padding=(1, 1)))
    joined = relay.add(relay.nn.max_pool2d(conv, (3, 3), padding=(1, 1)), y)
    soft = relay.nn.softmax(relay.tanh(joined), axis=1)
    flat = relay.reshape(soft, (8, 256))
    results = [flat, joined, relay.nn.avg_pool2d(soft, (2, 2)), y, flat]
    return tenon.IRModule.from_expr(relay.Function([x, y], relay.Tuple(results)))


def inputs():
    return {
        "x": RNG.random((1, 3, 16, 16), dtype="float32"),
        "int": RNG.random((1, 8, 16, 16), dtype="float32"),
    }


def run(module, values):
    module.run(**values)
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def expected(program, values):
    return run(GraphModule(relay.build(program, "llvm")["default"](tenon.cpu(0))), values)


def build(program, options=None, runtime=None, target="c", config=None, **more):
    executor = Executor("aot", options or {})
    with tenon.transform.PassContext(opt_level=3, config=config or {}):
        return relay.build(program, target, executor=executor, runtime=runtime, **more)


def compiled(factory, folder):
    """A library of the C source, with the workspace that it says it needs."""
    workspace = factory.executor_codegen_metadata.workspace_bytes
    modules = [factory.lib, *factory.lib.imported_modules]
    files = []
    for i, module in enumerate(modules):
        files.append(folder / f"lib{i}.c")
        files[-1].write_text(module.get_source())
    files.append(folder / "memory.c")
    files[-1].write_text(
        '#include "tenon/micro.h"\n'
        f"static _Alignas(64) uint8_t memory[{workspace} + TN_MICRO_WORKSPACE_EXTRA];\n"
        "int start_memory(int begin, int less);\n"
        "int start_memory(int begin, int less) {\n"
        "  return tn_micro_workspace_init(memory + begin, sizeof memory - less);\n}\n"
    )
    crt = pathlib.Path(get_standalone_crt_dir())
    include = [f"-I{path}" for path in [*get_include_dirs(), crt]]
    objects = []
    for path in [*files, crt / "micro" / "backend.c"]:
        objects.append(folder / (path.stem + ".o"))
        flags = STRICT if path.stem.startswith("lib") else ["-std=c11"]
        command = ["cc", *flags, "-fPIC", *include, "-c", str(path), "-o", str(objects[-1])]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
    library = folder / "model.so"
    subprocess.run(
        ["cc", "-shared", "-Wl,-Bsymbolic", *map(str, objects), "-lm", "-o", str(library)],
        check=True,
    )
    found = ctypes.CDLL(str(library))
    assert found.start_memory(0, 0) == 0
    return found


def call_c(library, metadata, values, name="default", pools=()):
    """tvmgen_NAME_run on arrays."""
    given = [np.ascontiguousarray(values[str(n)]) for n in metadata.inputs]
    types = metadata.output_tensor_types
    made = [np.full([int(d) for d in t.shape], 7, dtype=str(t.dtype)) for t in types]

    def pointers(arrays):
        return (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))

    args = [pointers(given), pointers(made)] + ([pointers(pools)] if pools else [])
    assert getattr(library, f"tvmgen_{name}_run")(*args) == 0
    return made


@needs_llvm
@pytest.mark.parametrize("link_params", [True, False])
def test_host_runs_a_model_as_one_function(link_params, tmp_path):
    program, values = network(), inputs()
    factory = build(program, {"link-params": link_params}, target="llvm")
    assert len(factory.get_params()) == (0 if link_params else 1)
    want = expected(program, values)
    factory.export_library(tmp_path / "model.so")
    loaded = tenon.runtime.load_module(str(tmp_path / "model.so"))
    for module in (factory, loaded):
        aot = AotModule(module["default"](tenon.cpu(0)))
        assert aot.get_num_inputs() == (2 if link_params else 3)
        assert aot.get_input_name(1) == "int"
        for got, right in zip(run(aot, values), want, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-4)


@needs_llvm
@needs_cc
@pytest.mark.parametrize("usmp", [False, True])
@pytest.mark.parametrize("options", [{"interface-api": "c", "unpacked-api": True}])
def test_c_interface(options, usmp, tmp_path):
    program, values = network(), inputs()
    factory = build(program, options, CRT, config={"tir.usmp.enable": usmp})
    got = call_c(compiled(factory, tmp_path), factory.executor_codegen_metadata, values)
    for one, right in zip(got, expected(program, values), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-4)


@needs_llvm
@needs_cc
@pytest.mark.parametrize("usmp", [False, True])
@pytest.mark.parametrize("unpacked", [False, True])
def test_packed_interface(unpacked, usmp, tmp_path):
    program, values = network(), inputs()
    config = {"tir.usmp.enable": usmp}
    factory = build(program, {"unpacked-api": unpacked}, CRT, config=config)
    library = compiled(factory, tmp_path)
    arrays = [tenon.nd.array(values[name]) for name in ("x", "int")]
    want = expected(program, values)
    arrays += [tenon.nd.empty(right.shape) for right in want]
    handles = (ctypes.c_void_p * len(arrays))(*(a._tvm_handle for a in arrays))
    codes = (ctypes.c_int * len(arrays))(*[7] * len(arrays))
    none = ctypes.c_void_p(None)
    assert library.tvmgen_default_run(handles, codes, len(arrays), none, none, none) == 0
    for array, right in zip(arrays[2:], want, strict=True):
        np.testing.assert_allclose(array.numpy(), right, rtol=1e-4)


def test_what_does_not_go_together():
    program = network()
    need = 'Either need interface_api == "packed" (got: c) or unpacked-api == true (got: 0) when'
    with pytest.raises(tenon.TVMError) as err:
        build(program, {"interface-api": "c"}, CRT)
    assert need in str(err.value)
    need = 'Need unpacked-api == false (got: 0) and interface-api == "packed" (got: c) when'
    with pytest.raises(tenon.TVMError) as err:
        build(program, {"interface-api": "c"})
    assert need in str(err.value)
    with pytest.raises(ValueError, match="a power of two from 1 to 4096 bytes, got 12"):
        build(program, {"workspace-byte-alignment": 12}, CRT)
    x = relay.var("x", shape=(relay.Any(), 4))
    dynamic = tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))
    with pytest.raises(ValueError, match="AOT Executor only supports static graphs, got output"):
        build(dynamic, {}, CRT)


def pools_of(*sizes):
    infos = [
        tenon.WorkspacePoolInfo(
            name, [tenon.target.Target("c")], tenon.PoolInfoProperties(size_hint_bytes=size)
        )
        for name, size in sizes
    ]
    return tenon.WorkspaceMemoryPools(infos)


@needs_llvm
@needs_cc
def test_several_memory_banks(tmp_path):
    program, values = network(), inputs()
    config = {"tir.usmp.enable": True}
    whole = build(program, {}, CRT, config=config).executor_codegen_metadata.workspace_bytes
    pools = pools_of(("dtcm", whole - 4000), ("sram", whole), ("psram", -1))
    options = {"interface-api": "c", "unpacked-api": True, "workspace-byte-alignment": 32}
    factory = build(program, options, CRT, config=config, workspace_memory_pools=pools)
    metadata = factory.executor_codegen_metadata
    used = [int(pool.allocated_size) for pool in metadata.pools]
    assert 0 < used[0] <= whole - 4000 and 0 < used[1] <= whole and used[2] == 0
    banks = [np.full(size + 64, 85, "uint8") for size in used]
    aligned = [
        bank[-bank.ctypes.data % 32 :][: size + 8] for bank, size in zip(banks, used, strict=True)
    ]
    got = call_c(compiled(factory, tmp_path), metadata, values, pools=aligned)
    for one, right in zip(got, expected(program, values), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-4)
    unaligned = [pool[4:] for pool in aligned]
    with pytest.raises(AssertionError):
        call_c(compiled(factory, tmp_path), metadata, values, pools=unaligned)
    assert all((bank[size:] == 85).all() for bank, size in zip(aligned, used, strict=True))
    source = factory.lib.imported_modules[0].get_source()
    assert "struct tvmgen_default_workspace_pools {\n  void* dtcm;\n  void* sram;\n" in source
    with pytest.raises(ValueError, match="fits into none of the pools: sram of 9000 bytes needs"):
        build(program, options, CRT, config=config, workspace_memory_pools=pools_of(("sram", 9000)))
    with pytest.raises(ValueError, match=r'memory pools are for .* need Runtime\("crt"\)'):
        build(program, workspace_memory_pools=pools)
    with pytest.raises(ValueError, match="the caller cannot give the pool dtcm"):
        build(program, {}, CRT, config=config, workspace_memory_pools=pools)


def test_pools_belong_to_targets():
    """Those of other targets are left alone."""
    options = {"interface-api": "c", "unpacked-api": True}
    config = {"tir.usmp.enable": True}

    def pools(*targets):
        made = [tenon.WorkspacePoolInfo(f"for_{t}", [tenon.target.Target(t)]) for t in targets]
        return tenon.WorkspaceMemoryPools(made)

    given = pools("llvm", "c")
    factory = build(network(), options, CRT, config=config, workspace_memory_pools=given)
    (used,) = factory.executor_codegen_metadata.pools
    assert used.pool_info.pool_name == "for_c" and used.allocated_size > 0
    with pytest.raises(ValueError, match="workspace_memory_pools: no pool is for the target c"):
        build(network(), options, CRT, config=config, workspace_memory_pools=pools("llvm"))


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "greedy_by_conflicts", "hill_climb", None])
def test_plans_are_near_what_is_needed(algorithm):
    config = {"tir.usmp.enable": True}
    if algorithm:
        config["tir.usmp.algorithm"] = algorithm
    metadata = build(network(), {}, CRT, config=config).executor_codegen_metadata
    assert 0 < metadata.live_bytes <= metadata.workspace_bytes <= 1.1 * metadata.live_bytes


@needs_cc
def test_constants_in_pools(tmp_path):
    x = relay.var("x", shape=(1, 8))
    weights = [relay.const(RNG.random((8, 8), dtype="float32")) for _ in range(3)]
    body = x
    for weight in weights:
        body = relay.nn.relu(relay.nn.dense(body, weight))
    program = tenon.IRModule.from_expr(relay.Function([x], body))

    def pools(*sizes):
        target = [tenon.target.Target("c")]
        return tenon.ConstantMemoryPools(
            [
                tenon.ConstantPoolInfo(
                    name, target, None, tenon.PoolInfoProperties(size_hint_bytes=size)
                )
                for name, size in sizes
            ]
        )

    options = {"interface-api": "c", "unpacked-api": True}
    banks = pools(("flash", 300), ("qspi-1", -1))
    factory = build(program, options, CRT, constant_memory_pools=banks)
    used = [int(p.allocated_size) for p in factory.executor_codegen_metadata.constant_pools]
    assert used == [256, 512]
    source = factory.lib.get_source()
    assert source.count('section(".rodata.tvm.flash")') == 1
    assert source.count('section(".rodata.tvm.qspi_1")') == 2
    values = {"x": RNG.random((1, 8), dtype="float32")}
    (got,) = call_c(compiled(factory, tmp_path), factory.executor_codegen_metadata, values)
    want = values["x"]
    for weight in weights:
        want = np.maximum(want @ weight.data.numpy().T, 0)
    np.testing.assert_allclose(got, want, rtol=1e-4)
    sections = subprocess.run(["readelf", "-SW", str(tmp_path / "lib0.o")], capture_output=True)
    if sections.returncode == 0:
        assert b".rodata.tvm.flash" in sections.stdout
    with pytest.raises(ValueError, match="p2 .256 bytes. fits into none of the pools: flash of 6"):
        build(program, options, CRT, constant_memory_pools=pools(("flash", 600)))


@needs_cc
def test_memory_that_is_too_small_tells_how_much_is_missing(tmp_path):
    x = relay.var("x", shape=(4096,))
    body = relay.Tuple([relay.sum(relay.exp(x)), relay.reverse(relay.sqrt(x), axis=0)])
    program = tenon.IRModule.from_expr(relay.Function([x], body))
    with tenon.transform.PassContext(opt_level=0):
        executor = Executor("aot", {"interface-api": "c", "unpacked-api": True})
        factory = relay.build(program, "c", executor=executor, runtime=CRT)
    metadata = factory.executor_codegen_metadata
    assert metadata.workspace_bytes >= 16384
    library = compiled(factory, tmp_path)
    values = {"x": np.zeros(4096, "float32")}
    call_c(library, metadata, values)
    library.tn_micro_workspace_missing.restype = ctypes.c_size_t
    assert library.tn_micro_workspace_missing() == 0
    assert library.start_memory(8, 8) == -4
    library.start_memory(0, 1000)
    with pytest.raises(AssertionError):
        call_c(library, metadata, values)
    missing = library.tn_micro_workspace_missing()
    assert 0 < missing <= 1000
    library.start_memory(0, 1000 - missing)
    call_c(library, metadata, values)


def test_values_without_elements():
    x = relay.var("x", shape=(2, 0))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.variance(x, axis=0)))
    f = relay.create_executor("aot", mod, tenon.cpu(), "llvm").evaluate()
    assert f(np.zeros((2, 0), "float32")).numpy().shape == (0,)


@needs_llvm
def test_names_of_inputs_in_c():
    a, b, c = (relay.var(name, shape=(3,)) for name in ("in:0", "in@1", "in:1"))
    mod = tenon.IRModule.from_expr(relay.Function([a, b, c], a + b * c))
    lib = relay.build(mod, "llvm", executor=relay.backend.Executor("aot"))
    model = AotModule(lib["default"](tenon.cpu()))
    data = {"in_0": np.float32([1, 2, 3]), "in@1": np.float32([4, 5, 6])}
    data["in:1"] = np.ones(3, "float32")
    model.set_input(**data)
    model.run()
    np.testing.assert_array_equal(model.get_output(0).numpy(), [5, 7, 9])
    assert model.get_input_index("in_0") == model.get_input_index("in:0") == 0
    np.testing.assert_array_equal(model.get_input("in_0").numpy(), data["in_0"])
    model.set_input_zero_copy("in_0", tenon.nd.array(np.zeros(3, "float32")))
    model.run()
    np.testing.assert_array_equal(model.get_output(0).numpy(), [4, 5, 6])
    both = r"Invalid input name. \['in@1', 'in:1'\] are called so in C"
    for wrong, text in (("in_1", both), ("x", "Invalid input name. Could not find 'x'.*in:0")):
        for use in (model.get_input_index, model.get_input):
            with pytest.raises(tenon.TVMError, match=text):
                use(wrong)
        with pytest.raises(tenon.TVMError, match=text):
            model.set_input(wrong, data["in:1"])
        with pytest.raises(tenon.TVMError, match=text):
            model.set_input_zero_copy(**{wrong: tenon.nd.array(data["in:1"])})


@needs_cc
@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_an_executor_compiles_c(kind):
    x = relay.var("x", shape=(3,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x) + relay.const(1.0)))
    data = np.float32([0, 1, 2])
    got = relay.create_executor(kind, mod=mod, target="c").evaluate()(data)
    np.testing.assert_allclose(got.numpy(), np.exp(data) + 1, rtol=1e-6)
