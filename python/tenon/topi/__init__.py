"""Computes of operators as functions of te tensors.

``topi.add``, ``topi.nn.relu`` and so on compute what the operators of the same name in
`tenon.relay` do. What has another form there is written out in the modules of this package.
"""

import importlib as _importlib

from . import _calls

_SUBMODULES = (
    "arm_cpu",
    "bifrost",
    "cpp",
    "cuda",
    "generic",
    "gpu",
    "hls",
    "image",
    "intel_graphics",
    "mali",
    "math",
    "nn",
    "random",
    "rocm",
    "sparse",
    "tag",
    "testing",
    "transform",
    "utils",
    "vision",
    "x86",
)
_fetch = _calls.attach(__name__, "", (".written", ".utils"))


def __getattr__(name):
    if name in _SUBMODULES:
        return _importlib.import_module("." + name, __name__)
    return _fetch(name)


def _install():
    import sys

    from . import _operators

    _operators.install(sys.modules[__name__])


_install()
