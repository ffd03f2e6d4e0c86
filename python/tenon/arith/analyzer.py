"""The analyzer, which simplifies and proves index expressions, and what it finds out."""

import enum

from .._ffi.registry import register_object
from ..ir.base import Node
from . import _ffi_api


class ProofStrength(enum.IntEnum):
    """How much work a proof is worth."""

    DEFAULT = 0
    SYMBOLIC_BOUND = 1


class Extension(enum.Flag):
    """Costlier techniques that can be asked for; accepted for existing programs."""

    NoExtensions = 0
    TransitivelyProveInequalities = 1
    ConvertBooleanToAndOfOrs = 2
    ApplyConstraintsToBooleanBranches = 4
    ComparisonOfProductAndSum = 8


@register_object("arith.ModularSet")
class ModularSet(Node):
    """The integers ``base + coeff * k``.

    Parameters
    ----------
    coeff : int
        Distance of neighbouring values; 0 if there is only one.
    base : int
        One of the values.
    """

    __slots__ = ()

    def __init__(self, coeff, base):
        self.__init_handle_by_constructor__(_ffi_api.ModularSet, coeff, base)


@register_object("arith.ConstIntBound")
class ConstIntBound(Node):
    """The integers from `min_value` to `max_value`; NEG_INF and POS_INF: without a limit.

    Parameters
    ----------
    min_value, max_value : int
        Both are included.
    """

    __slots__ = ()

    POS_INF = (1 << 63) - 1
    NEG_INF = -POS_INF

    def __init__(self, min_value, max_value):
        self.__init_handle_by_constructor__(_ffi_api.ConstIntBound, min_value, max_value)


class ConstraintScope:
    """While it is entered (``with``), a condition is taken to hold. Made by
    ``Analyzer.constraint_scope``."""

    def __init__(self, handle, constraint):
        self._handle = handle
        self._constraint = constraint
        self._mark = None

    def __enter__(self):
        self._mark = _ffi_api.AnalyzerEnterConstraint(self._handle, self._constraint)
        return self

    def __exit__(self, kind, value, trace):
        _ffi_api.AnalyzerExitConstraint(self._handle, self._mark)


class Analyzer:
    """Simplifies and proves expressions over integers, knowing ranges of variables and conditions.

    Examples
    --------
    >>> analyzer = tenon.arith.Analyzer()
    >>> analyzer.bind(x, tenon.ir.Range(0, 8))
    >>> analyzer.simplify((y * 8 + x) // 8)
    y
    """

    def __init__(self):
        self._handle = _ffi_api.AnalyzerNew()
        self.enabled_extensions = Extension.NoExtensions

    def const_int_bound(self, expr):
        """Constant bounds of an expression; ConstIntBound."""
        return _ffi_api.AnalyzerConstIntBound(self._handle, expr)

    def modular_set(self, expr):
        """What is known of an expression modulo a number; ModularSet."""
        return _ffi_api.AnalyzerModularSet(self._handle, expr)

    def simplify(self, expr, steps=2):
        """Rewriting and canonical form in turns.

        Parameters
        ----------
        expr : PrimExpr
            What is simplified.
        steps : int
            Number of turns.

        Returns
        -------
        result : PrimExpr
        """
        return _ffi_api.AnalyzerSimplify(self._handle, expr, steps)

    def rewrite_simplify(self, expr):
        """Simplification by rewrite rules."""
        return _ffi_api.AnalyzerRewriteSimplify(self._handle, expr)

    @property
    def rewrite_simplify_stats(self):
        """Number of rules that were applied, as a dict."""
        return {"rewrites_performed": _ffi_api.AnalyzerRewrites(self._handle)}

    def reset_rewrite_simplify_stats(self):
        """Counts from zero again."""
        _ffi_api.AnalyzerResetRewrites(self._handle)

    def canonical_simplify(self, expr):
        """The canonical form: sums of products in one order."""
        return _ffi_api.AnalyzerCanonicalSimplify(self._handle, expr)

    def int_set(self, expr, dom_map=None):
        """Symbolic bounds of an expression.

        Parameters
        ----------
        expr : PrimExpr
            The expression.
        dom_map : dict of Var to IntSet
            Domains of variables; others stand for themselves.

        Returns
        -------
        result : IntervalSet
        """
        return _ffi_api.AnalyzerIntSet(self._handle, expr, dom_map or {})

    def can_prove(self, expr, strength=ProofStrength.DEFAULT):
        """Whether a condition is known to hold always; False if that cannot be told."""
        return _ffi_api.AnalyzerCanProve(self._handle, expr, int(strength))

    def can_prove_equal(self, lhs, rhs):
        """Whether two expressions are known to be equal always."""
        return _ffi_api.AnalyzerCanProveEqual(self._handle, lhs, rhs)

    def bind(self, var, expr, allow_override=False):
        """Tell the value of a variable, or its range.

        Parameters
        ----------
        var : Var
            The variable.
        expr : PrimExpr or Range
            Value or range.
        allow_override : bool
            Whether something else may be known already.

        Raises
        ------
        ValueError
            Something else is known of it.
        """
        _ffi_api.AnalyzerBind(self._handle, var, expr, allow_override)

    def update(self, var, info, override=False):
        """Tell one thing of a variable, besides what is known.

        Parameters
        ----------
        var : Var
            The variable.
        info : ConstIntBound, ModularSet or IntervalSet
            What is known.
        override : bool
            Whether it replaces what was known of the same kind.
        """
        _ffi_api.AnalyzerUpdate(self._handle, var, info, override)

    def constraint_scope(self, constraint):
        """A context (``with``) in which a condition is taken to hold.

        Parameters
        ----------
        constraint : PrimExpr
            The condition, bool.
        """
        return ConstraintScope(self._handle, constraint)
