"""Reading models."""

from pathlib import Path

from .model import TVMCException, TVMCImportError, TVMCModel


class Frontend:
    """Reads models of a format."""

    name = ""
    suffixes = ()

    def load(self, path, shape_dict=None, **kwargs):
        """Read a model.

        Parameters
        ----------
        path : str
            The file.
        shape_dict : dict of str to list, optional
            Extents of inputs that the model leaves open.
        **kwargs
            More arguments for the importer.

        Returns
        -------
        (IRModule, dict of str to NDArray)
        """
        raise TVMCException(f"format {self.name} is not there: export the model to onnx or relay")


class OnnxFrontend(Frontend):
    """ONNX models."""

    name = "onnx"
    suffixes = ("onnx",)

    def load(self, path, shape_dict=None, **kwargs):
        """See `Frontend.load`."""
        from ... import relay

        try:
            import onnx
        except ImportError:
            raise TVMCImportError("onnx") from None
        return relay.frontend.from_onnx(onnx.load(path), shape=shape_dict, **kwargs)


class RelayFrontend(Frontend):
    """Relay text."""

    name = "relay"
    suffixes = ("relay",)

    def load(self, path, shape_dict=None, **kwargs):
        """See `Frontend.load`."""
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


def _other(title, name, *suffixes):
    doc = f"Models of {title}, which cannot be read yet."
    return type(
        f"{title}Frontend", (Frontend,), {"name": name, "suffixes": suffixes, "__doc__": doc}
    )


KerasFrontend = _other("Keras", "keras", "h5")
TensorflowFrontend = _other("Tensorflow", "pb", "pb")
TFLiteFrontend = _other("TFLite", "tflite", "tflite")
PyTorchFrontend = _other("PyTorch", "pytorch", "pth", "zip")
PaddleFrontend = _other("Paddle", "paddle", "pdmodel")
_ALL = [OnnxFrontend, RelayFrontend, KerasFrontend, TensorflowFrontend, TFLiteFrontend]
_ALL += [PyTorchFrontend, PaddleFrontend]


def get_frontend_names():
    """Names of the formats; list of str."""
    return [frontend.name for frontend in _ALL]


def get_frontend_by_name(name):
    """What reads a format.

    Parameters
    ----------
    name : str
        The format.

    Returns
    -------
    Frontend

    Raises
    ------
    TVMCException
        The format is unknown.
    """
    for frontend in _ALL:
        if frontend.name == name:
            return frontend()
    raise TVMCException(f"unknown format {name!r}: expected one of {get_frontend_names()}")


def guess_frontend(path):
    """What reads a file, by its name.

    Parameters
    ----------
    path : str
        The file.

    Returns
    -------
    Frontend

    Raises
    ------
    TVMCException
        The name does not tell.
    """
    end = Path(path).suffix[1:].lower()
    for frontend in _ALL:
        if end in frontend.suffixes:
            return frontend()
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
    frontend = get_frontend_by_name(model_format) if model_format else guess_frontend(path)
    mod, params = frontend.load(str(path), shape_dict, **kwargs)
    return TVMCModel(mod, params)
