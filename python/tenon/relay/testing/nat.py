"""Natural numbers as data: zero, and successors."""


def add_nat_definitions(prelude):
    """Add the type nat and its functions to the module of a prelude."""
    prelude.mod.import_from_std("nat.rly")


def make_nat_expr(prelude, n):
    """The natural number n as an expression.

    Parameters
    ----------
    prelude : Prelude
        Its module has the definitions of ``nat.rly``.
    n : int
        The number.

    Returns
    -------
    RelayExpr
    """
    if n < 0:
        raise ValueError(f"make_nat_expr: expected a natural number, got {n}")
    _, zero, successor = prelude.mod.get_type("nat")
    number = zero()
    for _ in range(n):
        number = successor(number)
    return number


def count(prelude, n):
    """How many successors a value (ConstructorValue) or an expression of the type nat has; int."""
    _, zero, successor = prelude.mod.get_type("nat")
    number = 0
    while True:
        tag, fields = _parts(n, zero, successor)
        if tag == zero.tag:
            return number
        n = fields[0]
        number += 1


def _parts(n, zero, successor):
    """Tag and fields of a value or of a call of a constructor."""
    if hasattr(n, "tag"):
        return n.tag, n.fields
    head = getattr(n, "op", n)
    if head not in (zero, successor):
        raise TypeError(f"count: expected a natural number, got {n}")
    return head.tag, getattr(n, "args", [])


def make_nat_value(prelude, n):
    """The natural number n as a value (ConstructorValue)."""
    from ..backend.interpreter import ConstructorValue

    if n < 0:
        raise ValueError(f"make_nat_value: expected a natural number, got {n}")
    _, zero, successor = prelude.mod.get_type("nat")
    number = ConstructorValue(zero.tag, [], zero)
    for _ in range(n):
        number = ConstructorValue(successor.tag, [number], successor)
    return number
