"""Code for other processors than this one: narrower kinds of x86, and aarch64 under an emulator."""

import ast
import pathlib
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tenon
from tenon import te
from tenon.contrib import cc
from tenon.script import from_source
from tenon.target.codegen import llvm_get_cpu_archlist, llvm_version_major

pytestmark = pytest.mark.skipif(
    not llvm_version_major(allow_none=True), reason="built without LLVM"
)

KERNEL = """
from tvm.script import tir as T
@T.prim_func
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float16"),
           C: T.Buffer((64,), "float32"), D: T.Buffer((64,), "int32")):
    T.func_attr({"global_symbol": "kernel", "tir.noalias": True})
    for i in range(4):
        for j in T.vectorized(16):
            C[i * 16 + j] = T.tanh(A[i * 16 + j]) + T.exp(A[i * 16 + j]) * T.float32(0.5)
    for i in range(64):
        B[i] = T.Cast("float16", A[i] * T.float32(3))
        D[i] = T.floordiv(D[i], -3) + T.popcount(D[i])
"""


def expected(a, d):
    a64 = a.astype("float64")
    bits = [bin(int(x) & 0xFFFFFFFF).count("1") for x in d]
    return (a * 3).astype("float16"), np.tanh(a64) + np.exp(a64) * 0.5, d // -3 + bits


def inputs():
    rng = np.random.default_rng(0)
    return rng.standard_normal(64).astype("float32"), rng.integers(-99, 99, 64).astype("int32")


