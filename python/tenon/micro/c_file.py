"""Models as C that stands alone: one ``.c`` and one ``.h``, and the same C on this machine."""

import ctypes
import os
import subprocess
import tempfile

import numpy as np

from .. import nd
from .._ffi.registry import get_global_func
from ..ir.module import IRModule
from ..ir.transform import PassContext
from ..relay.build_module import bind_params_by_name
from ..target import Target

_FLAGS = ("-O2", "-std=c99", "-fPIC")
# Where these are given to the linker, loading the library makes the processor treat small numbers
# as zero: in the whole process.
_NOT_FOR_LINKING = ("-ffast-math", "-funsafe-math-optimizations", "-Ofast")


class CModel:
    """C files of a model.

    Attributes
    ----------
    name : str
        The prefix of everything in them: ``NAME_run``.
    folder : str
        Where ``NAME.c`` and ``NAME.h`` lie.
    inputs, outputs : list of (str, tuple of int, str)
        Name, shape and dtype, in the order of the structs.
    workspace_bytes, constant_bytes, stack_bytes : int
        Static memory, weights, and the largest arrays on the stack.
    live_bytes : int
        The least static memory that any order of the same operators' values in memory needs.
    """

    def __init__(self, name, folder, metadata):
        self.name = name
        self.folder = folder
        self.inputs = _tensors(metadata.inputs, metadata.input_tensor_types)
        self.outputs = _tensors(metadata.outputs, metadata.output_tensor_types)
        self.workspace_bytes = int(metadata.workspace_bytes)
        self.constant_bytes = int(metadata.constant_bytes)
        self.live_bytes = int(metadata.live_bytes)
        self.stack_bytes = int(metadata.stack_bytes)

    def measure(self, compiler):
        """What the C takes when a compiler makes it.

        Parameters
        ----------
        compiler : str
            A command, such as ``"arm-none-eabi-gcc -Os -mthumb -mcpu=cortex-m4"``; gcc from version
            10 on.

        Returns
        -------
        dict
            ``flash_bytes`` (code and constants, linked), ``memory_bytes`` (static variables),
            ``stack_bytes`` (frames of the deepest chain of calls from ``NAME_run`` on), and
            ``calls``: the functions outside, of the compiler's library for example, that are in
            none of these.

        Raises
        ------
        ValueError
            The compiler fails, or tells no call graph.
        OSError
            The compiler cannot be started.
        """
        path = os.path.join(self.folder, f"{self.name}.c")
        *figures, calls = get_global_func("export.CMeasure")(compiler, path, f"{self.name}_run")
        names = ("flash_bytes", "memory_bytes", "stack_bytes")
        found = dict(zip(names, map(int, figures), strict=True))
        return {**found, "calls": str(calls).split(", ") if str(calls) else []}

    def host(self, cc="cc", flags=()):
        """The very same C, compiled for this machine.

        Parameters
        ----------
        cc : str
            The compiler.
        flags : sequence of str
            Options besides ``-O2 -std=c99``.

        Returns
        -------
        HostTwin

        Raises
        ------
        RuntimeError
            The compiler fails; the message is what it says.
        """
        return HostTwin(self, cc, flags)


def _tensors(names, types):
    return [
        (str(n), tuple(int(d) for d in t.shape), str(t.dtype))
        for n, t in zip(names, types, strict=True)
    ]


