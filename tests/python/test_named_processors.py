"""Kernels for processors by name (src/target/cpus.def): right on those that this machine can
stand for, and on aarch64 under an emulator."""

import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.target.codegen import llvm_version_major
from test_kernels_axes import compiled, convolution

pytestmark = pytest.mark.skipif(
    not llvm_version_major(allow_none=True), reason="built without LLVM"
)

AVX2 = {"avx2", "fma", "bmi2"}
AVX512 = {"avx512f", "avx512vl", "avx512bw", "avx512dq", *AVX2}
VNNI = {"avx512_vnni", "avx512_vbmi2", "gfni", "vaes", *AVX512}
X86 = {  # what the processor must have to run the code
    "x86-64": set(),
    "nehalem": {"sse4_2"},
    "x86-64-v3": AVX2,
    "haswell": AVX2,
    "znver2": AVX2,
    "alderlake": {"gfni", "vaes", "avx_vnni", *AVX2},
    "raptorlake": {"gfni", "vaes", "avx_vnni", *AVX2},
    "skylake-avx512": AVX512,
    "icelake-server": VNNI,
    "znver4": {"avx512_bf16", *VNNI},
    "sapphirerapids": {"avx512_fp16", "avx512_bf16", *VNNI},
}


def host_flags():
    try:
        return set(pathlib.Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return set()


@pytest.mark.parametrize("cpu", X86)
def test_x86(cpu):
    """A convolution, a depthwise and a grouped one, and a dense layer."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 24, 17, 13)).astype("float32")
    w = [rng.standard_normal(s).astype("float32") for s in [(40, 24, 3, 3), (40, 1, 3, 3)]]
    w.append(rng.standard_normal((40, 20, 1, 1)).astype("float32"))
    groups, steps = (1, 40, 2), ((1, 1), (2, 2), (1, 1))

    def network(v):
        for one, g, s in zip(w, groups, steps, strict=True):
            k = one.shape[2]
            how = {"channels": 40, "kernel_size": (k, k), "padding": (k // 2, k // 2)}
            v = relay.nn.conv2d(v, relay.const(one), groups=g, strides=s, **how)
        return v

    want = x
    for one, g, s in zip(w, groups, steps, strict=True):
        want = convolution(want.astype("float32"), one, s, (one.shape[2] // 2,) * 2, (1, 1), g)
    if not X86[cpu] <= host_flags():
        with tenon.transform.PassContext(opt_level=3):
            relay.build(
                tenon.IRModule.from_expr(network(relay.var("x", shape=x.shape))),
                target=f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}",
            )
        pytest.skip(f"the code needs {X86[cpu]}")
    got, _ = compiled(network, x, f"llvm -mcpu={cpu}")
    want = np.maximum(want, 0) + 1
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=2e-6 * want.max())


# ---- aarch64 ----

CROSS, EMULATOR, ROOT = "aarch64-linux-gnu-gcc", "qemu-aarch64", "/usr/aarch64-linux-gnu"
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <dlpack/dlpack.h>
#include <tvm/runtime/c_backend_api.h>

void TVMAPISetLastError(const char *message) { fprintf(stderr, "%s\\n", message); }
void *TVMBackendAllocWorkspace(int t, int id, uint64_t n, int code, int bits) {
  return aligned_alloc(128, (n + 127) / 128 * 128);
}
int TVMBackendFreeWorkspace(int t, int id, void *p) { free(p); return 0; }
int TVMBackendParallelLaunch(FTVMParallelLambda f, void *data, int n) {
  TVMParallelGroupEnv env = {.sync_handle = 0, .num_task = 1};
  return f(0, &env, data);
}
int KERNEL(TVMValue *args, int *codes, int n, TVMValue *ret, int *code, void *resource);

int main(void) {
  int64_t shape[3][6] = {SHAPES};
  int ndim[3] = {NDIM}, codes[3], code;
  DLTensor t[3];
  TVMValue args[3], ret;
  for (int i = 0; i < 3; ++i) {
    size_t n = 4;
    for (int k = 0; k < ndim[i]; ++k) n *= shape[i][k];
    t[i] = (DLTensor){.data = aligned_alloc(128, (n + 127) / 128 * 128), .device = {kDLCPU, 0},
                      .ndim = ndim[i], .dtype = {kDLFloat, 32, 1}, .shape = shape[i]};
    if (i < 2 && fread(t[i].data, 1, n, stdin) != n) return 2;
    args[i].v_handle = &t[i];
    codes[i] = kTVMDLTensorHandle;
    if (i == 2 && KERNEL(args, codes, 3, &ret, &code, 0) != 0) return 1;
    if (i == 2) fwrite(t[i].data, 1, n, stdout);
  }
  return 0;
}
"""


@pytest.mark.skipif(
    not (shutil.which(CROSS) and shutil.which(EMULATOR)), reason=f"no {CROSS} and {EMULATOR}"
)
@pytest.mark.parametrize("cpu", ["", "cortex-a53", "cortex-a72", "neoverse-n1", "apple-m1"])
def test_aarch64(cpu, tmp_path):
    """A convolution with blocks of four channels, and its bounds."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 16, 11, 15)).astype("float32")
    w = rng.standard_normal((24, 16, 3, 3)).astype("float32")
    data = np.ascontiguousarray(x.reshape(1, 4, 4, 11, 15).transpose(0, 1, 3, 4, 2))
    weight = np.ascontiguousarray(w.reshape(6, 4, 4, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1))
    args = [relay.var("x", shape=data.shape), relay.var("w", shape=weight.shape)]
    y = relay.nn.contrib_conv2d_nchwc(
        *args,
        padding=(1, 1, 1, 1),
        channels=24,
        kernel_size=(3, 3),
        data_layout="NCHW4c",
        kernel_layout="OIHW4i4o",
        out_layout="NCHW4c",
    )
    target = "llvm -mtriple=aarch64-linux-gnu" + (f" -mcpu={cpu}" if cpu else "")
    f = relay.Function(args, relay.nn.relu(y))
    lib = relay.build(tenon.IRModule.from_expr(f), target=target).get_lib()
    code = str(tmp_path / "kernel.o")
    lib.save(code)
    out = (1, 6, 11, 15, 4)
    text = MAIN.replace("KERNEL", "tvmgen_default_fused_nn_contrib_conv2d_NCHWc_nn_relu")
    shapes = [data.shape, weight.shape, out]
    lists = ", ".join("{" + ", ".join(map(str, s)) + "}" for s in shapes)
    text = text.replace("{SHAPES}", "{" + lists + "}")
    (tmp_path / "main.c").write_text(text.replace("NDIM", "5, 6, 5"))
    include = [f"-I{path}" for path in tenon._ffi.libinfo.find_include_path()]
    command = [CROSS, "-o", str(tmp_path / "run"), str(tmp_path / "main.c"), code, "-lm", *include]
    subprocess.run(command, check=True)
    done = subprocess.run(
        [EMULATOR, "-L", ROOT, str(tmp_path / "run")],
        input=data.tobytes() + weight.tobytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    got = np.frombuffer(done.stdout, "float32").reshape(out).transpose(0, 1, 4, 2, 3)
    want = np.maximum(convolution(x, w, (1, 1), (1, 1), (1, 1)), 0)
    np.testing.assert_allclose(got.reshape(want.shape), want, atol=2e-6 * want.max())
