"""What memory a program needs, and when."""

from .analysis import extract_buffer_info

__all__ = ["extract_buffer_info"]
