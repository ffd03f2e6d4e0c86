"""Marks with devices, which take several forms."""

from ...._ffi.runtime_ctypes import Device
from ....target import VirtualDevice
from .. import _make


def _virtual_device(device, what):
    """A device, its name or a virtual device as a virtual device."""
    from ....runtime import device as device_of

    if isinstance(device, str):
        device = device_of(device)
    if isinstance(device, Device):
        return VirtualDevice(device)
    if isinstance(device, VirtualDevice):
        return device
    raise ValueError(
        f"{what}: expected a Device, its name or a VirtualDevice, got {type(device).__name__}"
    )


def on_device(body, device, constrain_result=False, constrain_body=True):
    """Compute an expression on a device.

    The value of the annotation goes by itself to where it is wanted: `transform.PlanDevices` puts
    copies where that is another device.

    Parameters
    ----------
    body : RelayExpr
        The expression.
    device : Device, str or VirtualDevice
        The device.
    constrain_result : bool
        Is the value of the annotation there, too?
    constrain_body : bool
        Is the expression computed there? If neither holds, the mark names no device.

    Returns
    -------
    RelayExpr

    Raises
    ------
    ValueError
        `device` is not a device.
    """
    place = _virtual_device(device, "on_device")
    if not constrain_result and not constrain_body:
        place = VirtualDevice()
    return _make.on_device(body, place, constrain_result, constrain_body)


def device_copy(data, src_device, dst_device):
    """Copy a value from a device to another.

    Parameters
    ----------
    data : RelayExpr
        The value.
    src_device, dst_device : Device, str or VirtualDevice
        Where it is, and where it goes.

    Returns
    -------
    RelayExpr

    Raises
    ------
    ValueError
        One of them is not a device.
    """
    return _make.device_copy(
        data,
        _virtual_device(src_device, "device_copy"),
        _virtual_device(dst_device, "device_copy"),
    )


__all__ = ["device_copy", "on_device"]
