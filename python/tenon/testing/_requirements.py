"""Requirements that tests state: ``requires_X`` as decorators, bare or called, and their marks."""

import functools
import os
import platform
import sys

from ._features import Feature
from ._targets import _kind, _tvm_test_targets

__all__ = [
    "SKIP_SLOW_TESTS",
    "is_ampere_or_newer",
    "requires_64bit",
    "requires_aarch64_sme",
    "requires_aarch64_sve",
    "requires_adreno_opencl",
    "requires_aprofile_aem_fvp",
    "requires_arm_dot",
    "requires_arm_fp16",
    "requires_cmsisnn",
    "requires_corstone300",
    "requires_cublas",
    "requires_cuda",
    "requires_cuda_compute_version",
    "requires_cudagraph",
    "requires_cudnn",
    "requires_ethosn",
    "requires_ethosu",
    "requires_gpu",
    "requires_hexagon",
    "requires_hexagon_toolchain",
    "requires_hipblas",
    "requires_libtorch",
    "requires_llvm",
    "requires_llvm_minimum_version",
    "requires_matrixcore",
    "requires_metal",
    "requires_micro",
    "requires_mps",
    "requires_mrvl",
    "requires_multi_gpu",
    "requires_nvcc_version",
    "requires_nvptx",
    "requires_opencl",
    "requires_openclml",
    "requires_opt_in_target",
    "requires_package",
    "requires_rocm",
    "requires_rpc",
    "requires_tensorcore",
    "requires_tensorrt",
    "requires_vitis_ai",
    "requires_vulkan",
    "requires_x86",
    "requires_x86_amx",
    "requires_x86_avx512",
    "requires_x86_vnni",
    "rpc_run_required",
    "skip_if_32bit",
    "skip_if_no_reference_system",
    "skip_if_wheel_test",
    "slow",
    "uses_gpu",
]

SKIP_SLOW_TESTS = os.getenv("SKIP_SLOW_TESTS", "").lower() in ("true", "1", "yes")


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


def _has_module(module):
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
    compile_time_check=_has_module("ethosu.vela"),
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
