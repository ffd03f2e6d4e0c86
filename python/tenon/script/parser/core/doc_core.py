"""Nodes of syntax trees: those of Python's own ``ast``."""

# ruff: noqa: F403
from ast import *
from ast import AST, parse


def to_doc(node):
    """The tree itself: older programs translate between two kinds of trees."""
    return node


def from_doc(node):
    """The tree itself: older programs translate between two kinds of trees."""
    return node


__all__ = [name for name in dir() if not name.startswith("_")] + [AST.__name__, parse.__name__]
