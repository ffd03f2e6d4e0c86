"""Models of other frameworks as Relay programs."""

from ..._lazy import attach as _attach

_WHERE = {".onnx": "from_onnx"}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}
__getattr__, __dir__ = _attach(__name__, ("common", "onnx"), _NAMES, fallback="._not_yet")
