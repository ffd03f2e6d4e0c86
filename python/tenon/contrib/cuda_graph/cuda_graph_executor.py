"""The executor that records a run as a CUDA graph; it does not exist here, and says so."""

from .. import graph_executor


def create(graph_json_str, libmod, device):
    """Would make an executor for a graph.

    Raises
    ------
    NotImplementedError
        Always: use `tenon.contrib.graph_executor.create`.
    """
    raise NotImplementedError(
        "the CUDA graph executor is not supported: use tenon.contrib.graph_executor instead"
    )


class GraphModuleCudaGraph(graph_executor.GraphModule):
    """Would run a model as a CUDA graph; making one is NotImplementedError."""

    def __init__(self, module):
        raise NotImplementedError(
            "the CUDA graph executor is not supported: use tenon.contrib.graph_executor instead"
        )
