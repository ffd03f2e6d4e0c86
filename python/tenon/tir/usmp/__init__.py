"""Static planning of memory: where tensors lie in pools."""

from . import utils
