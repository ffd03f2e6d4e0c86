"""The types of the library with their fields.

Written by tools/make_stubs: do not edit.
"""

from typing import Any

import tenon

class Object:
    """root of all types (type key Object)"""

class Array(Object):
    """immutable sequence (type key Array)"""

class ObjectPath(Object):
    """place in an object (type key ObjectPath)"""
    parent: ObjectPath | None
    """path to what holds this place, None for a root"""
    length: int
    """number of paths from the root to this one, both counted"""

class ArrayIndexPath(ObjectPath):
    """an element (type key ArrayIndexPath)"""
    index: int
    """position in the array"""

class AttrFieldInfo(Object):
    """description of an attribute (type key AttrFieldInfo)"""
    name: str
    """name"""
    type_info: str
    """type and default as text"""
    description: str
    """what it means"""

class AttributeAccessPath(ObjectPath):
    """a field (type key AttributeAccessPath)"""
    attr_key: str
    """name of the field"""

class Attrs(Object):
    """any set of attributes (type key Attrs)"""

class Operation(Object):
    """what computes tensors (type key Operation)"""
    name: str
    """name"""
    tag: str
    """kind of operation, for schedules ("elemwise", "broadcast", ...)"""
    attrs: Map
    """attributes"""

class BaseComputeOp(Operation):
    """elements by axes (type key BaseComputeOp)"""
    axis: Array
    """axes of the result"""
    reduce_axis: Array
    """axes that are reduced"""

class BaseExpr(Object):
    """any expression (type key BaseExpr)"""
    span: Span | None
    """place in the source text"""

class RelayExpr(BaseExpr):
    """expression over tensors, functions and data (type key RelayExpr)"""
    _checked_type_: Type | None
    """type found by type inference"""
    virtual_device_: Any
    """where it is computed"""

class BaseFunc(RelayExpr):
    """any function (type key BaseFunc)"""
    attrs: DictAttrs | None
    """attributes of the function"""

class CompilationConfig(Object):
    """devices and targets of a build (type key CompilationConfig)"""
    host_target: Target
    """target of code that launches the others"""
    primitive_targets: Array
    """targets of computations, each with the host"""
    default_primitive_virtual_device: VirtualDevice
    """where computations are that say nothing"""
    host_virtual_device: VirtualDevice
    """where shapes and control flow are"""
    optional_homogeneous_target: Target | None
    """the target when there is only one"""

class ComputeOp(BaseComputeOp):
    """elements by an expression (type key ComputeOp)"""
    body: Array
    """value of an element of each result"""

class DFPattern(Object):
    """pattern of expressions (type key DFPatternNode)"""

class Diagnostic(Object):
    """report about a program (type key Diagnostic)"""
    level: int
    """see ir_diag_level"""
    span: Span | None
    """the place"""
    message: str
    """what is wrong"""

class DiagnosticContext(Object):
    """collects diagnostics (type key DiagnosticContext)"""
    module: IRModule
    """module with the source texts"""
    diagnostics: Array
    """what was reported, in order"""
    renderer: DiagnosticRenderer | None
    """how they are shown; None: as the text of the error"""

class DiagnosticRenderer(Object):
    """shows diagnostics (type key DiagnosticRenderer)"""
    renderer: Function
    """(DiagnosticContext) -> None: shows the diagnostics"""

class DictAttrs(Attrs):
    """attributes by name (type key DictAttrs)"""
    dict: Map
    """attributes by name"""

class EnvFunc(Object):
    """global function that is saved by name (type key EnvFunc)"""
    name: str
    """global name"""
    func: Function
    """the function of that name"""

class Executor(Object):
    """what runs a built program (type key Executor)"""
    name: str
    """"graph" or "aot" """
    attrs: DictAttrs
    """its options, those not given with their defaults"""

class ExternOp(Operation):
    """results of a statement (type key ExternOp)"""
    inputs: Array
    """tensors that are read"""
    input_placeholders: Array
    """buffers that stand for them in body"""
    output_placeholders: Array
    """buffers of the results"""
    body: Stmt
    """statement that computes the results"""

class PrimExpr(BaseExpr):
    """expression over numbers, vectors and handles (type key PrimExpr)"""
    dtype: str
    """type of the value"""

class FloatImm(PrimExpr):
    """floating point constant (type key FloatImm)"""
    value: float
    """the number, in the range of dtype"""

class Type(Object):
    """any type (type key Type)"""
    span: Span | None
    """place in the source text"""

class FuncType(Type):
    """type of functions (type key FuncType)"""
    type_params: Array
    """type variables bound here"""
    arg_types: Array
    """types of the arguments"""
    ret_type: Type
    """type of the result"""
    type_constraints: Array
    """relations that hold"""

class IterVarRelation(Object):
    """of variables (type key IterVarRelation)"""

class Fuse(IterVarRelation):
    """two variables as one (type key Fuse)"""
    outer: IterVar
    """its quotient by the extent of inner"""
    inner: IterVar
    """its remainder"""
    fused: IterVar
    """what they are fused to"""

class GenericFunc(Object):
    """function that has a variant for each kind of target (type key GenericFunc)"""
    name: str
    """name in the process, or empty"""
    default_func: Function | None
    """for targets without one of their own"""
    dispatch: Map
    """from keys of targets to functions"""

class GlobalTypeVar(Type):
    """name of a type definition (type key GlobalTypeVar)"""
    name_hint: str
    """name, unique in the module"""
    kind: int
    """what it stands for"""

class GlobalVar(RelayExpr):
    """function of a module, by name (type key GlobalVar)"""
    name_hint: str
    """name, unique in the module"""

class GlobalVarSupply(Object):
    """makes GlobalVars of unique names (type key GlobalVarSupply)"""
    name_supply: NameSupply
    """where names come from"""
    vars: Map
    """names to their GlobalVars"""

class IRModule(Object):
    """functions and type definitions (type key IRModule)"""
    functions: Map
    """GlobalVar to function"""
    type_definitions: Map
    """GlobalTypeVar to type definition"""
    global_var_map_: Map
    """name to GlobalVar"""
    global_type_var_map_: Map
    """name to GlobalTypeVar"""
    source_map: SourceMap | None
    """texts the module came from"""
    attrs: DictAttrs | None
    """attributes of the module"""

class IncompleteType(Type):
    """type that inference is to find (type key IncompleteType)"""
    kind: int
    """what it stands for"""

class IntImm(PrimExpr):
    """integer or bool constant (type key IntImm)"""
    value: int
    """the number, in the range of dtype"""

class IntSet(Object):
    """set of integers (type key IntSet)"""

class IterVarAttr(Object):
    """how a loop runs (type key IterVarAttr)"""
    iter_type: int
    """0, or that of an unrolled, vectorized or parallel loop"""
    bind_thread: IterVar | None
    """thread axis"""
    dim_align_factor: int
    """the stride is a multiple of it, plus the offset"""
    dim_align_offset: int
    """offset of the stride"""
    pragma_keys: Array
    """pragmas of the loop"""
    pragma_values: Array
    """their values"""
    prefetch_data: Array
    """what is fetched ahead in the loop"""
    prefetch_offset: Array
    """how many iterations ahead"""
    tensor_intrin: Any
    """computes all from this loop on"""

class Map(Object):
    """mapping that keeps insertion order (type key Map)"""

class MapValuePath(ObjectPath):
    """value of a key (type key MapValuePath)"""
    key: Any
    """key of the entry"""

class MemoryInfo(Object):
    """what is known of a memory (type key MemoryInfo)"""
    unit_bits: int
    """bits that an address step covers"""
    max_num_bits: int
    """its size in bits"""
    max_simd_bits: int
    """bits of the longest vector that it takes"""
    head_address: PrimExpr | None
    """where it begins for the host; None: the host cannot reach it"""

class MissingArrayElementPath(ObjectPath):
    """an element that only the other array has (type key MissingArrayElementPath)"""
    index: int
    """position where the array has ended"""

class MissingMapEntryPath(ObjectPath):
    """an entry that only the other map has (type key MissingMapEntryPath)"""

class NameSupply(Object):
    """makes unique names (type key NameSupply)"""
    prefix: str
    """put before names, with an underscore"""
    names: Map
    """names in use, to the last number tried"""

class ObjectPathPair(Object):
    """where two values differ (type key ObjectPathPair)"""
    lhs_path: ObjectPath
    """place in the left value"""
    rhs_path: ObjectPath
    """place in the right value"""

class Op(RelayExpr):
    """operator: one object for each name (type key Op)"""
    name: str
    """unique name"""
    op_type: FuncType | None
    """type of the operator"""
    description: str
    """documentation"""
    arguments: Array
    """names and descriptions of the arguments"""
    attrs_type_key: str
    """type of its attributes, or empty"""
    num_inputs: int
    """number of arguments, -1 when it varies"""
    support_level: int
    """1 for the most basic operators, larger for rarer ones"""
    index: int
    """dense number, for side tables"""

class PlaceholderOp(Operation):
    """a tensor that is given (type key PlaceholderOp)"""
    shape: Array
    """extents"""
    dtype: str
    """type of an element"""

class PointerType(Type):
    """pointer into a memory (type key PointerType)"""
    element_type: Type
    """type of what it points to"""
    storage_scope: str
    """memory it points into ("global", "shared", ...), or empty"""

class PrimType(Type):
    """type of a primitive value (type key PrimType)"""
    dtype: str
    """the data type"""

class Range(Object):
    """min, min + 1, ..., min + extent - 1 (type key Range)"""
    min: PrimExpr
    """first value"""
    extent: PrimExpr
    """number of values"""
    span: Span | None
    """place in the source text"""

class TeRebase(IterVarRelation):
    """an axis from 0 on (type key Rebase)"""
    parent: IterVar
    """an axis that is a loop"""
    rebased: IterVar
    """the loop, which starts at 0"""

class RootPath(ObjectPath):
    """the whole object (type key RootPath)"""
    root_name: str | None
    """name shown for the root"""

class Runtime(Object):
    """what a built program runs on (type key Runtime)"""
    name: str
    """"cpp" or "crt" """
    attrs: DictAttrs
    """its options"""

class ScanOp(Operation):
    """results step by step from earlier steps (type key ScanOp)"""
    scan_axis: IterVar
    """steps after the first ones"""
    init: Array
    """values of the first steps"""
    update: Array
    """values of step scan_axis"""
    state_placeholder: Array
    """what update reads earlier steps from"""
    inputs: Array
    """other tensors that update reads"""
    spatial_axis_: Array
    """other axes of all results, opaque"""

class Schedule(Object):
    """how operations are computed (type key Schedule)"""
    outputs: Array
    """operations whose results are wanted"""
    stages: Array
    """one for each operation, inputs before users"""
    groups: Array
    """groups of stages"""
    stage_map: Map
    """operation, replaced ones too, to its stage"""

class Span(Object):
    """place in a source text (type key Span)"""
    source_name: SourceName
    """the text"""
    line: int
    """first line, from 1"""
    end_line: int
    """last line"""
    column: int
    """first column, from 1"""
    end_column: int
    """one past the last column"""

class SequentialSpan(Span):
    """several places (type key SequentialSpan)"""
    spans: Array
    """the places an expression was made from"""

class Singleton(IterVarRelation):
    """of one value (type key Singleton)"""
    iter: IterVar
    """takes one value"""

class Source(Object):
    """source text (type key Source)"""
    source_name: SourceName
    """its name"""
    source: str
    """the text"""

class SourceMap(Object):
    """source texts by name (type key SourceMap)"""
    source_map: Map
    """SourceName to Source"""

class SourceName(Object):
    """name of a source text; one object for each name (type key SourceName)"""
    name: str
    """file name, or what stands for it"""
    text: str | None
    """what is read, where it is kept"""
    first_line: int
    """number of its first line in the file"""
    first_column: int
    """columns cut off the left of its lines"""

class Split(IterVarRelation):
    """one variable as two (type key Split)"""
    parent: IterVar
    """what is split"""
    outer: IterVar
    """its quotient"""
    inner: IterVar
    """its remainder"""
    factor: PrimExpr | None
    """extent of inner"""
    nparts: PrimExpr | None
    """extent of outer"""
    disable_predication: bool
    """whether no bound is checked"""

class Stage(Object):
    """how an operation is computed (type key Stage)"""
    op: Operation | None
    """what it computes; None: it is a group of stages"""
    origin_op: Operation | None
    """what the caller knows it as"""
    all_iter_vars: Array
    """all there were"""
    leaf_iter_vars: Array
    """loops, outermost first"""
    env_threads: Array
    """threads launched around the stage"""
    store_predicate: PrimExpr | None
    """results are stored only if"""
    relations: Array
    """between the variables, in the order made"""
    iter_var_attrs: Map
    """IterVar to IterVarAttr"""
    attach_type: int
    """1 root, 2 inline, 3 inlined, 4 at a loop"""
    attach_ivar: IterVar | None
    """the loop it is computed in"""
    attach_stage: Any
    """the stage of that loop"""
    group: Any
    """the group it belongs to"""
    num_child_stages: int
    """of a group: how many stages and groups it has"""
    scope: str
    """memory of its results; empty: by where it is computed"""
    is_output: bool
    """whether its results are wanted"""
    double_buffer: bool
    """whether its results are kept twice"""
    rolling_buffer: bool
    """whether iterations share what they need of them"""
    layout_transforms: Array
    """how its result is stored: one or none"""
    layout_loops: Array
    """what the axes became by that"""
    layout_inverse: IndexMap | None
    """from these to the axes"""
    axis_separators: Array
    """axes where groups begin that are flattened apart"""

