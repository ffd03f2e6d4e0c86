"""Syntax trees by their older name."""

from .doc_core import *  # noqa: F403