def host_flags():
    try:
        return set(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return set()


X86 = {  # what the processor must have, and what the assembly shows
    "x86-64": ({"sse2"}, "%xmm", "%ymm"),
    "x86-64-v2": ({"sse4_2"}, "%xmm", "%ymm"),
    "x86-64-v3": ({"avx2", "fma"}, "%ymm", "%zmm"),
    "x86-64-v4": ({"avx512f", "avx512vl"}, "%zmm", None),
}


@pytest.mark.parametrize("cpu", sorted(X86))
def test_levels_of_x86(cpu):
    flags, used, unused = X86[cpu]
    mod = tenon.IRModule({"kernel": from_source(KERNEL)})
    built = tenon.build(mod, target=f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")
    text = built.get_source("asm")
    assert used in text and (unused is None or unused not in text)
    if not flags <= host_flags():
        pytest.skip(f"the code needs {flags}")
    a, d = inputs()
    args = [tenon.nd.array(x) for x in (a, np.zeros(64, "float16"), np.zeros(64, "float32"), d)]
    built["kernel"](*args)
    b_want, c_want, d_want = expected(a, d)
    np.testing.assert_array_equal(args[1].numpy(), b_want)
    np.testing.assert_allclose(args[2].numpy(), c_want, rtol=1e-6)
    np.testing.assert_array_equal(args[3].numpy(), d_want)


MAIN = """
#include <stdio.h>
#include <dlpack/dlpack.h>
#include <tvm/runtime/c_backend_api.h>

void TVMAPISetLastError(const char *message) { fprintf(stderr, "%s\\n", message); }
int kernel(TVMValue *args, int *codes, int n, TVMValue *ret, int *code, void *resource);

static float a[64], c[64];
static unsigned short b[64];
static int d[64];

int main(void) {
  int64_t shape[1] = {64};
  void *data[4] = {a, b, c, d};
  int types[4][2] = {{kDLFloat, 32}, {kDLFloat, 16}, {kDLFloat, 32}, {kDLInt, 32}};
  DLTensor t[4];
  TVMValue args[4], ret;
  int codes[4], code;
  for (int i = 0; i < 64; ++i)
    if (scanf("%f %d", &a[i], &d[i]) != 2) return 2;
  for (int i = 0; i < 4; ++i) {
    t[i] = (DLTensor){.data = data[i], .device = {kDLCPU, 0}, .ndim = 1, .shape = shape};
    t[i].dtype = (DLDataType){types[i][0], types[i][1], 1};
    args[i].v_handle = &t[i];
    codes[i] = kTVMDLTensorHandle;
  }
  if (kernel(args, codes, 4, &ret, &code, 0) != 0) return 1;
  for (int i = 0; i < 64; ++i) printf("%d %.9g %d\\n", b[i], c[i], d[i]);
  return 0;
}
"""
CROSS, EMULATOR, ROOT = "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"
needs_cross = pytest.mark.skipif(
    not (shutil.which(CROSS) and shutil.which(EMULATOR)), reason=f"no {CROSS} and {EMULATOR}"
)


def run_elsewhere(tmp_path, library):
    """Compiles the program above, runs it in the emulator and returns what it computes."""
    a, d = inputs()
    (tmp_path / "main.c").write_text(MAIN)
    include = [f"-I{path}" for path in tenon._ffi.libinfo.find_include_path()]
    program = str(tmp_path / "program")
    command = [CROSS, "-o", program, str(tmp_path / "main.c"), library, "-lm", "-rdynamic"]
    subprocess.run([*command, f"-Wl,-rpath,{tmp_path}", *include], check=True)
    text = "\n".join(f"{x!r} {y}" for x, y in zip(a.tolist(), d.tolist(), strict=True))
    done = subprocess.run(
        [EMULATOR, "-L", ROOT, program], input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    table = [line.split() for line in done.stdout.splitlines()]
    b = np.array([int(row[0]) for row in table], "uint16").view("float16")
    return b, np.array([float(row[1]) for row in table]), np.array([int(row[2]) for row in table])


@needs_cross
@pytest.mark.parametrize("kind", ["so", "o", "linked.so"])
def test_aarch64_under_an_emulator(kind, tmp_path):
    mod = tenon.IRModule({"kernel": from_source(KERNEL)})
    built = tenon.build(mod, target="llvm -mtriple=aarch64-linux-gnu -mattr=+neon")
    path = str(tmp_path / f"kernel.{kind}")
    if kind != "o":
        linker = cc.cross_compiler(CROSS) if kind == "so" else cc.link_objects
        built.export_library(path, fcompile=linker)
    else:
        built.save(path)
    with open(path, "rb") as file:
        assert file.read(20)[18:20] == b"\xb7\x00"  # EM_AARCH64
    b, c, d = run_elsewhere(tmp_path, path)
    b_want, c_want, d_want = expected(*inputs())
    np.testing.assert_array_equal(b, b_want)
    np.testing.assert_allclose(c, c_want, rtol=1e-6)
    np.testing.assert_array_equal(d, d_want)


@needs_cross
def test_c_source_on_aarch64(tmp_path):
    mod = tenon.IRModule({"kernel": from_source(KERNEL)})
    path = str(tmp_path / "kernel.so")
    tenon.build(mod, target="c").export_library(path, fcompile=cc.cross_compiler(CROSS))
    b, c, d = run_elsewhere(tmp_path, path)
    b_want, c_want, d_want = expected(*inputs())
    np.testing.assert_array_equal(b, b_want)
    np.testing.assert_allclose(c, c_want, rtol=1e-6)
    np.testing.assert_array_equal(d, d_want)


def test_code_for_another_processor_is_not_run():
    mod = tenon.IRModule({"kernel": from_source(KERNEL)})
    built = tenon.build(mod, target="llvm -mtriple=aarch64-linux-gnu")
    with pytest.raises(tenon.TVMError, match="for another processor than this machine's"):
        built["kernel"]
    with pytest.raises(tenon.TVMError, match="llvm"):
        tenon.build(mod, target="llvm -mtriple=nowhere-linux-gnu")


def test_native_is_this_machine():
    assert builds_for("llvm -mcpu=native").get_source("asm") == builds_for("llvm").get_source("asm")


def test_an_unknown_processor_is_an_error_that_says_what_is_near():
    with pytest.raises(ValueError, match="unknown -mcpu 'haswel' for .* did you mean haswell"):
        builds_for("llvm -mtriple=x86_64-linux-gnu -mcpu=haswel")
    with pytest.raises(
        ValueError, match="unknown -mcpu 'sifive-x' for riscv64.*known: .*sifive-u74"
    ):
        builds_for("llvm -mtriple=riscv64-unknown-elf -mcpu=sifive-x")


def builds_for(target):
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] + 1.0, name="B")
    return tenon.build(te.create_prim_func([a, b]), target=target)


TRIPLES = [
    "x86_64-linux-gnu",
    "i686-linux-gnu",
    "aarch64-linux-gnu",
    "armv7a-linux-gnueabihf",
    "riscv64-unknown-elf",
    *(
        pytest.param(triple, marks=pytest.mark.slow)
        for triple in (
            "thumbv7em-none-eabi",
            "riscv32-unknown-elf",
            "wasm32-unknown-unknown",
            "powerpc64le-linux-gnu",
        )
    ),
]


ALONE = """
import sys
import tenon
from tenon import te
from tenon.target.codegen import llvm_get_cpu_archlist

x = te.placeholder((8,), name="x")
func = te.create_prim_func([x, te.compute((8,), lambda i: x[i] + 1.0)])
refused = []
for target in sys.argv[1:]:
    names = [""] if "-mcpu" in target else llvm_get_cpu_archlist(target)
    assert len(names) == len(set(names)) > 0
    for name in names:
        try:
            tenon.build(func, target=target + (name and f" -mcpu={name}")).get_source("asm")
        except tenon.TVMError as err:
            refused.append((name, str(err)))
print(refused)
"""


def refused_alone(*targets):
    """What LLVM gives up ends its use in a process: so it is another one that tries."""
    command = [sys.executable, "-c", ALONE, *targets]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout)


@pytest.mark.unsanitized
@pytest.mark.parametrize("triple", TRIPLES)
def test_every_processor_that_llvm_knows(triple):
    """Code is made for it, or there is an error: LLVM ends no process."""
    refused = refused_alone(f"llvm -mtriple={triple}")
    if triple.startswith(("x86_64", "aarch64", "riscv64")):
        assert refused == []


def test_processors_with_a_hyphen():
    names = llvm_get_cpu_archlist("llvm -mtriple=x86_64-linux-gnu")
    assert {"goldmont-plus", "graniterapids-d", "x86-64-v4"} <= set(names)
    assert not {"plus", "goldmont-", "-", "d", "i386"} & set(names)
    for cpu in ("plus", "d", "i386", ""):
        with pytest.raises(ValueError, match=f"unknown -mcpu '{cpu}'.*known: native.*haswell"):
            builds_for(f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}")


def test_what_llvm_cannot_make_code_for_is_an_error():
    target = "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64 -mattr=-64bit"
    first, second = refused_alone(target, target)
    assert re.match("llvm: .*(64-bit|not supported|ABI)", first[1])
    assert "LLVM gave up earlier in this process" in second[1]
