"""Importers that are not there yet."""

from ..._later import placeholder

_NAMES = (
    "from_caffe from_caffe2 from_coreml from_darknet from_keras from_mxnet from_oneflow "
    "from_paddle from_pytorch from_tensorflow from_tflite"
)
for _name in _NAMES.split():
    globals()[_name] = placeholder(
        f"tenon.relay.frontend.{_name}", "export the model to ONNX and read it by from_onnx"
    )