class Target(Object):
    """what code is generated for (type key Target)"""
    kind: TargetKind
    """kind of code"""
    host: Target | None
    """target of the code that launches this one's"""
    tag: str
    """name of a known device, or empty"""
    keys: Array
    """names that generic functions go by, most special first"""
    attrs: Map
    """options by name"""

class TargetKind(Object):
    """kind of target: one object for each name (type key TargetKind)"""
    name: str
    """"llvm", "c", ..."""
    default_device_type: int
    """device that its code runs on"""
    default_keys: Array
    """keys of a target that names none"""

class DataProducer(Object):
    """what a ProducerLoad reads (type key tir.DataProducer)"""

class Tensor(DataProducer):
    """tensor expression (type key Tensor)"""
    shape: Array
    """extents"""
    dtype: str
    """type of an element"""
    op: Operation
    """what computes it"""
    value_index: int
    """which result of op it is"""

class TensorAffineType(Type):
    """quantisation of a tensor (type key TensorAffineType)"""
    scale: BaseExpr
    """real value of one step"""
    zero_point: BaseExpr
    """number that stands for zero"""
    dtype: str
    """how numbers are stored"""
    axis: int
    """axis of per-channel scales, or -1"""

class TensorComputeOp(BaseComputeOp):
    """pieces by an intrinsic (type key TensorComputeOp)"""
    schedulable_ndim: int
    """number of axes that are loops; the others are the piece's"""
    intrin: Any
    """computes a piece"""
    inputs: Array
    """tensor for each input of intrin"""
    input_regions: Array
    """what a piece needs of each: array of Range"""
    scalar_inputs: Array
    """values of the scalar_params of intrin"""

class TensorIntrin(Object):
    """code that computes a piece (type key TensorIntrin)"""
    name: str
    """name"""
    op: Operation
    """what it computes"""
    inputs: Array
    """tensors that op reads"""
    buffers: Array
    """buffers of the inputs, then of the results"""
    scalar_params: Array
    """variables that body uses besides"""
    body: Stmt
    """computes the results"""
    reduce_init: Stmt | None
    """sets the results to the first value of the reduction"""
    reduce_update: Stmt | None
    """reduces more inputs into the results"""

class TupleAffineType(Type):
    """quantisation of a tuple (type key TupleAffineType)"""
    types: Array
    """one for each field"""

class TupleType(Type):
    """type of tuples (type key TupleType)"""
    fields: Array
    """types of the fields"""

class TypeCall(Type):
    """type definition with types put in (type key TypeCall)"""
    func: Type
    """GlobalTypeVar of the type definition"""
    args: Array
    """types put in for its parameters"""

class TypeConstraint(Type):
    """condition on types (type key TypeConstraint)"""

class TypeRelation(TypeConstraint):
    """relation of types that a function decides (type key TypeRelation)"""
    func: EnvFunc | None
    """(types, number of inputs, attributes, reporter) -> bool: solved"""
    args: Array
    """types that are related: inputs, then results"""
    num_inputs: int
    """how many of them are inputs"""
    attrs: Attrs | None
    """attributes of the operator"""

class TypeReporter(Object):
    """what a relation tells its findings to (type key TypeReporter)"""
    rel: int
    """address of the relay_rel it reports to; 0 once that is over"""

class TypeVar(Type):
    """type variable (type key TypeVar)"""
    name_hint: str
    """name"""
    kind: int
    """what it stands for: see ir_type_kind"""

class UnknownAttributeAccessPath(ObjectPath):
    """a field that has no name (type key UnknownAttributeAccessPath)"""

class VirtualDevice(Object):
    """where a value is, as far as it is known (type key VirtualDevice)"""
    device_type_int: int
    """kind of device, -1 when any will do"""
    virtual_device_id: int
    """which of those devices, -1 when any will do"""
    target: Target | None
    """target of code that runs there"""
    memory_scope: str
    """kind of memory, or empty"""

class ConstIntBound(Object):
    """constant bounds of an integer (type key arith.ConstIntBound)"""
    min_value: int
    """lower bound, NEG_INF when there is none"""
    max_value: int
    """upper bound, POS_INF when there is none"""

class IntConstraints(Object):
    """unknowns and conditions (type key arith.IntConstraints)"""
    variables: Array
    """the unknowns"""
    ranges: Map
    """from variables to what is known of their range"""
    relations: Array
    """conditions that all hold"""

class IntConstraintsTransform(Object):
    """a system and its solution (type key arith.IntConstraintsTransform)"""
    src: IntConstraints
    """the given system"""
    dst: IntConstraints
    """the solved one"""
    src_to_dst: Map
    """variables of src in terms of those of dst"""
    dst_to_src: Map
    """variables of dst in terms of those of src"""

class IntGroupBounds(Object):
    """bounds of one unknown (type key arith.IntGroupBounds)"""
    coef: PrimExpr
    """factor of the variable in all bounds"""
    lower: Array
    """coef * var is at least each of these"""
    equal: Array
    """coef * var equals each of these"""
    upper: Array
    """coef * var is at most each of these"""

class IntervalSet(IntSet):
    """integers from min_value to max_value (type key arith.IntervalSet)"""
    min_value: PrimExpr
    """smallest value, or the variable neg_inf"""
    max_value: PrimExpr
    """largest value, or the variable pos_inf"""

class IterMapExpr(PrimExpr):
    """part of an iteration map (type key arith.IterMapExpr)"""

class IterMapResult(Object):
    """result of detect_iter_map (type key arith.IterMapResult)"""
    indices: Array
    """an IterSumExpr for each index; empty when they do not form an iteration map"""
    errors: Array
    """why not, as texts"""
    padding_predicate: PrimExpr
    """true where an index lies in the padding"""

class IterMark(Object):
    """source of an iteration (type key arith.IterMark)"""
    source: PrimExpr
    """variable or IterSumExpr that iterates from 0"""
    extent: PrimExpr
    """number of its values"""

class IterSplitExpr(IterMapExpr):
    """source // lower_factor % extent * scale (type key arith.IterSplitExpr)"""
    source: IterMark
    """what is split"""
    lower_factor: PrimExpr
    """source is divided by it first"""
    extent: PrimExpr
    """then taken modulo it"""
    scale: PrimExpr
    """then multiplied by it"""

class IterSumExpr(IterMapExpr):
    """sum of splits and a base (type key arith.IterSumExpr)"""
    args: Array
    """IterSplitExpr that are added up"""
    base: PrimExpr
    """constant part"""

class ModularSet(Object):
    """base + coeff * any integer (type key arith.ModularSet)"""
    coeff: int
    """distance of neighbouring values; 0: only base"""
    base: int
    """one of the values, in [0, coeff) unless coeff is 0"""

class TestAttrs(Attrs):
    """one field of each sort, for tests of attributes (type key attrs.TestAttrs)"""
    axis: int
    """a number"""
    name: str
    """a text"""
    padding: Array
    """a list"""
    func: EnvFunc | None
    """a function"""

class PassInstrument(Object):
    """watches passes (type key instrument.PassInstrument)"""
    name: str
    """name of the instrument"""
    on_enter: Function | None
    """called when its context is entered"""
    on_exit: Function | None
    """called when its context is left"""
    on_should_run: Function | None
    """(module, info): run the pass?"""
    on_before_pass: Function | None
    """(module, info), before a pass"""
    on_after_pass: Function | None
    """(module, info), after it"""
    state: Any
    """what the functions share"""

class InterpreterClosure(Object):
    """function with what it uses from outside (type key interpreter.Closure)"""
    env: Map
    """values of the variables that it uses from outside, by Id"""
    func: Any
    """the function"""
    self: Any
    """the variable that stands for it inside"""

class AllocatedPoolInfo(Object):
    """pool with what is used of it (type key ir.AllocatedPoolInfo)"""
    pool_info: PoolInfo
    """the pool"""
    allocated_size: IntImm
    """bytes in use"""
    pool_var_idx: IntImm
    """parameter that points to it"""

class ConstantInfo(Object):
    """constant in a pool (type key ir.ConstantInfo)"""
    name_hint: str
    """name"""
    byte_offset: IntImm
    """place in the pool"""
    data: Any
    """content (NDArray)"""

class ConstantMemoryPools(Object):
    """pools for constants, best first (type key ir.ConstantMemoryPools)"""
    pools: Array
    """the pools"""

class PoolInfo(Object):
    """any memory pool (type key ir.PoolInfo)"""
    pool_name: str
    """name, which becomes a C symbol"""
    size_hint_bytes: IntImm
    """bytes there are"""
    clock_frequency_hz: IntImm
    """clock of the memory"""
    read_bandwidth_bytes_per_cycle: IntImm
    """bytes read in a cycle"""
    write_bandwidth_bytes_per_cycle: IntImm
    """bytes written in a cycle"""
    read_latency_cycles: IntImm
    """cycles until a read arrives"""
    write_latency_cycles: IntImm
    """cycles until a write is done"""
    target_burst_bytes: Map
    """bytes that a target moves at once, by target"""
    is_internal: bool
    """made by the compiler, not given"""
    targets: Array
    """targets that can use the pool"""

class ConstantPoolInfo(PoolInfo):
    """memory for constants (type key ir.ConstantPoolInfo)"""
    constant_info_array: Array
    """the constants in it"""

class PoolInfoProperties(Object):
    """what a memory is like (type key ir.PoolInfoProperties)"""
    size_hint_bytes: IntImm
    """bytes there are"""
    clock_frequency_hz: IntImm
    """clock of the memory"""
    read_bandwidth_bytes_per_cycle: IntImm
    """bytes read in a cycle"""
    write_bandwidth_bytes_per_cycle: IntImm
    """bytes written in a cycle"""
    read_latency_cycles: IntImm
    """cycles until a read arrives"""
    write_latency_cycles: IntImm
    """cycles until a write is done"""
    target_burst_bytes: Map
    """bytes that a target moves at once, by target"""
    is_internal: bool
    """made by the compiler, not given"""

class WorkspaceMemoryPools(Object):
    """pools for tensors, best first (type key ir.WorkspaceMemoryPools)"""
    pools: Array
    """the pools"""

class WorkspacePoolInfo(PoolInfo):
    """memory for tensors (type key ir.WorkspacePoolInfo)"""

class BaseTensorType(Type):
    """type of tensors (type key relay.BaseTensorType)"""

class Call(RelayExpr):
    """call of an operator or function (type key relay.Call)"""
    op: RelayExpr
    """operator, function, constructor, or what gives a function"""
    args: Array
    """arguments"""
    attrs: Attrs | None
    """attributes of the operator"""
    type_args: Array
    """types put in for the type parameters"""

class Clause(Object):
    """pattern and result (type key relay.Clause)"""
    lhs: Pattern
    """pattern"""
    rhs: RelayExpr
    """result where it matches"""

class Constant(RelayExpr):
    """tensor that is known (type key relay.Constant)"""
    data: NDArray
    """the value"""

class Constructor(RelayExpr):
    """makes values of an algebraic data type (type key relay.Constructor)"""
    name_hint: str
    """name, unique in the module"""
    inputs: Array
    """types of the fields"""
    belong_to: GlobalTypeVar
    """the type it makes values of"""
    tag: int
    """number, given when the type joins a module; -1 before"""

class ConstructorValue(Object):
    """value of an algebraic data type (type key relay.ConstructorValue)"""
    tag: int
    """number of the constructor"""
    fields: Array
    """the fields"""
    constructor: Constructor | None
    """what made it"""

class Function(BaseFunc):
    """function (type key relay.Function)"""
    params: Array
    """parameters"""
    type_params: Array
    """type variables bound here"""
    ret_type: Type | None
    """type of the result as far as it is written down"""
    body: RelayExpr
    """the result"""

class Pass(Object):
    """function from modules to modules (type key transform.Pass)"""
    pass_info: PassInfo
    """name and level"""

class FunctionPass(Pass):
    """pass over each Relay function (type key relay.FunctionPass)"""
    pass_func: Function
    """(function, module, context) -> function, or None to drop it"""

class Id(Object):
    """identity of a variable (type key relay.Id)"""
    name_hint: str
    """name to show"""

class If(RelayExpr):
    """choice (type key relay.If)"""
    cond: RelayExpr
    """bool scalar"""
    true_branch: RelayExpr
    """result where it holds; evaluated only then"""
    false_branch: RelayExpr
    """result elsewhere; evaluated only then"""

class Let(RelayExpr):
    """binds a variable (type key relay.Let)"""
    var: Any
    """variable bound in body, and in value where that is a function"""
    value: RelayExpr
    """its value"""
    body: RelayExpr
    """the result"""

class Match(RelayExpr):
    """takes values of algebraic data types apart (type key relay.Match)"""
    data: RelayExpr
    """what is taken apart"""
    clauses: Array
    """tried in order"""
    complete: bool
    """must the clauses cover every value?"""

class Pattern(Object):
    """any pattern (type key relay.Pattern)"""
    span: Span | None
    """place in the source text"""

class PatternConstructor(Pattern):
    """matches values of a constructor (type key relay.PatternConstructor)"""
    constructor: Constructor
    """constructor that made the value"""
    patterns: Array
    """one for each field"""

class PatternTuple(Pattern):
    """matches tuples (type key relay.PatternTuple)"""
    patterns: Array
    """one for each field"""

class PatternVar(Pattern):
    """matches everything, bound to a variable (type key relay.PatternVar)"""
    var: Any
    """variable bound to what is matched"""

class PatternWildcard(Pattern):
    """matches everything (type key relay.PatternWildcard)"""

class RefCreate(RelayExpr):
    """new reference (type key relay.RefCreate)"""
    value: RelayExpr
    """what it holds at first"""

