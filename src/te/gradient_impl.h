/* What the parts of gradients share: derivatives of expressions (derivative.c), gradients through
   one operation (gradient_op.c) and through all (gradient.c). */
#ifndef TN_TE_GRADIENT_IMPL_H_
#define TN_TE_GRADIENT_IMPL_H_

#include "te/te.h"

/** The derivative of an expression with respect to a variable, or to an element of a tensor
 * (ProducerLoad; equal ones are the same element). Other elements are constants, and so are the
 * indices of elements.
 *  @param out the derivative, of the type of `e`; NULL: it is 0 everywhere it is defined
 *  @return 0, or -1: TenonError names what has no derivative */
int te_derivative(tn_expr *e, const tn_obj *by, tn_expr **out);

/** The product; ones are left out. */
tn_expr *te_product(tn_expr *a, tn_expr *b);

/** The items of both. */
tn_arr *te_joined(const tn_arr *a, const tn_arr *b);

/** What a result of an operation adds to the gradient of a tensor that the operation reads.
 *  @param by gradient of the result, of shape prefix + its shape; NULL: the identity
 *  @param prefix shape of what is differentiated (array of PrimExpr)
 *  @param out the addends (Tensor of shape prefix + x->shape); none are added for zero */
int te_gradient_through(const tn_Tensor *result, const tn_Tensor *x, const tn_Tensor *by,
                        const tn_arr *prefix, tn_vec *out);

#endif /* TN_TE_GRADIENT_IMPL_H_ */
