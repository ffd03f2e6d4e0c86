"""Old name of `tenon.contrib.graph_executor`."""

import warnings

from . import graph_executor
from .graph_executor import GraphModule, get_device  # noqa: F401


def create(*args, **kwargs):
    """Make an executor: see `tenon.contrib.graph_executor.create`."""
    warnings.warn(
        "tenon.contrib.graph_runtime is the old name of tenon.contrib.graph_executor",
        DeprecationWarning,
        stacklevel=2,
    )
    return graph_executor.create(*args, **kwargs)