class RefRead(RelayExpr):
    """what a reference holds (type key relay.RefRead)"""
    ref: RelayExpr
    """the reference"""

class RelayRefType(Type):
    """type of references (type key relay.RefType)"""
    value: Type
    """type of what the reference holds"""

class RefValue(Object):
    """reference (type key relay.RefValue)"""
    value: Any
    """what it holds"""

class RefWrite(RelayExpr):
    """changes what a reference holds; gives () (type key relay.RefWrite)"""
    ref: RelayExpr
    """the reference"""
    value: RelayExpr
    """what it holds from now on"""

class TempExpr(RelayExpr):
    """what only passes see, between rewrites (type key relay.TempExpr)"""

class TensorType(BaseTensorType):
    """type of dense tensors (type key relay.TensorType)"""
    shape: Array
    """extents (Any where known at run time only)"""
    dtype: str
    """type of an element"""

class Tuple(RelayExpr):
    """tuple of values (type key relay.Tuple)"""
    fields: Array
    """the fields"""

class TupleGetItem(RelayExpr):
    """field of a tuple (type key relay.TupleGetItem)"""
    tuple_value: RelayExpr
    """a tuple"""
    index: int
    """which field"""

class TypeData(Type):
    """definition of an algebraic data type (type key relay.TypeData)"""
    header: GlobalTypeVar
    """name"""
    type_vars: Array
    """type parameters"""
    constructors: Array
    """ways to make a value"""

class Var(RelayExpr):
    """variable (type key relay.Var)"""
    vid: Id
    """identity: variables of one id are one variable"""
    type_annotation: Type | None
    """its type as far as it is written down"""

class InferCorrectLayoutOutput(Object):
    """layouts that a call takes and gives (type key relay._transform.InferCorrectLayoutOutput)"""
    input_layouts: Array
    """layouts of the arguments"""
    output_layouts: Array
    """layouts of the results"""
    new_attrs: Attrs | None
    """attributes that the call needs for them"""

class AdaptivePool1DAttrs(Attrs):
    """attributes of nn.adaptive_avg_pool1d (type key relay.attrs.AdaptivePool1DAttrs)"""
    output_size: Array | None
    """extents of the result, those of data when empty"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""

class AdaptivePool2DAttrs(Attrs):
    """attributes of nn.adaptive_avg_pool2d (type key relay.attrs.AdaptivePool2DAttrs)"""
    output_size: Array | None
    """extents of the result, those of data when empty"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""

class AdaptivePool3DAttrs(Attrs):
    """attributes of nn.adaptive_avg_pool3d (type key relay.attrs.AdaptivePool3DAttrs)"""
    output_size: Array | None
    """extents of the result, those of data when empty"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""

class AffineGridAttrs(Attrs):
    """attributes of image.affine_grid (type key relay.attrs.AffineGridAttrs)"""
    target_shape: Array
    """height and width of the grid"""

class AllClassNonMaximumSuppressionAttrs(Attrs):
    """attributes of vision.all_class_non_max_suppression (type key relay.attrs.AllClassNonMaximumSuppressionAttrs)"""
    output_format: str
    """form of the result: "onnx" """

class AllocStorageAttrs(Attrs):
    """attributes of memory.alloc_storage (type key relay.attrs.AllocStorageAttrs)"""
    virtual_device: Any
    """where it is (VirtualDevice); None: where the program runs"""
    dtype: str
    """type of what is to be in it"""

class AllocTensorAttrs(Attrs):
    """attributes of memory.alloc_tensor (type key relay.attrs.AllocTensorAttrs)"""
    dtype: str
    """type of an element"""
    assert_shape: Array | None
    """extents as far as they are known, None: none is"""

class ArangeAttrs(Attrs):
    """attributes of arange (type key relay.attrs.ArangeAttrs)"""
    start: RelayExpr | None
    """first value"""
    stop: RelayExpr | None
    """end, not reached"""
    step: RelayExpr | None
    """distance of values"""
    dtype: str
    """type of the values"""

class ArgReduceAttrs(Attrs):
    """attributes of argmax and argmin (type key relay.attrs.ArgReduceAttrs)"""
    axis: Array | None
    """axes that are reduced, all of them when None or empty"""
    keepdims: bool
    """keep reduced axes, with extent 1"""
    select_last_index: bool
    """of several such elements the last, not the first"""
    exclude: bool
    """reduce the axes that are not in `axis` instead"""

class ArgsortAttrs(Attrs):
    """attributes of sort and argsort (type key relay.attrs.ArgsortAttrs)"""
    axis: int
    """axis that is sorted along"""
    is_ascend: bool
    """smallest first?"""
    dtype: str
    """type of indices"""

class AvgPool1DAttrs(Attrs):
    """attributes of nn.avg_pool1d (type key relay.attrs.AvgPool1DAttrs)"""
    pool_size: Array
    """extents of the window"""
    strides: Array
    """steps of the window"""
    dilation: Array
    """distance of neighbouring elements of the window"""
    padding: Array
    """border: one number, one for each axis, or those before and after"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""
    ceil_mode: bool
    """round the extents of the result up"""
    count_include_pad: bool
    """does the border count in the mean?"""

class AvgPool2DAttrs(Attrs):
    """attributes of nn.avg_pool2d (type key relay.attrs.AvgPool2DAttrs)"""
    pool_size: Array
    """extents of the window"""
    strides: Array
    """steps of the window"""
    dilation: Array
    """distance of neighbouring elements of the window"""
    padding: Array
    """border: one number, one for each axis, or those before and after"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""
    ceil_mode: bool
    """round the extents of the result up"""
    count_include_pad: bool
    """does the border count in the mean?"""

class AvgPool3DAttrs(Attrs):
    """attributes of nn.avg_pool3d (type key relay.attrs.AvgPool3DAttrs)"""
    pool_size: Array
    """extents of the window"""
    strides: Array
    """steps of the window"""
    dilation: Array
    """distance of neighbouring elements of the window"""
    padding: Array
    """border: one number, one for each axis, or those before and after"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""
    ceil_mode: bool
    """round the extents of the result up"""
    count_include_pad: bool
    """does the border count in the mean?"""

class BatchMatmulAttrs(Attrs):
    """attributes of nn.batch_matmul (type key relay.attrs.BatchMatmulAttrs)"""
    out_dtype: str
    """type of the result, that of the first when empty"""
    transpose_a: bool
    """are the first transposed?"""
    transpose_b: bool
    """are the second transposed?"""
    auto_scheduler_rewritten_layout: str
    """layout of the second after a rewrite"""
    meta_schedule_original_shape: Array
    """shape of the second before a rewrite"""

class BatchNormAttrs(Attrs):
    """attributes of nn.batch_norm (type key relay.attrs.BatchNormAttrs)"""
    axis: int
    """axis of channels"""
    epsilon: float
    """added to the variance"""
    center: bool
    """is beta added?"""
    scale: bool
    """is gamma multiplied?"""

class BatchToSpaceNDAttrs(Attrs):
    """attributes of nn.batch_to_space_nd (type key relay.attrs.BatchToSpaceNDAttrs)"""
    block_shape: Array
    """extents of a block"""
    crops: Array
    """elements cut off before and after each axis: pairs"""

class BiasAddAttrs(Attrs):
    """attributes of nn.bias_add (type key relay.attrs.BiasAddAttrs)"""
    axis: int
    """axis of channels; negative ones count from the end"""

class BinaryConv2DAttrs(Attrs):
    """attributes of nn.bitserial_conv2d (type key relay.attrs.BinaryConv2DAttrs)"""
    strides: Array
    """steps of the window"""
    padding: Array
    """zeros put around: one number, one for each axis, or those before and after"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array
    """extents of the kernel"""
    activation_bits: int
    """bits of data"""
    weight_bits: int
    """bits of weight"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of weight, without its bits"""
    pack_dtype: str
    """type of the words of a packed weight"""
    out_dtype: str
    """type of the result, that of data when empty"""
    unipolar: bool
    """do bits of the weight mean -1 and 1?"""

class BinaryDenseAttrs(Attrs):
    """attributes of nn.bitserial_dense (type key relay.attrs.BinaryDenseAttrs)"""
    units: PrimExpr | None
    """rows of weight"""
    data_bits: int
    """bits of data"""
    weight_bits: int
    """bits of weight"""
    pack_dtype: str
    """type of the words of a packed weight"""
    out_dtype: str
    """type of the result, that of data when empty"""
    unipolar: bool
    """do bits of the weight mean -1 and 1?"""

class BitPackAttrs(Attrs):
    """attributes of nn.bitpack (type key relay.attrs.BitPackAttrs)"""
    bits: int
    """how many of each element's bits"""
    pack_axis: int
    """axis whose elements share words"""
    bit_axis: int
    """place of the new axis, that of bits"""
    pack_type: str
    """type of the words"""
    name: str
    """not used"""

class BroadcastAttrs(Attrs):
    """attributes of qnn.add and its kind (type key relay.attrs.BroadcastAttrs)"""
    lhs_axis: int
    """axis along which scales of lhs lie"""
    rhs_axis: int
    """axis along which scales of rhs lie"""

class CastAttrs(Attrs):
    """attributes of cast (type key relay.attrs.CastAttrs)"""
    dtype: str
    """type of the result's elements"""

class ClearBorderAttrs(Attrs):
    """attributes of nn.contrib_clear_border (type key relay.attrs.ClearBorderAttrs)"""
    padding: Array
    """rows and columns that are cleared: top, left, bottom, right"""
    rows: int
    """rows of the result behind the next convolution in a band"""
    convolutions: int
    """that follow in the same kernel: 1 or 2"""

class ClipAttrs(Attrs):
    """attributes of clip (type key relay.attrs.ClipAttrs)"""
    a_min: float
    """least value"""
    a_max: float
    """greatest value"""

class CollapseSumToAttrs(Attrs):
    """attributes of collapse_sum_to (type key relay.attrs.CollapseSumToAttrs)"""
    shape: Array
    """extents of the result; an axis of extent 1 is summed up"""

class CompilerAttrs(Attrs):
    """attributes of annotation.compiler_begin and compiler_end (type key relay.attrs.CompilerAttrs)"""
    compiler: str
    """name of the code generator"""

class ConcatenateAttrs(Attrs):
    """attributes of concatenate (type key relay.attrs.ConcatenateAttrs)"""
    axis: int
    """axis that grows; negative ones count from the end"""

class Conv1DAttrs(Attrs):
    """attributes of nn.conv1d (type key relay.attrs.Conv1DAttrs)"""
    strides: Array
    """steps of the window"""
    padding: Array
    """zeros put around: one number, one for each axis, or those before and after"""
    dilation: Array
    """distance of neighbouring elements of the kernel"""
    groups: int
    """groups of channels that do not see each other"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array | None
    """extents of the kernel"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of weight"""
    out_layout: str
    """layout of the result, that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""

class Conv1DTransposeAttrs(Attrs):
    """attributes of nn.conv1d_transpose (type key relay.attrs.Conv1DTransposeAttrs)"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array | None
    """extents of the kernel"""
    strides: Array
    """distance in the result of neighbouring elements of data"""
    output_padding: Array
    """what is added to the extents of the result"""
    padding: Array
    """cut off around: one number, one for each axis, or those before and after"""
    dilation: Array
    """distance of neighbouring elements of the kernel"""
    groups: int
    """groups of channels that do not see each other"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of weight"""
    out_layout: str
    """layout of the result, that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""

class Conv2DAttrs(Attrs):
    """attributes of nn.conv2d (type key relay.attrs.Conv2DAttrs)"""
    strides: Array
    """steps of the window"""
    padding: Array
    """zeros put around: one number, one for each axis, or those before and after"""
    dilation: Array
    """distance of neighbouring elements of the kernel"""
    groups: int
    """groups of channels that do not see each other"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array | None
    """extents of the kernel"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of weight"""
    out_layout: str
    """layout of the result, that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""
    auto_scheduler_rewritten_layout: str
    """layout of weight after a rewrite"""
    meta_schedule_original_shape: Array
    """shape of weight before a rewrite"""

class Conv2DTransposeAttrs(Attrs):
    """attributes of nn.conv2d_transpose (type key relay.attrs.Conv2DTransposeAttrs)"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array | None
    """extents of the kernel"""
    strides: Array
    """distance in the result of neighbouring elements of data"""
    output_padding: Array
    """what is added to the extents of the result"""
    padding: Array
    """cut off around: one number, one for each axis, or those before and after"""
    dilation: Array
    """distance of neighbouring elements of the kernel"""
    groups: int
    """groups of channels that do not see each other"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of weight"""
    out_layout: str
    """layout of the result, that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""

class Conv2DWinogradAttrs(Attrs):
    """attributes of convolutions of transformed weights (type key relay.attrs.Conv2DWinogradAttrs)"""
    tile_size: int
    """results along an axis of a tile"""
    strides: Array
    """steps of the window"""
    padding: Array
    """zeros put around: one number, one for each axis, or those before and after"""
    dilation: Array
    """distance of neighbouring elements of the kernel"""
    groups: int
    """groups of channels that do not see each other"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array | None
    """extents of the kernel"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of the transformed weight"""
    out_layout: str
    """layout of the result, that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""
    auto_scheduler_rewritten_layout: str
    """layout of weight after a rewrite"""
    meta_schedule_original_shape: Array
    """shape of weight before a rewrite"""

class Conv3DAttrs(Attrs):
    """attributes of nn.conv3d (type key relay.attrs.Conv3DAttrs)"""
    strides: Array
    """steps of the window"""
    padding: Array
    """zeros put around: one number, one for each axis, or those before and after"""
    dilation: Array
    """distance of neighbouring elements of the kernel"""
    groups: int
    """groups of channels that do not see each other"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array | None
    """extents of the kernel"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of weight"""
    out_layout: str
    """layout of the result, that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""
    auto_scheduler_rewritten_layout: str
    """layout of weight after a rewrite"""
    meta_schedule_original_shape: Array
    """shape of weight before a rewrite"""

class Conv3DTransposeAttrs(Attrs):
    """attributes of nn.conv3d_transpose (type key relay.attrs.Conv3DTransposeAttrs)"""
    channels: PrimExpr | None
    """channels of the result"""
    kernel_size: Array | None
    """extents of the kernel"""
    strides: Array
    """distance in the result of neighbouring elements of data"""
    output_padding: Array
    """what is added to the extents of the result"""
    padding: Array
    """cut off around: one number, one for each axis, or those before and after"""
    dilation: Array
    """distance of neighbouring elements of the kernel"""
    groups: int
    """groups of channels that do not see each other"""
    data_layout: str
    """layout of data"""
    kernel_layout: str
    """layout of weight"""
    out_layout: str
    """layout of the result, that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""

