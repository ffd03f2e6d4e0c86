"""Evaluation of single expressions."""

import ast


class ExprEvaluator:
    """Evaluates expressions over a table of names."""

    @staticmethod
    def eval(parser, value_table, node):
        """The value of an expression.

        Parameters
        ----------
        parser : object
            Kept for programs that give one.
        value_table : dict of str
            What the names in it mean.
        node : ast.expr
            The expression. It is evaluated as Python: give no tree of a text that you do not trust.

        Returns
        -------
        Any
        """
        tree = ast.fix_missing_locations(ast.Expression(node))
        return eval(compile(tree, "<script>", "eval"), {}, dict(value_table))  # noqa: S307


eval_expr = ExprEvaluator.eval
