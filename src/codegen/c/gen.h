/* Generation of C-like code from lowered tensor programs: C99 for hosts, and the kernel languages
   that derive from it. Expressions become text; what an expression needs before it (temporaries,
   calls) is written as statements in front of the one it belongs to. Vectors are computed lane by
   lane: an expression is generated for one lane. What a language does in its own way is in its
   c_dialect.

     c_module.c  C files and functions   c_stmt.c    statements
     c_expr.c    expressions             c_call.c    calls of intrinsics
     c_memory.c  elements, vectors       c_kernel.c  kernels: heads, thread axes, barriers
     c_number.c  16-bit floats, bits, constants
     c_integer.c integers where C has no answer
     c_dot.c     sums of products of bytes
     c_fixed.c   integers of quantized models
     c_fill.c    borders
     c_vector.c  vectors of GNU C, c_vector_math.c functions of them */
#ifndef TN_CODEGEN_C_GEN_H_
#define TN_CODEGEN_C_GEN_H_

#include "arith/analyzer.h"
#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "target/target.h"
#include "tenon/runtime.h"
#include "tir/tir.h"

typedef struct c_gen c_gen;

/** Functions that have to be written in front of the code. */
enum {
  C_NEEDS_F16 = 1,
  C_NEEDS_BF16 = 2,
  C_NEEDS_BITS = 4,
  C_NEEDS_DOT_SS = 8, /* of signed bytes, of unsigned with signed ones, of unsigned ones */
  C_NEEDS_DOT_US = 16,
  C_NEEDS_DOT_UU = 32,
  C_NEEDS_DOT_TAIL = 128, /* some of their lengths are not multiples of 4 */
  C_NEEDS_CLIP = 256,     /* to int8 */
  C_NEEDS_UCLIP = 512,    /* to uint8 */
  C_NEEDS_SCALED = 1024,  /* to int8, of the high half of a product */
  C_NEEDS_USCALED = 2048, /* to uint8 */
  C_NEEDS_DOT_FEW = 4096, /* some are shorter than 4 */
  C_NEEDS_MATH = 64,      /* functions or constants of math.h */
  C_NEEDS_POWER = 8192,
  C_NEEDS_SHARED =
      C_NEEDS_DOT_SS | C_NEEDS_DOT_US | C_NEEDS_DOT_UU | C_NEEDS_SCALED | C_NEEDS_USCALED
};

/** A language. Functions may be NULL where it says so. */
typedef struct {
  const char *name;     /* of the target, in messages */
  const char *language; /* the same for what the text is */
  /** Type of a scalar in registers, and of an element in memory; NULL when there is none. */
  const char *(*type)(tn_dtype t);
  const char *(*stored)(tn_dtype t);
  const char *long_suffix;  /* of 64-bit constants */
  const char *float_suffix; /* of the names of functions of floats */
  const char *to_int_nearest;
  /** Definitions of f16_load_, f16_store_ and f16_round_, the same for bf16, of popcount_, clz_ */
  const char *f16_text, *bf16_text, *bits_text;
  /** Of power_(x, n) of 64-bit integers: the head, and the declaration of r = 1 */
  const char *power_text;

  /* kernel languages only */
  bool kernels;
  const char *(*space)(const char *scope); /* qualifier of memory with a blank, or "" */
  const char *shared;                      /* the same for a declaration of shared memory */
  const char *shared_end;                  /* the same behind it */
  const char *dynamic_shared; /* declares dynamic_shared_, memory that the launch gives; NULL */
  const char *(*axis)(const char *tag); /* value of a thread axis; NULL when there is none */
  const char *(*barrier)(const char *scope);
  const char *restrict_word;
  /** Head of a kernel up to its name. @param threads of a block, 0 when not constant */
  int (*head)(c_gen *g, int64_t threads);
  /** Vector of elements in memory, and what reads and writes it; NULL: element by element. */
  const char *(*vector)(tn_dtype t, int lanes);
  bool vectors_aligned; /* only at multiples of their size */
  tn_str *(*vector_load)(c_gen *g, const char *type, int lanes, const char *place);
  tn_str *(*vector_store)(c_gen *g, const char *type, int lanes, const char *place,
                          const char *values);
  const char *(*lane)(int lane); /* member of a vector, with its dot */
  /** The bits of a value of a type in memory as another one. */
  tn_str *(*reinterpret)(const char *from, const char *to, const char *value);
  /** An allocation in the memory of matrix units, "wmma.*"; NULL: there are none. */
  int (*fragment)(c_gen *g, const tn_Allocate *s);
  /** An intrinsic that only this language has; `*done` stays false for others. */
  tn_str *(*call)(c_gen *g, const tn_Call *call, int op, int lane, bool *done);
} c_dialect;

