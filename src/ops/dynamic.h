/* What operators share whose extents are given as tensors (dynamic.c, dynamic_fill.c). */
#ifndef TN_OPS_DYNAMIC_H_
#define TN_OPS_DYNAMIC_H_

#include "ops/ops.h"

/** n extents, none of them known. */
tn_arr *ops_open_shape(int64_t n);
/** Extents of the result as its compute sees them: variables where they are not known. */
tn_arr *ops_open_extents(const tn_TensorType *t);
/** Element i of an argument that holds numbers, or the number that it is, int64. NULL with
 * OpNotImplemented where the shape function was not given its values. */
tn_expr *ops_number_at(const relay_shape_query *q, int64_t arg, int64_t i);
/** Argument i must be a vector of whole numbers of known length: RELAY_SOLVED with the length,
 * RELAY_WAIT or RELAY_FAILED. */
int ops_vector_length(relay_rel *r, int i, int64_t *n);
/** The same of numbers of any type. */
int ops_numbers_length(relay_rel *r, int i, int64_t *n);

/** The elements of argument 0 under the extents of the result. */
tn_arr *ops_reshape_open(const relay_compute *c);

/** A row; bit i of the mask: the shape function reads argument i. */
#define OPS_DYNAMIC(name_, inputs_, attrs_, mask_, rel_name_, rel_, shape_, compute_, ...)         \
  {                                                                                                \
    .name = name_, .inputs = inputs_, .attrs = attrs_, .level = 11, .pattern = RELAY_OPAQUE,       \
    .rel_name = rel_name_, .rel = rel_, .compute = compute_, .shape = shape_, .data_mask = mask_,  \
    .doc = __VA_ARGS__                                                                             \
  }

#endif /* TN_OPS_DYNAMIC_H_ */
