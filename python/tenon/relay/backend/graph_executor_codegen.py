"""Graph JSON without a library: the name only."""

from ..._later import placeholder

GraphExecutorCodegen = placeholder(
    "tenon.relay.backend.graph_executor_codegen.GraphExecutorCodegen",
    "relay.build(...) gives the graph: its factory has get_graph_json() and get_lib()",
)
