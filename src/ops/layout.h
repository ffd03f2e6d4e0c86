/* Layouts in computes and relations: the axes of a tensor by their letters, however they are
   ordered and blocked.

     ops_axes out;
     ops_axes_of("NHWC", indices, false, &out);           out.axis['N' - 'A'], ...
     te_at(data, ops_axes_to("NCHW4c", &in, false))       element of a tensor of that layout */
#ifndef TN_OPS_LAYOUT_H_
#define TN_OPS_LAYOUT_H_

#include "ops/ops.h"
#include "relay/layouts.h"

/** Indices, or extents, by letter; NULL for letters that the layout does not have. */
typedef struct {
  tn_expr *axis[26];
} ops_axes;
#define OPS_AXIS(a, letter) ((a)->axis[(letter) - 'A'])

/** From values in the order of a layout. @param extents true: of extents, false: of indices
 *  @return 0, or -1: ValueError (bad layout, another number of axes) */
TN_API int ops_axes_of(const char *layout, const tn_arr *values, bool extents, ops_axes *out);
/** To the order of a layout. NULL with ValueError when an axis is missing. */
TN_API tn_arr *ops_axes_to(const char *layout, const ops_axes *a, bool extents);

/** The layouts rule of operators with an attribute `axis`: it moves with the axis it names, and
 * must not be blocked. */
TN_API int ops_layouts_axis(relay_layouts *q);
/** The same for norms and what else has numbers for each element of the axis: vectors go with any
 * layout that leaves it whole, scalars with them. */
TN_API int ops_layouts_channels(relay_layouts *q);
/** A rule for the first `n` arguments; those behind, scales and the like, stay as they are. */
TN_API int ops_layouts_of_first(relay_layouts *q, int64_t n, relay_layouts_fn rule);
/** The rule of reductions over the attributes axis, exclude and keepdims, in any order. */
TN_API int ops_layouts_reduce(relay_layouts *q);
/** The rule of concatenate. */
TN_API int ops_layouts_concatenate(relay_layouts *q);
/** Are all of the given extents along `letter` whole blocks of `to`? @param before layouts of the
 * tensors */
TN_API bool ops_blocks_fit(const relay_layouts *q, const tn_Layout *to, char letter);
/** The rule of regions of interest: images in the layout that their attribute says, whatever they
 * come in, and boxes. */
TN_API int ops_layouts_regions(relay_layouts *q);
/** An operator with an attribute `layout` in the one that is wanted (row hook `convert`). */
TN_API void *ops_convert_by_attr(const relay_replace *r);

#endif /* TN_OPS_LAYOUT_H_ */
