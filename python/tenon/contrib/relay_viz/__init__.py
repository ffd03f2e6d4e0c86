"""Pictures of Relay programs: as text for a terminal, or in the DOT language.

A parser (`interface.VizParser`) says which node and edges an expression becomes; a plotter
(`interface.Plotter`) draws a graph for each function. Programs derive their own from both.

    relay_viz.RelayVisualizer(mod).render()
    relay_viz.RelayVisualizer(mod, plotter=relay_viz.DotPlotter()).render("model")
"""

from .dot import DotPlotter, DotVizParser
from .interface import Plotter, VizGraph, VizParser
from .terminal import TermPlotter, TermVizParser


class RelayVisualizer:
    """Draws the functions of a module, `main` first.

    Parameters
    ----------
    relay_mod : IRModule
        What to draw.
    relay_param : dict of str to NDArray, optional
        Parameters: variables of these names are shown as such.
    plotter : Plotter, optional
        Draws; a `TermPlotter` by default.
    parser : VizParser, optional
        Makes nodes of expressions; a `TermVizParser` by default.
    """

    def __init__(self, relay_mod, relay_param=None, plotter=None, parser=None):
        self._plotter = TermPlotter() if plotter is None else plotter
        self._parser = TermVizParser() if parser is None else parser
        self._param = {} if relay_param is None else relay_param
        names = [variable.name_hint for variable in relay_mod.get_global_vars()]
        used = 0
        for name in sorted(names, key=lambda name: name != "main"):
            used += self._draw(relay_mod[name], self._plotter.create_graph(name), used)

    def _draw(self, function, graph, used):
        """Add a function's expressions, operands first; how many there were."""
        from ...relay.analysis import post_order_visit

        node_to_id = {}
        post_order_visit(function, lambda e: node_to_id.setdefault(e, str(used + len(node_to_id))))
        for expr in node_to_id:
            node, edges = self._parser.get_node_edges(expr, self._param, node_to_id)
            if node is not None:
                graph.node(node)
            for edge in edges:
                graph.edge(edge)
        return len(node_to_id)

    def render(self, filename=None):
        """Show or write what was drawn.

        Parameters
        ----------
        filename : str, optional
            Where to; what None means is the plotter's affair.
        """
        self._plotter.render(filename=filename)
