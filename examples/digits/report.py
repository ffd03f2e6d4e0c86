"""The report of the digits demo: one HTML page that needs nothing beside itself."""

import base64
import html
import struct
import zlib

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 70em; padding: 0 1em;
       color: #222; background: #fff; }
table { border-collapse: collapse } td, th { padding: .3em .8em; text-align: right }
th { border-bottom: 1px solid #888 } td:first-child, th:first-child { text-align: left }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif }
.images { display: flex; flex-wrap: wrap; gap: 4px }
.images figure { margin: 0; padding: 3px; text-align: center; font-size: 11px; width: 52px;
                 border: 2px solid transparent; background: #f2f2f2 }
.images figure.wrong { border-color: #c22; background: #fdd }
.images img { width: 40px; height: 40px; image-rendering: pixelated }
#wrong-only:checked ~ .images figure:not(.wrong) { display: none }
"""
COLORS = ("#4878a8", "#d98c3f", "#5f9e5f", "#b05c5c", "#8268a8", "#8a6f5c", "#c77fb0", "#6f8f8f")


def page(results, pixels, labels):
    """The page as text.

    Parameters
    ----------
    results : list of demo.Result
        One for each model.
    pixels : numpy.ndarray
        The images, uint8, N x 8 x 8.
    labels : numpy.ndarray
        What they show.
    """
    parts = [
        "<!DOCTYPE html><html lang=en><meta charset=utf-8><title>Tenon: handwritten digits</title>",
        f"<style>{STYLE}</style><h1>Handwritten digits</h1>",
        f"<p>{len(labels)} test images, read by models that were compiled from ONNX.</p>",
        _summary(results),
    ]
    for r in results:
        plan = Plan(r.graph)
        parts += [
            f"<h2>{_text(r.name)}</h2><h3>Time of the operators</h3>{_bars(plan, r.node_times)}",
            f"<h3>Memory</h3>{_memory(plan)}<h3>Graph</h3>{_picture(plan)}",
        ]
    parts.append(_images(results, pixels, labels))
    return "\n".join(parts) + "\n</html>\n"


class Plan:
    """The nodes of a graph that compute, by number of step, and the memory they use."""

    def __init__(self, graph):
        self.nodes = graph["nodes"]
        self.shapes = graph["attrs"]["shape"][1]
        self.dtypes = graph["attrs"]["dltype"][1]
        self.storage = graph["attrs"]["storage_id"][1]
        self.first = graph["node_row_ptr"]
        self.heads = graph["heads"]
        self.inputs = set(graph["arg_nodes"])
        self.steps = [i for i, node in enumerate(self.nodes) if node["op"] != "null"]

    def label(self, node):
        """A short name: that of the function without what all have in common."""
        name = self.nodes[node]["name"]
        return name.removeprefix("tvmgen_default_").removeprefix("fused_")

    def nbytes(self, entry):
        bits = int("".join(c for c in self.dtypes[entry] if c.isdigit()) or 8)
        count = 1
        for extent in self.shapes[entry]:
            count *= extent
        return count * ((bits + 7) // 8)

    def lives(self):
        """(entry, node, first step, last step) of everything that is made or given."""
        last = {}
        for step, i in enumerate(self.steps):
            for node, output, *_ in self.nodes[i]["inputs"]:
                last[self.first[node] + output] = step
        for node, output, *_ in self.heads:
            last[self.first[node] + output] = len(self.steps) - 1
        step_of = {i: step for step, i in enumerate(self.steps)}
        for i in range(len(self.nodes)):
            begin = step_of.get(i, 0)
            for entry in range(self.first[i], self.first[i + 1]):
                yield entry, i, begin, last.get(entry, begin)


def _text(value):
    return html.escape(str(value))


def _svg(width, height, parts):
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'
    )


def _box(x, y, width, height, color, title):
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" '
        f'fill="{color}"><title>{_text(title)}</title></rect>'
    )


def _word(x, y, text, color="#222", anchor="start"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}">{_text(text)}</text>'
    )


def _summary(results):
    head = (
        "<tr><th>model<th>correct<th>accuracy<th>as trained<th>median<th>p99<th>library<th>compile"
    )
    rows = [
        f"<tr><td>{_text(r.name)}<td>{r.correct} of {len(r.predictions)}<td>{r.accuracy:.4%}"
        f"<td>{r.expected:.4%}<td>{r.median * 1e6:.1f} µs<td>{r.p99 * 1e6:.1f} µs"
        f"<td>{r.library_size / 1024:.1f} KB<td>{r.compile_time:.2f} s"
        for r in results
    ]
    return f"<table>{head}{''.join(rows)}</table>"


def _bars(plan, times):
    longest = max((times[i] for i in plan.steps), default=0) or 1
    parts = []
    for row, i in enumerate(plan.steps):
        y, width = row * 24, times[i] / longest * 380
        parts.append(_word(350, y + 15, plan.label(i), anchor="end"))
        parts.append(_box(360, y + 2, max(width, 1), 18, COLORS[0], plan.nodes[i]["name"]))
        parts.append(_word(366 + width, y + 15, f"{times[i] * 1e6:.2f} µs"))
    return _svg(840, 24 * len(plan.steps) + 4, parts)


def _memory(plan):
    """A row for each block of memory, the values in it along the steps of a run."""
    constants = plan.inputs - _given(plan)
    rows = {}
    for entry, node, begin, end in plan.lives():
        if node not in constants:
            rows.setdefault(plan.storage[entry], []).append((entry, node, begin, end))
    column = 640 / max(len(plan.steps), 1)
    parts = [
        _word(170 + (step + 0.5) * column, 14, step + 1, anchor="middle")
        for step in range(len(plan.steps))
    ]
    for row, (block, values) in enumerate(rows.items()):
        y, size = 22 + row * 28, max(plan.nbytes(v[0]) for v in values)
        parts.append(_word(160, y + 16, f"block {block}: {size} bytes", anchor="end"))
        for entry, node, begin, end in values:
            what = f"{plan.label(node)} {tuple(plan.shapes[entry])}, {plan.nbytes(entry)} bytes"
            x, width = 170 + begin * column, (end - begin + 1) * column
            color = COLORS[node % len(COLORS)]
            # a value that is read and one that is made in the same step never share a block, so
            # that the boxes of a row lie beside each other
            parts.append(_box(x + 1, y, width - 2, 24, color, what))
            parts.append(_word(x + 6, y + 16, plan.label(node)[: int(width / 7)], "#fff"))
    total = sum(max(plan.nbytes(v[0]) for v in values) for values in rows.values())
    weights = sum(plan.nbytes(plan.first[i]) for i in constants)
    note = (
        f"<p>{total} bytes in {len(rows)} blocks; weights {weights} bytes. Columns are steps.</p>"
    )
    return note + _svg(820, 26 + 28 * len(rows), parts)


def _given(plan):
    """Inputs of the model; the others, which the compiler called pN, are its weights."""
    return {i for i in plan.inputs if not plan.nodes[i]["name"].lstrip("p").isdigit()}


def _picture(plan):
    """The operators as boxes, each below those that it reads, with its weights written in."""
    given = _given(plan)
    shown = [i for i in range(len(plan.nodes)) if i in given or i not in plan.inputs]
    depth, places, used = {}, {}, {}
    for i in shown:
        above = [depth[j] for j, *_ in plan.nodes[i]["inputs"] if j in depth]
        depth[i] = max(above, default=-1) + 1
        column = used[depth[i]] = used.get(depth[i], -1) + 1
        places[i] = (10 + column * 470, 10 + depth[i] * 74)
    parts = []
    for i in shown:
        x, y = places[i]
        reads = [j for j, *_ in plan.nodes[i]["inputs"]]
        for j in reads:
            if j in places:
                px, py = places[j]
                line = f'x1="{px + 220}" y1="{py + 50}" x2="{x + 220}" y2="{y}"'
                parts.append(f'<line {line} stroke="#888" stroke-width="1.5"/>')
        weights = [tuple(plan.shapes[plan.first[j]]) for j in reads if j not in places]
        detail = f"{tuple(plan.shapes[plan.first[i]])} {plan.dtypes[plan.first[i]]}"
        if weights:
            detail += "; weights " + ", ".join(map(str, weights))
        parts.append(_box(x, y, 440, 50, COLORS[2 if i in given else 0], plan.nodes[i]["name"]))
        parts.append(_word(x + 10, y + 20, plan.label(i), "#fff"))
        parts.append(_word(x + 10, y + 40, detail, "#fff"))
    width = 470 * (max(used.values(), default=0) + 1)
    return _svg(width, 74 * (max(depth.values(), default=0) + 1), parts)


def _images(results, pixels, labels):
    parts = []
    for k, label in enumerate(labels):
        seen = [int(r.predictions[k]) for r in results]
        mark = ' class="wrong"' if any(p != label for p in seen) else ""
        words = ", ".join(f"{r.name}: {p}" for r, p in zip(results, seen, strict=True))
        found = " ".join(f"<b>{p}</b>" if p != label else str(p) for p in seen)
        parts.append(
            f'<figure{mark} title="image {k} shows {label}; {_text(words)}">'
            f'<img src="data:image/png;base64,{_png(pixels[k])}" alt="{label}">'
            f"<br>{label}: {found}</figure>"
        )
    names = ", ".join(_text(r.name) for r in results)
    return (
        f"<h2>Images</h2><p>Below each image what it shows and what was seen in it by {names}.</p>"
        '<input type=checkbox id="wrong-only"><label for="wrong-only"> only those that were read '
        f'wrongly</label><div class="images">{"".join(parts)}</div>'
    )


def _png(image):
    """A grey image, black on white, as a PNG file in base 64."""
    height, width = image.shape
    rows = b"".join(b"\0" + bytes(255 - int(v) for v in row) for row in image)

    def chunk(kind, data):
        crc = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", crc)

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
    data += chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return base64.b64encode(data).decode()
