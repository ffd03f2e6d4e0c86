"""Functions whose arguments have another order than those of the operators."""

from ... import relay
from .._calls import apply


def _resize(name):
    def resize(
        data,
        roi,
        size,
        layout=None,
        method="linear",
        coordinate_transformation_mode="half_pixel",
        rounding_method="",
        bicubic_alpha=-0.5,
        bicubic_exclude=0,
        extrapolation_value=0.0,
        out_dtype=None,
        output_shape=None,
    ):
        """Data of another size; parameters as of the function in `tenon.relay.image`."""
        layout = layout or {"resize1d": "NCW", "resize2d": "NCHW", "resize3d": "NCDHW"}[name]
        return apply(
            getattr(relay.image, name),
            data,
            size,
            roi,
            layout,
            method,
            coordinate_transformation_mode,
            rounding_method,
            bicubic_alpha,
            bicubic_exclude,
            extrapolation_value,
            out_dtype,
        )

    resize.__name__ = resize.__qualname__ = name
    return resize


resize1d, resize2d, resize3d = _resize("resize1d"), _resize("resize2d"), _resize("resize3d")

__all__ = ["resize1d", "resize2d", "resize3d"]
