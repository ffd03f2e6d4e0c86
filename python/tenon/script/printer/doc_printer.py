"""The function by its old module name."""

from .doc import to_python_script  # noqa: F401
