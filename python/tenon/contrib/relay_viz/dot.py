"""Relay programs in the DOT language, as pictures where Graphviz is installed."""

import shutil
import subprocess
from pathlib import Path

from ..._ffi.files import write_file
from .._dot import Dot
from .interface import DefaultVizParser, Plotter, VizGraph

DotVizParser = DefaultVizParser


def _node_shape(node):
    return {"shape": "ellipse" if "Var" in node.type_name else "box"}


class DotGraph(VizGraph):
    """One function, as a part of the picture with a frame.

    Parameters
    ----------
    name : str
        Name of the function.
    graph_attr, node_attr, edge_attr : dict of str to str, optional
        Attributes of the language for the graph, its nodes and edges.
    get_node_attr : callable, optional
        Takes a VizNode, gives a dict of attributes for it.
    """

    def __init__(self, name, graph_attr=None, node_attr=None, edge_attr=None, get_node_attr=None):
        self._get_node_attr = get_node_attr or _node_shape
        # a part whose name begins so gets a frame
        safe = "".join(c if c.isalnum() else "_" for c in name)
        self.digraph = Dot(f"cluster_{safe}", "subgraph")
        for kind, given in (("graph", graph_attr), ("node", node_attr), ("edge", edge_attr)):
            self.digraph.default(kind, given)
        self.digraph.set(label=name)

    def node(self, viz_node):
        """Add a node."""
        label = f"{viz_node.type_name}\n{viz_node.detail}"
        self.digraph.node(viz_node.identity, label=label, **self._get_node_attr(viz_node))

    def edge(self, viz_edge):
        """Add an edge."""
        self.digraph.edge(viz_edge.start, viz_edge.end)


class DotPlotter(Plotter):
    """Writes a picture of all functions.

    Parameters
    ----------
    graph_attr, node_attr, edge_attr : dict of str to str, optional
        Attributes of the language for all graphs, nodes and edges.
    get_node_attr : callable, optional
        Takes a VizNode, gives a dict of attributes for it.
    render_kwargs : dict, optional
        ``filename``; ``format`` ("pdf" by default, "dot" for the text only); ``cleanup``: whether
        the text goes once the picture is there (True by default).
    """

    def __init__(
        self,
        graph_attr=None,
        node_attr=None,
        edge_attr=None,
        get_node_attr=None,
        render_kwargs=None,
    ):
        self._attributes = (graph_attr, node_attr, edge_attr, get_node_attr)
        self._render = dict(render_kwargs or {})
        self._name_to_graph = {}

    def create_graph(self, name):
        """A new part of the picture."""
        self._name_to_graph[name] = DotGraph(name, *self._attributes)
        return self._name_to_graph[name]

    def source(self):
        """The text of the picture."""
        whole = Dot("relay")
        for graph in self._name_to_graph.values():
            whole.add(graph.digraph)
        return whole.text() + "\n"

    def render(self, filename=None):
        """Write the picture to ``filename.FORMAT``, its text to `filename`.

        Parameters
        ----------
        filename : str, optional
            Where to; that of ``render_kwargs``, or "relay.gv", by default.

        Raises
        ------
        RuntimeError
            The program `dot` is not installed, or fails; the text is there.
        """
        path = Path(filename or self._render.get("filename") or "relay.gv")
        form = self._render.get("format", "pdf")
        write_file(path, self.source())
        if form in ("dot", "gv"):
            return
        if not shutil.which("dot"):
            raise RuntimeError(
                f"DotPlotter: Graphviz is not installed, so {path} has the text of the picture; "
                'install Graphviz, or give render_kwargs={"format": "dot"}'
            )
        command = ["dot", f"-T{form}", "-o", f"{path}.{form}", str(path)]
        ran = subprocess.run(command, stderr=subprocess.PIPE, text=True)
        if ran.returncode:
            raise RuntimeError(f"DotPlotter: dot failed for {path}: {ran.stderr.strip()}")
        if self._render.get("cleanup", True):
            path.unlink()
