/* What turning operations into statements needs, with blocks (create_prim_func.c) and with the
   loops of a schedule (schedule/lower.c). */
#ifndef TN_TE_TE_IMPL_H_
#define TN_TE_TE_IMPL_H_

#include "base/pmap.h"
#include "te/te.h"

/** Registers the nodes; part of te_init. */
int te_nodes_init(void);
/** Hooks of nodes: checks, and the axes that follow from the rest (scan.c, tensor_intrin.c). */
int te_init_scan(tn_obj *self);
int te_init_intrin(tn_obj *self);
/** The new values of a reduction. @param result those of its combiner, with the variables that hold
 * at the place (array of PrimExpr; NULL: -1, its error stands) @param old its results so far @param
 * incoming the elements that come in (both PrimExpr, one for each result) @param out receives the
 * values */
int te_combine(const tn_Reduce *r, const tn_arr *result, const tn_vec *old, const tn_vec *incoming,
               tn_vec *out);
/** Stores a value into each buffer. Several results may depend on each other's old values, so these
 * are read into variables first. */
tn_stmt *te_store_all(const tn_vec *buffers, const tn_vec *values, tn_arr *at);
/** The statement of an extern operation on the buffers its inputs and results are in.
 * @param find buffer of a tensor, or NULL */
tn_stmt *te_extern_body(tn_ExternOp *op, tn_Buffer *(*find)(void *ctx, const tn_Tensor *t),
                        void *ctx);

#endif /* TN_TE_TE_IMPL_H_ */
