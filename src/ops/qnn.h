/* Quantized operators: an integer q stands for the number (q - zero point) * scale.

   Passes see them as one call each; QnnCanonicalizeOps
   (relay/transforms/legalize.c) asks the hook `legalize` of their rows for the arithmetic of
   integers that they are. Where scales and zero points are not constants the arithmetic is that of
   floats.

   Compiler code: what is returned belongs to the current scope; a NULL operand means that an error
   is pending and is passed through. */
#ifndef TN_OPS_QNN_H_
#define TN_OPS_QNN_H_

#include "relay/layouts.h"
#include "relay/op.h"

/** What the integers of a tensor stand for: expressions, numbers or one for each element of `axis`
 * (from the start). */
typedef struct {
  void *scale, *zero;
  int64_t axis;
} qnn_quantum;

/** Is code made for a processor that has vectors of floats? */
bool qnn_has_floats(void);
/** x (int32, of `rank` axes, no larger than `bound`) times numbers of which there is one, or one
 * for each element of `axis`, rounded to nearest. @param floats in float32, halves to the even
 * number; else in fixed point, halves up */
void *qnn_scaled(void *x, double bound, const double *factor, int64_t n, int64_t rank, int64_t axis,
                 bool floats);
/** A zero point as int32 that broadcasts to `rank` axes. */
void *qnn_wide_zero(void *zero, int64_t rank, int64_t axis);
/** Cut off at the ends of type `t`, and of that type. */
void *qnn_saturated(void *x, tn_dtype t);
/** x of type `t`, which stands for numbers of `in`, as integers of type `to` that stand for them
 * in `out`. @param floats as of qnn_scaled */
void *qnn_requantized(void *x, const tn_TensorType *t, const qnn_quantum *in,
                      const qnn_quantum *out, tn_dtype to, bool floats);
/** Numbers along an axis with axes of extent 1 behind them; scalars as they are. */
void *qnn_along(void *numbers, int64_t rank, int64_t axis);
/** x as int32 with its zero point taken off. */
void *qnn_centered(void *x, const tn_TensorType *t, void *zero, int64_t axis);
/** Float expressions of a tensor and back. */
void *qnn_dequantized(void *x, const qnn_quantum *q);
void *qnn_quantized(void *x, const qnn_quantum *q, tn_dtype to);
/** Argument 0 of a call with a border of `zero`, as wide as its attribute `padding` says. `layout`
 * has one letter for each of four axes. */
void *qnn_padded(const relay_replace *r, const char *layout, int64_t zero);
/** Is the constant zero everywhere? */
bool qnn_is_zero(const void *e);

/* ---- of rows in the families that have the attributes ---- */

int qnn_rel_conv2d(relay_rel *r);
int qnn_rel_conv2d_transpose(relay_rel *r);
int qnn_rel_dense(relay_rel *r);
int qnn_rel_batch_matmul(relay_rel *r);
int qnn_rel_concatenate(relay_rel *r);
int qnn_rel_unary(relay_rel *r);
int qnn_layouts_conv(relay_layouts *q);
int qnn_layouts_concatenate(relay_layouts *q);
void *qnn_lower_conv2d(const relay_replace *r);
void *qnn_lower_conv2d_transpose(const relay_replace *r);
void *qnn_lower_dense(const relay_replace *r);
void *qnn_lower_batch_matmul(const relay_replace *r);
void *qnn_lower_concatenate(const relay_replace *r);
void *qnn_lower_softmax(const relay_replace *r);

#endif /* TN_OPS_QNN_H_ */
