"""Executors of built programs."""

from .aot_executor import AotModule

__all__ = ["AotModule"]