class ConvWinogradWeightTransformAttrs(Attrs):
    """attributes of the transform of weights (type key relay.attrs.ConvWinogradWeightTransformAttrs)"""
    tile_size: int
    """results along an axis of a tile"""

class CorrelationAttrs(Attrs):
    """attributes of nn.correlation (type key relay.attrs.CorrelationAttrs)"""
    kernel_size: int
    """height and width of a patch"""
    max_displacement: int
    """farthest move along an axis"""
    stride1: int
    """distance of patches of the first image"""
    stride2: int
    """distance of moves"""
    padding: Array
    """one number, two, or those before all axes and those after"""
    is_multiply: bool
    """products? else absolute differences"""
    layout: str
    """"NCHW" """

class CropAndResizeAttrs(Attrs):
    """attributes of image.crop_and_resize (type key relay.attrs.CropAndResizeAttrs)"""
    crop_size: Array
    """height and width of the result"""
    layout: str
    """"NCHW" or "NHWC" """
    method: str
    """"bilinear" or "nearest_neighbor" """
    extrapolation_value: float
    """what is outside of the image"""
    out_dtype: str
    """type of the result, that of data when empty"""

class DFTAttrs(Attrs):
    """attributes of dft (type key relay.attrs.DFTAttrs)"""
    inverse: bool
    """back from frequencies?"""

class DebugAttrs(Attrs):
    """attributes of debug (type key relay.attrs.DebugAttrs)"""
    debug_func: str
    """name of a global function; empty: none"""

class DeformableConv2DAttrs(Attrs):
    """attributes of nn.deformable_conv2d (type key relay.attrs.DeformableConv2DAttrs)"""
    strides: Array
    """distance of windows"""
    padding: Array
    """one number, two, or those before all axes and those after"""
    dilation: Array
    """distance of points of the kernel"""
    deformable_groups: int
    """groups of input channels that move together"""
    groups: int
    """groups of channels"""
    channels: PrimExpr | None
    """number of output channels"""
    kernel_size: Array | None
    """height and width of the kernel"""
    data_layout: str
    """layout of data and offset"""
    kernel_layout: str
    """layout of weight"""
    out_layout: str
    """that of data when empty"""
    out_dtype: str
    """type of the result, that of data when empty"""

class DenseAttrs(Attrs):
    """attributes of nn.dense (type key relay.attrs.DenseAttrs)"""
    units: PrimExpr | None
    """number of rows of weight"""
    out_dtype: str
    """type of the result, that of data when empty"""
    auto_scheduler_rewritten_layout: str
    """layout of weight after a rewrite"""
    meta_schedule_original_shape: Array
    """shape of weight before a rewrite"""

class DensePackAttrs(Attrs):
    """attributes of nn.contrib_dense_pack (type key relay.attrs.DensePackAttrs)"""
    units: PrimExpr | None
    """number of rows of weight"""
    out_dtype: str
    """type of the result, that of data when empty"""
    weight_layout: str
    """layout of weight, as "NC8n" """

class DequantizeAttrs(Attrs):
    """attributes of qnn.dequantize (type key relay.attrs.DequantizeAttrs)"""
    axis: int
    """axis along which scales lie"""
    out_dtype: str
    """type of the result"""

class DeviceCopyAttrs(Attrs):
    """attributes of device_copy (type key relay.attrs.DeviceCopyAttrs)"""
    src_virtual_device: Any
    """where the argument is (VirtualDevice)"""
    dst_virtual_device: Any
    """where the result is (VirtualDevice)"""

class DilateAttrs(Attrs):
    """attributes of nn.dilate (type key relay.attrs.DilateAttrs)"""
    strides: Array
    """distance in the result of neighbouring elements, for each axis"""
    dilation_value: float
    """what is put between them"""

class Dilation2DAttrs(Attrs):
    """attributes of image.dilation2d (type key relay.attrs.Dilation2DAttrs)"""
    strides: Array
    """distance of windows"""
    padding: Array
    """one number, two, or those before all axes and those after"""
    dilations: Array
    """distance of elements in a window"""
    data_layout: str
    """"NCHW" or "NHWC" """
    kernel_layout: str
    """"IHW" or "HWI" """
    out_dtype: str
    """type of the result, that of data when empty"""

class DropoutAttrs(Attrs):
    """attributes of nn.dropout (type key relay.attrs.DropoutAttrs)"""
    rate: float
    """part of the elements that training sets to 0"""

class DynExpandDimsAttrs(Attrs):
    """attributes of dyn.expand_dims (type key relay.attrs.DynExpandDimsAttrs)"""
    num_newaxis: int
    """how many axes are put in"""

class DynFullAttrs(Attrs):
    """attributes of dyn.full (type key relay.attrs.DynFullAttrs)"""
    dtype: str
    """type of the result; that of the value by default"""

class DynOneHotAttrs(Attrs):
    """attributes of dyn.one_hot (type key relay.attrs.DynOneHotAttrs)"""
    axis: int
    """where the new axis is"""
    dtype: str
    """type of the result"""

class DynPadAttrs(Attrs):
    """attributes of dyn.nn.pad (type key relay.attrs.DynPadAttrs)"""
    pad_mode: str
    """"constant", "edge" or "reflect" """

class DynReshapeAttrs(Attrs):
    """attributes of dyn.reshape (type key relay.attrs.DynReshapeAttrs)"""
    allowzero: bool
    """does 0 mean no elements, instead of the extent of data?"""

class DynResize2DAttrs(Attrs):
    """attributes of dyn.image.resize2d (type key relay.attrs.DynResize2DAttrs)"""
    roi: Array | None
    """begin and end of the part that is resized, from 0 to 1"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor", "linear" or "cubic" """
    coordinate_transformation_mode: str
    """which coordinate a place has"""
    rounding_method: str
    """which element is the nearest"""
    cubic_alpha: float
    """coefficient of the spline"""
    cubic_exclude: int
    """do elements outside of data have no weight?"""
    extrapolation_value: float
    """what is outside of data"""
    out_dtype: str
    """type of the result, that of data when empty"""

class DynSliceAttrs(Attrs):
    """attributes of dyn.strided_slice (type key relay.attrs.DynStridedSliceAttrs)"""
    slice_mode: str
    """"end" or "size": what the third argument holds"""

class DynUpSampling3DAttrs(Attrs):
    """attributes of dyn.nn.upsampling3d (type key relay.attrs.DynUpSampling3DAttrs)"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor" or "trilinear" """
    coordinate_transformation_mode: str
    """which coordinate a place has"""

class DynUpSamplingAttrs(Attrs):
    """attributes of dyn.nn.upsampling (type key relay.attrs.DynUpSamplingAttrs)"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor", "bilinear" or "bicubic" """
    align_corners: bool
    """do corners stay where they are?"""

class EinsumAttrs(Attrs):
    """attributes of einsum (type key relay.attrs.EinsumAttrs)"""
    equation: str
    """names of the axes of the operands, then of the result"""

class ExpandDimsAttrs(Attrs):
    """attributes of expand_dims (type key relay.attrs.ExpandDimsAttrs)"""
    axis: int
    """where new axes go; negative ones count from the end of the result"""
    num_newaxis: int
    """how many"""

class FixedPointMultiplyAttrs(Attrs):
    """attributes of fixed_point_multiply (type key relay.attrs.FixedPointMultiplyAttrs)"""
    multiplier: int
    """factor in units of 2**-31"""
    shift: int
    """power of two that multiplies as well"""

class GatherAttrs(Attrs):
    """attributes of gather (type key relay.attrs.GatherAttrs)"""
    axis: int
    """axis that is indexed"""

class GatherNDAttrs(Attrs):
    """attributes of gather_nd (type key relay.attrs.GatherNDAttrs)"""
    batch_dims: int
    """axes that data and indices share"""
    index_rank: PrimExpr | None
    """number of coordinates where it is not known"""

class GetValidCountsAttrs(Attrs):
    """attributes of vision.get_valid_counts (type key relay.attrs.GetValidCountsAttrs)"""
    id_index: int
    """place of the class in a box; negative: it has none"""
    score_index: int
    """place of the score"""

class GlobalPool2DAttrs(Attrs):
    """attributes of nn.global_avg_pool2d (type key relay.attrs.GlobalPool2DAttrs)"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""

class GridSampleAttrs(Attrs):
    """attributes of image.grid_sample (type key relay.attrs.GridSampleAttrs)"""
    method: str
    """"bilinear", "nearest" or "bicubic" """
    layout: str
    """"NCHW" or "NCDHW" """
    padding_mode: str
    """what is outside: "zeros", "border" (the nearest element), "reflection" """
    align_corners: bool
    """is -1 the centre of the first element, not its border?"""

class GroupNormAttrs(Attrs):
    """attributes of nn.group_norm (type key relay.attrs.GroupNormAttrs)"""
    num_groups: int
    """groups of channels"""
    axis: int
    """axis of channels"""
    epsilon: float
    """added to the variance"""
    center: bool
    """is beta added?"""
    scale: bool
    """is gamma multiplied?"""

class InitOpAttrs(Attrs):
    """attributes of broadcast_to and of tensors made of one value (type key relay.attrs.InitOpAttrs)"""
    shape: Array
    """extents of the result"""
    dtype: str
    """type of its elements"""

class InstanceNormAttrs(Attrs):
    """attributes of nn.instance_norm (type key relay.attrs.InstanceNormAttrs)"""
    axis: int
    """axis of channels"""
    epsilon: float
    """added to the variance"""
    center: bool
    """is beta added?"""
    scale: bool
    """is gamma multiplied?"""

class L2NormalizeAttrs(Attrs):
    """attributes of nn.l2_normalize (type key relay.attrs.L2NormalizeAttrs)"""
    eps: float
    """the least that is divided by, squared"""
    axis: Array | None
    """axes that are summed over, all of them when None"""

class LRNAttrs(Attrs):
    """attributes of nn.lrn (type key relay.attrs.LRNAttrs)"""
    size: int
    """number of neighbouring channels, from size / 2 before the element"""
    axis: int
    """axis of channels"""
    bias: float
    """what is added"""
    alpha: float
    """factor of the sum of squares"""
    beta: float
    """exponent"""

class LayerNormAttrs(Attrs):
    """attributes of nn.layer_norm (type key relay.attrs.LayerNormAttrs)"""
    axis: int
    """axis that is normalised"""
    epsilon: float
    """added to the variance"""
    center: bool
    """is beta added?"""
    scale: bool
    """is gamma multiplied?"""

class LayoutTransformAttrs(Attrs):
    """attributes of layout_transform (type key relay.attrs.LayoutTransformAttrs)"""
    src_layout: str
    """layout of data"""
    dst_layout: str
    """layout of the result"""

class LeakyReluAttrs(Attrs):
    """attributes of nn.leaky_relu (type key relay.attrs.LeakyReluAttrs)"""
    alpha: float
    """slope of negative numbers"""

class MatmulAttrs(Attrs):
    """attributes of nn.matmul (type key relay.attrs.MatmulAttrs)"""
    units: PrimExpr | None
    """columns of the result"""
    out_dtype: str
    """type of the result, that of the first when empty"""
    transpose_a: bool
    """is the first transposed?"""
    transpose_b: bool
    """is the second transposed?"""
    auto_scheduler_rewritten_layout: str
    """layout of the second after a rewrite"""
    meta_schedule_original_shape: Array
    """shape of the second before a rewrite"""

class MatrixSetDiagAttrs(Attrs):
    """attributes of matrix_set_diag (type key relay.attrs.MatrixSetDiagAttrs)"""
    k1: int
    """lowest diagonal, negative below the main one"""
    k2: int
    """uppermost diagonal"""
    super_diag_right_align: bool
    """are those above the main one at the right?"""
    sub_diag_right_align: bool
    """are those below it at the right?"""

class MaxPool1DAttrs(Attrs):
    """attributes of nn.max_pool1d (type key relay.attrs.MaxPool1DAttrs)"""
    pool_size: Array
    """extents of the window"""
    strides: Array
    """steps of the window"""
    dilation: Array
    """distance of neighbouring elements of the window"""
    padding: Array
    """border: one number, one for each axis, or those before and after"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""
    ceil_mode: bool
    """round the extents of the result up"""

