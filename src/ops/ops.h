/* Operators: one file for each family (docs/operators.md), listed in ops.def. This header has what
   families share. */
#ifndef TN_OPS_OPS_H_
#define TN_OPS_OPS_H_

#include "relay/op.h"
#include "relay/type_text.h"
#include "te/build.h"
#include "tir/tir.h"

/** The compute of operators that work element by element, with broadcasting: applies row->element
 * to the elements of all inputs. */
TN_API tn_arr *ops_elementwise(const relay_compute *c);

/** Element of `t` for an index of a tensor it is broadcast to, of extents `shape`. */
TN_API tn_expr *ops_broadcast_at(const tn_Tensor *t, const tn_arr *shape, const tn_arr *indices);
/** Index along an axis of extent `own` for index i along the axis of extent `out` that it is
 * broadcast to: i, or 0 where the axis is repeated, which may show at run time only. */
TN_API tn_expr *ops_repeated_index(tn_expr *own, tn_expr *out, tn_expr *i);
/** Extents that two lists broadcast to, which fit: of two open ones the larger. */
TN_API tn_arr *ops_common_shape(tn_arr *a, tn_arr *b);

/** Sizes of a window operation along one axis: (x + pad - ((k - 1) * dilation + 1)) // stride + 1,
 * with Any absorbing everything. ValueError where the window does not fit. */
TN_API tn_expr *ops_window_extent(tn_expr *x, tn_expr *kernel, int64_t pad, int64_t stride,
                                  int64_t dilation);
/** Paddings of 1, n or 2n numbers spread to before[n] and after[n]: a number for all axes, one for
 * each, or those before all axes and then those after. 0 or -1 with ValueError naming `what`. */
TN_API int ops_get_pads(const tn_arr *padding, int n, int64_t *before, int64_t *after,
                        const char *what);
/** A number that extents are computed with beside kernels that count with 32 bits. 0 or -1 with
 * ValueError naming `what`. */
TN_API int ops_check_32_bits(const char *what, int64_t n);
/** Distances of 1 or n numbers spread to out[n]. 0 or -1 with ValueError naming `what`. */
TN_API int ops_get_steps(const tn_arr *steps, int n, int64_t *out, const char *what);
/** `t` with a border of `value`: before[i] and after[i] elements along axis i (NULL stands for
 * none). `t` itself when there is no border. */
TN_API tn_Tensor *ops_pad(tn_Tensor *t, const int64_t *before, const int64_t *after, tn_expr *value,
                          const char *name);

/** What lies around an axis: a value, the nearest element, a mirror without or with the edge. */
typedef enum { OPS_CONSTANT, OPS_EDGE, OPS_REFLECT, OPS_SYMMETRIC } ops_border;
/** The element that stands at place `x` of an axis with such a border (not OPS_CONSTANT), any
 * place.
 * @param width how far outside places may lie, -1 where that is not known */
TN_API tn_expr *ops_border_index(ops_border kind, tn_expr *x, tn_expr *extent, int64_t width);

/* ---- reductions ---- */

enum { OPS_MAX_NDIM = 32 };
/** Which of ndim axes `axis` (NULL or empty: all of them) names, or does not when `exclude`. On
 * failure the axis that is out of range is in *bad. */
TN_API bool ops_find_axes(const tn_arr *axis, bool exclude, int64_t ndim, bool *reduced,
                          int64_t *bad);
/** Those of `values` (indices, extents) whose axes are not reduced; with `keepdims` a 1 in place of
 * the others. */
TN_API tn_arr *ops_kept(const tn_arr *values, const bool *reduced, bool keepdims);
/** The reduction of `value` over axes of `shape`. @param value of an element, by indices of `shape`
 * @param reduced for each axis of `shape` */
TN_API tn_Tensor *ops_reduce_over(const tn_arr *shape, const bool *reduced, bool keepdims,
                                  te_reducer kind, te_element_fn value, void *ctx,
                                  const char *name);
/** An element of a tensor, as the value of a reduction or of another compute; ctx: tn_Tensor. */
TN_API tn_expr *ops_element(void *ctx, tn_arr *at);
/** How many elements the reduction has for each result, as a number of type t. */
TN_API tn_expr *ops_count(const tn_arr *shape, const bool *reduced, tn_dtype t);
/** sum / count, for `count` a number of sum's type; of no elements NaN, or ValueError for integers,
 * which names `op`. */
TN_API tn_expr *ops_mean(const char *op, tn_expr *sum, tn_expr *count);

/** The least number of a type, what a maximum starts from: -inf of floats. */
TN_API tn_expr *ops_least(tn_dtype t);
/** Name of the i-th axis of reduction: "rv0", ... */
TN_API const char *ops_reduce_name(int i);

/** In a relation, after a function that checks attributes has failed: its ValueError as an error of
 * the call. RELAY_FAILED. */
TN_API int ops_rel_failed(const relay_rel *r);

/* ---- indices that come from data (data_index.c) ---- */

/** What an index outside of its axis means. */
typedef enum {
  OPS_CLIP,    /**< the nearest element */
  OPS_WRAP,    /**< the axis is repeated */
  OPS_FROM_END /**< negative ones count from the end, then the nearest element */
} ops_outside;
/** An integer that a tensor holds, brought within an axis; of the extent's type. Every index that
 * comes from data passes through this function or one of the next two. */
TN_API tn_expr *ops_data_index(tn_expr *i, tn_expr *extent, ops_outside how);
/** The same for what leaves out indices outside (OPS_CLIP, OPS_FROM_END): *inside, NULL or a
 * condition, grows by the one that it lies inside. It must guard the access. */
TN_API tn_expr *ops_data_index_if(tn_expr *i, tn_expr *extent, ops_outside how, tn_expr **inside);
/** A place in an axis that was computed as a float, any float: cut off to an integer, and to the
 * nearest element. */
TN_API tn_expr *ops_place_index(tn_expr *x, tn_expr *extent);
/** In a relation: of an axis without elements nothing is taken, unless the result is empty, too.
 * @param what names the axis in the error. 0, or RELAY_FAILED */
TN_API int ops_rel_takes(const relay_rel *r, tn_expr *extent, const tn_arr *result,
                         const char *what);

/* ---- statements, for what no formula of an element expresses ---- */

/** for v in 0 ... extent - 1: body */
TN_API tn_stmt *ops_loop(tn_Var *v, tn_expr *extent, tn_stmt *body);
/** if cond: a, else b (which may be NULL) */
TN_API tn_stmt *ops_either(tn_expr *cond, tn_stmt *a, tn_stmt *b);
/** n variables prefix0, prefix1, ... of type int32. */
TN_API tn_arr *ops_loop_vars(const char *prefix, int64_t n);
/** Loops over all elements of `shape`, the last axis innermost. */
TN_API tn_stmt *ops_loops(const tn_arr *vars, const tn_arr *shape, tn_stmt *body);
/** `indices` with another one for `axis`. */
TN_API tn_arr *ops_with_index(const tn_arr *indices, int64_t axis, void *e);
/** What a statement computes. @param inputs array of Tensor @param read, written buffers that stand
 * for the inputs and for the results in it @return array of Tensor, one for each of `written` */
TN_API tn_arr *ops_extern(const char *name, tn_arr *inputs, tn_arr *read, tn_arr *written,
                          tn_stmt *body);

/** Starts the layer: registers all families. */
TN_API int ops_init(void);

/** The layouts rule of squeeze: axes that are dropped go from the layout. */
int ops_layouts_squeeze(relay_layouts *q);

#endif /* TN_OPS_OPS_H_ */
