"""Which functions of a module refer to which."""

from ...ir.expr import GlobalVar
from . import _ffi_api


class CallGraph:
    """References among the global functions of a module.

    Parameters
    ----------
    module : IRModule
        The module, of functions of Relay.

    Attributes
    ----------
    module : IRModule
        The module.
    """

    def __init__(self, module):
        self.module = module
        called = _ffi_api.CallGraph(module)
        self._called = {
            var.name_hint: [str(v.name_hint) for v in all] for var, all in called.items()
        }

    def _name(self, var):
        """The name of a function, given as a variable or by name; ValueError: there is none."""
        name = str(var.name_hint if isinstance(var, GlobalVar) else var)
        if name not in self._called:
            raise ValueError(f"CallGraph: the module has no function @{name}")
        return name

    def ref_count(self, var):
        """How many functions, itself among them, refer to a function (GlobalVar or str)."""
        name = self._name(var)
        return sum(name in all for all in self._called.values())

    def global_call_count(self, var):
        """How many functions a function (GlobalVar or str) refers to."""
        return len(self._called[self._name(var)])

    def is_recursive(self, var):
        """Does a function (GlobalVar or str) refer to itself?"""
        name = self._name(var)
        return name in self._called[name]

    def print_var(self, var):
        """A function's (GlobalVar or str) references as text."""
        name = self._name(var)
        lines = [f"Call graph node: @{name}, #refs = {self.ref_count(name)}"]
        return "\n".join([*lines, *(f"  calls @{other}" for other in self._called[name])]) + "\n"

    def __str__(self):
        return "\n".join(self.print_var(name) for name in self._called)
