"""Pictures of schedules of tensor expressions, in the DOT language.

Three views: what is computed from what (`viz_dataflow_graph`), which loops surround which
computation (`viz_schedule_tree`), and how loops came from one another
(`viz_itervar_relationship_graph`). Ranges are known of schedules that ``normalize()`` gave.

    text = tedd.viz_schedule_tree(s.normalize(), output_dot_string=True)
"""

import html

from .._ffi.files import write_file
from ._dot import Dot, Html, broken
from ._tedd_model import KINDS, describe

_WIDTH = 30  # characters of a line in a table
_DEPTH_COLORS = ["#000000", "#922B21", "#76448A", "#1F618D", "#148F77", "#B7950B", "#AF601A"] + [
    "#F5B7B1",
    "#A9DFBF",
]
_TABLE = '<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4">'


def _cell(text, **attributes):
    given = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<TD{given}>{text}</TD>"


def _row(*cells):
    return "<TR>" + "".join(cells) + "</TR>"


def _table(rows):
    return Html(_TABLE + "".join(rows) + "</TABLE>")


def _picture(name):
    dot = Dot(name)
    dot.set(rankdir="BT")
    return dot


def _legend(dot):
    rows = [_row(_cell("", BGCOLOR=color), _cell(name, BGCOLOR="white")) for name, color in KINDS]
    part = Dot("cluster_legend", "subgraph")
    part.set(label="Legend")
    part.node("legend", label=_table(rows), shape="none", margin="0")
    dot.add(part)


def _loop_row(loop):
    """A line of a table: place among the loops, name, kind, range."""
    kind, color = KINDS[loop.kind]
    more = [loop.range] + [text for text in (loop.thread, loop.intrinsic) if text]
    label = broken(f"{loop.name}({kind})", _WIDTH) + "".join(
        "<br/>" + html.escape(text).replace("\n", "<br/>") for text in more
    )
    return _row(
        _cell(str(loop.index), BGCOLOR=color, PORT=loop.id),
        _cell(label, BGCOLOR="white", PORT="itervar"),
    )


def _head(stage):
    return f"{html.escape(stage.name)}<br/>Scope: {html.escape(stage.scope)}"


def _finish(dot, show_svg, dot_file_path, output_dot_string):
    text = dot.text() + "\n"
    if dot_file_path:
        write_file(dot_file_path, text)
    if show_svg:
        _show(text)
    return text if output_dot_string else None


def _show(text):
    """Show a picture in a notebook."""
    import subprocess

    from IPython.display import SVG, display

    run = subprocess.run(["dot", "-Tsvg"], input=text.encode(), stdout=subprocess.PIPE, check=True)
    display(SVG(run.stdout))


def viz_dataflow_graph(sch, show_svg=False, dot_file_path="", output_dot_string=False):
    """Which stage reads the tensors of which.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    show_svg : bool
        Show it in a notebook; needs IPython and Graphviz.
    dot_file_path : str
        Write the text to this file.
    output_dot_string : bool
        Give the text.

    Returns
    -------
    str or None
    """
    dot = _picture("Dataflow Graph")
    stages = describe(sch, need_range=False)
    for stage in stages:
        ins = [_cell(str(i), PORT=f"I_{i}", BGCOLOR="lightgrey") for i in range(len(stage.inputs))]
        outs = [
            _cell(str(i), PORT=f"O_{i}", BGCOLOR="lightgrey") for i in range(len(stage.outputs))
        ]
        width = max(len(ins), len(outs), 1)
        rows = [_row(*cells) for cells in (outs,) if cells]
        rows.append(_row(_cell(_head(stage), COLSPAN=width, BGCOLOR="white")))
        rows += [_row(*cells) for cells in (ins,) if cells]
        dot.node(stage.id, label=_table(rows), shape="none", margin="0")
        for tensor in stage.outputs:
            label = f"{tensor.shape}\n{tensor.dtype}"
            dot.node(tensor.id, label=label, shape="box")
    for stage in stages:
        for i, tensor in enumerate(stage.inputs):
            dot.edge(tensor, f"{stage.id}:I_{i}")
        for i, tensor in enumerate(stage.outputs):
            dot.edge(f"{stage.id}:O_{i}", tensor.id)
    return _finish(dot, show_svg, dot_file_path, output_dot_string)


def _depth(stages, stage):
    """How many stages a stage lies in."""
    depth, seen = 0, set()
    while stage.attached and stage.id not in seen:
        seen.add(stage.id)
        stage = stages[stage.attached[0]]
        depth += 1
    return depth


def viz_schedule_tree(sch, show_svg=False, dot_file_path="", output_dot_string=False):
    """The loops of each stage, and the loop of another stage that it lies in.

    Parameters
    ----------
    sch, show_svg, dot_file_path, output_dot_string
        As in `viz_dataflow_graph`.

    Returns
    -------
    str or None
    """
    dot = _picture("Schedule Tree")
    _legend(dot)
    dot.node("ROOT", label="ROOT")
    stages = describe(sch)
    for stage in stages:
        rows = [_row(_cell(_head(stage), BGCOLOR="white", COLSPAN=2, PORT="stage"))]
        rows += [_loop_row(loop) for loop in stage.leaves]
        if stage.compute:
            rows.append(_row(_cell(broken(stage.compute, _WIDTH * 2), COLSPAN=2)))
        dot.node(stage.id, label=_table(rows), shape="none", margin="0")
    for stage in stages:
        end = "ROOT"
        if stage.attached is not None:
            other, loop = stage.attached
            end = f"{stages[other].id}:{stages[other].loops[loop].id}"
        color = _DEPTH_COLORS[_depth(stages, stage) % len(_DEPTH_COLORS)]
        dot.edge(stage.id, end, color=color)
    return _finish(dot, show_svg, dot_file_path, output_dot_string)


def viz_itervar_relationship_graph(sch, show_svg=False, dot_file_path="", output_dot_string=False):
    """How the loops of each stage came from its axes.

    Parameters
    ----------
    sch, show_svg, dot_file_path, output_dot_string
        As in `viz_dataflow_graph`.

    Returns
    -------
    str or None
    """
    dot = _picture("IterVar Relationship Graph")
    _legend(dot)
    for stage in describe(sch):
        part = Dot(f"cluster_{stage.id}", "subgraph")
        part.set(label=stage.name)
        for loop in stage.loops:
            part.node(loop.id, label=_table([_loop_row(loop)]), shape="none", margin="0")
        for relation in stage.relations:
            _draw_relation(part, relation)
        if not stage.loops:
            part.node(stage.id, label=_table([_row(_cell(_head(stage)))]), shape="none", margin="0")
        dot.add(part)
    return _finish(dot, show_svg, dot_file_path, output_dot_string)


def _draw_relation(part, relation):
    def ports(names):
        return [_cell(name, PORT=name, BGCOLOR="lightgrey") for name in names]

    width = max(len(relation.before), len(relation.after), 1)
    rows = [_row(*ports(relation.after))]
    rows.append(_row(_cell(relation.kind, COLSPAN=width, BGCOLOR="white")))
    if relation.before:
        rows.append(_row(*ports(relation.before)))
    part.node(relation.id, label=_table(rows), shape="none", margin="0")
    for port, loop in relation.before.items():
        part.edge(f"{loop}:itervar", f"{relation.id}:{port}")
    for port, loop in relation.after.items():
        part.edge(f"{relation.id}:{port}", f"{loop}:itervar")
