"""tools/count_spills, and what it finds in the loops of kernels: tiles must stay in registers."""

import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tenon
from built import kernels_of
from tenon import relay

pytestmark = pytest.mark.unsanitized

ROOT = pathlib.Path(__file__).resolve().parents[2]
schedule = tenon.get_global_func("kernels.schedule")


def load():
    path = str(ROOT / "tools" / "count_spills")
    loader = importlib.machinery.SourceFileLoader("count_spills", path)
    spec = importlib.util.spec_from_loader("count_spills", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


ASSEMBLY = """
f:
    vxorps %xmm0, %xmm0, %xmm0
.LBB0_1:
    movl $4, %ecx
.LBB0_2:
    vmovups 32(%rsp), %zmm1        # 64-byte Reload
    vfmadd231ps (%rax), %zmm2, %zmm1
    vbroadcastss 4(%rbp,%rdx), %zmm3
    decl %ecx
    jne .LBB0_2
    vmovups %zmm0, (%rsp)
    decl %edx
    jne .LBB0_1
    retq
g:
    pushq %rbp
    movq %rsp, %rbp
.LBB1_1:
    vmovups -64(%rbp), %ymm1
    jne .LBB1_1
    retq
"""


def test_innermost_loops_of_a_text():
    f, g = load().innermost_loops(ASSEMBLY)
    assert str(f) == "f .LBB0_2: 5 instructions, 1 multiply-adds, 1 vectors on the stack"
    assert (g.function, g.name, g.spills) == ("g", ".LBB1_1", 1)  # %rbp is its frame


def test_an_object_file(tmp_path):
    if not shutil.which("as") or not shutil.which("objdump"):
        pytest.skip("no binutils")
    text, obj = tmp_path / "f.s", tmp_path / "f.o"
    text.write_text(ASSEMBLY)
    if subprocess.run(["as", "-o", obj, text], capture_output=True).returncode:
        pytest.skip("not an assembler for x86-64")
    done = subprocess.run([ROOT / "tools" / "count_spills", obj], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout.count("1 vectors on the stack") == 2


# ---- kernels ----

MACHINES = {"skylake-avx512": (64, 32, 16), "haswell": (32, 16, 8), "cascadelake": (64, 32, 16)}


def convolution(ic, size, oc, kernel, stride, pad, block):
    planar = ic < 8
    inner = ic if planar else block
    x = relay.var("x", shape=(1, ic, size, size) if planar else (1, ic // inner, size, size, inner))
    w = relay.var("w", shape=(oc // block, ic // inner, kernel, kernel, inner, block))
    b = relay.var("b", shape=(1, oc // block, 1, 1, block))
    y = relay.nn.contrib_conv2d_nchwc(
        x,
        w,
        strides=(stride, stride),
        padding=(pad, pad, pad, pad),
        channels=oc,
        kernel_size=(kernel, kernel),
        data_layout="NCHW" if planar else f"NCHW{block}c",
        kernel_layout=f"OIHW{inner}i{block}o",
        out_layout=f"NCHW{block}c",
    )
    return relay.Function([x, w, b], relay.nn.relu(y + b))


def convolution_of_bytes(ic, size, oc, kernel, block, group):
    """Sums of int32: of bytes in fours, or of int16 in pairs."""
    data, weight = ("uint8", "int8") if group == 4 else ("int16", "int16")
    x = relay.var("x", shape=(1, ic // block, size, size, block), dtype=data)
    w = relay.var("w", shape=(oc // block, ic // group, kernel, kernel, block, group), dtype=weight)
    y = relay.nn.contrib_conv2d_nchwc(
        x,
        w,
        padding=(kernel // 2,) * 4,
        channels=oc,
        kernel_size=(kernel, kernel),
        data_layout=f"NCHW{block}c",
        kernel_layout=f"OIHW{block}o{group}i",
        out_layout=f"NCHW{block}c",
        out_dtype="int32",
    )
    return relay.Function([x, w], relay.nn.relu(y))


def dense(m, n, k, panel):
    x, w = relay.var("x", shape=(m, k)), relay.var("w", shape=(n // panel, k, panel))
    b = relay.var("b", shape=(n,))
    y = relay.nn.contrib_dense_pack(x, w, weight_layout=f"NC{panel}n", units=n)
    return relay.Function([x, w, b], relay.nn.relu(y + b))


def product(m, n, k, batch, transposed):
    x = relay.var("x", shape=(batch, m, k))
    y = relay.var("y", shape=(batch, n, k) if transposed else (batch, k, n))
    return relay.Function([x, y], relay.nn.batch_matmul(x, y, transpose_b=transposed))


def loops_of(f, cpu, threads=1):
    """Innermost loops with multiply-adds of the one kernel of a function, made for a processor."""
    nbytes, registers, _ = MACHINES[cpu]
    lib = relay.build(tenon.IRModule.from_expr(f), target="stackvm")
    (program,) = kernels_of(lib).values()
    program = schedule(program, nbytes, registers, threads).with_attr("global_symbol", "main")
    built = tenon.build(tenon.IRModule({"main": program}), target=f"llvm -mcpu={cpu}")
    found = [loop for loop in load().innermost_loops(built.get_source("s")) if loop.fmas]
    assert found
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
@pytest.mark.parametrize(
    "problem",
    [
        (3, 224, 64, 7, 2, 3),
        (64, 56, 64, 1, 1, 0),
        (64, 56, 64, 3, 1, 1),
        (128, 56, 128, 3, 2, 1),
        (512, 7, 512, 3, 1, 1),
        (64, 35, 96, 3, 1, 1),
        (48, 54, 16, 1, 1, 0),
        (32, 100, 32, 5, 1, 2),
    ],
)
def test_direct_convolutions(problem, cpu, threads):
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    loops = loops_of(convolution(*problem, MACHINES[cpu][2]), cpu, threads)
    assert not any(loop.spills for loop in loops), "\n".join(map(str, loops))


def convolution_of_axes(ic, size, oc, kernel, block):
    """Of lines and volumes, with a residual sum."""
    n = len(size)
    axes, name = "DHW"[3 - n :], ["conv1d", "conv2d", "conv3d"][n - 1]
    x = relay.var("x", shape=(1, ic // block, *size, block))
    w = relay.var("w", shape=(oc // block, ic // block, *[kernel] * n, block, block))
    r = relay.var("r", shape=(1, oc // block, *size, block))
    y = getattr(relay.nn, name)(
        x,
        w,
        padding=(kernel // 2,) * n,
        channels=oc,
        kernel_size=(kernel,) * n,
        data_layout=f"NC{axes}{block}c",
        kernel_layout=f"OI{axes}{block}i{block}o",
        out_layout=f"NC{axes}{block}c",
    )
    return relay.Function([x, w, r], relay.nn.relu(y + r))


@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
@pytest.mark.parametrize(
    "problem",
    [
        (64, (500,), 64, 3),
        (128, (999,), 256, 1),
        (128, (4, 28, 28), 128, 3),
        (32, (16, 16, 16), 32, 3),
    ],
)
def test_convolutions_of_lines_and_volumes(problem, cpu):
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    loops = loops_of(convolution_of_axes(*problem, MACHINES[cpu][2]), cpu)
    assert not any(loop.spills for loop in loops), "\n".join(map(str, loops))


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512", "cascadelake"])
@pytest.mark.parametrize("problem", [(64, 56, 64, 3), (96, 14, 576, 1), (256, 7, 32, 1)])
def test_convolutions_of_bytes(problem, cpu):
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    group = 4 if cpu == "cascadelake" else 2
    loops = loops_of(convolution_of_bytes(*problem, MACHINES[cpu][2], group), cpu)
    # with 16 registers LLVM reads the weights of some pairs ahead
    most = 0 if MACHINES[cpu][1] > 16 else 8
    assert all(loop.spills <= most for loop in loops), "\n".join(map(str, loops))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
@pytest.mark.parametrize("shape", [(128, 768, 768), (256, 256, 256), (14, 1024, 512), (5, 64, 96)])
def test_dense_layers(shape, cpu, threads):
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    for vectors in (2, 4) if cpu == "skylake-avx512" else (2,):
        f = dense(*shape, vectors * MACHINES[cpu][2])
        loops = loops_of(f, cpu, threads)
        assert not any(loop.spills for loop in loops), "\n".join(map(str, loops))
        # a load for each row and vector, and the loop: addresses are one register plus constants
        most = max(loops, key=lambda loop: loop.fmas)
        assert len(most.body) < 2 * most.fmas + 24, str(most)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
@pytest.mark.parametrize(
    "shape",
    [
        (1024, 1024, 1024, 1, False),
        (256, 256, 256, 1, False),
        (128, 128, 64, 12, True),
        (128, 64, 128, 12, False),
        (197, 197, 64, 12, True),
        (49, 32, 49, 192, False),
    ],
)
def test_products(shape, cpu, threads):
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    loops = loops_of(product(*shape), cpu, threads)
    assert not any(loop.spills for loop in loops), "\n".join(map(str, loops))


def layer(ic, size, oc, kernel, groups=1):
    x = relay.var("x", shape=(1, ic, size, size))
    w = relay.const(np.ones((oc, ic // groups, kernel, kernel), "float32"))
    y = relay.nn.conv2d(
        x, w, padding=(kernel // 2,) * 2, channels=oc, kernel_size=(kernel,) * 2, groups=groups
    )
    return relay.Function([x], relay.nn.relu(y))


def rows(op):
    x = relay.var("x", shape=(128, 768))
    ones = relay.const(np.ones(768, "float32"))
    results = {
        "softmax": lambda: relay.nn.softmax(x),
        "layer_norm": lambda: relay.nn.layer_norm(x, ones, ones),
        "gelu": lambda: x * (relay.erf(x) + relay.const(1.0)),
    }
    return relay.Function([x], results[op]())


# Most vectors on the stack in an innermost loop, with AVX-512 and with AVX2: transforms of tiles of
# 6 x 6 values and windows of depthwise convolutions are more than there are registers.
WHOLE = {
    "winograd, 4 x 4 results": (lambda: layer(64, 56, 64, 3), (48, 116)),
    "winograd, 2 x 2 results": (lambda: layer(256, 14, 256, 3), (0, 0)),
    "depthwise 3 x 3": (lambda: layer(144, 56, 144, 3, 144), (0, 17)),
    "depthwise 5 x 5": (lambda: layer(96, 28, 96, 5, 96), (24, 48)),
    "softmax": (lambda: rows("softmax"), (1, 1)),
    "layer_norm": (lambda: rows("layer_norm"), (0, 0)),
    "gelu": (lambda: rows("gelu"), (0, 0)),
}


@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
@pytest.mark.parametrize("name", WHOLE)
def test_other_kernels(name, cpu):
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    make, most = WHOLE[name]
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(tenon.IRModule.from_expr(make()), target=f"llvm -mcpu={cpu}")
    loops = list(load().innermost_loops(lib.get_lib().get_source("s")))
    assert loops
    worst = max(loops, key=lambda loop: loop.spills)
    assert worst.spills <= most[cpu == "haswell"], str(worst)


@pytest.mark.parametrize("cpu", ["skylake-avx512", "haswell"])
@pytest.mark.parametrize("behind", ["nothing", "nchw"])
@pytest.mark.parametrize("shape", [(128, 56, 32, 3), (256, 14, 256, 3), (64, 20, 64, 5)])
def test_convolutions_with_nothing_elementwise_behind(shape, behind, cpu):
    """Their tiles are whole, whatever other classes looked at the program before."""
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    f = layer(*shape)
    y = f.body.args[0]  # without relu
    if behind == "nchw":
        y = relay.layout_transform(y, "NCHW", "NCHW4c")
    f = relay.Function(f.params, y)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(tenon.IRModule.from_expr(f), target=f"llvm -mcpu={cpu}")
    loops = list(load().innermost_loops(lib.get_lib().get_source("s")))
    most = max(loop.fmas for loop in loops if "conv2d" in loop.function)
    assert most >= (24 if cpu == "skylake-avx512" else 8)