class HostTwin:
    """A model's C files, compiled and loaded here; call it with inputs by position or name."""

    def __init__(self, model, cc="cc", flags=()):
        self.model = model
        self._folder = tempfile.TemporaryDirectory()
        path = os.path.join(self._folder.name, "model.so")
        sources = [os.path.join(os.path.abspath(model.folder), f"{model.name}.c")]
        tests = sources[0].removesuffix(".c") + "_selftest.c"
        sources += [tests] if os.path.exists(tests) else []
        self._do([cc, *_FLAGS, *flags, "-c", *sources])
        objects = [os.path.basename(s).removesuffix(".c") + ".o" for s in sources]
        linking = [f for f in flags if f not in _NOT_FOR_LINKING]
        self._do([cc, *linking, "-shared", *objects, "-o", path, "-lm"])
        self._library = ctypes.CDLL(path)
        self._run = getattr(self._library, f"{model.name}_run")

    def _do(self, command):
        done = subprocess.run(command, cwd=self._folder.name, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")

    def __call__(self, *args, **kwargs):
        """Runs the model.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            The output, or all of them where there are several.
        """
        given = dict(zip((name for name, _, _ in self.model.inputs), args, strict=False)) | kwargs
        values = []
        for name, shape, dtype in self.model.inputs:
            if name not in given:
                raise ValueError(f"{self.model.name}: the input {name} is missing")
            value = np.asarray(given.pop(name), dtype=dtype, order="C")
            if value.shape != shape:
                raise ValueError(f"{name}: expected the shape {shape}, got {value.shape}")
            values.append(value)
        if given or len(args) > len(values):
            names = sorted(given) or "too many arguments"
            raise ValueError(f"{self.model.name}: no such input: {names}")
        results = [np.empty(shape, dtype) for _, shape, dtype in self.model.outputs]
        status = self._run(_pointers(values), _pointers(results))
        if status != 0:
            raise RuntimeError(f"{self.model.name}_run returned {status}")
        return results[0] if len(results) == 1 else results

    def selftest(self):
        """What ``NAME_selftest`` returns; int, 0 where all is well."""
        return getattr(self._library, f"{self.model.name}_selftest")()


def _pointers(arrays):
    return (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))


def export_c(
    mod,
    folder,
    name="model",
    params=None,
    target="c",
    layout="plain",
    tests=None,
    tolerance=0.0,
    opt_level=3,
):
    """Writes a model as C99 that stands alone.

    ``NAME.h`` declares ``int NAME_run(const struct NAME_inputs *, struct NAME_outputs *)`` and what
    the structs point to. The code takes no memory from the heap, does not recurse and needs nothing
    but what operators take of ``math.h`` and ``string.h``.

    Parameters
    ----------
    mod : IRModule
        The program; extents must be known.
    folder : str
        Where to write, made when it is not there.
    name : str
        An identifier of C.
    params : dict of str to NDArray or array-like, optional
        Parameters that become constants.
    target : str or Target
        Of kind ``c``: ``tenon.target.target.micro(model)`` or ``"c -mcpu=cortex-m4"``.
    layout : str
        ``"plain"``, or what builds the files besides them: ``"cmake"``, ``"make"``, ``"arduino"``
        (a library), ``"zephyr"`` (an application).
    tests : list of dict, or of (dict, list of array), optional
        Inputs by name, and the outputs that are expected; without those the outputs of `host`. They
        become ``NAME_selftest.c`` with ``int NAME_selftest(void)``.
    tolerance : float
        By how much outputs may differ in the self test.
    opt_level : int
        How much to optimise.

    Returns
    -------
    CModel

    Raises
    ------
    ValueError
        A name that is not an identifier, another target, tests that do not fit.
    CodegenError
        An operator needs a runtime; nothing is written then.
    """
    if params:
        mod = IRModule.from_expr(bind_params_by_name(mod["main"], params))
    folder = os.path.abspath(folder)
    below = "src" if layout in ("arduino", "zephyr") else ""

    def write(inputs, outputs):
        export = get_global_func("export.CFile")
        with PassContext(opt_level=opt_level):
            metadata = export(
                mod, Target(target), name, folder, layout, inputs, outputs, float(tolerance)
            )
        return CModel(name, os.path.join(folder, below), metadata)

    model = write(None, None)
    if tests is None:
        return model
    return write(*_test_vectors(model, tests))


def _test_vectors(model, tests):
    twin = None
    inputs, outputs = [], []
    for test in tests:
        given, expected = test if isinstance(test, tuple) else (test, None)
        if expected is None:
            twin = twin or model.host()
            results = twin(**given)
            expected = results if isinstance(results, list) else [results]
        inputs += _arrays([given[name] for name, _, _ in model.inputs], model.inputs)
        outputs += _arrays(expected, model.outputs)
    return inputs, outputs


def _arrays(values, tensors):
    return [
        nd.array(np.asarray(value, dtype=dtype).reshape(shape))
        for value, (_, shape, dtype) in zip(values, tensors, strict=True)
    ]
