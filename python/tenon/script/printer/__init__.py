"""Documents: Python text as a tree."""

from . import doc  # noqa: F401
from .doc import to_python_script  # noqa: F401