class MaxPool2DAttrs(Attrs):
    """attributes of nn.max_pool2d (type key relay.attrs.MaxPool2DAttrs)"""
    pool_size: Array
    """extents of the window"""
    strides: Array
    """steps of the window"""
    dilation: Array
    """distance of neighbouring elements of the window"""
    padding: Array
    """border: one number, one for each axis, or those before and after"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""
    ceil_mode: bool
    """round the extents of the result up"""

class MaxPool3DAttrs(Attrs):
    """attributes of nn.max_pool3d (type key relay.attrs.MaxPool3DAttrs)"""
    pool_size: Array
    """extents of the window"""
    strides: Array
    """steps of the window"""
    dilation: Array
    """distance of neighbouring elements of the window"""
    padding: Array
    """border: one number, one for each axis, or those before and after"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""
    ceil_mode: bool
    """round the extents of the result up"""

class MeshgridAttrs(Attrs):
    """attributes of meshgrid (type key relay.attrs.MeshgridAttrs)"""
    indexing: str
    """"ij", or "xy": the first two axes exchanged"""

class MirrorPadAttrs(Attrs):
    """attributes of nn.mirror_pad (type key relay.attrs.MirrorPadAttrs)"""
    mode: str
    """"SYMMETRIC": with the edge itself; "REFLECT": without"""
    pad_width: Array
    """elements before and after each axis"""

class MultiBoxPriorAttrs(Attrs):
    """attributes of vision.multibox_prior (type key relay.attrs.MultiBoxPriorAttrs)"""
    sizes: Array
    """sides of boxes, in parts of the image"""
    ratios: Array
    """roots of these widen boxes of the first size"""
    steps: Array
    """distances of places along y and x, in parts of the image; not positive: even ones"""
    offsets: Array
    """of centres along y and x, in distances"""
    clip: bool
    """cut boxes off at the image?"""

class MultiBoxTransformLocAttrs(Attrs):
    """attributes of vision.multibox_transform_loc (type key relay.attrs.MultiBoxTransformLocAttrs)"""
    clip: bool
    """cut boxes off at the image?"""
    threshold: float
    """least score of what shows something"""
    variances: Array
    """factors of the moves along x, y, width, height"""
    keep_background: bool
    """keep boxes of class 0, with its number?"""

class MultinomialAttrs(Attrs):
    """attributes of random.multinomial (type key relay.attrs.MultinomialAttrs)"""
    num_samples: int
    """how many samples are drawn of each row"""

class NLLLossAttrs(Attrs):
    """attributes of nn.nll_loss (type key relay.attrs.NLLLossAttrs)"""
    reduction: str
    """"mean", "sum" or "none" """
    ignore_index: int
    """targets that do not count"""

class NdarraySizeAttrs(Attrs):
    """attributes of ndarray_size (type key relay.attrs.NdarraySizeAttrs)"""
    dtype: str
    """type of the number"""

class NonMaximumSuppressionAttrs(Attrs):
    """attributes of vision.non_max_suppression (type key relay.attrs.NonMaximumSuppressionAttrs)"""
    force_suppress: bool
    """may boxes of different classes strike each other out?"""
    top_k: int
    """best boxes that are looked at; not positive: all"""
    coord_start: int
    """place of the first of four coordinates"""
    score_index: int
    """place of the score"""
    id_index: int
    """place of the class in a box; negative: it has none"""
    return_indices: bool
    """indices of the boxes and their number, not the boxes"""
    invalid_to_bottom: bool
    """boxes that are left first, the others all -1?"""

class NormalAttrs(Attrs):
    """attributes of random.normal (type key relay.attrs.NormalAttrs)"""
    out_shape: Array
    """shape of the numbers"""
    out_dtype: str
    """float32 or float64"""

class OnDeviceAttrs(Attrs):
    """attributes of on_device (type key relay.attrs.OnDeviceAttrs)"""
    virtual_device: Any
    """the device (VirtualDevice)"""
    constrain_result: bool
    """is the value of the annotation there, too?"""
    constrain_body: bool
    """is the argument computed there?"""

class OneHotAttrs(Attrs):
    """attributes of one_hot (type key relay.attrs.OneHotAttrs)"""
    depth: int
    """extent of the new axis"""
    axis: int
    """place of the new axis"""
    dtype: str
    """type of the result"""

class PReluAttrs(Attrs):
    """attributes of nn.prelu (type key relay.attrs.PReluAttrs)"""
    axis: int
    """axis of channels"""

class PadAttrs(Attrs):
    """attributes of nn.pad (type key relay.attrs.PadAttrs)"""
    pad_width: Array
    """elements before and after each axis; negative ones cut off"""
    pad_mode: str
    """"constant", "edge" or "reflect" """

class ProposalAttrs(Attrs):
    """attributes of vision.proposal (type key relay.attrs.ProposalAttrs)"""
    scales: Array
    """sides of anchors, in strides"""
    ratios: Array
    """heights of anchors, in widths"""
    feature_stride: int
    """pixels of the image from one place to the next"""
    threshold: float
    """overlap with a better box beyond which one is dropped"""
    rpn_pre_nms_top_n: int
    """best boxes that are looked at; not positive: all"""
    rpn_post_nms_top_n: int
    """boxes of an image in the result"""
    rpn_min_size: int
    """least side of a box, in pixels before the image was scaled"""
    iou_loss: bool
    """are moves those of the sides, in pixels?"""

class QnnAvgPool2DAttrs(Attrs):
    """attributes of qnn.avg_pool2d (type key relay.attrs.QnnAvgPool2DAttrs)"""
    pool_size: Array
    """extents of the window"""
    strides: Array
    """steps of the window"""
    padding: Array
    """border: one number, one for each axis, or before and after"""
    dilation: Array
    """distance of neighbouring elements of the window"""
    ceil_mode: bool
    """round the extents of the result up"""
    count_include_pad: bool
    """does the border count in the mean?"""
    layout: str
    """layout of data"""
    out_layout: str
    """layout of the result, that of data when empty"""

class QuantizeAttrs(Attrs):
    """attributes of qnn.quantize (type key relay.attrs.QuantizeAttrs)"""
    axis: int
    """axis along which scales lie"""
    out_dtype: str
    """type of the result"""

class ROIAlignAttrs(Attrs):
    """attributes of vision.roi_align (type key relay.attrs.ROIAlignAttrs)"""
    pooled_size: Array
    """height and width of the result"""
    spatial_scale: float
    """factor from the boxes to the data"""
    sample_ratio: int
    """samples along each axis of a part; not positive: as it needs"""
    layout: str
    """"NCHW" or "NHWC" """
    mode: str
    """"avg", "max", or "corner_max": of the four elements around a place, each times its weight"""
    aligned: bool
    """are centres of elements at halves? Boxes may then be smaller than an element"""

class ROIPoolAttrs(Attrs):
    """attributes of vision.roi_pool (type key relay.attrs.ROIPoolAttrs)"""
    pooled_size: Array
    """height and width of the result"""
    spatial_scale: float
    """factor from the boxes to the data"""
    layout: str
    """"NCHW" or "NHWC" """

class ReduceAttrs(Attrs):
    """attributes of reductions (type key relay.attrs.ReduceAttrs)"""
    axis: Array | None
    """axes that are reduced, all of them when None or empty"""
    keepdims: bool
    """keep reduced axes, with extent 1"""
    exclude: bool
    """reduce the axes that are not in `axis` instead"""

class RepeatAttrs(Attrs):
    """attributes of repeat (type key relay.attrs.RepeatAttrs)"""
    repeats: int
    """number of times each element is repeated"""
    axis: int
    """along which axis"""

class RequantizeAttrs(Attrs):
    """attributes of qnn.requantize (type key relay.attrs.RequantizeAttrs)"""
    axis: int
    """axis along which scales lie"""
    rounding: str
    """halves: "UPWARD" (also "None"), or "TONEAREST": away from zero"""
    compute_dtype: str
    """"float32": products may have 24 bits, halves go to the even number; else 64"""
    out_dtype: str
    """type of the result"""

class ReshapeAttrs(Attrs):
    """attributes of reshape (type key relay.attrs.ReshapeAttrs)"""
    newshape: Array
    """extents, or codes from 0 to -4"""
    allowzero: bool
    """0 is an extent, not a code"""

class ReshapeLikeAttrs(Attrs):
    """attributes of reshape_like (type key relay.attrs.ReshapeLikeAttrs)"""
    lhs_begin: int
    """first axis of data that goes"""
    lhs_end: PrimExpr | None
    """axis after the last one that goes; None: the end"""
    rhs_begin: int
    """first axis of the other tensor that is taken"""
    rhs_end: PrimExpr | None
    """axis after the last one that is taken"""

class ReshapeTensorAttrs(Attrs):
    """attributes of vm.reshape_tensor (type key relay.attrs.ReshapeTensorAttrs)"""
    newshape: Array
    """extents as far as they are known"""

class Resize1DAttrs(Attrs):
    """attributes of image.resize1d (type key relay.attrs.Resize1DAttrs)"""
    size: Array
    """extents of the result"""
    roi: Array | None
    """begin and end of the part that is resized, from 0 to 1"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor", "linear" or "cubic" """
    coordinate_transformation_mode: str
    """which coordinate a place has"""
    rounding_method: str
    """which element is the nearest"""
    cubic_alpha: float
    """coefficient of the spline"""
    cubic_exclude: int
    """do elements outside of data have no weight?"""
    extrapolation_value: float
    """what is outside of data"""
    out_dtype: str
    """type of the result, that of data when empty"""

class Resize2DAttrs(Attrs):
    """attributes of image.resize2d (type key relay.attrs.Resize2DAttrs)"""
    size: Array
    """extents of the result"""
    roi: Array | None
    """begin and end of the part that is resized, from 0 to 1"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor", "linear" or "cubic" """
    coordinate_transformation_mode: str
    """which coordinate a place has"""
    rounding_method: str
    """which element is the nearest"""
    cubic_alpha: float
    """coefficient of the spline"""
    cubic_exclude: int
    """do elements outside of data have no weight?"""
    extrapolation_value: float
    """what is outside of data"""
    out_dtype: str
    """type of the result, that of data when empty"""

class Resize3DAttrs(Attrs):
    """attributes of image.resize3d (type key relay.attrs.Resize3DAttrs)"""
    size: Array
    """extents of the result"""
    roi: Array | None
    """begin and end of the part that is resized, from 0 to 1"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor", "linear" or "cubic" """
    coordinate_transformation_mode: str
    """which coordinate a place has"""
    rounding_method: str
    """which element is the nearest"""
    cubic_alpha: float
    """coefficient of the spline"""
    cubic_exclude: int
    """do elements outside of data have no weight?"""
    extrapolation_value: float
    """what is outside of data"""
    out_dtype: str
    """type of the result, that of data when empty"""

class ReverseAttrs(Attrs):
    """attributes of reverse (type key relay.attrs.ReverseAttrs)"""
    axis: int
    """axis to turn around"""

class ReverseSequenceAttrs(Attrs):
    """attributes of reverse_sequence (type key relay.attrs.ReverseSequenceAttrs)"""
    seq_axis: int
    """axis that is turned around"""
    batch_axis: int
    """axis of the sequences, along which the lengths lie"""

class ScanopAttrs(Attrs):
    """attributes of cumsum and cumprod (type key relay.attrs.ScanopAttrs)"""
    axis: PrimExpr | None
    """axis along which it runs; None: all of data, flat"""
    dtype: str
    """type of the result, that of data when empty"""
    exclusive: bool
    """leave the element itself out?"""

class ScatterElementsAttrs(Attrs):
    """attributes of scatter_elements (type key relay.attrs.ScatterElementsAttrs)"""
    axis: PrimExpr
    """axis that indices are about"""
    reduction: str
    """"update", "add", "mul", "min", "max" or "mean" """

class ScatterNDAttrs(Attrs):
    """attributes of scatter_nd (type key relay.attrs.ScatterNDAttrs)"""
    mode: str
    """"update", "add", "mul", "min" or "max" """

class SearchSortedAttrs(Attrs):
    """attributes of searchsorted (type key relay.attrs.SearchSortedAttrs)"""
    right: bool
    """behind equal elements, not before them"""
    dtype: str
    """type of the result"""

class SequenceConcatAttrs(Attrs):
    """attributes of sequence.concat (type key relay.attrs.SequenceConcatAttrs)"""
    axis: int
    """along which elements are put together"""
    new_axis: bool
    """is the axis a new one?"""

class SequenceMaskAttrs(Attrs):
    """attributes of sequence_mask (type key relay.attrs.SequenceMaskAttrs)"""
    mask_value: float
    """what stands behind the end of a sequence"""
    axis: int
    """axis of the sequences' elements, 0 or 1; the other one is the batch"""

class SequenceSplitAttrs(Attrs):
    """attributes of sequence.split (type key relay.attrs.SequenceSplitAttrs)"""
    axis: int
    """along which the tensor is taken apart"""
    keepdims: bool
    """do the parts keep the axis?"""

class ShapeFuncAttrs(Attrs):
    """attributes of vm.shape_func (type key relay.attrs.ShapeFuncAttrs)"""
    is_input: Array
    """for each input 1: its values are read, 0: it is a shape"""

class ShapeOfAttrs(Attrs):
    """attributes of shape_of (type key relay.attrs.ShapeOfAttrs)"""
    dtype: str
    """type of the numbers"""

class SliceLikeAttrs(Attrs):
    """attributes of slice_like (type key relay.attrs.SliceLikeAttrs)"""
    axes: Array | None
    """axes to cut; None: all"""

class SlidingWindowAttrs(Attrs):
    """attributes of sliding_window (type key relay.attrs.SlidingWindowAttrs)"""
    axis: int
    """first axis of the windows; the others follow it"""
    window_shape: Array
    """extents of a window"""
    strides: Array
    """distance of windows along each of its axes"""

class SoftmaxAttrs(Attrs):
    """attributes of nn.softmax (type key relay.attrs.SoftmaxAttrs)"""
    axis: int
    """axis along which results sum to 1"""

