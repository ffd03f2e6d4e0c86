"""From Relay programs to what runs: executors, runtimes, factories of executors."""

from ..._lazy import attach as _attach

_WHERE = {
    ".executor": "Executor",
    ".runtime": "Runtime",
}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}
_SUBMODULES = (
    "_backend",
    "aot",
    "executor",
    "executor_factory",
    "graph_executor_codegen",
    "interpreter",
    "name_transforms",
    "runtime",
    "te_compiler",
    "utils",
    "vm",
)
__getattr__, __dir__ = _attach(__name__, _SUBMODULES, _NAMES)
