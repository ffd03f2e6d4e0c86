"""Computes on sparse matrices: the operators themselves are `tenon.topi.nn.sparse_dense` and its
neighbours."""

from . import utils

__all__ = ["utils"]
