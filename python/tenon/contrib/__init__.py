"""Helpers around the compiler: compilers and linkers of the system, archives, worker processes."""

from .._lazy import attach as _attach

__getattr__, __dir__ = _attach(
    __name__,
    (
        "cblas",
        "cc",
        "clang",
        "cuda_graph",
        "cudnn",
        "cutlass",
        "debugger",
        "dlpack",
        "download",
        "graph_executor",
        "graph_runtime",
        "ndk",
        "nvcc",
        "pickle_memoize",
        "pipeline_executor",
        "pipeline_executor_build",
        "popen_pool",
        "relay_viz",
        "sparse",
        "tar",
        "tedd",
        "utils",
        "xcode",
    ),
)
