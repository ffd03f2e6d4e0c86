"""Android: link with the compiler named by ``TVM_NDK_CC``."""

import os

from . import cc as _cc


def _ndk_cc():
    if "TVM_NDK_CC" not in os.environ:
        raise RuntimeError(
            "Require environment variable TVM_NDK_CC to be the NDK standalone compiler"
        )
    return os.environ["TVM_NDK_CC"]


def create_shared(output, objects, options=None):
    """Link a shared library for Android; parameters as in `tenon.contrib.cc.create_shared`."""
    options = list(options) if options is not None else ["-lm"]
    _cc.create_shared(output, objects, options, cc=_ndk_cc())


def create_staticlib(output, inputs):
    """Make a static library for Android.

    The archiver is ``TVM_NDK_AR``, else the ``llvm-ar`` beside the compiler.
    """
    ar = os.environ.get("TVM_NDK_AR")
    _cc.create_staticlib(output, inputs, ar or os.path.join(os.path.dirname(_ndk_cc()), "llvm-ar"))


create_shared.output_format = "so"
create_staticlib.output_format = "a"