struct c_gen {
  const c_dialect *d;
  tn_buf *out;          /* functions */
  tn_buf *decl;         /* static variables and prototypes, in front of them */
  tn_buf *top;          /* declarations at the start of a kernel */
  tn_pmap names;        /* tn_Var -> tn_str */
  tn_pmap stored;       /* pointer -> name of the type it was declared to point to */
  tn_pmap data;         /* variables that are data, see tir_is_place */
  arith_analyzer known; /* what variables are multiples of, where that matters */
  tn_pmap wide;         /* pointers to single narrow integers that are kept as an int32_t */
  bool vectors_of_gnu;  /* c_vector.c */
  tn_buf types;         /* declarations of their types, in front of all */
  tn_map *vector_types; /* names of those */
  tn_pmap whole;        /* tn_Var -> tn_str, name of a variable of such a type */
  tn_pmap vectors;      /* of this statement: BufferLoad that was read as a vector, or Let of one ->
                           tn_str, its variable */
  tn_vec fragments;     /* AttrStmt around that tell shapes and layouts of fragments */
  tn_map *used;         /* names in use -> count */
  tn_map *packed;       /* packed functions -> their variable */
  tn_map *externs;      /* names of C functions that are declared; NULL: none has to be */
  tn_map *imports;      /* C code that programs brought along */
  const tn_IRModule *ir;
  const char *name; /* of the function under generation */
  bool alone;       /* a file that stands alone: static functions, nothing of ours is included */
  bool renamed;     /* is a function called other than its symbol? */
  int indent, temps;
  const char *constant; /* in front of the declarations of constants: a macro and a blank */
  int needs;            /* C_NEEDS_* */
  int conditional; /* depth of conditional expressions: what is declared there is not seen after */
};

/** Frees the tables. */
void c_gen_fini(c_gen *g);
/** Starts a line. */
void c_line(c_gen *g);
/** Type of a scalar; NULL with CodegenError when the language has none. */
const char *c_type(c_gen *g, tn_dtype t);
/** Type of a variable: pointers with what they point to. */
tn_str *c_var_type(c_gen *g, const tn_Var *v);
/** Type of an element in memory: a bool takes a byte. */
const char *c_memory_type(c_gen *g, tn_dtype t);
/** A name for a variable, different from all others. */
tn_str *c_name(c_gen *g, const tn_Var *v);
/** Name of one lane of a variable. */
tn_str *c_var(c_gen *g, const tn_Var *v, int lane);
/** Lane `lane` of an expression. */
tn_str *c_expr(c_gen *g, const void *e, int lane);
/** The same as the name of a temporary, or as a constant: may be repeated. */
tn_str *c_temp(c_gen *g, const tn_expr *e, int lane);
/** The same, always a temporary: the value as it is now. */
tn_str *c_lane_temp(c_gen *g, const tn_expr *e, int lane);
/** An expression as the condition of an if: without parentheses around all of it, which clang takes
 * for a mistake. */
