"""Modules: ``from tenon.script.ir_builder import ir as I``."""

from ...ir import GlobalVar, IRModule
from .base import IRBuilder, IRBuilderFrame, set_result


class IRModuleFrame(IRBuilderFrame):
    """Functions of a module."""

    def __init__(self):
        super().__init__()
        self.functions = {}
        self.global_vars = {}
        self.attrs = None

    def declare(self, name):
        """The GlobalVar of a name, the same each time."""
        return self.global_vars.setdefault(name, GlobalVar(name))

    def finish(self):
        """The module is the result of the builder."""
        functions = {self.declare(name): func for name, func in self.functions.items()}
        set_result(IRModule(functions, attrs=self.attrs))


def ir_module():
    """A frame for the functions of a module."""
    return IRModuleFrame()


def _module():
    frame = IRBuilder.current().find(IRModuleFrame)
    if frame is None:
        raise ValueError("IRModule frame not found. Please ensure it is under `with I.ir_module()`")
    return frame


def decl_function(func_name, func_signature):
    """Make a function known before it is defined; returns its GlobalVar."""
    frame = _module()
    frame.functions.setdefault(func_name, func_signature)
    return frame.declare(func_name)


def def_function(func_name, func):
    """Define a function that was declared."""
    _module().functions[func_name] = func


def module_attrs(attrs):
    """Attributes of the module."""
    frame = _module()
    if frame.attrs is not None:
        raise ValueError("Duplicate module attrs")
    frame.attrs = attrs
