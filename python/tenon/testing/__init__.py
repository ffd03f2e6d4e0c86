"""What test suites use: comparison of arrays, parameters over targets, requirements, small probes.

Most names come from `tenon.testing.utils`; the pytest side is in `tenon.testing.plugin`.
"""

from .._ffi import _init_api
from .._lazy import attach as _attach
from ._targets import _get_targets, _tvm_test_targets
from .utils import *  # noqa: F403

_POPEN = (
    "after_initializer call_cpp_ffi call_cpp_py_ffi call_py_ffi fast_summation initializer "
    "register_ffi slow_summation timeout_job"
)
__getattr__, __dir__ = _attach(
    __name__,
    ("_ffi_api", "aot", "plugin", "popen_pool", "usmp", "utils"),
    {name: ".popen_pool" for name in _POPEN.split()},
)
# echo, nop, device_test, object_use_count, run_check_signal, ErrorTest, ...
_init_api("testing", __name__)
