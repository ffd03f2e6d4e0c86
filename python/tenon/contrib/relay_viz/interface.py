"""What parsers and plotters have in common, to derive from."""

import abc

from ... import relay
from ...ir import Op

UNKNOWN_TYPE = "unknown"


class VizNode:
    """A node of a picture.

    Parameters
    ----------
    node_id : str
        Its identity in the graph.
    node_type : str
        What it is.
    node_detail : str
        More about it, a line each.
    """

    def __init__(self, node_id, node_type, node_detail):
        self.identity = node_id
        self.type_name = node_type
        self.detail = node_detail

    def __repr__(self):
        detail = self.detail.replace("\n", ", ")
        return f"VizNode(identity: {self.identity}, type_name: {self.type_name}, detail: {detail}"


class VizEdge:
    """An edge of a picture, from one identity to another."""

    def __init__(self, start_node, end_node):
        self.start = start_node
        self.end = end_node

    def __repr__(self):
        return f"VizEdge({self.start} -> {self.end})"


class VizParser(abc.ABC):
    """Makes nodes and edges of expressions."""

    @abc.abstractmethod
    def get_node_edges(self, node, relay_param, node_to_id):
        """What an expression becomes.

        Parameters
        ----------
        node : relay.Expr
            The expression.
        relay_param : dict of str to NDArray
            The parameters.
        node_to_id : dict of relay.Expr to str
            The identity of every expression of the function.

        Returns
        -------
        node, edges : VizNode or None, list of VizEdge
            None: no node of its own.
        """


class VizGraph(abc.ABC):
    """A picture of one function; nodes come operands first."""

    @abc.abstractmethod
    def node(self, viz_node):
        """Add a VizNode."""

    @abc.abstractmethod
    def edge(self, viz_edge):
        """Add a VizEdge."""


class Plotter(abc.ABC):
    """Keeps a graph for each function and shows them together."""

    @abc.abstractmethod
    def create_graph(self, name):
        """A new VizGraph for the function of a name."""

    @abc.abstractmethod
    def render(self, filename):
        """Show all graphs, or write them to a file."""


def attribute_lines(attrs):
    """A line for each attribute of a call or function."""
    return "\n".join(f"{key}: {_text(attrs, key)}" for key in attrs.keys()) if attrs else ""


def _text(attrs, key):
    return attrs.get_str(key) if hasattr(attrs, "get_str") else str(attrs[key])


def composite_name(attrs, default=""):
    """The pattern that a function was made of; the default where it was not."""
    return str(attrs["Composite"]) if attrs and "Composite" in attrs.keys() else default


class DefaultVizParser(VizParser):
    """Nodes for operands and calls; operators and global names have none of their own."""

    def get_node_edges(self, node, relay_param, node_to_id):
        """See `VizParser.get_node_edges`."""
        if isinstance(node, (relay.GlobalVar, Op)):
            return None, []
        for kind, make in self._CASES.items():
            if isinstance(node, kind):
                kind_text, detail, operands = make(self, node, relay_param)
                break
        else:
            kind_text, operands = UNKNOWN_TYPE, []
            detail = f"no way to show {type(node).__name__}"
        name = node_to_id[node]
        edges = [VizEdge(node_to_id[operand], name) for operand in operands]
        return VizNode(name, kind_text, detail), edges

    def _var(self, var, relay_param):
        kind = "Var(Param)" if var.name_hint in relay_param else "Var(Input)"
        detail, type_ = f"name_hint: {var.name_hint}", var.type_annotation
        if hasattr(type_, "shape"):
            extents = ", ".join(str(extent) for extent in type_.shape)
            comma = "," if len(type_.shape) == 1 else ""
            detail += f"\nshape: ({extents}{comma})\ndtype: {type_.dtype}"
        elif type_ is not None:
            detail += f"\ntype_annotation: {type_}"
        return kind, detail, []

    def _function(self, function, _):
        kind = f"Func {composite_name(function.attrs)}"
        return kind, attribute_lines(function.attrs), [function.body]

    def _call(self, call, _):
        op, detail = call.op, ""
        if isinstance(op, Op):
            name, detail = op.name, attribute_lines(call.attrs)
        elif isinstance(op, relay.Function):
            name = composite_name(op.attrs, "Anonymous Func")
            detail = attribute_lines(op.attrs)
        elif isinstance(op, relay.GlobalVar):
            name, detail = "GlobalVar", f"GlobalVar.name_hint: {op.name_hint}"
        else:
            name = type(op).__name__
        return f"Call {name}", detail, call.args

    def _tuple(self, tuple_, _):
        return "Tuple", "", tuple_.fields

    def _tuple_get_item(self, item, _):
        return "TupleGetItem", f"idx: {item.index}", [item.tuple_value]

    def _constant(self, constant, _):
        data = constant.data
        return "Const", f"shape: {data.shape}, dtype: {data.dtype}", []

    _CASES = {
        relay.Function: _function,
        relay.Call: _call,
        relay.Var: _var,
        relay.Tuple: _tuple,
        relay.TupleGetItem: _tuple_get_item,
        relay.Constant: _constant,
    }
