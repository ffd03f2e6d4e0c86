"""Finds the Python class of a native type in parts of the package that are not imported yet."""

import importlib

from . import _core

# modules by the key's text before the last dot, where that is not the module's own name
_MODULE_OF = {
    "": "ir._classes",
    "ir": "ir._classes",
    "transform": "ir._classes",
    "instrument": "ir._classes",
    "relay": "relay._classes",
}

# modules of types that their key does not lead to
_TE = (
    "BaseComputeOp ComputeOp ExternOp Fuse Operation PlaceholderOp ScanOp Schedule Singleton Split "
    "Stage Tensor TensorComputeOp TensorIntrin"
)
_MODULE_OF_KEY = {
    **dict.fromkeys(_TE.split(), "te"),
    "DFPatternNode": "relay.dataflow_pattern",
    "Executor": "relay.backend.executor",
    "Runtime": "relay.backend.runtime",
    "TypeReporter": "relay.op.op",
    "relay.ConstructorValue": "relay.backend.interpreter",
    "relay.FunctionPass": "relay.transform.function_pass",
    "relay.RefValue": "relay.backend.interpreter",
    "relay._transform.InferCorrectLayoutOutput": "relay.transform.infer_layout_utils",
    "script.HostValue": "script._host",
    "script.Macro": "script.tir",
    "tir.schedule.AutoTensorizeMappingInfo": "tir.schedule.analysis",
    "tir.schedule.TensorizeInfo": "tir.schedule.analysis",
}


def find(type_key):
    """Import what defines the class of a type; nothing happens where no class exists."""
    prefix = type_key.rpartition(".")[0]
    name = "tenon." + (_MODULE_OF_KEY.get(type_key) or _MODULE_OF.get(prefix, prefix))
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as err:
        # "relay.attrs.X" has no module of its own; anything else is a broken installation
        if not name.startswith(err.name or " "):
            raise


_core.set_class_finder(find)
