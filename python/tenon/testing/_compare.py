"""Comparison of arrays and gradients, and of modules before and after a pass."""

import inspect
import math

__all__ = [
    "CompareBeforeAfter",
    "assert_allclose",
    "assert_prim_expr_equal",
    "check_bool_expr_is_true",
    "check_int_constraints_trans_consistency",
    "check_numerical_grads",
]


def assert_allclose(actual, desired, rtol=1e-7, atol=1e-7):
    """Check that two arrays agree: ``|actual - desired| <= atol + rtol * |desired|``.

    Parameters
    ----------
    actual, desired : array-like
        Values of one shape; NDArrays are fetched. Unlike numpy's function, nothing is broadcast.
    rtol, atol : float
        Relative and absolute tolerance.

    Raises
    ------
    AssertionError
        They differ; the text shows where.
    """
    import numpy as np

    actual, desired = (np.asanyarray(_fetch(x)) for x in (actual, desired))
    np.testing.assert_allclose(actual.shape, desired.shape, err_msg="shapes differ")
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=True)


def _fetch(x):
    return x.numpy() if hasattr(x, "numpy") and hasattr(x, "copyto") else x


def check_numerical_grads(
    function, input_values, grad_values, function_value=None, delta=1e-3, atol=1e-2, rtol=0.1
):
    """Check gradients against differences of the function.

    The error over all directions is compared: it must stay below ``atol * sqrt(n) + rtol * |grad|``
    for n the number of elements.

    Parameters
    ----------
    function : function (*inputs) or (**inputs) -> scalar
        The function.
    input_values : list or dict of str to numpy.ndarray
        Where to differentiate, as positional or keyword arguments.
    grad_values : list or dict of numpy.ndarray
        The gradients to check, in the same form.
    function_value : scalar, optional
        ``function(*inputs)``, if known.
    delta : float
        Step of the differences.
    atol, rtol : float
        Tolerances.

    Raises
    ------
    AssertionError
        A gradient is off.
    """
    import numpy as np

    names = list(input_values) if isinstance(input_values, dict) else range(len(input_values))
    values = {name: np.asarray(input_values[name]) for name in names}

    def call(changed):
        if isinstance(input_values, dict):
            return float(np.asarray(function(**changed)))
        return float(np.asarray(function(*(changed[name] for name in names))))

    base = call(values) if function_value is None else float(np.asarray(function_value))

    def derivative(name, index, step):
        moved = values[name].copy()
        moved[index] += step
        return (call({**values, name: moved}) - base) / step

    for name in names:
        grad = np.asarray(grad_values[name])
        if grad.shape != values[name].shape:
            raise AssertionError(
                f"gradient of {name!r}: expected shape {values[name].shape}, got {grad.shape}"
            )
        numeric = np.zeros(grad.shape, dtype="float64")
        for index in np.ndindex(*grad.shape):
            numeric[index] = _nearer(
                grad[index], derivative(name, index, delta), derivative(name, index, -delta)
            )
        distance = np.sqrt(np.sum((numeric - grad) ** 2))
        scale = np.sqrt(np.sum(numeric**2))
        if not distance <= atol * np.sqrt(grad.size) + rtol * scale:
            raise AssertionError(
                f"gradient of {name!r} is off: |analytical - numerical| = {distance}, "
                f"|numerical| = {scale}\nanalytical:\n{grad}\nnumerical:\n{numeric}"
            )


def _nearer(wanted, right, left):
    """The difference quotient to compare with: where the two sides disagree there is a kink, and
    either slope is a gradient."""
    if abs(right - left) > 0.1 * max(abs(right), abs(left), 1e-3):
        return right if abs(right - wanted) < abs(left - wanted) else left
    return (right + left) / 2


def assert_prim_expr_equal(lhs, rhs):
    """Check that two expressions always have the same value.

    Parameters
    ----------
    lhs, rhs : PrimExpr or number
        The expressions.

    Raises
    ------
    ValueError
        It cannot be proved.
    """
    from .. import arith

    if not arith.Analyzer().can_prove_equal(lhs, rhs):
        raise ValueError(f"{lhs} and {rhs} are not equal")


def check_bool_expr_is_true(bool_expr, vranges, cond=None):
    """Check that an expression holds for all values of its variables, by trying them.

    Parameters
    ----------
    bool_expr : PrimExpr
        The expression.
    vranges : dict of Var to Range
        Values of the variables; constant ranges.
    cond : PrimExpr, optional
        Only values for which this holds count.

    Raises
    ------
    AssertionError
        It does not hold; the text has the values.
    """
    from .. import tir

    if cond is not None:
        bool_expr = tir.any(tir.Not(cond), bool_expr)
    point = _counterexample(bool_expr, vranges)
    if point is not None:
        raise AssertionError(
            f"Expr {bool_expr}\nis not true on {vranges}\nCounterexample: {_text(point)}"
        )


