"""Automatic quantization: the names only, so that programs which import them load."""

from .._later import attach as _attach

__path__ = []
_attach(
    __name__,
    "models are not quantized yet; import one that is (docs/onnx.md)",
    {
        "": (
            "QAnnotateKind QConfig annotate calibrate current_qconfig partition "
            "prerequisite_optimize qconfig quantize realize register_annotate_function "
            "register_partition_function"
        ),
        "_annotate": "QAnnotateKind attach_simulated_quantize register_annotate_function",
        "_calibrate": "calibrate",
        "_partition": "register_partition_function",
        "quantize": "QConfig current_qconfig qconfig quantize",
    },
)
