/* Generation of C99 from lowered tensor programs. Expressions become text; what an expression needs
   before it (temporaries, calls) is written as statements in front of the one it belongs to.
   Vectors are computed lane by lane: an expression is generated for one lane.

     c_module.c  files and functions   c_stmt.c  statements
     c_expr.c    expressions           c_call.c  calls of intrinsics
     c_number.c  16-bit floats, bits, constants */
#ifndef TN_TARGET_C_GEN_H_
#define TN_TARGET_C_GEN_H_

#include "base/pmap.h"
#include "ir/expr.h"
#include "ir/module.h"
#include "object/functions.h"
#include "target/target.h"
#include "tir/tir.h"

/** Functions that have to be written in front of the code. */
enum { C_NEEDS_F16 = 1, C_NEEDS_BF16 = 2, C_NEEDS_BITS = 4 };

typedef struct {
  tn_buf *out;    /* functions */
  tn_buf *decl;   /* static variables and prototypes, in front of them */
  tn_pmap names;  /* tn_Var -> tn_str */
  tn_map *used;   /* names in use -> how often */
  tn_map *packed; /* packed functions -> their variable */
  const tn_IRModule *ir;
  const char *name; /* of the function under generation */
  int indent, temps;
  int needs; /* C_NEEDS_* */
} c_gen;

/** Starts a line. */
void c_line(c_gen *g);
/** C type of a scalar; NULL with CodegenError when C99 has none. */
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
tn_str *c_call(c_gen *g, const tn_Call *call, int lane);
/** Element of a buffer at the place of a lane of the index. */
tn_str *c_element(c_gen *g, const tn_Buffer *b, const tn_arr *indices, int lane);
int c_stmt(c_gen *g, const tn_stmt *s);
const char *c_symbol(const tn_GlobalVar *v, const tn_PrimFunc *func);
/** A value as it lies in memory (c_memory_type) brought into its type, and back. */
tn_str *c_loaded(c_gen *g, tn_dtype t, tn_str *s);
tn_str *c_stored(c_gen *g, tn_dtype t, tn_str *s);
/** The result of an operation that C computes in a wider type, brought back into its own. */
tn_str *c_in_type(c_gen *g, tn_dtype t, tn_str *s);
/** float16 or bfloat16: computed as float. */
bool c_is_small_float(tn_dtype t);
/** Bits that are set, or zero bits above them. */
tn_str *c_count_bits(c_gen *g, const tn_Call *call, bool leading, int lane);
/** Declares the content of an AllocateConst in front of the functions. */
int c_constant(c_gen *g, const tn_AllocateConst *s);
/** The functions that the code turned out to need. */
void c_write_helpers(const c_gen *g, tn_buf *out);
/** Text as a string literal. */
tn_str *c_string(const char *text);

/** "target.build.c"; part of target_init. */
int c_build_init(void);

#endif /* TN_TARGET_C_GEN_H_ */
