/* What FoldScaleAxis knows of scales and of layers with weights. */
#ifndef TN_RELAY_TRANSFORMS_SCALE_AXIS_H_
#define TN_RELAY_TRANSFORMS_SCALE_AXIS_H_

#include "base/pmap.h"
#include "relay/op.h"

/* A factor for each place along one axis of a tensor, or one for all. */
typedef struct {
  relay_expr *value; /* of shape (n,), or one number without axes */
  int64_t axis;      /* -1: one factor for all */
  bool positive;     /* known to be so: may pass a relu */
} scale;

/* A convolution or dense layer: which axes hold channels. */
typedef struct {
  int64_t data_axis, out_axis;   /* of the first argument, of the result */
  int64_t weight_in, weight_out; /* of the second argument; -1: a scale there cannot be moved in */
} layer;

/* State of one direction. */
typedef struct {
  const tn_pmap *readers; /* of the expressions before the pass */
  tn_pmap now;            /* the same for rewritten expressions */
} folding;

/** Is the call a product of a tensor (*x) and a scale? */
bool scale_match(const tn_RelayCall *c, relay_expr **x, scale *s);
/** `e` times the scale (or divided by it), which lies along `axis` of e. */
relay_expr *scale_apply(const char *op, relay_expr *e, const scale *s, int64_t axis);
/** Is `e` (an operand of a sum of type `t`) so small that scaling it costs nothing that counts? */
bool scale_is_small(const relay_expr *e, const tn_TensorType *t, const scale *s);

/** Is the call a layer? Which? */
bool layer_match(const tn_RelayCall *c, layer *l);
/** The place of the channels in a layout without blocks, -1 when there is none. */
int64_t layer_axis_of(const char *layout, char axis);

/** Has the rewritten expression only one reader? */
bool folding_single(const folding *f, const relay_expr *e);
/** The rewritten `post` stands for `pre`. */
tn_obj *folding_done(folding *f, const tn_obj *pre, relay_expr *post);
/** A call like `c` with other arguments, of the same type; NULL without an error where it has
 * another one. */
relay_expr *folding_call(const tn_RelayCall *c, int n, ...);

#endif /* TN_RELAY_TRANSFORMS_SCALE_AXIS_H_ */
