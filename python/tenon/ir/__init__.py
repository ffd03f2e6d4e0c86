"""What all dialects share: nodes, types, expressions, containers, JSON, structural comparison."""

from .._lazy import attach as _attach

_WHERE = {
    ".base": (
        "EnvFunc Node SequentialSpan SourceName Span assert_structural_equal astext "
        "get_first_structural_mismatch load_json make_node save_json structural_equal "
        "structural_hash pretty_print"
    ),
    ".container": "Array Map",
    ".attrs": "Attrs DictAttrs make_attrs",
    ".expr": "BaseExpr GlobalVar PrimExpr Range RelayExpr",
    ".function": "BaseFunc CallingConv",
    ".module": "IRModule",
    ".op": "Op register_intrin_lowering register_op register_op_attr",
    ".instrument": "PassInstrument pass_instrument",
    ".transform": "ModulePass Pass PassContext PassInfo Sequential module_pass",
    ".memory_pools": (
        "ConstantMemoryPools ConstantPoolInfo PoolInfo PoolInfoProperties WorkspaceMemoryPools "
        "WorkspacePoolInfo"
    ),
    ".supply": "GlobalVarSupply NameSupply",
    ".type": (
        "FuncType GlobalTypeVar IncompleteType PointerType PrimType RelayRefType TupleType Type "
        "TypeConstraint TypeKind TypeVar"
    ),
    ".tensor_type": "BaseTensorType TensorType",
    ".type_relation": "TypeCall TypeRelation",
    ".adt": "Constructor TypeData",
    ".affine_type": "TensorAffineType TupleAffineType",
    "..tir.expr": "FloatImm IntImm",
}
_NAMES = {name: where for where, names in _WHERE.items() for name in names.split()}
_SUBMODULES = (
    "_ffi_api",
    "adt",
    "affine_type",
    "attrs",
    "base",
    "container",
    "diagnostics",
    "expr",
    "function",
    "instrument",
    "json_compact",
    "memory_pools",
    "module",
    "op",
    "supply",
    "tensor_type",
    "transform",
    "type",
    "type_relation",
)
__getattr__, __dir__ = _attach(__name__, _SUBMODULES, _NAMES)
__all__ = sorted(_NAMES)