class SpaceToBatchNDAttrs(Attrs):
    """attributes of nn.space_to_batch_nd (type key relay.attrs.SpaceToBatchNDAttrs)"""
    block_shape: Array
    """extents of a block"""
    paddings: Array
    """elements put before and after each axis: pairs"""
    pad_value: float
    """what they are"""

class SparseDenseAttrs(Attrs):
    """attributes of nn.sparse_dense (type key relay.attrs.SparseDenseAttrs)"""
    sparse_lhs: bool
    """is the sparse matrix the left one?"""

class SparseToDenseAttrs(Attrs):
    """attributes of sparse_to_dense (type key relay.attrs.SparseToDenseAttrs)"""
    output_shape: Array
    """shape of the result"""

class SplitAttrs(Attrs):
    """attributes of split (type key relay.attrs.SplitAttrs)"""
    indices_or_sections: Any
    """number of equal parts, or where parts after the first begin"""
    axis: int
    """axis that is divided"""

class SqueezeAttrs(Attrs):
    """attributes of squeeze (type key relay.attrs.SqueezeAttrs)"""
    axis: Array | None
    """axes of extent 1 to drop; None: all of them"""

class StackAttrs(Attrs):
    """attributes of stack (type key relay.attrs.StackAttrs)"""
    axis: int
    """place of the new axis"""

class StftAttrs(Attrs):
    """attributes of stft (type key relay.attrs.StftAttrs)"""
    n_fft: int
    """elements of a transform"""
    hop_length: int
    """distance of windows"""
    win_length: int
    """elements of a window; n_fft at most, it stands in the middle"""
    normalized: bool
    """divide by the root of n_fft?"""
    onesided: bool
    """only the frequencies up to half of n_fft?"""

class StridedSliceAttrs(Attrs):
    """attributes of strided_slice (type key relay.attrs.StridedSliceAttrs)"""
    begin: Array | None
    """first index along each axis"""
    end: Array | None
    """index after the last, or size"""
    strides: Array | None
    """steps, 1 where none is given"""
    axes: Array | None
    """axes that the lists are about; None: the first ones"""
    slice_mode: str
    """"end" or "size" """

class SubPixelAttrs(Attrs):
    """attributes of nn.depth_to_space (type key relay.attrs.SubPixelAttrs)"""
    block_size: int
    """height and width of a block"""
    layout: str
    """layout of data"""
    mode: str
    """"DCR": the place in a block comes before the channel; "CDR" """

class TakeAttrs(Attrs):
    """attributes of take (type key relay.attrs.TakeAttrs)"""
    axis: PrimExpr | None
    """axis that is indexed; None: all of data, flat"""
    batch_dims: int
    """axes that data and indices share"""
    mode: str
    """indices out of range: "clip", "wrap", "fast" (not checked)"""

class ThreefryGenerateAttrs(Attrs):
    """attributes of random.threefry_generate (type key relay.attrs.ThreefryGenerateAttrs)"""
    out_shape: Array
    """shape of the numbers"""

class TileAttrs(Attrs):
    """attributes of tile (type key relay.attrs.TileAttrs)"""
    reps: Array
    """number of repetitions along each axis"""

class TopKAttrs(Attrs):
    """attributes of topk (type key relay.attrs.TopkAttrs)"""
    k: int
    """how many elements, all of them when below 1"""
    axis: int
    """axis that is searched"""
    ret_type: str
    """"both", "values" or "indices" """
    is_ascend: bool
    """the smallest elements?"""
    dtype: str
    """type of indices"""

class TransposeAttrs(Attrs):
    """attributes of transpose (type key relay.attrs.TransposeAttrs)"""
    axes: Array | None
    """which axis of the input each axis is; None: opposite order"""

class TriluAttrs(Attrs):
    """attributes of trilu (type key relay.attrs.TriluAttrs)"""
    upper: bool
    """keep what is above the diagonal, else what is below"""

class UniformAttrs(Attrs):
    """attributes of random.uniform (type key relay.attrs.UniformAttrs)"""
    out_shape: Array
    """shape of the numbers"""
    out_dtype: str
    """float32 or float64"""

class UniqueAttrs(Attrs):
    """attributes of unique (type key relay.attrs.UniqueAttrs)"""
    sorted: bool
    """smallest value first, rather than in the order of data?"""
    return_counts: bool
    """return the count of each value as the last result?"""

class UpSampling3DAttrs(Attrs):
    """attributes of nn.upsampling3d (type key relay.attrs.UpSampling3DAttrs)"""
    scale_d: float
    """factor of the depth"""
    scale_h: float
    """factor of the height"""
    scale_w: float
    """factor of the width"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor" or "trilinear" """
    coordinate_transformation_mode: str
    """which coordinate a place has"""

class UpSamplingAttrs(Attrs):
    """attributes of nn.upsampling (type key relay.attrs.UpSamplingAttrs)"""
    scale_h: float
    """factor of the height"""
    scale_w: float
    """factor of the width"""
    layout: str
    """layout of data"""
    method: str
    """"nearest_neighbor", "bilinear" or "bicubic" """
    align_corners: bool
    """do corners stay where they are?"""

class VMExtentsAttrs(Attrs):
    """attributes of vm.make_shape and vm.check_extents (type key relay.attrs.VMExtentsAttrs)"""
    extents: Array
    """extents: numbers, or -1 - (64 * i + k) for extent k of tensor i; pairs of equal ones"""

class ValueTypeAttrs(Attrs):
    """attributes of value.widen, value.narrow and value.none (type key relay.attrs.ValueTypeAttrs)"""
    to: Type
    """type of the result"""

class VarianceAttrs(Attrs):
    """attributes of variance (type key relay.attrs.VarianceAttrs)"""
    axis: Array | None
    """axes that are reduced, all of them when None or empty"""
    keepdims: bool
    """keep reduced axes, with extent 1"""
    exclude: bool
    """reduce the axes that are not in `axis` instead"""
    unbiased: bool
    """divide by one less"""

class YoloReorgAttrs(Attrs):
    """attributes of vision.yolo_reorg (type key relay.attrs.YoloReorgAttrs)"""
    stride: int
    """rows and columns of a block"""

class ExecutorCodegenMetadata(Object):
    """what is known of an ahead-of-time program (type key relay.backend.ExecutorCodegenMetadata)"""
    inputs: Array
    """names of the inputs"""
    input_tensor_types: Array
    """their types"""
    outputs: Array
    """names of the outputs"""
    output_tensor_types: Array
    """their types"""
    pools: Array
    """memory that main takes"""
    constant_pools: Array
    """memory that constants are in"""
    io_pool_allocations: Map
    """name of an input or output in a pool -> PoolAllocation"""
    devices: Array
    """names of devices that the program is given"""
    executor: str
    """"aot" """
    mod_name: str
    """name of the model"""
    interface_api: str
    """"c" or "packed" """
    unpacked_api: bool
    """functions take data pointers"""
    workspace_alignment: int
    """bytes"""
    constant_alignment: int
    """bytes; 0: that of the elements"""
    workspace_bytes: int
    """memory that a run needs besides inputs and outputs"""
    live_bytes: int
    """of it the least that any plan needs"""
    constant_bytes: int
    """constants in the code"""
    io_bytes: int
    """inputs and outputs"""
    stack_bytes: int
    """arrays on the stack of the deepest call, without frames"""

class FunctionInfo(Object):
    """what a function of a built program needs (type key relay.backend.FunctionInfo)"""
    workspace_sizes: Map
    """bytes of memory that a call needs besides its arguments"""
    io_sizes: Map
    """bytes of its inputs and outputs"""
    constant_sizes: Map
    """bytes of its constants"""
    tir_primfuncs: Map
    """its tensor program"""
    relay_primfuncs: Map
    """the Relay function that it is made from"""

class AltPattern(DFPattern):
    """one of two (type key relay.dataflow_pattern.AltPattern)"""
    left: DFPattern
    """tried first"""
    right: DFPattern
    """tried where left does not match"""

class AttrPattern(DFPattern):
    """something with attributes (type key relay.dataflow_pattern.AttrPattern)"""
    pattern: DFPattern
    """what the expression is"""
    attrs: Attrs
    """attributes it has (DictAttrs)"""

class CallPattern(DFPattern):
    """a call (type key relay.dataflow_pattern.CallPattern)"""
    op: DFPattern
    """what is called"""
    args: Array | None
    """arguments; None: any number of any"""

class ConstantPattern(DFPattern):
    """a constant (type key relay.dataflow_pattern.ConstantPattern)"""

class _DFPatternCallback(Object):
    """pattern and what replaces it (type key relay.dataflow_pattern.DFPatternCallback)"""
    pattern: DFPattern
    """what is looked for"""
    function: Function
    """(before, after, pattern -> expressions) -> expression"""
    require_type: bool
    """must types be known?"""
    rewrite_once: bool
    """one round only?"""

class DataTypePattern(DFPattern):
    """a tensor of an element type (type key relay.dataflow_pattern.DataTypePattern)"""
    pattern: DFPattern
    """what the expression is"""
    dtype: str
    """its element type"""

class DominatorPattern(DFPattern):
    """ways from one expression to another (type key relay.dataflow_pattern.DominatorPattern)"""
    parent: DFPattern
    """where all ways begin"""
    path: DFPattern
    """every expression on the ways"""
    child: DFPattern
    """where they end"""

class ExprPattern(DFPattern):
    """one expression (type key relay.dataflow_pattern.ExprPattern)"""
    expr: RelayExpr
    """the expression (an operator, a constant)"""

class FunctionPattern(DFPattern):
    """a function (type key relay.dataflow_pattern.FunctionPattern)"""
    params: Array | None
    """parameters; None: any"""
    body: DFPattern
    """the body"""

class IfPattern(DFPattern):
    """a choice (type key relay.dataflow_pattern.IfPattern)"""
    cond: DFPattern
    """the condition"""
    true_branch: DFPattern
    """result where it holds"""
    false_branch: DFPattern
    """result elsewhere"""

class LetPattern(DFPattern):
    """a binding (type key relay.dataflow_pattern.LetPattern)"""
    var: DFPattern
    """the variable"""
    value: DFPattern
    """its value"""
    body: DFPattern
    """the result"""

class ShapePattern(DFPattern):
    """a tensor of a shape (type key relay.dataflow_pattern.ShapePattern)"""
    pattern: DFPattern
    """what the expression is"""
    shape: Array
    """its extents"""

class TupleGetItemPattern(DFPattern):
    """a field of a tuple (type key relay.dataflow_pattern.TupleGetItemPattern)"""
    tuple: DFPattern
    """the tuple"""
    index: int
    """which field; -1: any"""

class TuplePattern(DFPattern):
    """a tuple (type key relay.dataflow_pattern.TuplePattern)"""
    fields: Array | None
    """fields; None: any"""

class TypePattern(DFPattern):
    """something of a type (type key relay.dataflow_pattern.TypePattern)"""
    pattern: DFPattern
    """what the expression is"""
    type: Type
    """its type"""

class VarPattern(DFPattern):
    """a variable (type key relay.dataflow_pattern.VarPattern)"""
    name: str
    """name of the variable; empty: any"""

class WildcardPattern(DFPattern):
    """anything (type key relay.dataflow_pattern.WildcardPattern)"""

class ADT(Object):
    """tag and fields: a tuple or a constructed value (type key runtime.ADT)"""

class BoxBool(Object):
    """truth value as an object (type key runtime.BoxBool)"""
    value: bool
    """the truth value"""

class BoxFloat(Object):
    """number as an object (type key runtime.BoxFloat)"""
    value: float
    """the number"""

class BoxInt(Object):
    """integer as an object (type key runtime.BoxInt)"""
    value: int
    """the integer"""

class Bytes(Object):
    """immutable bytes (type key runtime.Bytes)"""

class Module(Object):
    """functions compiled or loaded together (type key runtime.Module)"""
    imports: Array | None
    """modules in which functions are also looked up, in this order"""

class NDArray(Object):
    """multi-dimensional array on a device (type key runtime.NDArray)"""

class runtime_PackedFunc(Object):
    """callable (type key runtime.PackedFunc)"""

class ShapeTuple(Object):
    """immutable sequence of int64 (type key runtime.ShapeTuple)"""

class String(Object):
    """immutable UTF-8 text (type key runtime.String)"""

class Count(Object):
    """count (type key runtime.profiling.Count)"""
    value: int
    """a number of things"""

class DeviceWrapper(Object):
    """device as an object, for containers (type key runtime.profiling.DeviceWrapper)"""
    device: tenon.Device
    """the device"""

class Duration(Object):
    """time in microseconds (type key runtime.profiling.Duration)"""
    microseconds: float
    """a time"""

class MetricCollector(Object):
    """something measured around each call (type key runtime.profiling.MetricCollector)"""
    init: Function | None
    """called once with the devices"""
    start: Function | None
    """called with a device before a call; None: nothing to stop"""
    stop: Function | None
    """called after it with what start returned; map of metrics"""

class Percent(Object):
    """percentage (type key runtime.profiling.Percent)"""
    percent: float
    """a share of 100"""

class Ratio(Object):
    """ratio (type key runtime.profiling.Ratio)"""
    ratio: float
    """a quotient"""

class Report(Object):
    """what a profile found (type key runtime.profiling.Report)"""
    calls: Array
    """one map for each call, from name of a metric to its value"""
    device_metrics: Map
    """name of a device to its metrics over the whole run"""
    configuration: Map
    """what was run, and how"""

class HostValue(Object):
    """value of the host language (type key script.HostValue)"""
    key: int
    """what the host knows it by"""

