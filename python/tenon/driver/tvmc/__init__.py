"""The steps of a model's life as functions, and as the command `tvmc` (``python -m
tvm.driver.tvmc``): load, compile, run.

    model = tvmc.load("model.onnx")
    package = tvmc.compile(model, target="llvm")
    result = tvmc.run(package, device="cpu")
    print(result)

They stand on `relay.build`, the virtual machine and the executors; the command `tenon` does the
same without Python.
"""

from ..._later import placeholder as _placeholder
from . import (
    compiler,
    composite_target,
    frontends,
    model,
    pass_config,
    result_utils,
    runner,
    transform,
)
from .compiler import compile_model as compile
from .frontends import load_model as load
from .model import TVMCException, TVMCImportError, TVMCModel, TVMCPackage, TVMCResult
from .runner import run_module as run

tune = _placeholder(
    "tenon.driver.tvmc.tune", "kernels are not tuned yet; compile takes records that exist"
)

__all__ = [
    "TVMCException",
    "TVMCImportError",
    "TVMCModel",
    "TVMCPackage",
    "TVMCResult",
    "compile",
    "compiler",
    "composite_target",
    "frontends",
    "load",
    "model",
    "pass_config",
    "result_utils",
    "run",
    "runner",
    "transform",
    "tune",
]
