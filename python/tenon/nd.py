"""Arrays and devices: short names of `tenon.runtime.ndarray`."""

from .runtime.ndarray import (
    NDArray,
    array,
    cl,
    cpu,
    cuda,
    device,
    empty,
    ext_dev,
    from_dlpack,
    gpu,
    hexagon,
    metal,
    micro_dev,
    mtl,
    numpyasarray,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)
