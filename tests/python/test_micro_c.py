"""Models as C that stands alone: the files, this machine's twin of them, and what builds them."""

import ctypes
import math
import re
import shutil
import subprocess

import micro_boards as boards
import numpy as np
import pytest
import tenon
from tenon import micro, relay
from tenon.contrib import graph_executor
from test_cli import call

rng = np.random.default_rng(4)
STRICT = "-std=c99 -Os -Wall -Wextra -Wpedantic -Wconversion -Werror".split()
COMPILERS = ("gcc", "clang", "arm-none-eabi-gcc", "riscv64-unknown-elf-gcc")
FREE = {"riscv64-unknown-elf-gcc": ["-march=rv32imac", "-mabi=ilp32", "-ffreestanding"]}


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def const(*shape, dtype="float32"):
    return relay.const(rng.normal(0, 2, shape).astype(dtype))


def program(body):
    return tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def quantized(x):
    return relay.qnn.op.quantize(x, relay.const(0.05), relay.const(3))


def real(q):
    return relay.qnn.op.dequantize(q, relay.const(0.05), relay.const(3))


x, image, whole = var("x", 3, 8), var("image", 1, 4, 9, 9), var("whole", 3, 8, dtype="int32")
PROGRAMS = {
    "dense": relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, const(5, 8)), const(5))),
    "conv": relay.nn.conv2d(image, const(6, 4, 3, 3), strides=(2, 2), padding=(1, 1)),
    "depthwise": relay.nn.conv2d(image, const(4, 1, 3, 3), groups=4),
    "pools": relay.nn.avg_pool2d(relay.nn.max_pool2d(image, (2, 2), (2, 2)), (2, 2)),
    "borders": relay.nn.pad(image, ((0, 0), (1, 0), (2, 1), (0, 3)), pad_value=-1.5),
    "rows": relay.nn.pad(x + relay.const(1.0), ((1, 2), (0, 0)), pad_value=float("-inf")),
    "bytes": relay.nn.max_pool2d(
        relay.nn.pad(relay.cast(image, "int8"), ((0, 0), (0, 0), (1, 1), (1, 1)), 7), (2, 2)
    ),
    "softmax": relay.nn.softmax(x),
    "functions": relay.tanh(relay.exp(x)) + relay.sigmoid(relay.sqrt(relay.abs(x))),
    "integers": relay.floor_divide(whole, relay.const(3)) + relay.left_shift(whole, relay.const(1)),
    "types": relay.cast(relay.cast(whole, "int8") * relay.const(3, "int8"), "uint16"),
    "wide": relay.sum(relay.cast(whole, "int64"), axis=1) * relay.const(7, "int64"),
    "choice": relay.where(relay.greater(x, relay.const(0.0)), x, relay.negative(x)),
    "index": relay.argmax(x, axis=1),
    "moves": relay.concatenate([relay.transpose(x), relay.reshape(x, (8, 3))], 1),
    "quantized": relay.qnn.op.dequantize(
        relay.qnn.op.add(
            quantized(x),
            relay.qnn.op.tanh(quantized(x), *map(relay.const, (0.05, 3, 0.01, 0))),
            *map(relay.const, (0.05, 3, 0.01, 0, 0.1, 1)),
        ),
        relay.const(0.1),
        relay.const(1),
    ),
    "integer softmax": quantized(relay.nn.softmax(real(quantized(x)))),
    "integer conv": quantized(
        relay.nn.conv2d(
            real(quantized(image)),
            real(relay.const(rng.integers(-99, 99, (5, 4, 3, 3)).astype("int8"))),
            padding=(1, 1),
        )
    ),
    "half": relay.cast(relay.cast(x, "float16") * relay.const(3, "float16"), "float32"),
    "bool": relay.logical_and(relay.greater(x, relay.const(0.0)), relay.less(x, relay.const(1.0))),
    "several": relay.Tuple([x + relay.const(1.0), relay.cast(x, "int32")]),
}