tn_str *c_condition(c_gen *g, const tn_expr *e, int lane);
tn_str *c_call(c_gen *g, const tn_Call *call, int lane);
/** Declares the C function of a call_extern, unless a header does. */
int c_declare_extern(c_gen *g, const tn_Call *call, const char *name);
/** name(arguments of the call from the first on) */
tn_str *c_call_named(c_gen *g, const tn_Call *call, const char *name, int64_t first, int lane);
/** Argument of a call as text; CodegenError when there is none. */
tn_str *c_call_arg(c_gen *g, const tn_Call *call, int64_t i, int lane);
/** Element of a buffer at the place of a lane of the index. */
tn_str *c_element(c_gen *g, const tn_Buffer *b, const tn_arr *indices, int lane);
tn_str *c_load(c_gen *g, const tn_BufferLoad *e, int lane);
int c_store(c_gen *g, const tn_BufferStore *s);
/** Elements of an allocation of constant size. -1 with CodegenError. */
int64_t c_allocation_size(c_gen *g, const tn_Allocate *s);
int c_stmt(c_gen *g, const tn_stmt *s);
/** Does a statement or expression use the variable, as data of a buffer or else? */
bool c_uses(const void *e, const tn_Var *v);
const char *c_symbol(const tn_GlobalVar *v, const tn_PrimFunc *func);
/** Has the module a function of that symbol? */
bool c_in_module(const c_gen *g, const char *symbol);
/** Does C itself, or a header that the code includes, use the name (c_names.def)? */
bool c_is_taken(const char *name);
/** The same for variables, which the words of kernel languages must not be either. */
bool c_is_taken_for(const c_gen *g, const char *variable);
/** Is it a function of <math.h>? */
bool c_is_math(const char *name);
/** What a function of that symbol is called in the text; NULL with MemoryError. */
const char *c_identifier(const char *symbol);
/** Definition of TVM_SYMBOL, for functions whose identifier is not their symbol. */
extern const char c_symbol_macro[];
/** A value as it lies in memory (c_memory_type) brought into its type, and back. */
tn_str *c_loaded(c_gen *g, tn_dtype t, tn_str *s);
tn_str *c_stored(c_gen *g, tn_dtype t, tn_str *s);
/** The result of an operation that C computes in a wider type, brought back into its own. */
tn_str *c_in_type(c_gen *g, tn_dtype t, tn_str *s);
/** A temporary of a value, which is declared. */
tn_str *c_new_temp(c_gen *g, tn_dtype t, const tn_str *value);
/** May a sum, difference or product be too large for its type? C does not say what is then. */
bool c_may_overflow(const c_gen *g, const tn_BinaryOp *e);
/** a op b of integers of type t, which wraps around. */
tn_str *c_wrapping(c_gen *g, tn_dtype t, const char *op, const tn_str *a, const tn_str *b);
/** Quotients, remainders, shifts and powers of integers, a float as an integer: all have a result.
 */
tn_str *c_divide(c_gen *g, const tn_BinaryOp *e, int lane);
tn_str *c_shift(c_gen *g, const tn_Call *call, bool left, int lane);
tn_str *c_int_power(c_gen *g, const tn_Call *call, int lane);
tn_str *c_to_integer(c_gen *g, tn_dtype from, tn_dtype to, tn_str *value);
/** float16 or bfloat16: computed as float. */
bool c_is_small_float(tn_dtype t);
/** Bits that are set, or zero bits above them. */
tn_str *c_count_bits(c_gen *g, const tn_Call *call, bool leading, int lane);
/** Declares the content of an AllocateConst in front of the functions. */
int c_constant(c_gen *g, const tn_AllocateConst *s);
/** Has the language vectors of a type? Others are computed lane by lane. */
bool c_has_vector(const c_gen *g, tn_dtype t);
/** The name of such a type. */
const char *c_vector_type(c_gen *g, tn_dtype t);
/** Names of functions of a type, which are written where they are used first: (mask, a, b) one of
 * two, the larger or the smaller of two, a function of mathematics (NULL: there is none). */
tn_str *c_vector_pick(c_gen *g, tn_dtype t);
tn_str *c_vector_extreme(c_gen *g, tn_dtype t, bool larger);
tn_str *c_vector_function(c_gen *g, tn_dtype t, tir_op_id op);
/** An expression of such a type. */
tn_str *c_vector(c_gen *g, const tn_expr *e);
/** Declares a variable of several lanes. */
int c_define_vector(c_gen *g, const tn_Var *v, const tn_expr *value);
/** @return 1 it is written, 0 there is no such type or elements are not neighbours, -1 error */
int c_store_vector(c_gen *g, const tn_BufferStore *s);
/** Pointer to an element. */
tn_str *c_vector_place(c_gen *g, const tn_Buffer *b, const tn_expr *base);
/** A loop as a call of a function that sums up products of bytes. @return 1 it is written, 0 it is
 * not such a loop, -1 error */
