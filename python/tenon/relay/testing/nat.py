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