_INTERPRETED = 20_000  # points that are tried without a compiler


def _counterexample(condition, ranges):
    """The first values of the variables for which the condition does not hold; None: there are
    none. A program tries them all."""
    import numpy as np

    from .. import IRModule, build, cpu, nd, runtime, tir

    if tir.analysis.undefined_vars(condition, list(ranges)):
        known = ", ".join(str(v.name) for v in ranges)
        raise ValueError(f"{condition} has no value where only {known} are known")
    extents = [int(r.extent) for r in ranges.values()]
    count = math.prod(extents)
    if count == 0:
        return None
    found = tir.decl_buffer((1,), "int64", name="found")
    handle, zero = tir.Var("found", "handle"), tir.const(0, "int64")
    number = tir.const(0, "int64")
    for var, extent in zip(ranges, extents, strict=True):
        number = number * extent + (var - tir.const(int(ranges[var].min), var.dtype)).astype(
            "int64"
        )
    known = tir.BufferLoad(found, [zero])
    note = tir.IfThenElse(tir.Not(condition), tir.BufferStore(found, number, [zero]), None)
    body = tir.IfThenElse(known < 0, note, None)
    for var, extent in reversed(list(zip(ranges, extents, strict=True))):
        first = tir.const(int(ranges[var].min), var.dtype)
        body = tir.For(var, first, tir.const(extent, var.dtype), tir.ForKind.SERIAL, body)
    func = tir.PrimFunc([handle], body, buffer_map={handle: found})
    mod = IRModule({"main": func.with_attr("global_symbol", "main")})
    compiled = count > _INTERPRETED and runtime.enabled("llvm")
    result = nd.array(np.array([-1], "int64"), cpu())
    build(mod, target="llvm" if compiled else "stackvm")["main"](result)
    at = int(result.numpy()[0])
    if at < 0:
        return None
    values = np.unravel_index(at, extents)
    return {
        var: int(r.min) + int(value) for (var, r), value in zip(ranges.items(), values, strict=True)
    }


def check_int_constraints_trans_consistency(constraints_trans, vranges=None):
    """Check that a transformation of integer constraints is one to one, by trying all values.

    Each solution of the source must map to a solution of the destination and back to itself, and
    the other way round.

    Parameters
    ----------
    constraints_trans : arith.IntConstraintsTransform
        The transformation.
    vranges : dict of Var to Range, optional
        Values of variables for which the constraints have no range.

    Raises
    ------
    AssertionError
        A value does not map as it must; the text has it.
    """
    trans = constraints_trans
    _check_forward(trans.src, trans.dst, trans.dst_to_src, trans.src_to_dst, vranges or {})
    _check_forward(trans.dst, trans.src, trans.src_to_dst, trans.dst_to_src, vranges or {})


def _check_forward(one, two, to_two, to_one, vranges):
    """Solutions of `one` map to solutions of `two`, and back to themselves."""
    from .. import tir

    ranges = {**vranges, **dict(one.ranges.items())}
    image = {v: to_two[v] for v in two.variables if v in to_two}
    put = lambda e: tir.stmt_functor.substitute(e, image)  # noqa: E731
    true = tir.const(True, "bool")
    # without solutions nothing is mapped
    wanted = [true] if len(image) == len(two.variables) else [tir.const(False, "bool")]
    wanted += [put(relation) for relation in two.relations]
    for v in two.variables:
        if v in two.ranges and v in image:
            low, extent = two.ranges[v].min, two.ranges[v].extent
            wanted += [put(low) <= image[v], image[v] < put(low + extent)]
    wanted += [tir.EQ(put(to_one[v]), v) if v in to_one else ~true for v in one.variables]
    solved = tir.all(true, true, *one.relations)
    point = _counterexample(tir.any(tir.Not(solved), tir.all(true, true, *wanted)), ranges)
    if point is not None:
        values = {v: _value_at(e, point) for v, e in image.items()}
        raise AssertionError(f"{_text(point)} becomes {_text(values)}, which is wrong")


def _text(point):
    return ", ".join(f"{var.name} = {value}" for var, value in point.items())


def _value_at(expr, point):
    """Value of an integer or bool expression at values of its variables."""
    from .. import arith, tir

    analyzer = arith.Analyzer()
    for var, value in point.items():
        analyzer.bind(var, tir.const(value, var.dtype))
    result = analyzer.simplify(expr)
    if not isinstance(result, tir.IntImm):
        known = ", ".join(str(v.name) for v in point)
        raise ValueError(f"{expr} has no value where only {known} are known")
    return int(result)


