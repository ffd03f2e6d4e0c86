"""What the debug executor found: the graph, times, outputs; as files and as a table."""

import json
import os

from ..._ffi.files import write_file
from ...runtime.ndarray import NDArray, array
from ...runtime.params import save_param_dict, save_param_dict_to_file

GRAPH_DUMP_FILE_NAME = "_tvmdbg_graph_dump.json"
CHROME_TRACE_FILE_NAME = "_tvmdbg_execution_trace.json"
OUTPUT_TENSORS_FILE_NAME = "output_tensors.params"
_COLUMNS = (
    "Node Name",
    "Ops",
    "Time(us)",
    "Time(%)",
    "Shape",
    "Inputs",
    "Outputs",
    "Measurements(us)",
)


class DebugResult:
    """Results of a debug executor.

    Parameters
    ----------
    graph_json : str
        The graph.
    dump_path : str
        Folder for files; the graph is written there at once.
    """

    def __init__(self, graph_json, dump_path):
        self._dump_path = dump_path
        self._output_tensor_list = []
        self._time_list = []
        graph = json.loads(graph_json)
        self._rows = graph["node_row_ptr"]
        self._shapes_list = graph["attrs"]["shape"]
        self._dtype_list = graph["attrs"]["dltype"]
        self._nodes_list = graph["nodes"]
        self._add_details()
        self.dump_graph_json(graph)

    def _add_details(self):
        """Say in each node what function it calls, and the shape of its first output."""
        for i, node in enumerate(self._nodes_list):
            attrs = node.setdefault("attrs", node.pop("attr", node.pop("param", {})))
            names = [self._nodes_list[entry[0]]["name"] for entry in node["inputs"]]
            node["inputs"] = names
            if node["op"] == "null":
                node["op"] = "param"
                attrs["T"] = "type: " + self._dtype_list[1][self._rows[i]]
            else:
                node["op"] = attrs["func_name"]
            node["shape"] = self._shapes_list[1][self._rows[i]]

    def get_graph_nodes(self):
        """The nodes: dicts with ``op`` (``"param"`` or a function), ``shape`` and more; list."""
        return self._nodes_list

    def get_graph_node_shapes(self):
        """Shapes of all outputs, as the graph has them: ``["list_shape", [...]]``."""
        return self._shapes_list

    def get_graph_node_output_num(self, node):
        """Number of outputs of a node; int."""
        return 1 if node["op"] == "param" else int(node["attrs"]["num_outputs"])

    def get_graph_node_dtypes(self):
        """Types of all outputs, as the graph has them: ``["list_str", [...]]``."""
        return self._dtype_list

    def get_output_tensors(self):
        """Outputs of all nodes by a name that is made of the node's name and place; dict."""
        tensors = {}
        found = iter(self._output_tensor_list)
        for i, node in enumerate(self._nodes_list):
            for j in range(self.get_graph_node_output_num(node)):
                tensors[f"{node['name']}____topo-index:{i}____output-num:{j}"] = next(found)
        return tensors

    def update_output_tensors(self, tensors):
        """Set the outputs from numpy arrays, in the order of the nodes."""
        self._output_tensor_list = [t if isinstance(t, NDArray) else array(t) for t in tensors]

    def _path(self, name):
        return os.path.join(self._dump_path, name)

    def dump_output_tensor(self):
        """Write the outputs of all nodes to ``output_tensors.params``."""
        save_param_dict_to_file(self.get_output_tensors(), self._path(OUTPUT_TENSORS_FILE_NAME))

    def dump_chrome_trace(self):
        """Write the times as a trace that Chrome's viewer reads: one node after the other."""
        events, start = [], 0.0
        for node, times in zip(self._nodes_list, self._time_list, strict=True):
            end = start + _mean(times) * 1e6
            for phase, at in (("B", start), ("E", end)):
                events.append(
                    {
                        "ts": at,
                        "ph": phase,
                        "pid": 1,
                        "tid": 1,
                        "name": node["name"],
                        "args": {"node_attributes": node["attrs"]},
                    }
                )
            start = end
        trace = {"displayTimeUnit": "ns", "traceEvents": events}
        write_file(self._path(CHROME_TRACE_FILE_NAME), json.dumps(trace))

    def dump_graph_json(self, graph):
        """Write the graph, with what was added to the nodes, to ``_tvmdbg_graph_dump.json``."""
        write_file(self._path(GRAPH_DUMP_FILE_NAME), json.dumps(graph, indent=4))

    def _table_rows(self):
        """A row for each output of an operator."""
        total = sum(map(_mean, self._time_list))
        shapes = iter(self._shapes_of_outputs())
        for node, times in zip(self._nodes_list, self._time_list, strict=True):
            mean = _mean(times)
            for _ in range(self.get_graph_node_output_num(node)):
                shape = next(shapes)
                if node["op"] == "param":
                    continue
                yield [
                    node["name"],
                    node["op"],
                    round(mean * 1e6, 3),
                    round(mean / total * 100, 3) if total else 0.0,
                    str(shape),
                    str(node["attrs"]["num_inputs"]),
                    str(node["attrs"]["num_outputs"]),
                    str([round(t * 1e6, 3) for t in times]),
                ]

    def _shapes_of_outputs(self):
        for i, node in enumerate(self._nodes_list):
            for j in range(self.get_graph_node_output_num(node)):
                yield tuple(self._shapes_list[1][self._rows[i] + j])

    def get_debug_result(self, sort_by_time=True):
        """The times as a table.

        Parameters
        ----------
        sort_by_time : bool
            Operators that took longest first, and a last row with the sum.

        Returns
        -------
        str
            Parameters are left out.
        """
        data = list(self._table_rows())
        if sort_by_time:
            data.sort(key=lambda row: row[2], reverse=True)
            total = round(sum(map(_mean, self._time_list)) * 1e6, 3)
            data.append(["Total_time", "-", total, *["-"] * 5])
        rows = [_COLUMNS, ["-" * len(name) for name in _COLUMNS], *data]
        texts = [[str(cell) for cell in row] for row in rows]
        widths = [max(map(len, column)) + 2 for column in zip(*texts, strict=True)]
        return "\n".join(
            "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            for row in texts
        )

    def display_debug_result(self, sort_by_time=True):
        """Print the table of `get_debug_result`."""
        print(self.get_debug_result(sort_by_time))


def _mean(times):
    return sum(times) / len(times)


def save_tensors(params):
    """Parameters as bytes: see `tenon.runtime.save_param_dict`."""
    return save_param_dict(params)
