"""TVMScript: tensor programs written as Python.

``@T.prim_func`` and ``@I.ir_module`` hand the source text of what they decorate to the parser of
the library; Python evaluates only what the script does not know itself (captured values, calls of
Python functions).
"""

from .._lazy import attach as _attach

_SUBMODULES = ("highlight", "ir", "ir_builder", "parser", "printer", "relax", "tir")
_NAMES = {
    "from_source": "._host",
    "parse": "._host:from_source",
    "ir_module": ".ir",
    "tir_module": ".ir:ir_module",
}
__getattr__, __dir__ = _attach(__name__, _SUBMODULES, _NAMES)