class CompareBeforeAfter:
    """Base of test classes that run a pass and compare the result.

    A subclass defines

    - ``before`` or ``Before``: what goes in. An `IRModule`, a `PrimFunc`, a function in TVMScript
      (without ``self``, the decorator may be left out), a class of such functions, or a method or
      fixture that returns one of these (its parameters are fixtures).
    - ``transform``: a pass, or a method or fixture that returns one.
    - ``expected`` or ``Expected``: what must come out, given like ``before``; an exception class
      if the transform must fail; left out, nothing may change.

    The names of single functions are not compared.

    Attributes
    ----------
    check_well_formed : bool
        Check the scripts when they are parsed.
    """

    check_well_formed = True

    def __init_subclass__(cls):
        for name in ("before", "expected"):
            given = [n for n in (name, name.capitalize()) if n in cls.__dict__]
            if len(given) > 1:
                raise TypeError(f"{cls.__name__}: define {given[0]} or {given[1]}, not both")
            if given:
                setattr(cls, name, cls._normalize(cls.__dict__[given[0]], name))
        if "transform" in cls.__dict__:
            cls.transform = cls._normalize_transform(cls.__dict__["transform"])
        if not hasattr(cls, "expected") and hasattr(cls, "before"):
            cls.expected = cls._unchanged()

    @classmethod
    def _normalize(cls, func, name="before"):
        import pytest

        if _is_fixture(func) or isinstance(func, property):
            return func
        fixture = pytest.fixture(name=name)
        if inspect.isclass(func):
            if issubclass(func, Exception):
                return fixture(lambda self: func)
            return fixture(lambda self: _script_module(func, cls))
        if inspect.isfunction(func):
            if "self" in inspect.signature(func).parameters:
                return fixture(func)
            return fixture(lambda self: _script_function(func, cls))
        return fixture(lambda self: func)

    _normalize_before = _normalize_expected = _normalize

    @classmethod
    def _normalize_transform(cls, transform):
        import pytest

        if _is_fixture(transform):
            return transform
        is_pass = hasattr(transform, "info")  # passes are callable too
        if is_pass:
            return pytest.fixture(name="transform")(lambda self: _of_any_program(transform))
        if inspect.isclass(transform) or not callable(transform):
            return pytest.fixture(name="transform")(lambda self: transform)
        names = list(inspect.signature(transform).parameters)
        if names[:1] != ["self"] or len(names) == 2 and names[1] in ("mod", "m"):

            def bound(self):
                return (lambda mod: transform(self, mod)) if names[:1] == ["self"] else transform

            return pytest.fixture(name="transform")(bound)
        return pytest.fixture(name="transform")(transform)

    @staticmethod
    def _unchanged():
        import pytest

        return pytest.fixture(name="expected")(lambda self, before: before)

    def test_compare(self, before, expected, transform):
        """Run the pass and compare."""
        import pytest

        from .. import ir

        alone = _is_function(before)
        given = ir.IRModule({"main": before}) if alone else before
        if inspect.isclass(expected) and issubclass(expected, BaseException):
            with pytest.raises(expected):
                transform(given)
            return
        after = transform(given)
        if alone and _is_function(expected):
            after = after["main"].with_attr("global_symbol", "main")
            expected = expected.with_attr("global_symbol", "main")
        try:
            ir.assert_structural_equal(after, expected)
        except ValueError as err:
            raise ValueError(
                f"IR after the pass differs from what is expected.\nbefore:\n{before}\n\n"
                f"after:\n{after}\n\nexpected:\n{expected}\n\n{err}"
            ) from err


def _of_any_program(run):
    """A pass that takes single functions too, and returns what became of them."""
    from .. import ir

    def apply(program):
        return (
            run(ir.IRModule({"main": program}))["main"] if _is_function(program) else run(program)
        )

    return apply


def _is_fixture(func):
    return hasattr(func, "_pytestfixturefunction") or type(func).__name__ in (
        "FixtureFunctionDefinition",
    )


def _is_ir(value):
    from ..runtime import Object

    return isinstance(value, Object)


def _is_function(value):
    return _is_ir(value) and type(value).__name__ in ("PrimFunc", "Function")


def _script_module(cls, owner):
    """The module of a class without a decorator; its functions may have one."""
    from .. import ir
    from ..script import ir_module

    members = {n: f for n, f in vars(cls).items() if not n.startswith("_")}
    if all(_is_ir(f) for f in members.values()):
        return ir_module(cls, check_well_formed=owner.check_well_formed)
    functions = {n: f if _is_ir(f) else _script_function(f, owner) for n, f in members.items()}
    return ir.IRModule({n: f.with_attr("global_symbol", n) for n, f in functions.items()})


def _script_function(func, owner):
    from ..script import tir

    return tir.prim_func(func, check_well_formed=owner.check_well_formed)
