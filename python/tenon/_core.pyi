"""The extension: values, functions, classes and errors of the library.

Written by tools/make_stubs: do not edit.
"""

from collections.abc import Iterator
from typing import Any

class DataType:
    """DataType(type_str): a scalar or vector type such as float32x4"""
    def __init__(self, type_str: Any) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    bits: int
    """bits of one lane"""
    lanes: int
    """lanes, 1 for a scalar"""
    type_code: int
    """a DLDataTypeCode"""

class Device:
    """Device(device_type, device_id=0)"""
    def __init__(self, device_type: Any, device_id: Any = ...) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    device_id: int
    """number among the devices of its kind"""
    device_type: int
    """number of the kind of device"""

class Object:
    """Base of everything that lives in the library."""
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __init_handle_by_constructor__(self, func: Any, *args: Any) -> Any:
        """__init_handle_by_constructor__(func, *args): take over the object that func returns"""
    def _move(self) -> Any:
        """_move(): as an argument, hands this wrapper's reference over to the function called"""
    handle: Any
    """address of the object as a fresh ctypes.c_void_p; its value is None after _move"""
    def same_as(self, other: Any) -> Any:
        """same_as(other): do both refer to one object?"""
    type_key: str
    """key of the object's type"""

class ObjectRValueRef:
    """A reference on its way to a function; made by Object._move()."""

class ADT(Object):
    """ADT(tag, fields): a constructed value, or a tuple (tag 0)."""
    def __init__(self, tag: Any, fields: Any) -> None: ...
    def __contains__(self, key: object) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def count(self, value: Any) -> Any:
        """count(value): number of elements equal to value"""
    def index(self, value: Any) -> Any:
        """index(value): position of the first element equal to value"""
    tag: int
    """number of the constructor; 0 for a tuple"""

class Array(Object):
    """Immutable sequence of objects. Slices are lists; equality is by content."""
    def __contains__(self, key: object) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def count(self, value: Any) -> Any:
        """count(value): number of elements equal to value"""
    def index(self, value: Any) -> Any:
        """index(value): position of the first element equal to value"""

class Function(Object):
    """A function of the library."""
    def __call__(self, *args: Any) -> Any: ...
    release_gil: bool
    """let other Python threads run during calls through this wrapper"""

class Map(Object):
    """Immutable mapping. String keys compare by content, objects by identity; order is kept."""
    def __contains__(self, key: object) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def get(self, key: Any, default: Any = ...) -> Any:
        """get(key, default=None): the value of key, or default"""
    def items(self) -> Any:
        """items(): list of (key, value)"""
    def keys(self) -> Any:
        """keys(): list of the keys in order of insertion"""
    def values(self) -> Any:
        """values(): list of the values"""

class ShapeTuple(Object):
    """ShapeTuple(ints): immutable sequence of 64-bit integers."""
    def __init__(self, ints: Any) -> None: ...
    def __contains__(self, key: object) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __getitem__(self, key: Any) -> Any: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def count(self, value: Any) -> Any:
        """count(value): number of elements equal to value"""
    def index(self, value: Any) -> Any:
        """index(value): position of the first element equal to value"""

class Tensor(Object):
    """A multi-dimensional array on a device."""
    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: Any = ...) -> Any:
        """__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)"""
    def __dlpack_device__(self) -> Any:
        """__dlpack_device__() -> (type, id)"""
    device: Device
    """where the memory is; Device"""
    dtype: str
    """type of the elements; str"""
    is_view: bool
    """does it borrow memory that a caller lent for the time of a call?"""
    ndim: int
    """number of dimensions"""
    shape: tuple[int, ...]
    """extents; tuple of int"""
    def to_dlpack(self) -> Any:
        """to_dlpack(): a capsule with which another library shares the memory, once"""

def class_of(type_key: Any) -> Any:
    """class_of(type_key): the Python class of a type"""

def convert_to_object(value: Any) -> Any:
    """convert_to_object(value): the object of the library for a Python value; None stays None"""

def from_buffer(x: Any) -> Any:
    """from_buffer(x): a new tensor with the content of an object that has the buffer protocol"""

def from_dlpack(x: Any) -> Any:
    """from_dlpack(x): a tensor over the memory of x, which has __dlpack__ or is a capsule"""

def get_global_func(name: Any) -> Any:
    """get_global_func(name): the function, or None if there is none"""

def list_global_func_names() -> Any:
    """list_global_func_names(): sorted list of str"""

def list_types() -> Any:
    """list_types() -> keys of all types"""

def load_json(text: Any) -> Any:
    """load_json(text): the object that was saved as text"""

def load_tensor(bytes: Any) -> Any:
    """load_tensor(bytes): the tensor that was pickled"""

def make_node(type_key: Any, fields: Any) -> Any:
    """make_node(type_key, fields): a node from field values"""

def register_class(type_key: Any, cls: Any) -> Any:
    """register_class(type_key, cls): objects of the type come out as cls; returns cls"""

def register_global_func(name: Any, func: Any, override: Any = ...) -> Any:
    """register_global_func(name, func, override=False): returns func"""

def remove_global_func(name: Any) -> Any:
    """remove_global_func(name)"""

def set_class_finder(f: Any) -> Any:
    """set_class_finder(f): f(type_key) is called before a class is made for a type without one; it may register one"""

def set_error_class(name: Any, cls: Any) -> Any:
    """set_error_class(name, cls): errors of this name are raised as cls"""

def set_log_handler(func: Any) -> Any:
    """set_log_handler(func): func(level, file, line, text) gets the warnings of calls"""

def set_value_class(name: Any, cls: Any) -> Any:
    """set_value_class(name, cls): results of a kind (Device, DataType, String, NDArray, Function, Module) come out as cls"""

def type_info(type_key: Any) -> Any:
    """type_info(type_key) -> dict(key, index, base, doc, fields=[(name, kind, class, flags, doc, default), ...])"""

def use_count(obj: Any) -> Any:
    """use_count(obj): number of references to the object"""
