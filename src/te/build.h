/* Making tensor expressions from C: what the computes of operators are written with.

     static tn_expr *twice(void *ctx, tn_arr *i) {
       return tir_add(te_at(ctx, i), te_at(ctx, i));
     }
     ...
     tn_Tensor *b = te_compute(a->shape, twice, a, "T_twice", TE_ELEMWISE);

   Results belong to the current scope; NULL passes a pending error on. */
#ifndef TN_TE_BUILD_H_
#define TN_TE_BUILD_H_

#include "ir/expr.h"
#include "te/te.h"

/* Tags by which schedules know what kind of computation it is. */
#define TE_ELEMWISE        "elemwise"
#define TE_BROADCAST       "broadcast"
#define TE_INJECTIVE       "injective"
#define TE_COMM_REDUCE     "comm_reduce"
#define TE_COMM_REDUCE_IDX "comm_reduce_idx"

/** A tensor that is given. @param shape array of PrimExpr */
TN_API tn_Tensor *te_placeholder(tn_arr *shape, tn_dtype dtype, const char *name);

/** Value of an element. @param indices array of tn_Var, one for each axis */
typedef tn_expr *(*te_element_fn)(void *ctx, tn_arr *indices);
/** A tensor by its elements; a Reduce must be outermost. @param attrs may be NULL */
TN_API tn_Tensor *te_compute(tn_arr *shape, te_element_fn element, void *ctx, const char *name,
                             const char *tag);
TN_API tn_Tensor *te_compute_attrs(tn_arr *shape, te_element_fn element, void *ctx,
                                   const char *name, const char *tag, tn_map *attrs);
/** Several tensors of one shape, computed together. `element` returns an array of PrimExpr.
 *  @return array of Tensor */
TN_API tn_arr *te_compute_many(tn_arr *shape, tn_arr *(*elements)(void *ctx, tn_arr *indices),
                               void *ctx, const char *name, const char *tag);

/** An element of a tensor. @param indices array of PrimExpr */
TN_API tn_expr *te_at(const tn_Tensor *t, tn_arr *indices);
/** The same with the indices written out: te_at_of(t, 2, i, j). */
TN_API tn_expr *te_at_of(const tn_Tensor *t, int n, ...);

/** An axis of reduction: 0, 1, ..., extent - 1. */
TN_API tn_IterVar *te_reduce_axis(tn_expr *extent, const char *name);

/** Commutative reductions of one value. */
typedef enum { TE_SUM, TE_PROD, TE_MAX, TE_MIN, TE_ANY, TE_ALL } te_reducer;
/** @param axes array of IterVar @param where NULL: all elements */
TN_API tn_expr *te_reduce(te_reducer kind, tn_expr *e, tn_arr *axes, tn_expr *where);
/** A sum that begins with `first`: an element of another tensor, or a number. */
TN_API tn_expr *te_sum_onto(tn_expr *first, tn_expr *e, tn_arr *axes);

/** Extent i of a tensor; negative i count from the end. */
static inline tn_expr *te_extent(const tn_Tensor *t, int64_t i) {
  return (tn_expr *)tn_arr_obj(t->shape, i < 0 ? t->shape->len + i : i);
}
/** Index i as an expression. */
static inline tn_expr *te_index(const tn_arr *indices, int64_t i) {
  return (tn_expr *)tn_arr_obj(indices, i);
}

#endif /* TN_TE_BUILD_H_ */
