"""Text of graphs in the DOT language."""

import html


def quoted(text):
    """A string of the language; line ends become those of labels. Words stay as they are."""
    if _is_word(str(text)):
        return str(text)
    text = str(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'


def _is_word(text):
    reserved = {"node", "edge", "graph", "digraph", "subgraph", "strict"}
    ascii_word = text.replace("_", "a").isalnum() and text.isascii()
    # a word that begins with a digit is a number, or none at all
    plain = text.isdigit() or (ascii_word and not text[0].isdigit())
    return plain and text.lower() not in reserved


class Html(str):
    """A label in the language's form of HTML: stands between angle brackets."""


def attributes(given):
    """``[name=value ...]`` of a dict, with a leading space; nothing for an empty one."""
    if not given:
        return ""
    items = (f"{k}=<{v}>" if isinstance(v, Html) else f"{k}={quoted(v)}" for k, v in given.items())
    return " [" + " ".join(items) + "]"


def broken(text, width):
    """Text for an HTML label, in lines of at most `width` characters."""
    lines = []
    for line in str(text).splitlines() or [""]:
        lines += [line[i : i + width] for i in range(0, len(line), width)] or [""]
    return "<br/>".join(html.escape(line) for line in lines)


class Dot:
    """A graph that grows line by line.

    Parameters
    ----------
    name : str
        Name of the graph.
    keyword : str
        ``digraph``, or ``subgraph`` for one that is part of another.
    """

    def __init__(self, name, keyword="digraph"):
        self.head = f"{keyword} {quoted(name)} {{"
        self.lines = []

    def set(self, **values):
        """Attributes of the graph itself."""
        for key, value in values.items():
            self.lines.append(f"{key}={quoted(value)}")

    def default(self, kind, given):
        """Attributes of all of a kind: ``graph``, ``node`` or ``edge``."""
        if given:
            self.lines.append(kind + attributes(given))

    def node(self, name, **given):
        """A node; its name is an identifier, or gets quoted."""
        self.lines.append(quoted(name) + attributes(given))

    def edge(self, start, end, **given):
        """An edge; an end may be ``node:port``."""
        self.lines.append(f"{_end(start)} -> {_end(end)}{attributes(given)}")

    def add(self, other):
        """A graph as part of this one."""
        self.lines.append(other.text())

    def text(self):
        """The whole graph."""
        body = "\n".join(self.lines).replace("\n", "\n\t")
        return f"{self.head}\n\t{body}\n}}" if body else f"{self.head}\n}}"


def _end(end):
    node, colon, port = str(end).partition(":")
    return quoted(node) + (f":{port}" if colon else "")
