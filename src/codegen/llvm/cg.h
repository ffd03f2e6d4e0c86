/* Generation of LLVM IR from lowered tensor programs: state and the functions of the files here.

     module.c   one LLVM module for the functions of an IRModule
     stmt.c     statements            parallel.c  parallel loops as closures
     expr.c     expressions           call.c, math.c, host.c  calls of intrinsics
     integer.c  integers where machines have no answer
     types.c    types, conversions    memory.c    loads, stores, alias information
     half.c     float16 by hand       polynomial.c  exp, log, tanh, erf of vectors
     machine.c  target machine        run.c       the module that runs, prints and saves it
     optimize.c LLVM's passes
     dot.c      sums of products of small integers   x86_amx.c matrix registers
     library.c  imports, the system library              debug.c  lines of the script
     import.c   LLVM code in programs                per_function.c  functions compiled one by one
     load.c     files of LLVM code
     check_tensors.c  checks of arguments by a table
     guarded.c, guard.cc  errors where LLVM would end the process

   Representation. bfloat16 values are i16 and computed in float; bool is i1 in registers and a byte
   in memory; handles are opaque pointers. Every function returns NULL or -1 with an error pending.
 */
#ifndef TN_CODEGEN_LLVM_CG_H_
#define TN_CODEGEN_LLVM_CG_H_

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>

#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "target/target.h"
#include "tenon/runtime.h"
#include "tir/tir.h"

/** Debug information under generation; debug.c. */
typedef struct cg_debug cg_debug;

/** The module under generation. */
typedef struct {
  LLVMContextRef ctx;
  LLVMModuleRef mod;
  LLVMTypeRef i1, i8, i16, i32, i64, f16, f32, f64, ptr, none;
  const tn_IRModule *ir;
  LLVMFastMathFlags fast; /* what float operations may do */
  unsigned md_scope, md_noalias;
  cg_debug *debug;            /* NULL without debug information */
  bool uses_half;             /* float16 occurs */
  bool part;                  /* one of several that make a module: it has no entry */
  bool scalar_loops;          /* an innermost loop works on scalars alone */
  int64_t loops;              /* generated so far */
  int vector_width;           /* bits of the vectors to prefer, 0: the processor's default */
  const char *cpu, *features; /* of the machine */
} cg_module;

enum { CG_MAX_SCOPES = 64 };

/** Buffers of a function that never overlap: the i-th has scopes[i], and others[i] lists the rest.
 */
typedef struct {
  tn_pmap index; /* data pointer variable -> i + 1 */
  int n;
  LLVMValueRef scopes[CG_MAX_SCOPES], others[CG_MAX_SCOPES];
} cg_alias;

/** The function under generation; a parallel closure has its own. */
typedef struct {
  cg_module *m;
  LLVMBuilderRef b;
  LLVMValueRef fn;
  LLVMTypeRef ret;
  tn_pmap vars; /* tn_Var -> LLVMValueRef */
  tn_pmap wide; /* the same of variables as parts of an index, as i64; few have one */
  const cg_alias *alias;
  const tn_pmap *data; /* variables that are data, see tir_is_place */
  const char *name;
  LLVMMetadataRef scope; /* of debug information, NULL without */
  bool index;            /* inside an index: integers do not overflow */
  /* inside a parallel closure: */
  LLVMValueRef task_id, num_task, penv;
  bool stride_pattern; /* tasks take every num_task-th iteration */
  bool in_loop;        /* inside the loop whose iterations are shared out */
} cg_fn;

/* ---- types.c ---- */

/** NULL with CodegenError for a type that code cannot be made for. */
LLVMTypeRef cg_type(cg_module *m, tn_dtype t);
/** The type of an element in memory: bool takes a byte. */
LLVMTypeRef cg_memory_type(cg_module *m, tn_dtype t);
LLVMValueRef cg_cast(cg_fn *f, LLVMValueRef v, tn_dtype from, tn_dtype to);
LLVMValueRef cg_splat(cg_fn *f, LLVMValueRef scalar, int lanes);
/** An integer constant, in every lane of a type. */
LLVMValueRef cg_const_int(LLVMTypeRef type, uint64_t value);
static inline bool cg_is_bf16(tn_dtype t) { return t.code == kDLBfloat && t.bits == 16; }
/** Floating point types whose functions are computed in float32. */
static inline bool cg_is_small_float(tn_dtype t) {
  return (t.code == kDLFloat || t.code == kDLBfloat) && t.bits == 16;
}
static inline LLVMValueRef cg_i32(cg_fn *f, int64_t v) {
  return LLVMConstInt(f->m->i32, (unsigned long long)v, 1);
}
static inline LLVMValueRef cg_i64(cg_fn *f, int64_t v) {
  return LLVMConstInt(f->m->i64, (unsigned long long)v, 1);
}
/** Marks a float operation with what the target allows. */
LLVMValueRef cg_fast(cg_fn *f, LLVMValueRef v);