def values(body):
    kinds = {"float32": lambda s: rng.normal(0, 2, s), "int32": lambda s: rng.integers(-99, 99, s)}
    return {
        v.name_hint: kinds[v.type_annotation.dtype](
            tuple(int(d) for d in v.type_annotation.shape)
        ).astype(v.type_annotation.dtype)
        for v in relay.analysis.free_vars(body)
    }


@pytest.mark.parametrize("name", PROGRAMS)
def test_operators(name, tmp_path):
    body = PROGRAMS[name]
    model = micro.export_c(program(body), str(tmp_path), "some")
    inputs = values(body)
    got = model.host(flags=STRICT)(**inputs)
    lib = relay.build(program(body), "llvm")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    g.run(**inputs)
    for i, value in enumerate(got if isinstance(got, list) else [got]):
        wanted = g.get_output(i).numpy()
        rounds = 1e-3 if name == "half" else 1e-4  # C rounds each float16
        np.testing.assert_allclose(value, wanted, rtol=rounds, atol=1e-5)
    for compiler in COMPILERS:
        needs_library = "#include <math.h>" in (tmp_path / "some.c").read_text()
        if not shutil.which(compiler) or (compiler in FREE and needs_library):
            continue
        command = [compiler, *STRICT, *FREE.get(compiler, ()), "-c", "some.c", "-o", "some.o"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), compiler


