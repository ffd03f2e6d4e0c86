"""Instructions that programs may be tensorized with; importing a module registers what it has.

Those of processors are called by LLVM's names for them, so that they are there where LLVM is.
"""

from ...target.codegen import llvm_version_major
from .cuda import *  # noqa: F403
from .dot_product_common import *  # noqa: F403

if llvm_version_major(allow_none=True):
    from .arm_cpu import *  # noqa: F403
    from .hexagon import *  # noqa: F403
    from .rocm import *  # noqa: F403
    from .x86 import *  # noqa: F403