/* ---- expr.c ---- */

LLVMValueRef cg_expr(cg_fn *f, const void *e);
/** An operation of two values of one type; op is TN_TI_Add ... TN_TI_Or. */
LLVMValueRef cg_binary(cg_fn *f, uint32_t op, tn_dtype t, LLVMValueRef a, LLVMValueRef b);
/** Quotients, remainders, shifts and powers of integers: every pair of numbers has a result. op is
 * TN_TI_Div ... TN_TI_FloorMod. */
LLVMValueRef cg_divide(cg_fn *f, uint32_t op, bool is_signed, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_shift(cg_fn *f, tir_op_id op, bool is_signed, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef cg_int_power(cg_fn *f, tn_dtype t, LLVMValueRef a, LLVMValueRef b);
/** A float as an integer of `type`. */
LLVMValueRef cg_to_integer(cg_fn *f, LLVMValueRef v, tn_dtype from, tn_dtype to);
/** The value of an index, as i64. */
LLVMValueRef cg_index(cg_fn *f, const tn_expr *e);
/** The variable stands for the value from here on. */
int cg_let(cg_fn *f, const tn_Var *var, const tn_expr *value);

/* ---- call.c, math.c, host.c: calls ---- */

LLVMValueRef cg_call(cg_fn *f, const tn_Call *call);
/** A math function; *done is false when the intrinsic is none. */
LLVMValueRef cg_math(cg_fn *f, tir_op_id op, const tn_Call *call, bool *done);
/** T.dot: sums of products of neighbouring bytes. */
LLVMValueRef cg_dot(cg_fn *f, const tn_Call *call);
/** Is a conversion to an integer, of floats rounded to the nearest, one instruction? Then that. */
bool cg_is_rounding(const cg_fn *f, const tn_Cast *e);
LLVMValueRef cg_rounded(cg_fn *f, const tn_Cast *e);
/** A conversion that rounds floats to bfloat16 by operations on their bits, as one instruction;
 * NULL without an error where there is none, or it is another conversion. */
LLVMValueRef cg_cast_bf16(cg_fn *f, const tn_Cast *e);
/** Is code made for x86-64? */
bool cg_is_x86(const cg_fn *f);
/** T.tile_config, T.tile_release, T.tile_product: matrix registers; *done is false for others. */
LLVMValueRef cg_tiles(cg_fn *f, tir_op_id op, const tn_Call *call, bool *done);
/** Has the processor a feature ("avx512vnni"), by its list of features or by its name? */
bool cg_has_feature(const cg_module *m, const char *feature);
/** Run-time structures, packed calls and the like. */
LLVMValueRef cg_host(cg_fn *f, tir_op_id op, const tn_Call *call, bool *done);

/* ---- check_tensors.c ---- */

/** A call of the function that checks arguments by a table; -1 where it does not accept them. */
LLVMValueRef cg_check_tensors(cg_fn *f, const tn_Call *call);
/** That function, as one more part of a module: what target.llvm_compile gives, without names. */
tn_arr *cg_check_part(tn_target *t);
/** Call of an LLVM intrinsic overloaded on the types given. */
LLVMValueRef cg_intrinsic(cg_fn *f, const char *name, LLVMTypeRef *types, int ntypes,
                          LLVMValueRef *args, int nargs);
/** A C function of the given type, declared when it is not there. */
LLVMValueRef cg_extern(cg_fn *f, const char *name, LLVMTypeRef type);
/** The arguments of a call as expressions. */
static inline const tn_expr *cg_arg(const tn_Call *call, int64_t i) {
  return (const tn_expr *)tn_arr_obj(call->args, i);
}
int cg_need_args(const tn_Call *call, int64_t n);

/* ---- stmt.c, parallel.c ---- */

int cg_stmt(cg_fn *f, const tn_stmt *s);
/** Branches to `body` code on condition; makes the block to go on with. */
LLVMBasicBlockRef cg_block(cg_fn *f, const char *name);
/** Leaves the function with -1 when the int32 `status` is not 0. */
void cg_check_status(cg_fn *f, LLVMValueRef status);
/** Leaves the function with a value (i32 -1 for NULL); code that follows is dead. */
int cg_return(cg_fn *f, LLVMValueRef value);
/** Serial loop over [begin, end) in steps. */
int cg_loop(cg_fn *f, const tn_Var *var, LLVMValueRef begin, LLVMValueRef end, LLVMValueRef step,
            const tn_stmt *body);
/** Tells LLVM what it must not do with a loop over `var` (guarded_division.c). @param latch the
 * branch back to its head */
int cg_mark_loop(cg_fn *f, LLVMValueRef latch, const tn_Var *var, const tn_stmt *body);
int cg_parallel_for(cg_fn *f, const tn_For *loop);
/** Is a loop annotated with TIR_BY_TURNS? (serpentine_loop.c) */
bool cg_is_by_turns(const tn_For *s);
/** Its iterations in [low, high), backwards in every other call. */
int cg_loop_by_turns(cg_fn *f, const tn_For *s, LLVMValueRef low, LLVMValueRef high);
/** Statements as their own function that is called here; as they are where that cannot be done
 * (they return, or belong to a task). */
int cg_outline(cg_fn *f, const tn_stmt *body);
/** Runs a body once in every task of a launch. */
int cg_launch_point(cg_fn *f, const tn_stmt *body);
int cg_barrier(cg_fn *f);
/** What a function such as TVMBackendRunOnce runs, the first time that the code comes here.
 *  \param runner  the function's name */
int cg_run_once(cg_fn *f, const tn_expr *runner, const tn_stmt *body);
/** A new variable of the module for a pointer, NULL at first. */
LLVMValueRef cg_static_handle(cg_fn *f);
/** Memory on the stack, in the function's first block. */
LLVMValueRef cg_alloca(cg_fn *f, LLVMTypeRef type, int64_t count, unsigned align, const char *name);

/* ---- memory.c ---- */

LLVMValueRef cg_load(cg_fn *f, const tn_BufferLoad *e);
int cg_store(cg_fn *f, const tn_BufferStore *s);
LLVMValueRef cg_address(cg_fn *f, const tn_BufferLoad *e);
/** Finds the buffers of a function that do not overlap. */
int cg_alias_init(cg_module *m, cg_alias *a, const tn_PrimFunc *func, const char *name);

/* ---- module.c ---- */

/** Name of the symbol of a function of a module. */
const char *cg_symbol(const tn_GlobalVar *v, const tn_PrimFunc *func);
/** Prefix of the symbols of a module that is part of the system library, NULL for another one. */
const char *cg_system_prefix(const tn_IRModule *ir, const tn_target *t);
/** Generates all functions; the module is verified. */
int cg_generate(cg_module *m, const tn_IRModule *ir, const tn_target *t);
/** A private constant variable with the value. @param name "" for none */
LLVMValueRef cg_constant(cg_module *m, LLVMValueRef value, const char *name);
/** The variable through which packed calls find their module; part of cg_generate. */
void cg_add_context(cg_module *m);
/** The types of an empty module; part of cg_generate. */
void cg_find_types(cg_module *m);

/* ---- polynomial.c ---- */

/** Is the function of values of type t made of arithmetic here? */
bool cg_is_polynomial(tir_op_id op, tn_dtype t);
/** @param bounded is -80 < x < 80, or NaN? exp of such a number is shorter */
LLVMValueRef cg_polynomial(cg_fn *f, tir_op_id op, tn_dtype t, LLVMValueRef x, bool bounded);

/* ---- half.c ---- */

/** Adds the functions that convert float16 where the processor does not. */
void cg_add_half_functions(cg_module *m);
/** Has the processor instructions that convert vectors of float16? */
bool cg_converts_float16(const cg_module *m);
/** A vector of float16 as float32 (`widen`), or the other way, without such instructions. */
LLVMValueRef cg_convert_float16(cg_fn *f, LLVMValueRef v, int lanes, bool widen);

/* ---- import.c ---- */

/** Links what attributes pragma_import_llvm of a function hold into the module. */
int cg_import_llvm(cg_module *m, const tn_PrimFunc *func);

/* ---- debug.c ---- */

/** Writes the script of the module to a file and makes code refer to it. Closed in any case. */
int cg_debug_open(cg_module *m, const char *path);
void cg_debug_close(cg_module *m);
/** Describes the function; `origin` is the node whose line it has. */
void cg_debug_function(cg_fn *f, const void *origin);
/** Code from here on comes from a statement. */
void cg_debug_stmt(cg_fn *f, const tn_stmt *s);

/* ---- library.c ---- */

/** A constructor that registers the module's symbols, with the prefix, as the system library's. */
int cg_register_symbols(cg_module *m, const char *prefix);
/** The constant __tvm_dev_mblob of these bytes. */
int cg_add_blob(cg_module *m, tn_bytes_view blob);
/** TVMSystemLibEntryPoint, which returns the table of functions of other modules. */
int cg_add_function_table(cg_module *m, const tn_arr *names);

/* ---- run.c ---- */

/** Code of functions: a generated module, or parts that were compiled one by one. */
typedef struct cg_code cg_code;
/** Nothing yet, for a target; NULL with MemoryError. */
cg_code *cg_code_new(tn_target *t);
void cg_code_free(cg_code *c);
/** An empty module for the target's machine, to be generated into. */
int cg_code_open(cg_code *c, const char *name, cg_module *out);
/** Generates and optimises the functions of a module.
 *  @param part see cg_module */
int cg_code_generate(cg_code *c, const tn_IRModule *ir, bool part);
/** The optimised LLVM module, put together from the parts if need be. */
LLVMModuleRef cg_code_module(cg_code *c);
/** Object or assembly, owned by the caller. */
LLVMMemoryBufferRef cg_code_emit(cg_code *c, LLVMCodeGenFileType type);
LLVMTargetMachineRef cg_code_machine(cg_code *c);
/** Names, object and bitcode of a finished module, as target.llvm_compile gives them. */
tn_arr *cg_code_part(cg_code *c, tn_arr *names);
/** The module of kind "llvm"; takes the code. `err`: whether making it failed. Owned. */
tn_module *cg_code_finish(cg_code *c, int err);

/* ---- per_function.c ---- */

/** What was compiled of some of a module's functions. */
typedef struct {
  tn_arr *names;    /* of the functions */
  tn_bytes *object; /* object file */
  tn_bytes *code;   /* bitcode, optimised */
} cg_part;

/** One module of the bitcode of all parts. */
LLVMModuleRef cg_link_parts(LLVMContextRef ctx, const cg_part *parts, int n);
/** One object file of all parts; NULL with an error. */
LLVMMemoryBufferRef cg_merge_parts(const cg_part *parts, int n);
/** Registers "target.llvm_compile" and "target.llvm_assemble". */
int cg_parts_init(void);
/** Makes parts the content of a code; they are retained. */
int cg_code_set_parts(cg_code *c, const cg_part *parts, int n);

/* ---- load.c ---- */

/** Registers "target.llvm_load_file". */
int cg_load_init(void);

/* ---- machine.c ---- */

/** The machine of a target, owned; NULL with CodegenError or ValueError. */
LLVMTargetMachineRef cg_machine(const tn_target *t);
/** The options mtriple and mcpu of this machine. */
tn_map *cg_host_options(void);
int cg_opt_level(const tn_target *t);
/** Opens LLVM, once in the process. */
void cg_start(void);
/** The triple that a target names, or this machine's, and what generates code for it. CodegenError.
 */
int cg_triple(const tn_target *t, const char **triple, LLVMTargetRef *out);
/** Can code of this machine run in this process? */
bool cg_runs_here(LLVMTargetMachineRef machine);
/** Optimises in place. */
int cg_optimize(const cg_module *m, LLVMTargetMachineRef machine, int level);
/** Do this block and those behind it work on vectors? */
bool cg_uses_vectors(LLVMBasicBlockRef first);
/** Raises a CodegenError with the text of LLVM, which is freed. Returns -1. */
int cg_raise(const char *what, char *message);

/* ---- guarded.c ---- */

/** Calls work(ctx) and returns what it returns. Where memory runs out inside LLVM that is -1 with a
 *  MemoryError; where LLVM cannot make code, with a CodegenError. Then `gave_up` is true, and what
 *  LLVM had of the work must not be touched again. */
int cg_guard(int (*work)(void *ctx), void *ctx, bool *gave_up);
/** The same of a global function. */
int cg_guarded_call(tn_call f, void *self, const tn_any *args, int32_t n, tn_any *ret);
/* A function NAME_guarded for the table of rows. */
#define CG_GUARDED(name)                                                                           \
  static int name##_guarded(TN_ARGS) { return cg_guarded_call(name, self, args, n, ret); }
/** Is it a processor of the architecture that the triple names? ValueError when it is not. */
int cg_check_processor(LLVMTargetRef target, const char *triple, const char *cpu);
/** The names of all of them. */
tn_arr *cg_processors(LLVMTargetRef target, const char *triple);

#endif /* TN_CODEGEN_LLVM_CG_H_ */
