"""Relay programs as trees of text."""

from ... import relay
from ..._ffi.files import write_file
from ...ir import Op
from .interface import DefaultVizParser, Plotter, VizEdge, VizGraph, VizNode, VizParser


class TermVizParser(VizParser):
    """Every expression is a node, operators and global names as well."""

    def __init__(self):
        self._default = DefaultVizParser()

    def get_node_edges(self, node, relay_param, node_to_id):
        """See `VizParser.get_node_edges`."""
        for kind, make in _CASES.items():
            if isinstance(node, kind):
                kind_text, detail, operands = make(node)
                name = node_to_id[node]
                edges = [VizEdge(node_to_id[operand], name) for operand in operands]
                return VizNode(name, kind_text, detail), edges
        return self._default.get_node_edges(node, relay_param, node_to_id)


_CASES = {
    relay.Call: lambda call: ("Call", "", [call.op, *call.args]),
    relay.Let: lambda let: ("Let", "(var, val, body)", [let.var, let.value, let.body]),
    relay.GlobalVar: lambda var: ("GlobalVar", var.name_hint, []),
    relay.If: lambda branch: (
        "If",
        "(cond, true, false)",
        [branch.cond, branch.true_branch, branch.false_branch],
    ),
    Op: lambda op: (op.name, "", []),
    relay.Function: lambda function: (
        "Func",
        ", ".join(parameter.name_hint for parameter in function.params),
        [function.body],
    ),
}


class TermGraph(VizGraph):
    """The tree of one function, its result at the top.

    Parameters
    ----------
    name : str
        Name of the function.
    """

    def __init__(self, name):
        self._name = name
        self._operands = {}  # identity -> identities
        self._nodes = {}  # identity -> VizNode, the root last

    def node(self, viz_node):
        """Add a node."""
        self._nodes.pop(viz_node.identity, None)
        self._nodes[viz_node.identity] = viz_node

    def edge(self, viz_edge):
        """Add an operand to a node."""
        self._operands.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self):
        """The tree as text. An operand that several nodes share appears at each, what is below it
        once in each column.

        Returns
        -------
        str
        """
        root = next(reversed(self._nodes))
        lines = [f"@{self._name}({self._detail(root)})"]
        shown = set()
        # a work list: deep programs must not meet the limit of recursion
        todo = [("", operand, last) for operand, last in self._reversed_operands(root, "", shown)]
        while todo:
            indent, name, last = todo.pop()
            node = self._nodes[name]
            lines.append(f"{indent}{'`--' if last else '|--'}{node.type_name} {self._detail(name)}")
            below = indent + ("   " if last else "|  ")
            todo += [
                (below, n, at_end) for n, at_end in self._reversed_operands(name, below, shown)
            ]
        return "\n".join(lines)

    def _detail(self, name):
        return self._nodes[name].detail.replace("\n", ", ")

    def _reversed_operands(self, name, indent, shown):
        if (indent, name) in shown:
            return []
        shown.add((indent, name))
        operands = self._operands.get(name, [])
        return [(operand, i == 0) for i, operand in enumerate(reversed(operands))]


class TermPlotter(Plotter):
    """Prints the trees, or writes them to a file."""

    def __init__(self):
        self._name_to_graph = {}

    def create_graph(self, name):
        """A new tree."""
        self._name_to_graph[name] = TermGraph(name)
        return self._name_to_graph[name]

    def render(self, filename=None):
        """Print all trees.

        Parameters
        ----------
        filename : str, optional
            Write them to this file instead.
        """
        text = "\n".join(graph.render() for graph in self._name_to_graph.values())
        if filename is None:
            print(text)
            return
        write_file(filename, text)
