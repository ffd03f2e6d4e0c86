"""Reading models."""

from pathlib import Path

from .model import TVMCException, TVMCImportError, TVMCModel


def _load_onnx(path, shape_dict, options):
    from ... import relay

    try:
        import onnx
    except ImportError:
        raise TVMCImportError("onnx") from None
    return relay.frontend.from_onnx(onnx.load(path), shape=shape_dict, **options)


def _load_relay(path, shape_dict, options):
    from ... import parser

    text = Path(path).read_text(encoding="utf-8")
    if "#[version" not in text:
        raise TVMCException(f'{path}: Relay text begins with its version: #[version = "0.0.5"]')
    if "meta[" in text and "#[metadata]" not in text:
        raise TVMCException(
            f"{path}: the text has constants but no #[metadata]; write it by "
            "mod.astext(show_meta_data=True)"
        )
    return parser.fromtext(text), {}


# name -> ends of files, reader
_READERS = {"onnx": (("onnx",), _load_onnx), "relay": (("relay",), _load_relay)}
# formats that need a framework of their own
_LATER = {
    "keras": ("h5",),
    "pb": ("pb",),
    "tflite": ("tflite",),
    "pytorch": ("pth", "zip"),
    "paddle": ("pdmodel",),
}


def get_frontend_names():
    """Names of the formats that can be read; list of str."""
    return list(_READERS)


def _guess(path):
    end = Path(path).suffix[1:].lower()
    for name, (ends, _) in _READERS.items():
        if end in ends:
            return name
    for name, ends in _LATER.items():
        if end in ends:
            return name
    raise TVMCException(f"{path}: the name does not tell the format; give model_format")


def load_model(path, model_format=None, shape_dict=None, **kwargs):
    """Read a model.

    Parameters
    ----------
    path : str
        The file.
    model_format : str, optional
        ``onnx`` or ``relay``; by the file's name by default.
    shape_dict : dict of str to list, optional
        Extents of inputs that the model leaves open.
    **kwargs
        More arguments for the importer.

    Returns
    -------
    TVMCModel

    Raises
    ------
    TVMCException
        The format is not known, or cannot be read.
    """
    name = model_format or _guess(path)
    if name not in _READERS:
        known = ", ".join(_READERS)
        raise TVMCException(f"format {name} is not there: export the model to one of {known}")
    mod, params = _READERS[name][1](str(path), shape_dict, kwargs)
    return TVMCModel(mod, params)
