"""Operators for code generators of their own."""

from . import register
from .register import get_pattern_table, register_pattern_table

__all__ = ["get_pattern_table", "register", "register_pattern_table"]