class TIRMacro(Object):
    """macro of scripts (type key script.Macro)"""
    name: str
    """name of the function"""
    source: str
    """its text"""
    file: str
    """where the text is from"""
    first_line: int
    """number of its first line in the file"""
    first_col: int
    """columns cut off on the left"""
    hygienic: bool
    """other names mean what they meant where it was defined"""
    host: Any
    """evaluates those names"""
    receiver: Any
    """first argument of a method"""

class PrinterConfig(Object):
    """settings of a print (type key script.PrinterConfig)"""
    binding_names: Array
    """names of the object that is printed"""
    show_meta: bool
    """append the metadata section"""
    ir_prefix: str
    """prefix of module constructs"""
    tir_prefix: str
    """prefix of tensor programs"""
    module_alias: str
    """how a function names its module"""
    buffer_dtype: str
    """element type left out in buffers"""
    int_dtype: str
    """type of bare integers"""
    float_dtype: str
    """type of bare floats"""
    verbose_expr: bool
    """an expression alone is printed with the declarations of its variables"""
    indent_spaces: int
    """spaces of a level"""
    print_line_numbers: bool
    """number the lines"""
    num_context_lines: int
    """lines around what is underlined, -1 for all"""
    syntax_sugar: bool
    """short forms: T.grid, axis.remap, buffers as parameters, implicit root block"""
    show_object_address: bool
    """append addresses to names"""
    path_to_underline: Array | None
    """paths underlined with ^^^"""
    path_to_annotate: Map | None
    """path to comment"""
    obj_to_underline: Array | None
    """objects underlined with ^^^"""
    obj_to_annotate: Map | None
    """object to comment"""

class Doc(Object):
    """piece of Python text (type key script.printer.Doc)"""
    source_paths: Array
    """where the printed objects are"""

class StmtDoc(Doc):
    """statement (type key script.printer.StmtDoc)"""
    comment: str | None
    """comment beside or above the statement"""

class AssertDoc(StmtDoc):
    """assert (type key script.printer.AssertDoc)"""
    test: ExprDoc
    """condition"""
    msg: ExprDoc | None
    """message"""

class AssignDoc(StmtDoc):
    """a: c = b (type key script.printer.AssignDoc)"""
    lhs: ExprDoc
    """target"""
    rhs: ExprDoc | None
    """value"""
    annotation: ExprDoc | None
    """type annotation"""

class ExprDoc(Doc):
    """expression (type key script.printer.ExprDoc)"""

class AttrAccessDoc(ExprDoc):
    """a.b (type key script.printer.AttrAccessDoc)"""
    value: ExprDoc
    """object"""
    name: str
    """attribute"""

class CallDoc(ExprDoc):
    """a(b, c=d) (type key script.printer.CallDoc)"""
    callee: ExprDoc
    """what is called"""
    args: Array
    """positional arguments"""
    kwargs_keys: Array
    """names of the keyword arguments"""
    kwargs_values: Array
    """their values"""

class ClassDoc(StmtDoc):
    """class (type key script.printer.ClassDoc)"""
    name: IdDoc
    """name"""
    decorators: Array
    """decorators"""
    body: Array
    """statements"""

class CommentDoc(StmtDoc):
    """comment (type key script.printer.CommentDoc)"""

class DictDoc(ExprDoc):
    """dictionary (type key script.printer.DictDoc)"""
    keys: Array
    """keys"""
    values: Array
    """values"""

class DocStringDoc(StmtDoc):
    """documentation string (type key script.printer.DocStringDoc)"""

class ExprStmtDoc(StmtDoc):
    """expression as a statement (type key script.printer.ExprStmtDoc)"""
    expr: ExprDoc
    """expression"""

class ForDoc(StmtDoc):
    """for (type key script.printer.ForDoc)"""
    lhs: ExprDoc
    """loop variables"""
    rhs: ExprDoc
    """iterator"""
    body: Array
    """statements"""

class FunctionDoc(StmtDoc):
    """def (type key script.printer.FunctionDoc)"""
    name: IdDoc
    """name"""
    args: Array
    """parameters"""
    decorators: Array
    """decorators"""
    return_type: ExprDoc | None
    """annotation of the result"""
    body: Array
    """statements"""

class IdDoc(ExprDoc):
    """name (type key script.printer.IdDoc)"""
    name: str
    """the name"""

class IfDoc(StmtDoc):
    """if (type key script.printer.IfDoc)"""
    predicate: ExprDoc
    """condition"""
    then_branch: Array
    """statements when it holds"""
    else_branch: Array
    """statements when it does not"""

class IndexDoc(ExprDoc):
    """a[b] (type key script.printer.IndexDoc)"""
    value: ExprDoc
    """object"""
    indices: Array
    """expressions and slices"""

class LambdaDoc(ExprDoc):
    """lambda (type key script.printer.LambdaDoc)"""
    args: Array
    """parameters"""
    body: ExprDoc
    """body"""

class ListDoc(ExprDoc):
    """list (type key script.printer.ListDoc)"""
    elements: Array
    """elements"""

class LiteralDoc(ExprDoc):
    """literal (type key script.printer.LiteralDoc)"""
    value: Any
    """None, IntImm, FloatImm or String"""

class OperationDoc(ExprDoc):
    """operator (type key script.printer.OperationDoc)"""
    kind: int
    """operator, see doc.h"""
    operands: Array
    """one, two or three operands"""

class ReturnDoc(StmtDoc):
    """return (type key script.printer.ReturnDoc)"""
    value: ExprDoc
    """value"""

class ScopeDoc(StmtDoc):
    """with (type key script.printer.ScopeDoc)"""
    lhs: ExprDoc | None
    """name bound by `as`"""
    rhs: ExprDoc
    """context"""
    body: Array
    """statements"""

class SliceDoc(Doc):
    """a:b:c (type key script.printer.SliceDoc)"""
    start: ExprDoc | None
    """lower bound"""
    stop: ExprDoc | None
    """upper bound"""
    step: ExprDoc | None
    """step"""

class StmtBlockDoc(Doc):
    """statements (type key script.printer.StmtBlockDoc)"""
    stmts: Array
    """statements"""

class TupleDoc(ExprDoc):
    """tuple (type key script.printer.TupleDoc)"""
    elements: Array
    """elements"""

class WhileDoc(StmtDoc):
    """while (type key script.printer.WhileDoc)"""
    predicate: ExprDoc
    """condition"""
    body: Array
    """statements"""

class Add(PrimExpr):
    """a + b (type key tir.Add)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Stmt(Object):
    """base of statements (type key tir.Stmt)"""
    span: Span | None
    """source location"""

class Allocate(Stmt):
    """allocates storage (type key tir.Allocate)"""
    buffer_var: Var
    """pointer to the storage"""
    dtype: str
    """type of an element"""
    extents: Array
    """extents"""
    condition: PrimExpr
    """allocated only if"""
    body: Stmt
    """where it lives"""
    annotations: Map
    """hints"""

class AllocateConst(Stmt):
    """constant storage (type key tir.AllocateConst)"""
    buffer_var: Var
    """pointer to the storage"""
    data: NDArray | None
    """content, unless it is in the module's constants"""
    irmod_storage_idx: Any
    """index in the module's constants"""
    dtype: str
    """type of an element"""
    extents: Array
    """extents"""
    body: Stmt
    """where it lives"""
    annotations: Map
    """hints"""

class And(PrimExpr):
    """a and b (type key tir.And)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Any(PrimExpr):
    """extent known at run time only (type key tir.Any)"""

class AssertStmt(Stmt):
    """run-time check (type key tir.AssertStmt)"""
    condition: PrimExpr
    """must hold"""
    message: PrimExpr
    """text of the error otherwise (StringImm)"""
    body: Stmt
    """what follows"""

class AttrStmt(Stmt):
    """attribute over a body (type key tir.AttrStmt)"""
    node: Any
    """what the attribute is about"""
    attr_key: str
    """name of the attribute"""
    value: PrimExpr
    """its value"""
    body: Stmt
    """where it holds"""

class BijectiveLayout(Object):
    """mapping between two layouts (type key tir.BijectiveLayout)"""
    src_layout: Layout
    """layout of the source"""
    dst_layout: Layout
    """layout of the destination"""
    index_forward_rule: Array
    """destination indices over the source's axes"""
    shape_forward_rule: Array
    """destination extents over the source's axes"""
    index_backward_rule: Array
    """source indices over the destination's axes"""
    shape_backward_rule: Array
    """source extents over the destination's axes"""

class Block(Stmt):
    """unit of scheduling: iterators, regions, body (type key tir.Block)"""
    iter_vars: Array
    """block iterators"""
    reads: Array
    """regions that are read"""
    writes: Array
    """regions that are written"""
    name_hint: str
    """name"""
    alloc_buffers: Array
    """buffers that live in the block"""
    match_buffers: Array
    """buffers that stand for regions"""
    annotations: Map
    """hints"""
    init: Stmt | None
    """first value of a reduction"""
    body: Stmt
    """body"""

class BlockRV(Object):
    """handle of a block (type key tir.BlockRV)"""

class BlockRealize(Stmt):
    """execution of a block at iterator values (type key tir.BlockRealize)"""
    iter_values: Array
    """values of the block iterators"""
    predicate: PrimExpr
    """executed only if"""
    block: Block
    """the block"""

class BlockScope(Object):
    """the blocks in a block (type key tir.BlockScope)"""
    deps: Array
    """dependencies among its blocks"""

class Broadcast(PrimExpr):
    """vector of equal lanes (type key tir.Broadcast)"""
    value: PrimExpr
    """value of every lane, a scalar"""
    lanes: int
    """number of lanes, at least 2; -n stands for vscale() * n"""

class Buffer(Object):
    """symbolic multi-dimensional storage (type key tir.Buffer)"""
    data: Var
    """pointer to the start of the storage"""
    dtype: str
    """type of an element"""
    shape: Array
    """extents"""
    axis_separators: Array
    """where groups of axes are flattened apart"""
    strides: Array
    """strides in elements, empty for compact row-major"""
    elem_offset: PrimExpr | None
    """offset of the first element from data"""
    name: str
    """name"""
    data_alignment: int
    """alignment of data in bytes"""
    offset_factor: int
    """elem_offset is a multiple of this"""
    buffer_type: int
    """1 default, 2 auto broadcast"""
    span: Span | None
    """source location"""

class BufferLoad(PrimExpr):
    """element of a buffer (type key tir.BufferLoad)"""
    buffer: Buffer
    """buffer that is read"""
    indices: Array
    """one index for each axis"""

class BufferRealize(Stmt):
    """allocates a buffer's region (type key tir.BufferRealize)"""
    buffer: Buffer
    """buffer that is allocated"""
    bounds: Array
    """one Range for each axis"""
    condition: PrimExpr
    """allocated only if"""
    body: Stmt
    """where it lives"""

class BufferRegion(Object):
    """box of a buffer (type key tir.BufferRegion)"""
    buffer: Buffer
    """buffer"""
    region: Array
    """one Range for each axis"""

class BufferStore(Stmt):
    """writes an element (type key tir.BufferStore)"""
    buffer: Buffer
    """buffer that is written"""
    value: PrimExpr
    """value"""
    indices: Array
    """one index for each axis"""

class tir_Call(PrimExpr):
    """call of an intrinsic or function (type key tir.Call)"""
    op: BaseExpr
    """Op of an intrinsic, or GlobalVar of a function of the module"""
    args: Array
    """arguments"""

class Cast(PrimExpr):
    """conversion to dtype (type key tir.Cast)"""
    value: PrimExpr
    """operand, as many lanes as dtype"""

class CommReducer(Object):
    """commutative combination of values (type key tir.CommReducer)"""
    lhs: Array
    """variables of the accumulated values"""
    rhs: Array
    """variables of the values that come in"""
    result: Array
    """their combinations"""
    identity_element: Array
    """values that change nothing when combined"""
    span: Span | None
    """place in the source text"""

class DeclBuffer(Stmt):
    """declares a buffer over existing storage (type key tir.DeclBuffer)"""
    buffer: Buffer
    """buffer over existing storage"""
    body: Stmt
    """where it is visible"""

class Dependency(Object):
    """why a block runs after one (type key tir.Dependency)"""
    src: StmtSRef
    """block that runs first"""
    dst: StmtSRef
    """block that depends on it"""
    kind: int
    """0 read after write, 1 write after write, 2 write after read, 3 opaque"""

class Div(PrimExpr):
    """a / b; integers round toward zero (type key tir.Div)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class EQ(PrimExpr):
    """a == b (type key tir.EQ)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Evaluate(Stmt):
    """evaluates an expression for its effect (type key tir.Evaluate)"""
    value: PrimExpr
    """expression with an effect"""

class FloorDiv(PrimExpr):
    """a / b rounded down (type key tir.FloorDiv)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class FloorMod(PrimExpr):
    """remainder of FloorDiv: sign of b (type key tir.FloorMod)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class For(Stmt):
    """loop (type key tir.For)"""
    loop_var: Var
    """loop variable"""
    min: PrimExpr
    """first value"""
    extent: PrimExpr
    """number of iterations"""
    kind: int
    """0 serial, 1 parallel, 2 vectorized, 3 unrolled, 4 thread binding"""
    body: Stmt
    """body"""
    thread_binding: IterVar | None
    """thread axis of a thread-binding loop"""
    annotations: Map
    """hints"""

class GE(PrimExpr):
    """a >= b (type key tir.GE)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class GT(PrimExpr):
    """a > b (type key tir.GT)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class IfThenElse(Stmt):
    """conditional (type key tir.IfThenElse)"""
    condition: PrimExpr
    """condition"""
    then_case: Stmt
    """when it holds"""
    else_case: Stmt | None
    """when it does not"""

