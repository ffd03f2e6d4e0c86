"""What programs use of the parser itself: sources, syntax trees, evaluation of expressions."""

from . import diagnostics, doc_core, entry, evaluator
from .diagnostics import Source
from .entry import parse

doc = doc_core
