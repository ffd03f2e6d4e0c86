"""Operators that `ConvertLayout` leaves as they are."""

from . import _ffi_api


class LayoutConfig:
    """While entered, passes `ConvertLayout` of this thread leave some of the operators that they
    were given layouts for as they are.

    Parameters
    ----------
    skip_layers : list of int, optional
        Their numbers, in the order in which they are computed, from 0.
    """

    current = None

    def __init__(self, skip_layers=None):
        self.skip_layers = list(skip_layers or [])

    def __enter__(self):
        self._before = LayoutConfig.current, _ffi_api.SetLayoutConfig(self.skip_layers, 0)
        LayoutConfig.current = self
        return self

    def __exit__(self, *_):
        LayoutConfig.current, (skipped, seen) = self._before
        _ffi_api.SetLayoutConfig(skipped, seen)
