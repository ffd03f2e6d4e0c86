"""Everything of `tenon.testing` that is written in Python.

Environment variables: ``TVM_TEST_TARGETS`` (targets to test, separated by ``;``),
``TENON_TEST_DISABLE_CACHE`` or ``TVM_TEST_DISABLE_CACHE`` (fixtures are not cached), ``CI``.
"""

import functools
import inspect
import os
import platform
import sys
import time

from ._compare import CompareBeforeAfter, assert_allclose, check_numerical_grads  # noqa: F401
from ._features import Feature
from ._parameters import (  # noqa: F401
    exclude_targets,
    fixture,
    known_failing_targets,
    parameter,
    parameters,
    parametrize_targets,
)

SKIP_SLOW_TESTS = os.getenv("SKIP_SLOW_TESTS", "").lower() in ("true", "1", "yes")
IS_IN_CI = os.getenv("CI", "") == "true"

# targets that tests run on unless TVM_TEST_TARGETS says otherwise; those not built in are left out
DEFAULT_TEST_TARGETS = [
    "llvm",
    "cuda",
    "nvptx",
    "vulkan -from_device=0",
    "opencl",
    "opencl -device=mali,aocl_sw_emu",
    "opencl -device=intel_graphics",
    "metal",
    "rocm",
    "hexagon",
]
DEVICE_TEST_TARGETS = DEFAULT_TEST_TARGETS

# ---- targets -----------------------------------------------------------------------------------


def _kind(target):
    """Kind of a target given as text, dict or Target."""
    if isinstance(target, dict):
        return target["kind"]
    if hasattr(target, "kind"):
        return str(target.kind.name)
    return str(target).split()[0]


def _get_targets(target_names=None):
    """Descriptions of targets: dicts of target, target_kind, is_enabled, is_runnable, device."""
    from .. import runtime

    if target_names is None:
        target_names = _tvm_test_targets()
    if not target_names:
        target_names = DEFAULT_TEST_TARGETS
    found = []
    for target in target_names:
        kind = _kind(target)
        enabled = runtime.enabled(kind)
        found.append(
            {
                "target": target,
                "target_kind": kind,
                "is_enabled": enabled,
                "is_runnable": enabled and runtime.device(kind).exist,
            }
        )
    if any(t["is_runnable"] for t in found):
        return found
    if target_names == DEFAULT_TEST_TARGETS or target_names == ["llvm"]:
        raise RuntimeError(
            "none of these targets is built in and has a device: "
            + ", ".join(map(str, target_names))
            + "; set TVM_TEST_TARGETS to targets that are"
        )
    return _get_targets(["llvm"])


def _tvm_test_targets():
    text = os.environ.get("TVM_TEST_TARGETS", "").strip()
    return list(dict.fromkeys(t.strip() for t in text.split(";") if t.strip()))


def enabled_targets():
    """Targets to test: those of ``TVM_TEST_TARGETS`` (or a usual list) that can be compiled for and
    have a device.

    Returns
    -------
    list of (str, Device)
    """
    from .. import runtime

    return [
        (t["target"], runtime.device(t["target_kind"])) for t in _get_targets() if t["is_runnable"]
    ]


def device_enabled(target):
    """Should tests of a target run? True when a target of its kind is among `enabled_targets`.

    Parameters
    ----------
    target : str
        Target, with or without options.

    Returns
    -------
    bool
    """
    if not isinstance(target, str):
        raise TypeError("device_enabled requires a target as a string")
    kind = _kind(target)
    return any(t["target_kind"] == kind for t in _get_targets() if t["is_runnable"])


# ---- requirements ------------------------------------------------------------------------------


def _cpu_flags():
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as inp:
            for line in inp:
                name, _, value = line.partition(":")
                if name.strip() in ("flags", "Features"):
                    return frozenset(value.split())
    except OSError:
        pass
    return frozenset()


def _has_cpu_feature(*names):
    def check():
        missing = [name for name in names if name not in _cpu_flags()]
        return f"the processor lacks {', '.join(missing)}" if missing else True

    return check


def _is_machine(*names):
    return lambda: platform.machine() in names or f"needs a machine of type {names[0]}"


def _multi_gpu_exists():
    from .. import runtime

    return runtime.cuda(0).exist and runtime.cuda(1).exist


