"""What `register_mixed_precision_conversion` may say of an operator.

Always, where its inputs allow it (FOLLOW), or never in the smaller type.
"""

MIXED_PRECISION_ALWAYS = 0
MIXED_PRECISION_FOLLOW = 1
MIXED_PRECISION_NEVER = 2