NATIVE = {
    **PROGRAMS,
    "rows of vectors": relay.nn.softmax(relay.tanh(var("x", 6, 64)) + relay.erf(var("y", 64))),
    "norm": relay.nn.layer_norm(var("x", 6, 64), const(64), const(64)),
    "bytes in vectors": relay.cast(relay.clip(var("x", 64) * relay.const(9.0), -128, 127), "int8"),
}


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("name", NATIVE)
def test_vectors(name, cc, tmp_path):
    """The target of this processor: vectors of GNU C."""
    if not shutil.which(cc):
        pytest.skip(f"no {cc}")
    model = micro.export_c(program(NATIVE[name]), str(tmp_path), "some", target="c -mcpu=native")
    inputs = values(NATIVE[name])
    flags = ["-std=gnu99", "-O2", "-march=native", "-Werror"]
    got = model.host(cc, flags)(**inputs)
    lib = relay.build(program(NATIVE[name]), "llvm")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    g.run(**inputs)
    for i, value in enumerate(got if isinstance(got, list) else [got]):
        np.testing.assert_allclose(value, g.get_output(i).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("flags", [[], ["-O3", "-ffast-math"]])
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf"])
def test_functions_of_vectors(name, flags, tmp_path):
    v = var("x", 4096)
    model = micro.export_c(
        program(getattr(relay, name)(v)), str(tmp_path), "f", {}, "c -mcpu=native"
    )
    assert re.search(rf"f32x\d+_{name}_\(", (tmp_path / "f.c").read_text())
    run = model.host(flags=["-std=gnu99", "-march=native", *flags])
    smallest = np.float32(1e-45)
    assert smallest * np.float32(1) == smallest, "the library has set the processor's flags"
    given = rng.normal(0, 3, 4096).astype("float32")
    given[::2] *= 10.0 ** rng.integers(-30, 2, 2048).astype("float32")
    if name == "log":
        given = np.abs(given)
    wanted = np.vectorize(getattr(math, name))(given.astype("float64"))
    np.testing.assert_allclose(run(given), wanted, rtol=3e-6 if flags else 1e-6, atol=1e-38)
    if not flags:
        given[:6] = [np.inf, -np.inf, np.nan, 0, 100, -200]
        ends = {
            "exp": [np.inf, 0, np.nan, 1, np.inf, 0],
            "log": [np.inf, np.nan, np.nan, -np.inf, np.log(100), np.nan],
            "tanh": [1, -1, np.nan, 0, 1, -1],
            "erf": [1, -1, np.nan, 0, 1, -1],
        }
        np.testing.assert_allclose(run(given)[:6], ends[name], rtol=1e-6)


def test_vectors_need_a_compiler_that_has_them(tmp_path):
    micro.export_c(program(relay.exp(var("x", 64))), str(tmp_path), "f", {}, "c -mcpu=native")
    command = ["cc", "-std=c99", "-U__GNUC__", "-c", "f.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0 and "take gcc or clang, or target c alone" in done.stderr


def test_what_the_source_holds(tmp_path):
    micro.export_c(program(PROGRAMS["conv"]), str(tmp_path), "some")
    text = (tmp_path / "some.c").read_text() + (tmp_path / "some.h").read_text()
    assert not re.search(r"\b(malloc|calloc|free|printf|FILE|alloca|setjmp)\b", text)
    assert not re.search(r"TVM|tvm/", text.replace("tvm_main", "").replace("tvmgen", ""))
    functions = re.findall(r"^(?!static|TENON_)\w.*\) \{$", text, re.M)
    assert [f.split("(")[0] for f in functions] == ["int some_run"]


@pytest.mark.parametrize("name", ["borders", "rows", "integer conv"])
def test_borders_are_filled_without_conditions(name, tmp_path):
    micro.export_c(program(PROGRAMS[name]), str(tmp_path), "some")
    text = (tmp_path / "some.c").read_text()
    assert "if ((" not in text and "t1_ = p0[" not in text
    assert re.search(r"k < \d+; \+\+k\) \{\n +T_pad\[k\] =", text)


@pytest.mark.parametrize("stride", [1, 2])
def test_sums_of_a_row_for_compilers_that_find_vectors(stride, tmp_path):
    data = var("data", 1, 3, 28, 28)
    attrs = {"strides": (stride, stride), "padding": (1, 1)}
    body = relay.nn.relu(relay.nn.conv2d(data, const(4, 3, 3, 3), **attrs))
    for target, row in (("c", 28 // stride), ("c -mcpu=cortex-m4", 7 if stride == 1 else 1)):
        micro.export_c(program(body), str(tmp_path), "some", target=target)
        assert f"float conv2d[{row}];" in (tmp_path / "some.c").read_text()


def test_negative_numbers_are_shifted_as_c_allows(tmp_path):
    body = relay.left_shift(var("x", 3, dtype="int32"), relay.const(30))
    model = micro.export_c(program(body), tmp_path, "m")
    assert "(uint32_t)p0[i0] << 30" in (tmp_path / "m.c").read_text()
    given = np.array([-3, 1, 2], "int32")
    np.testing.assert_array_equal(model.host()(x=given), given << 30)


def test_memory_can_be_placed(tmp_path):
    micro.export_c(program(PROGRAMS["conv"]), str(tmp_path), "some")
    places = ['-DTENON_CONST=__attribute__((section(".far")))']
    places += ['-DTENON_WORKSPACE=__attribute__((section(".fast")))']
    subprocess.run(["cc", *STRICT, *places, "-c", "some.c"], cwd=tmp_path, check=True)
    told = subprocess.run(
        ["nm", "-f", "sysv", "some.o"], cwd=tmp_path, capture_output=True, text=True
    )
    lines = told.stdout.splitlines()
    assert all(".far" in line for line in lines if line.startswith("constant_"))
    assert any("workspace" in line and ".fast" in line for line in lines)
    subprocess.run(["cc", *STRICT, "-c", "some.c"], cwd=tmp_path, check=True)
    told = subprocess.run(
        ["nm", "-f", "sysv", "some.o"], cwd=tmp_path, capture_output=True, text=True
    )
    constants = [line for line in told.stdout.splitlines() if line.startswith("constant_")]
    assert constants and all(".rodata" in line for line in constants)


@pytest.mark.parametrize("name", ["digits_cnn_qdq", "digits_cnn_qlinear"])
def test_digits_on_this_machine(name, tmp_path):
    model = boards.export(name, tmp_path, tests=0)
    here = boards.scores(model)
    pixels, labels = boards.images()
    seen = np.array([here(image).argmax() for image in pixels])
    assert (seen == labels).sum() == 532
    assert model.workspace_bytes <= 1024 and model.constant_bytes == 3856


def test_selftest(tmp_path):
    model = boards.export("digits_mlp", tmp_path, tests=3)
    assert model.host().selftest() == 0
    source = tmp_path / "digits_mlp_selftest.c"
    text = source.read_text()
    changed = re.sub(r"(output2_\[10\] = \{\s*)([^,]+)", r"\g<1>99.0f", text)
    assert changed != text
    source.write_text(changed)
    assert model.host().selftest() == 3


def test_results_that_are_no_numbers(tmp_path):
    """Infinities and NaNs, as constants, inputs and results, and the ends of integers."""
    odd = np.array([np.inf, -np.inf, np.nan, 1], "float32")
    ends = np.array([2**63 - 1, -(2**63), 0], "int64")
    both = relay.Tuple(
        [var("x", 4) + relay.const(odd), relay.const(ends) * var("y", dtype="int64")]
    )
    tests = [{"x": np.zeros(4, "float32"), "y": np.int64(1)}]
    model = micro.export_c(program(both), str(tmp_path), "m", tests=tests)
    twin = model.host(flags=STRICT)
    np.testing.assert_array_equal(twin(**tests[0])[0], odd)
    assert twin.selftest() == 0 and "INFINITY" not in (tmp_path / "m_selftest.c").read_text()
    tests = [(tests[0], [np.abs(odd), ends])]
    model = micro.export_c(program(both), str(tmp_path), "m", tests=tests)
    assert model.host(flags=STRICT).selftest() == 1


def test_expected_results_are_given(tmp_path):
    body = x + relay.const(1.0)
    one = np.ones((3, 8), "float32")
    for expected, status in ((one + 1, 0), (one + 1.4, 1)):
        tests = [({"x": one}, [expected])]
        model = micro.export_c(program(body), str(tmp_path), "m", tests=tests, tolerance=0.3)
        assert model.host().selftest() == status


def test_errors(tmp_path):
    body = x + relay.const(1.0)
    with pytest.raises(ValueError, match='"my model" is not an identifier of C: use my_model'):
        micro.export_c(program(body), str(tmp_path / "a"), "my model")
    with pytest.raises(ValueError, match="expected a target of kind c, got llvm"):
        micro.export_c(program(body), str(tmp_path / "a"), target="llvm")
    with pytest.raises(ValueError, match="expected the layout"):
        micro.export_c(program(body), str(tmp_path / "a"), layout="bazel")
    with pytest.raises(tenon.TVMError, match="name clash"):
        micro.export_c(program(var("a.b", 2) + var("a_b", 2)), str(tmp_path / "b"))
    twin = micro.export_c(program(body), str(tmp_path / "d")).host()
    with pytest.raises(ValueError, match="the input x is missing"):
        twin()
    with pytest.raises(ValueError, match=r"x: expected the shape \(3, 8\)"):
        twin(np.zeros(3, "float32"))
    with pytest.raises(ValueError, match="no such input"):
        twin(x=np.zeros((3, 8), "float32"), y=1)


# ---- what builds the files ----


def archive_symbols(path):
    return subprocess.run(["nm", str(path)], capture_output=True, text=True, check=True).stdout


def test_make(tmp_path):
    boards.export("digits_cnn_qdq", tmp_path, layout="make")
    subprocess.run(["make", "CC=cc"], cwd=tmp_path, check=True, capture_output=True)
    symbols = archive_symbols(tmp_path / "libdigits_cnn_qdq.a")
    assert "T digits_cnn_qdq_run" in symbols and "T digits_cnn_qdq_selftest" in symbols


def test_make_for_a_board(tmp_path):
    if not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("no arm-none-eabi-gcc")
    boards.export("digits_cnn_qdq", tmp_path, layout="make")
    command = ["make", "CC=arm-none-eabi-gcc", "AR=arm-none-eabi-ar"]
    command += ["CFLAGS=-Os -std=c99 -mthumb -mcpu=cortex-m4"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "digits_cnn_qdq_run" in archive_symbols(tmp_path / "libdigits_cnn_qdq.a")


def test_make_for_riscv_takes_what_makes_code_smaller(tmp_path):
    if not shutil.which("riscv64-unknown-elf-gcc"):
        pytest.skip("no riscv64-unknown-elf-gcc")
    boards.export("digits_cnn_qdq", tmp_path, layout="make")
    sizes = []
    for flags in ("-Os", "-O2"):
        command = ["make", "-B", "CC=riscv64-unknown-elf-gcc", "AR=riscv64-unknown-elf-ar"]
        command += [f"CFLAGS={flags} -std=c99 -march=rv32imac -mabi=ilp32 -ffreestanding"]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        assert ("-msave-restore" in done.stdout) == (flags == "-Os")
        size = ["riscv64-unknown-elf-size", "digits_cnn_qdq.o"]
        told = subprocess.run(size, cwd=tmp_path, capture_output=True, text=True, check=True)
        sizes.append(int(told.stdout.splitlines()[1].split()[0]))
    assert sizes[0] < 4900 < sizes[1], sizes


def test_cmake(tmp_path):
    if not shutil.which("cmake"):
        pytest.skip("no cmake")
    boards.export("digits_mlp", tmp_path, layout="cmake")
    build = tmp_path / "build"
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"]):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert "T digits_mlp_run" in archive_symbols(build / "libdigits_mlp.a")


def test_arduino(tmp_path):
    boards.export("digits_cnn_qdq", tmp_path, tests=0, layout="arduino")
    assert "name=digits_cnn_qdq\n" in (tmp_path / "library.properties").read_text()
    assert (tmp_path / "src" / "digits_cnn_qdq.h").exists()
    stub = tmp_path / "stub.h"
    stub.write_text(
        "struct Port { void begin(long); template <class T> void print(T);\n"
        "  template <class T> void println(T); };\n"
        "extern Port Serial; unsigned long micros(); void delay(int);\n"
    )
    for compiler in ("g++", "arm-none-eabi-g++"):
        if shutil.which(compiler):
            command = [compiler, "-Wall", "-Wextra", "-include", str(stub), f"-I{tmp_path}/src"]
            command += ["-x", "c++", "-c", "examples/run/run.ino", "-o", "run.o"]
            done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, ""), compiler


def test_zephyr(tmp_path):
    """No Zephyr is here: its files name what is there, and the C compiles into a program."""
    boards.export("digits_cnn_qdq", tmp_path, layout="zephyr")
    text = (tmp_path / "CMakeLists.txt").read_text()
    assert "find_package(Zephyr REQUIRED" in text and (tmp_path / "prj.conf").exists()
    for name in re.findall(r"src/\w+\.c", text):
        assert (tmp_path / name).exists()
    sources = sorted(map(str, (tmp_path / "src").glob("*.c")))
    subprocess.run(["cc", *STRICT, *sources, "-o", "app"], cwd=tmp_path, check=True)
    assert subprocess.run([str(tmp_path / "app")]).returncode == 0


def test_command(tmp_path):
    model = str(boards.DIGITS / "digits_cnn_qdq.onnx")
    status, out, _ = call("compile", model, "-f", "c", "-o", str(tmp_path / "out"), "--name", "net")
    assert status == 0 and "3856 bytes of constants" in out
    command = ["cc", *STRICT, "-fPIC", "-shared", "net.c", "-o", "net.so"]
    subprocess.run(command, cwd=tmp_path / "out", check=True)
    assert ctypes.CDLL(str(tmp_path / "out" / "net.so")).net_run
    status, _, error = call("compile", model, "-f", "c", "-o", str(tmp_path / "x"), "-t", "llvm")
    assert status == 1 and "kind c" in error and not (tmp_path / "x").exists()