int c_dot_product(c_gen *g, const tn_For *s);
/** Loops over elements that are a constant, but for some in their midst, as one that fills and one
 * that computes those. @return NULL: they are not such loops (or with an error) */
tn_stmt *c_fill_first(c_gen *g, const tn_For *s);
/** Those functions, where the code needs them. */
void c_write_dots(int needs, tn_buf *out);
/** Says where a constant of a pool lies (tir_constant_section), in front of its declaration.
 *  @return false: it is in no pool */
bool c_put_section(c_gen *g, const tn_AllocateConst *s);
/** Says how a constant is aligned that has the annotation "alignment" (bytes), in front of that. */
void c_put_alignment(c_gen *g, const tn_AllocateConst *s);
/** The functions that cut integers off at the ends of types of 8 bits, where they are needed. */
void c_write_clips(int needs, tn_buf *out);
/** An integer of fewer bits than 32, in a file that stands alone: as a variable it is an int32_t,
 * so that it need not be narrowed in registers. */
bool c_is_narrow(const c_gen *g, tn_dtype t);
/** Is a variable in memory kept so? */
bool c_is_wide(c_gen *g, const tn_Var *data);
/** Keeps an allocation of n elements so, where it is one and nothing needs its address. */
int c_widen(c_gen *g, const tn_Allocate *s, int64_t n);
/** What a cast makes its type's: not narrowed yet, where that is left to the cast. */
tn_str *c_cast_value(c_gen *g, const tn_Cast *e, int lane);
/** The functions that the code turned out to need. */
void c_write_helpers(const c_gen *g, tn_buf *out);
/** Text as a string literal. */
tn_str *c_string(const char *text);

/* ---- kernels ---- */

/** Memory a pointer points to: "global", "shared", ... Borrowed. */
const char *c_scope_of(const tn_Var *v);
/** A kernel as a function of the language. */
int c_kernel(c_gen *g, const tn_PrimFunc *f);
int c_kernel_attr(c_gen *g, const tn_AttrStmt *s);
int c_kernel_allocate(c_gen *g, const tn_Allocate *s);
tn_str *c_kernel_sync(c_gen *g, const tn_Call *call);
/** The source of a module of kernels: prelude, then the functions. Owned, or NULL. */
tn_str *c_kernel_source(const c_dialect *d, const tn_IRModule *ir, const char *prelude);
/** A module that is launched: source or code with what its kernels take. Owned, or NULL.
 *  @param source the text where `code` is compiled from it, else NULL */
tn_module *c_kernel_module(int device_type, const char *format, const tn_IRModule *ir,
                           const tn_bytes *code, const tn_str *source);

/** Appends the elements of a compact tensor of the host, separated by commas, in lines. */
TN_API int c_elements(const DLTensor *t, tn_buf *out);
/** The type of an element of a tensor in memory; NULL when C99 has none. */
TN_API const char *c_standard_type(tn_dtype t);
/** The functions of a module as C99 that stands alone: static, including nothing but headers of the
 * language. Constants are declared with the macro `constant` in front. CodegenError for programs
 * that need functions of a runtime, naming the first. */
TN_API int c_standalone_source(const tn_IRModule *ir, const tn_target *t, const char *constant,
                               tn_buf *out);
/** Appends the declaration of a function that is ready for the generator, under a name. */
int c_prototype(const tn_PrimFunc *f, const char *name, tn_buf *out);

/** Defines TENON_CONST, which is in front of constants, unless it is defined. */
TN_API extern const char c_constant_macro[];
/** The helpers in C99. */
extern const char c_f16_text[], c_bf16_text[], c_bits_text[];
/** The rest of power_. */
extern const char c_power_text[];

/** "target.build.c"; part of codegen_init. */
int c_build_init(void);

#endif /* TN_CODEGEN_C_GEN_H_ */
