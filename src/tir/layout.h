/* Layouts of tensors as text, "NCHW16c": an upper-case letter is an axis, a lower-case one with a
   factor a block of it. Axis C of the layout counts blocks of 16, axis c the places in a block. */
#ifndef TN_TIR_LAYOUT_H_
#define TN_TIR_LAYOUT_H_

#include "tir/tir.h"

/** The layout of a text, its axes of type `t`. NULL with ValueError "Invalid layout ...". The empty
 * text is the layout of a scalar. */
TN_API tn_Layout *tir_layout(const char *text, tn_dtype t);
/** Letter of the i-th axis. */
TN_API char tir_layout_axis(const tn_Layout *l, int64_t i);
/** Place of an axis, -1 when the layout has none of that letter. */
TN_API int64_t tir_layout_index(const tn_Layout *l, char axis);
/** Size of the blocks of an axis (either letter), -1 when it is not blocked. */
TN_API int64_t tir_layout_factor(const tn_Layout *l, char axis);

/** *out = the mapping, NULL when there is none: an empty layout, or different axes. */
TN_API int tir_bijective_layout(tn_Layout *src, tn_Layout *dst, tn_BijectiveLayout **out);
/** Indices or extents carried over, simplified. `forward`: from source to destination.
 * ValueError when their number is wrong or an extent is not its axis's factor. */
TN_API tn_arr *tir_layout_map_index(const tn_BijectiveLayout *b, bool forward, const tn_arr *index);
TN_API tn_arr *tir_layout_map_shape(const tn_BijectiveLayout *b, bool forward, const tn_arr *shape);

#endif /* TN_TIR_LAYOUT_H_ */