class IndexMap(Object):
    """mapping between index spaces (type key tir.IndexMap)"""
    initial_indices: Array
    """variables of the old indices"""
    final_indices: Array
    """new indices over them"""
    inverse_index_map: Any
    """the inverse where the caller gave it"""

class Instruction(Object):
    """a step that was taken (type key tir.Instruction)"""
    kind: InstructionKind
    """which step it is"""
    inputs: Array
    """handles, None, numbers and texts"""
    attrs: Array
    """what else the step was given"""
    outputs: Array
    """handles that the step gave"""

class InstructionKind(Object):
    """kind of a step (type key tir.InstructionKind)"""
    name: str
    """Split, GetBlock, ..."""

class IterVar(Object):
    """variable that iterates over a range (type key tir.IterVar)"""
    dom: Range | None
    """domain; None while it is to be inferred"""
    var: Var
    """the variable"""
    iter_type: int
    """how it iterates: see ir_iter_type"""
    thread_tag: str
    """"threadIdx.x" and the like, or empty"""
    span: Span | None
    """place in the source text"""

class LE(PrimExpr):
    """a <= b (type key tir.LE)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class LT(PrimExpr):
    """a < b (type key tir.LT)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Layout(Object):
    """order and blocking of the axes of a tensor (type key tir.Layout)"""
    name: str
    """as text: NCHW16c"""
    axes: Array
    """axes in order; the extents of sub-axes are their factors"""

class tir_Let(PrimExpr):
    """binds a variable in an expression (type key tir.Let)"""
    var: Var
    """variable bound in body"""
    value: PrimExpr
    """its value, same dtype"""
    body: PrimExpr
    """the result"""

class LetStmt(Stmt):
    """binds a variable (type key tir.LetStmt)"""
    var: Var
    """bound variable"""
    value: PrimExpr
    """its value"""
    body: Stmt
    """where it is visible"""

class LoopRV(Object):
    """handle of a loop (type key tir.LoopRV)"""

class MatchBufferRegion(Object):
    """buffer that stands for a region (type key tir.MatchBufferRegion)"""
    buffer: Buffer
    """buffer that stands for the region"""
    source: BufferRegion
    """region it matches"""

class Max(PrimExpr):
    """the larger (type key tir.Max)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Min(PrimExpr):
    """the smaller (type key tir.Min)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Mod(PrimExpr):
    """remainder of Div: sign of a (type key tir.Mod)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Mul(PrimExpr):
    """a * b (type key tir.Mul)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class NE(PrimExpr):
    """a != b (type key tir.NE)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Not(PrimExpr):
    """not a (type key tir.Not)"""
    a: PrimExpr
    """operand, bool"""

class Or(PrimExpr):
    """a or b (type key tir.Or)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class Prefetch(Stmt):
    """prefetch hint (type key tir.Prefetch)"""
    buffer: Buffer
    """buffer"""
    bounds: Array
    """one Range for each axis"""

class PrimFunc(BaseFunc):
    """tensor program (type key tir.PrimFunc)"""
    params: Array
    """parameters"""
    ret_type: Type | None
    """type of the result"""
    buffer_map: Map
    """buffer that each handle parameter points to (Var to Buffer)"""
    body: Stmt
    """body"""

class PrimFuncPass(Pass):
    """pass over each tensor program (type key tir.PrimFuncPass)"""
    pass_func: Function
    """(function, module, context) -> function, or None to drop it"""

class ProducerLoad(PrimExpr):
    """element of a tensor expression (type key tir.ProducerLoad)"""
    producer: DataProducer
    """tensor that is read"""
    indices: Array
    """one index for each axis"""

class ProducerRealize(Stmt):
    """allocates a tensor expression (type key tir.ProducerRealize)"""
    producer: DataProducer
    """tensor that is allocated"""
    bounds: Array
    """one Range for each axis"""
    condition: PrimExpr
    """allocated only if"""
    body: Stmt
    """where it lives"""
    storage_scope: str
    """memory scope"""

class ProducerStore(Stmt):
    """writes an element of a tensor expression (type key tir.ProducerStore)"""
    producer: DataProducer
    """tensor that is written"""
    value: PrimExpr
    """value"""
    indices: Array
    """one index for each axis"""

class Ramp(PrimExpr):
    """vector base, base + stride, ... (type key tir.Ramp)"""
    base: PrimExpr
    """first lane, a scalar"""
    stride: PrimExpr
    """difference of neighbouring lanes, same dtype as base"""
    lanes: int
    """number of lanes, at least 2; -n stands for vscale() * n"""

class Reduce(PrimExpr):
    """reduction over iteration variables (type key tir.Reduce)"""
    axis: Array
    """reduced iteration variables (of type CommReduce)"""
    combiner: CommReducer | None
    """how two values are combined"""
    source: Array
    """what is reduced, one expression for each variable of the combiner"""
    init: Array
    """start values, or empty for the identity element"""
    condition: PrimExpr | None
    """bool: which elements take part; None for all"""
    value_index: int
    """which of the results this expression is"""

class tir_Schedule(Object):
    """program being scheduled (type key tir.Schedule)"""
    mod: IRModule
    """the program as it is now"""
    symbols: Map
    """handle to what it stands for; None once that is gone"""
    srefs: Map
    """block or loop to its StmtSRef, where one was asked for"""
    work_name: str | None
    """function that get_block looks into"""
    debug_mask: int
    """each step is checked; 1: tree and variables, 2: statements and regions"""
    error_render_level: int
    """0 detail, 1 fast, 2 none"""
    rand_state: int
    """state of the random numbers"""
    trace: Trace
    """the steps so far"""

class Select(PrimExpr):
    """choice without a branch (type key tir.Select)"""
    condition: PrimExpr
    """bool, one lane or as many as the values"""
    true_value: PrimExpr
    """result where the condition holds; always evaluated"""
    false_value: PrimExpr
    """result elsewhere, same dtype; always evaluated"""

class SeqStmt(Stmt):
    """statements one after the other (type key tir.SeqStmt)"""
    seq: Array
    """statements in order"""

class Shuffle(PrimExpr):
    """lanes of vectors, rearranged (type key tir.Shuffle)"""
    vectors: Array
    """vectors that are put one after another"""
    indices: Array
    """lane of that which each lane of the result takes"""

class tir_Var(PrimExpr):
    """variable (type key tir.Var)"""
    name: str
    """name hint: identity is the object's, not the name's"""
    type_annotation: Type | None
    """type beyond dtype: what a pointer points to"""

class SizeVar(tir_Var):
    """variable that is never negative (type key tir.SizeVar)"""

class StmtSRef(Object):
    """a block or loop of a schedule (type key tir.StmtSRef)"""
    stmt: Stmt | None
    """the block or loop as it is now; None once it is gone"""
    parent: StmtSRef | None
    """the block or loop around it"""

class StringImm(PrimExpr):
    """text constant (type key tir.StringImm)"""
    value: str
    """the text"""

class Sub(PrimExpr):
    """a - b (type key tir.Sub)"""
    a: PrimExpr
    """left operand"""
    b: PrimExpr
    """right operand, same dtype as a"""

class tir_TensorIntrin(Object):
    """tensorized instruction (type key tir.TensorIntrin)"""
    desc: PrimFunc
    """what the intrinsic computes"""
    impl: PrimFunc
    """how it is called"""

class Trace(Object):
    """the steps of a schedule (type key tir.Trace)"""
    insts: Array
    """steps in their order"""
    decisions: Map
    """Instruction to the choice that was made for it"""

class While(Stmt):
    """loop while a condition holds (type key tir.While)"""
    condition: PrimExpr
    """condition"""
    body: Stmt
    """body"""

class AutoTensorizeMappingInfo(Object):
    """how an instruction's iterators stand for a block's (type key tir.schedule.AutoTensorizeMappingInfo)"""
    mappings: Array
    """maps of the block's iterators to the instruction's"""
    lhs_buffer_map: Map
    """buffer of the description to buffer of the block"""
    rhs_buffer_indices: Map
    """buffer of the description to its indices"""
    lhs_iters: Array
    """iterators of the block"""
    rhs_iters: Array
    """iterators of the description"""

class TensorizeInfo(Object):
    """which loops an instruction does (type key tir.schedule.TensorizeInfo)"""
    loop_map: Map
    """loop of the program (StmtSRef) to loop of the description (For)"""
    desc_loop_indexer: Map
    """loop of the description to its number from outside"""
    block_iter_paddings: Array | None
    """multiple that each iterator's extent must become; None: nothing to pad"""

class HoistExpressionConfig(Attrs):
    """options of tir.HoistExpression (type key tir.transform.HoistExpressionConfig)"""
    hoisted_conditionals: int
    """which conditions move, see HoistedConditionals"""
    hoisted_let_bindings: int
    """which bindings move, see HoistedLetBindings"""

class HoistIfThenElseConfig(Attrs):
    """options of tir.HoistIfThenElse (type key tir.transform.HoistIfThenElseConfig)"""
    support_block_scope_hosting: bool
    """conditions with indices of threads, and parts of conjunctions, move too"""

class InjectDoubleBufferConfig(Attrs):
    """options of tir.InjectDoubleBuffer (type key tir.transform.InjectDoubleBufferConfig)"""
    split_loop: int
    """factor by which loops with double buffers are split"""

class LoopPartitionConfig(Attrs):
    """options of tir.LoopPartition (type key tir.transform.LoopPartitionConfig)"""
    partition_const_loop: bool
    """divide loops of constant range too"""
    no_unroll_loop_with_extent_one: bool
    """parts of one iteration stay loops"""
    unroll_loop_with_partition_hint_no_interval: bool
    """unroll loops with a hint that cannot be divided"""

class ReduceBranchingThroughOvercomputeConfig(Attrs):
    """options of tir.ReduceBranchingThroughOvercompute (type key tir.transform.ReduceBranchingThroughOvercomputeConfig)"""
    use_dataflow_analysis: bool
    """use what was stored or assumed before"""

class RemoveNoOpConfig(Attrs):
    """options of tir.RemoveNoOp (type key tir.transform.RemoveNoOpConfig)"""
    use_dataflow_analysis: bool
    """use what was stored before"""
    max_simplification_steps: int
    """most steps of that analysis"""
    ignore_profiler: bool
    """drop calls that measure"""

class SimplifyConfig(Attrs):
    """options of tir.Simplify (type key tir.transform.SimplifyConfig)"""
    transitively_prove_inequalities: bool
    """look for chains of known comparisons"""
    propagate_knowns_to_prove_conditional: bool
    """use what was stored before to decide conditions"""
    propagate_knowns_to_simplify_expressions: bool
    """use what was stored before in expressions"""
    convert_boolean_to_and_of_ors: bool
    """write conditions as conjunctions of disjunctions"""
    apply_constraints_to_boolean_branches: bool
    """simplify a side of a condition with what the other says"""

class UnrollLoopConfig(Attrs):
    """options of tir.UnrollLoop (type key tir.transform.UnrollLoopConfig)"""
    auto_max_step: int
    """loops are unrolled on their own up to this number of statements"""
    auto_max_depth: int
    """up to this depth of nesting"""
    auto_max_extent: int
    """and up to this extent, whatever the number of statements"""
    explicit_unroll: int
    """write the iterations out instead of marking the loop"""
    unroll_local_access: int
    """always unroll loops that index local memory"""

class BufferInfo(Object):
    """memory that needs a place (type key tir.usmp.BufferInfo)"""
    name_hint: str
    """name"""
    size_bytes: IntImm
    """bytes"""
    pool_candidates: Array
    """pools that it may lie in, best first"""
    alignment: IntImm
    """bytes that its place is a multiple of"""
    conflicts: Array | None
    """buffers that live at the same time, while they are planned"""

class BufferInfoAnalysis(Object):
    """all memory of a program that needs a place (type key tir.usmp.BufferInfoAnalysis)"""
    buffer_info_stmts: Map
    """BufferInfo -> what allocates it"""
    memory_pressure: IntImm
    """bytes that are alive at the same time, at the most"""

class PoolAllocation(Object):
    """where a tensor is in a pool (type key tir.usmp.PoolAllocation)"""
    pool_info: PoolInfo
    """the pool"""
    byte_offset: IntImm
    """place in it"""

class ModulePass(Pass):
    """pass over a whole module (type key transform.ModulePass)"""
    pass_func: Function
    """(module, context) -> module"""

class PassContext(Object):
    """level, options and instruments of passes (type key transform.PassContext)"""
    opt_level: int
    """sequences run passes up to this level"""
    required_pass: Array
    """names of passes that run at any level"""
    disabled_pass: Array
    """names of passes that sequences leave out"""
    instruments: Array
    """instruments, called in order"""
    config: Map
    """options of passes by key"""
    diag_ctx: DiagnosticContext | None
    """what the running pass reports to"""

class PassInfo(Object):
    """name, level and needs of a pass (type key transform.PassInfo)"""
    opt_level: int
    """level from which a sequence runs the pass"""
    name: str
    """name of the pass"""
    required: Array
    """names of the passes to run before it in a sequence"""
    traceable: bool
    """whether a traced run records it"""

class Sequential(Pass):
    """passes in order (type key transform.Sequential)"""
    passes: Array
    """the passes, run in order"""

class VMClosure(Object):
    """function of an executable with values for its first parameters (type key vm.Closure)"""

class VMRef(Object):
    """cell whose value can be changed (type key vm.Ref)"""
    value: Any
    """what it holds"""

class VMStorage(Object):
    """memory of a device, of a virtual machine (type key vm.Storage)"""
