/* Tensor programs: buffers, statements, blocks and functions (tir.def). Expressions are those of
   ir/expr.def.

   Compiler code: what is returned belongs to the current scope, see base/scope.h. */
#ifndef TN_TIR_TIR_H_
#define TN_TIR_TIR_H_

#include "ir/ir.h"
#include "tir/tir.def"

/* tenon/runtime.h has its functions */
typedef struct tn_NDArray tn_NDArray;

TN_NODES_FORWARD(TN_TIR_NODES)
TN_NODES_INDEX(TN_TIR_NODES, TN_TI_BEGIN_TIR, tir)
TN_NODES_DECLARE(TN_TIR_NODES)
_Static_assert((int)TN_TI_END_tir <= (int)TN_TI_BEGIN_TE,
               "the block of type indices of the layer is full");

typedef tn_Stmt tn_stmt;

typedef enum {
  TIR_FOR_SERIAL = 0,
  TIR_FOR_PARALLEL = 1,
  TIR_FOR_VECTORIZED = 2,
  TIR_FOR_UNROLLED = 3,
  TIR_FOR_THREAD_BINDING = 4,
} tir_for_kind;

/* Annotation of a loop whose iterations do not depend on each other, on the host: in every other
   call it runs backwards, so that what the last call read last is still in cache. */
#define TIR_BY_TURNS "by_turns"

/* Attribute of a function that only executors call: it may check its arguments by
   tir.tvm_check_tensors, which its code generator has to have. */
#define TIR_CHECK_TABLE "tir.check_table"

enum { TIR_BUFFER_DEFAULT = 1, TIR_BUFFER_AUTO_BROADCAST = 2 };
enum {
  TIR_ALIGNMENT =
      64 /* bytes: what allocations have, and what a buffer promises unless told otherwise */
};

/** A compact buffer with a fresh data pointer. @param shape array of PrimExpr @param scope "" means
 * "global" */
TN_API tn_Buffer *tir_buffer(tn_arr *shape, tn_dtype dtype, const char *name, const char *scope);
/** Are these extents of memory: integers, none known to be negative, not more elements together
 * than an int64 counts? TypeError or ValueError naming `name`. */
TN_API int tir_check_extents(const tn_arr *shape, const char *name, const tn_Span *span);
/** "global", "shared", ...: from the type of the data pointer. Borrowed. */
TN_API const char *tir_buffer_scope(const tn_Buffer *b);
/** Reads and writes; the type follows from the buffer and the lanes of the last index. ValueError
 * when the number of indices differs from the number of axes. */
TN_API tn_expr *tir_load(tn_Buffer *b, tn_arr *indices);
TN_API tn_stmt *tir_store(tn_Buffer *b, tn_expr *value, tn_arr *indices);

/** The buffer over the same memory with one axis, or one for each group of axes that its separators
 * make; itself where it is so already. */
TN_API tn_Buffer *tir_buffer_flattened(tn_Buffer *b);
/** Where an element is in the flattened buffer, in elements from the data pointer: an index for
 * each of its axes. @param indices as many as the buffer has axes */
TN_API tn_arr *tir_buffer_offset(const tn_Buffer *b, const tn_arr *indices);

/** tvm_access_ptr(type, data, offset, extent, mask). @param mask 1 read, 2 write @param lanes of
 * the content type
 *  @param extent NULL: what is left behind offset */
TN_API tn_expr *tir_buffer_access_ptr(tn_Buffer *b, int mask, int lanes, tn_expr *offset,
                                      tn_expr *extent);

/** Statements in order: one is itself, nested sequences are flattened, none is Evaluate(0). */
TN_API tn_stmt *tir_seq(const tn_vec *stmts);
TN_API tn_stmt *tir_seq2(tn_stmt *a, tn_stmt *b);
TN_API tn_stmt *tir_nop(void);
TN_API bool tir_is_nop(const tn_stmt *s);

/** The section of an object file in which a constant with the annotation "pool" lies,
 * ".rodata.tvm.NAME" with underscores for what an identifier cannot have, so that a linker script
 * can place it; NULL without the annotation, or on failure. Scope-owned. */
TN_API const char *tir_constant_section(const tn_AllocateConst *s);
/** The attribute of a function, or NULL. */
TN_API tn_obj *tir_func_attr(const tn_PrimFunc *f, const char *key);
/** A copy of the function with one attribute set (value NULL: removed). */
TN_API tn_PrimFunc *tir_with_attr(tn_PrimFunc *f, const char *key, tn_obj *value);
/** A copy with another body (f itself when it is the same). */
TN_API tn_PrimFunc *tir_with_body(tn_PrimFunc *f, tn_stmt *body);

/** Registers the types and functions of the layer. */
TN_API int tir_init(void);

/** Where a statement is in its text (the field is another one in each type); NULL: not known. */
TN_API tn_Span *tir_stmt_span(const void *stmt);
/** The pending error is in the statement, unless it has a place already. Always returns -1. */
TN_API int tir_error_in(const void *stmt);

#endif /* TN_TIR_TIR_H_ */
