"""Relay: graphs of operators over tensors, with functions, control flow and data types."""

from .._lazy import attach as _attach

_WHERE = {
    ".expr": (
        "Call Constant Expr If Let RefCreate RefRead RefWrite TempExpr Tuple TupleGetItem "
        "TupleWrapper Var bind const var CallWithFields ConstantWithFields IfWithFields "
        "LetWithFields RefCreateWithFields RefReadWithFields RefWriteWithFields "
        "TupleGetItemWithFields TupleWithFields VarWithFields"
    ),
    ".function": "Function FunctionWithFields",
    ".adt": (
        "Clause Constructor Match Pattern PatternConstructor PatternTuple PatternVar "
        "PatternWildcard TypeData"
    ),
    ".ty": (
        "Any FuncType GlobalTypeVar IncompleteType RefType ShapeVar TensorType TupleType Type "
        "TypeCall TypeConstraint TypeKind TypeRelation TypeVar is_dynamic scalar_type"
    ),
    ".scope_builder": "ScopeBuilder",
    ".base": "Id RelayNode astext pretty_print",
    "..ir.base": "Node SequentialSpan SourceName Span",
    "..ir.expr": "GlobalVar RelayExpr",
    "..ir.module": "IRModule",
    "..ir.op": "Op",
    ".build_module": "build create_executor optimize",
    ".transform": "SpanCheck build_config",
    "..runtime.params": "load_param_dict save_param_dict",
    ".expr_functor": "ExprFunctor ExprMutator ExprVisitor",
    ".type_functor": "TypeFunctor TypeMutator TypeVisitor",
    "..parser": "fromtext parse parse_expr",
}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}
_NAMES["Module"] = "..ir.module:IRModule"
_NAMES["vm"] = ".backend:vm"
_SUBMODULES = (
    "_ffi_api",
    "adt",
    "analysis",
    "annotation",
    "backend",
    "base",
    "build_module",
    "data_dep_optimization",
    "dataflow_pattern",
    "expr",
    "frontend",
    "expr_functor",
    "function",
    "loops",
    "op",
    "prelude",
    "qnn",
    "quantize",
    "random",
    "scope_builder",
    "stdlib",
    "testing",
    "transform",
    "type_functor",
    "ty",
)
__getattr__, __dir__ = _attach(__name__, _SUBMODULES, _NAMES, fallback=".op")