def _check_forward_only(module):
    """A check that the Python module of a vendor's compiler is there."""

    def check():
        import importlib.util

        try:
            return importlib.util.find_spec(module) is not None or f"{module} is not installed"
        except ModuleNotFoundError:
            return f"{module} is not installed"

    return check


def _cuda_capability(check_name, text):
    def check():
        from .. import runtime
        from ..contrib import nvcc

        device = runtime.cuda(0)
        return device.exist and getattr(nvcc, check_name)(device.compute_version) or text

    return check


# a test that can use a GPU, but checks itself whether there is one
uses_gpu = Feature("uses_gpu", run_time_check=lambda: True)(support_required="optional")
requires_64bit = Feature("arch64bit", run_time_check=lambda: sys.maxsize > 2**32)
requires_gpu = Feature(
    "gpu", run_time_check=lambda: any(_gpu_devices()) or "No GPU present", parent_features=[]
)
requires_x86 = Feature("x86", "x86 Architecture", run_time_check=_is_machine("x86_64", "AMD64"))
requires_x86_vnni = Feature("x86_vnni", "x86 VNNI", run_time_check=_has_cpu_feature("avx512_vnni"))
requires_x86_avx512 = Feature(
    "x86_avx512",
    "x86 AVX512",
    run_time_check=_has_cpu_feature("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
)
requires_x86_amx = Feature(
    "x86_amx", "x86 AMX", run_time_check=_has_cpu_feature("amx_int8", "amx_tile")
)
requires_arm_dot = Feature("arm_dot", "ARM dot product", run_time_check=_has_cpu_feature("asimddp"))
requires_arm_fp16 = Feature("arm_fp16", "ARM float16", run_time_check=_has_cpu_feature("fphp"))
requires_aarch64_sve = Feature("arm_sve", "AArch64 SVE", run_time_check=_has_cpu_feature("sve"))
requires_aarch64_sme = Feature("arm_sme", "AArch64 SME", run_time_check=_has_cpu_feature("sme"))
requires_llvm = Feature("llvm", "LLVM", target_kind_enabled="llvm", target_kind_hardware="llvm")
requires_cuda = Feature(
    "cuda",
    "CUDA",
    cmake_flag="USE_CUDA",
    target_kind_enabled="cuda",
    target_kind_hardware="cuda",
    parent_features="gpu",
)
requires_tensorcore = Feature(
    "tensorcore",
    "NVIDIA Tensor Core",
    run_time_check=_cuda_capability("have_tensorcore", "No NVIDIA Tensor Core present"),
    parent_features="cuda",
)
requires_multi_gpu = Feature("multi_gpu", run_time_check=_multi_gpu_exists, parent_features="cuda")
requires_cudnn = Feature("cudnn", "cuDNN", cmake_flag="USE_CUDNN", parent_features="cuda")
requires_cublas = Feature("cublas", "cuBLAS", cmake_flag="USE_CUBLAS", parent_features="cuda")
requires_nvptx = Feature(
    "nvptx",
    "NVPTX",
    target_kind_enabled="nvptx",
    target_kind_hardware="nvptx",
    parent_features=["llvm", "cuda"],
)
requires_cudagraph = Feature(
    "cudagraph", "CUDA Graph", cmake_flag="USE_GRAPH_EXECUTOR_CUDA_GRAPH", parent_features="cuda"
)
requires_adreno_opencl = Feature(
    "opencl_adreno",
    "Remote Adreno OpenCL",
    run_time_check=lambda: "RPC_TARGET" in os.environ or "no remote device (RPC_TARGET)",
)
requires_opencl = Feature(
    "opencl",
    "OpenCL",
    cmake_flag="USE_OPENCL",
    target_kind_enabled="opencl",
    target_kind_hardware="opencl",
)
requires_rocm = Feature(
    "rocm",
    "ROCm",
    cmake_flag="USE_ROCM",
    target_kind_enabled="rocm",
    target_kind_hardware="rocm",
    parent_features="gpu",
)
requires_matrixcore = Feature("matrixcore", "AMD Matrix Core", parent_features="rocm")
requires_hipblas = Feature("hipblas", "hipBLAS", cmake_flag="USE_HIPBLAS", parent_features="rocm")
requires_metal = Feature(
    "metal",
    "Metal",
    cmake_flag="USE_METAL",
    target_kind_enabled="metal",
    target_kind_hardware="metal",
    parent_features="gpu",
)
requires_mps = Feature("mps", "MPS", cmake_flag="USE_MPS", parent_features="metal")
requires_vulkan = Feature(
    "vulkan",
    "Vulkan",
    cmake_flag="USE_VULKAN",
    target_kind_enabled="vulkan",
    target_kind_hardware="vulkan",
    parent_features="gpu",
)
requires_openclml = Feature("OpenCLML", "CLML", cmake_flag="USE_CLML", target_kind_enabled="opencl")
requires_micro = Feature("micro", "MicroTVM", cmake_flag="USE_MICRO")
requires_rpc = Feature("rpc", "RPC", cmake_flag="USE_RPC")
requires_cmsisnn = Feature("cmsisnn", "CMSIS NN", cmake_flag="USE_CMSISNN")
requires_corstone300 = Feature(
    "corstone300",
    "Corstone-300",
    compile_time_check=lambda: bool(os.environ.get("FVP_PATH")) or "no simulator (FVP_PATH)",
    parent_features="cmsisnn",
)
requires_aprofile_aem_fvp = Feature(
    "aprofile-aem-fvp",
    "AProfile AEM FVP",
    compile_time_check=lambda: (
        bool(os.environ.get("FVP_AEM_PATH")) or "no simulator (FVP_AEM_PATH)"
    ),
)
requires_ethosn = Feature("ethosn", "Arm Ethos-N", cmake_flag="USE_ETHOSN")
requires_ethosu = Feature(
    "ethosu",
    "Arm Ethos-U",
    cmake_flag="USE_ETHOSU",
    compile_time_check=_check_forward_only("ethosu.vela"),
)
requires_mrvl = Feature("mrvl", "Marvell", cmake_flag="USE_MRVL")
requires_vitis_ai = Feature("vitis_ai", "Vitis AI", cmake_flag="USE_VITIS_AI")
requires_tensorrt = Feature("tensorrt", "TensorRT", cmake_flag="USE_TENSORRT_CODEGEN")
requires_libtorch = Feature("libtorch", "LibTorch", cmake_flag="USE_LIBTORCH")
requires_hexagon_toolchain = Feature(
    "hexagon_toolchain", "Hexagon Toolchain", cmake_flag="USE_HEXAGON"
)
requires_hexagon = Feature(
    "hexagon",
    "Hexagon",
    cmake_flag="USE_HEXAGON",
    target_kind_enabled="hexagon",
    run_time_check=lambda: "ANDROID_SERIAL_NUMBER" in os.environ or "no device",
    parent_features=["llvm", "hexagon_toolchain"],
)


def _gpu_devices():
    from .. import runtime

    kinds = ("cuda", "rocm", "opencl", "metal", "vulkan")
    return (runtime.device(kind).exist for kind in kinds)


def _skip_marks(problem):
    import pytest

    return [pytest.mark.skipif(problem is not None, reason=problem or "requirement met")]


def _composite(func, marks):
    def decorate(func):
        for mark in marks:
            func = mark(func)
        return func

    return decorate(func) if func is not None else decorate


def requires_package(*packages):
    """Decorator: skip a test when Python packages are missing.

    Parameters
    ----------
    packages : str
        Names to import.
    """

    def missing(name):
        try:
            __import__(name)
            return False
        except ImportError:
            return True

    absent = [name for name in packages if missing(name)]
    return _composite_decorator(
        _skip_marks(f"Package {', '.join(absent)} not installed" if absent else None)
    )


def _composite_decorator(marks):
    return lambda func: _composite(func, marks)


def requires_nvcc_version(major_version, minor_version=0, release_version=0):
    """Decorator: the test needs this version of nvcc or a newer one."""
    from ..contrib import nvcc

    wanted = (major_version, minor_version, release_version)
    try:
        found = nvcc.get_cuda_version()
    except (RuntimeError, OSError):
        found = (0, 0, 0)
    problem = None if found >= wanted else f"Requires NVCC >= {'.'.join(map(str, wanted))}"
    return _composite_decorator(_skip_marks(problem) + requires_cuda.marks("compile-only"))


def requires_cuda_compute_version(major_version, minor_version=0, exact=False):
    """Decorator: the test needs a GPU of this compute capability or a newer one (or just this)."""
    from .. import runtime
    from ..contrib import nvcc

    wanted, found = (major_version, minor_version), (0, 0)
    device = runtime.cuda(0)
    if device.exist:
        found = nvcc.parse_compute_version(device.compute_version)
    fits = found == wanted if exact else found >= wanted
    text = f"Requires CUDA compute {'==' if exact else '>='} {major_version}.{minor_version}"
    return _composite_decorator(_skip_marks(None if fits else text) + requires_cuda.marks())


def requires_llvm_minimum_version(major_version):
    """Decorator: the test needs this major version of LLVM or a newer one."""
    from .. import support

    found = str(support.libinfo().get("LLVM_VERSION", "")).split(".")[0]
    fits = found.isdigit() and int(found) >= major_version
    return _composite_decorator(
        _skip_marks(None if fits else f"Requires LLVM >= {major_version}") + requires_llvm.marks()
    )


def requires_opt_in_target(target_kind):
    """Decorator: the test runs only where ``TVM_TEST_TARGETS`` names the target kind."""
    wanted = any(_kind(t) == target_kind for t in _tvm_test_targets())
    problem = None if wanted else f"{target_kind} is not named by TVM_TEST_TARGETS"
    return _composite_decorator(_skip_marks(problem))


def is_ampere_or_newer():
    """Is CUDA device 0 of compute capability 8.0 or newer?"""
    from .. import runtime
    from ..contrib import nvcc

    device = runtime.cuda(0)
    return bool(device.exist) and nvcc.parse_compute_version(device.compute_version)[0] >= 8


def rpc_run_required():
    """Do tests run on a remote device (``RPC_TARGET`` is set)?"""
    return "RPC_TARGET" in os.environ


def slow(fn):
    """Decorator: a slow test, left out when ``SKIP_SLOW_TESTS`` is set."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        if SKIP_SLOW_TESTS:
            import pytest

            pytest.skip("Skipping slow test since SKIP_SLOW_TESTS environment variables is set")
        return fn(*args, **kwargs)

    return wrapper


def skip_if_32bit(reason):
    """Decorator: skip a test where pointers have 32 bits."""
    return _composite_decorator(_skip_marks(None if sys.maxsize > 2**32 else reason))


def skip_if_wheel_test(func):
    """Decorator: skip a test where ``WHEEL_TEST`` is set (an installed package is tested)."""
    on = os.getenv("WHEEL_TEST", "").lower() in ("true", "1", "yes")
    return _composite(func, _skip_marks("Test not supported in wheel." if on else None))


def skip_if_no_reference_system(func):
    """Decorator: skip a test where there is no simulator of the reference system."""
    there = os.path.exists("/opt/arm/FVP_Corstone_SSE-300")
    return _composite(func, _skip_marks(None if there else "Reference system unavailable"))


# ---- small probes ------------------------------------------------------------------------------


def identity_after(x, sleep):
    """Return `x` after `sleep` seconds (None: at once)."""
    if sleep:
        time.sleep(sleep)
    return x


def terminate_self():
    """End the process at once."""
    sys.exit(-1)


def get_dtype_range(dtype):
    """Least and greatest value of test data of an integer or float type: (min, max)."""
    if dtype.startswith("uint"):
        return 0, 2 ** int(dtype[4:]) - 1
    if dtype.startswith("int"):
        half = 2 ** (int(dtype[3:]) - 1)
        return -half, half - 1
    if dtype.startswith("float"):
        return -(2**15), 2**15 - 1
    raise ValueError(f"get_dtype_range: no range for {dtype!r}")


class _control_span_filling:
    def __init__(self, on=True):
        self._on = on

    def _set(self, on):
        from .. import transform

        self._context = transform.PassContext(config={"relay.frontend.fill_span": on})

    def __enter__(self):
        self._set(self._on)
        self._context.__enter__()
        return self

    def __exit__(self, exc_type, exc, traceback):
        self._context.__exit__(exc_type, exc, traceback)


class enable_span_filling(_control_span_filling):
    """Context: importers note where each operator comes from."""

    def __init__(self):
        super().__init__()


class disable_span_filling(_control_span_filling):
    """Context: importers do not note where operators come from."""

    def __init__(self):
        super().__init__(on=False)


def main():
    """Run the tests of the calling file with pytest, with the arguments of the command line."""
    import pytest

    test_file = inspect.getsourcefile(sys._getframe(1))
    sys.exit(pytest.main([test_file] + sys.argv[1:]))


__all__ = [
    name
    for name, value in list(globals().items())
    if not name.startswith("_") and not inspect.ismodule(value)
]
