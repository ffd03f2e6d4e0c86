/* TileBatch(threads, cache): a batch goes through the first layers a few images at a time, so that
   what lies between them stays in cache.

     nn.global_avg_pool2d(f(g(%x)))      %x: a batch of 8; one thread
   =>
     %0 = f(g(strided_slice(%x, begin=[0], end=[1], axes=[0])));
     %1 = f(g(strided_slice(%x, begin=[1], end=[2], axes=[0])));
     ...
     nn.global_avg_pool2d(concatenate((%0, %1, ...)))

   Those layers are what follows from the inputs by operators that treat each image by itself, with
   constants for the rest. They end where weights are larger than what a layer reads and writes of
   an image: those had better be read once for all images. Weights that stay in cache are read once
   either way. Each thread gets an image, which costs less than to share one. */
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"

enum {
  MAX_NDIM = 8,
  MAX_CALLS = 1 << 13, /* of all parts together */
  MIN_GAIN = 4         /* bytes that stay in cache for one that is copied at the ends */
};

typedef struct {
  const tn_RelayFunction *f;
  int64_t batch, threads, cache;
  int64_t weights, inner, largest; /* bytes: of constants so far, between layers, of one value */
  tn_pmap inside;                  /* what is computed in parts: inputs, calls, tuples */
  tn_pmap outputs;                 /* calls that are read by others -> what takes their place */
  tn_vec order;                    /* of the calls and tuples inside, operands first */
  tn_vec ends;                     /* calls among them that are outputs */
  int64_t ends_bytes;
  bool plain; /* there is nothing but calls and tuples */
} splitter;

/* Variables are known by what they bind. */
static const void *key_of(const void *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return v ? (const void *)v->vid : e;
}

static bool is_inside(const splitter *s, const void *e) {
  return tn_pmap_has(&s->inside, key_of(e));
}

/* ---- what treats images by themselves ---- */

static int64_t bytes_of(const tn_TensorType *t) {
  int64_t n = t ? relay_count_elements(t) : -1;
  return n < 0 || n > INT32_MAX ? INT32_MAX : n * ((t->dtype.bits + 7) / 8);
}

static bool is_batch(const splitter *s, const tn_TensorType *t) {
  int64_t dims[MAX_NDIM];
  int ndim = t ? relay_static_shape(t, dims, MAX_NDIM) : -1;
  return ndim > 0 && dims[0] == s->batch && bytes_of(t) > 0;
}

/* Do the attributes of the call that speak of axes leave images on the first one? */
static bool leads_with_images(const tn_RelayCall *c) {
  static const char *const layouts[] = {"layout", "data_layout", "src_layout", "dst_layout"};
  for (int i = 0; i < TN_COUNT(layouts); ++i) {
    const char *layout = relay_attr_str(c->attrs, layouts[i]);
    if (*layout && *layout != 'N') return false;
  }
  return relay_attr_int(c->attrs, "axis", 1) > 0;
}

/* Element by element: what is broadcast along the axis of images is not the same for each, unless
   it is a constant of one image. */
static bool has_fitting_operands(const tn_RelayCall *c) {
  const tn_TensorType *out = relay_known_type(c), *t;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const tn_obj *arg = tn_arr_obj(c->args, i);
    if (!(t = relay_known_type(arg))) return false;
    bool whole = t->shape->len >= out->shape->len;
    if (TN_AS(Constant, arg) ? whole && !relay_int_is(t->shape, 0, 1) : !whole) return false;
  }
  return true;
}

/* Only the first operand of the others is images. */
static bool has_fixed_rest(const tn_RelayCall *c) {
  for (int64_t i = 1; i < c->args->len; ++i)
    if (!TN_AS(Constant, tn_arr_obj(c->args, i))) return false;
  return true;
}

static bool is_of_images(const tn_RelayCall *c) {
  const relay_op_row *row = TN_AS(Op, c->op) ? relay_op_row_of((const tn_obj *)c->op) : NULL;
  if (!row || relay_op_is_stateful((const tn_obj *)c->op)) return false;
  if (row->element) return has_fitting_operands(c);
  return relay_op_treats_apart((const tn_obj *)c->op, RELAY_IMAGES) && has_fixed_rest(c) &&
         leads_with_images(c);
}

/* ---- the layers ---- */

/* Bytes of a call's constants and, of all images, of what it reads and writes; false: an operand is
   neither a constant nor inside. */
static bool traffic(const splitter *s, const tn_RelayCall *c, int64_t *weights, int64_t *data) {
  bool any = false;
  *weights = 0;
  *data = bytes_of(relay_known_type(c));
  for (int64_t i = 0; i < c->args->len; ++i) {
    const tn_obj *arg = tn_arr_obj(c->args, i);
    bool constant = TN_AS(Constant, arg) != NULL;
    if (!constant && !is_inside(s, arg)) return false;
    const tn_RelayTuple *all = TN_AS(RelayTuple, arg);
    int64_t n = all ? *data : bytes_of(relay_known_type(arg));
    *(constant ? weights : data) += n;
    any |= !constant;
  }
  return any;
}

static int put_inside(splitter *s, const tn_obj *e) {
  TN_TRY(tn_pmap_put_int(&s->inside, key_of(e), 1));
  return TN_AS(RelayVar, e) ? 0 : tn_vec_push_obj(&s->order, e);
}

static int see_call(splitter *s, const tn_RelayCall *c) {
  int64_t weights, data;
  if (!is_batch(s, relay_known_type(c)) || !is_of_images(c) || !traffic(s, c, &weights, &data))
    return 0;
  if (weights > data / s->batch && s->weights + weights > s->cache / 4) return 0;
  s->weights += weights;
  int64_t out = bytes_of(relay_known_type(c));
  if (weights > 0) s->inner += out;
  if (out > s->largest) s->largest = out;
  return put_inside(s, (const tn_obj *)c);
}

static int see_tuple(splitter *s, const tn_RelayTuple *t) {
  for (int64_t i = 0; i < t->fields->len; ++i) {
    const tn_obj *e = tn_arr_obj(t->fields, i);
    if (!TN_AS(RelayCall, e) || !is_inside(s, e)) return 0;
  }
  return t->fields->len ? put_inside(s, (const tn_obj *)t) : 0;
}

static bool is_param(const tn_RelayFunction *f, const tn_RelayVar *v) {
  for (int64_t i = 0; i < f->params->len; ++i)
    if (((const tn_RelayVar *)tn_arr_obj(f->params, i))->vid == v->vid) return true;
  return false;
}

static int see_node(void *ctx, tn_obj *e) {
  splitter *s = ctx;
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  if (v) return is_param(s->f, v) && is_batch(s, relay_known_type(v)) ? put_inside(s, e) : 0;
  if (TN_AS(RelayCall, e)) return see_call(s, (const tn_RelayCall *)e);
  if (TN_AS(RelayTuple, e)) return see_tuple(s, (const tn_RelayTuple *)e);
  s->plain &= !TN_AS(RelayLet, e) && !TN_AS(RelayIf, e) && !TN_AS(Match, e);
  return 0;
}

/* The insides of functions are none of this one's. */
static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)parent;
  (void)field;
  return !TN_AS(RelayFunction, child);
}

/* ---- the ends ---- */

static int add_end(splitter *s, const tn_obj *e) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  for (int64_t i = 0; t && i < t->fields->len; ++i) TN_TRY(add_end(s, tn_arr_obj(t->fields, i)));
  if (!TN_AS(RelayCall, e) || !is_inside(s, e) || tn_pmap_has(&s->outputs, e)) return 0;
  s->ends_bytes += bytes_of(relay_known_type(e));
  TN_TRY(tn_pmap_put(&s->outputs, e, NULL));
  return tn_vec_push_obj(&s->ends, e);
}

static int see_reader(void *ctx, tn_obj *e) {
  splitter *s = ctx;
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const tn_RelayTuple *t = TN_AS(RelayTuple, e);
  const tn_TupleGetItem *g = TN_AS(TupleGetItem, e);
  const tn_arr *read = c ? c->args : t ? t->fields : NULL;
  if (is_inside(s, e)) return 0;
  for (int64_t i = 0; read && i < read->len; ++i) TN_TRY(add_end(s, tn_arr_obj(read, i)));
  return g ? add_end(s, (const tn_obj *)g->tuple_value) : 0;
}

/* ---- the parts ---- */

static void *part_of(void *e, int64_t from, int64_t to) {
  const int64_t zero = 0, one = 1;
  void *attrs =
      relay_attrs("strided_slice", 4, "begin", tn_any_obj(relay_ints(&from, 1)), "end",
                  tn_any_obj(relay_ints(&to, 1)), "strides", tn_any_obj(relay_ints(&one, 1)),
                  "axes", tn_any_obj(relay_ints(&zero, 1)));
  return attrs ? relay_call("strided_slice", attrs, 1, e) : NULL;
}

static tn_arr *mapped(const tn_arr *all, const tn_pmap *now) {
  TN_VEC(v);
  for (int64_t i = 0; i < all->len; ++i) {
    tn_obj *e = tn_arr_obj(all, i), *other = tn_pmap_get(now, key_of(e));
    TN_TRYP(tn_vec_push_obj(&v, other ? other : e));
  }
  return tn_arr_from(&v);
}

/* Copies of all calls, for images `from` to `to`. */
static int make_part(const splitter *s, int64_t from, int64_t to, tn_pmap *now) {
  for (int64_t i = 0; i < s->f->params->len; ++i) {
    void *v = tn_arr_obj(s->f->params, i), *part;
    if (!is_inside(s, v)) continue;
    TN_GET(part, part_of(v, from, to));
    TN_TRY(tn_pmap_put(now, key_of(v), part));
  }
  for (int64_t i = 0; i < s->order.len; ++i) {
    const tn_obj *e = s->order.items[i].v.obj;
    const tn_RelayCall *c = TN_AS(RelayCall, e);
    tn_arr *operands;
    void *copy;
    TN_GET(operands, mapped(c ? c->args : ((const tn_RelayTuple *)e)->fields, now));
    if (c) TN_GET(copy, relay_call_new(c->op, operands, c->attrs));
    else TN_GET(copy, relay_tuple(operands));
    TN_TRY(tn_pmap_put(now, e, copy));
  }
  return 0;
}

static int make_parts(splitter *s, int64_t images) {
  tn_vec *parts = tn_alloc_zero((size_t)s->ends.len, sizeof *parts);
  int err = parts ? 0 : -1;
  for (int64_t from = 0; from < s->batch && !err; from += images) {
    TN_PMAP(now);
    err = make_part(s, from, from + images, &now);
    for (int64_t i = 0; i < s->ends.len && !err; ++i)
      err = tn_vec_push_obj(&parts[i], tn_pmap_get(&now, s->ends.items[i].v.obj));
  }
  for (int64_t i = 0; i < s->ends.len && !err; ++i) {
    void *all = relay_concatenate(tn_arr_from(&parts[i]), 0);
    err = all ? tn_pmap_put(&s->outputs, s->ends.items[i].v.obj, all) : -1;
  }
  for (int64_t i = 0; parts && i < s->ends.len; ++i) tn_vec_fini(&parts[i]);
  tn_free(parts);
  return err;
}

static tn_obj *replace(void *ctx, tn_obj *pre, tn_obj *post) {
  const splitter *s = ctx;
  tn_obj *all = tn_pmap_get(&s->outputs, pre);
  return all ? (tn_obj *)relay_stands_for(all, pre) : post;
}

/* Images in a part: the fewest that give each thread one and do not make too many calls; those of
   the batch where it is not worth it. */
static int64_t images_of(const splitter *s) {
  int64_t ends = s->ends_bytes, one = s->cache / s->threads;
  for (int64_t i = 0; i < s->f->params->len; ++i)
    if (is_inside(s, tn_arr_obj(s->f->params, i)))
      ends += bytes_of(relay_known_type(tn_arr_obj(s->f->params, i)));
  if (!s->plain || s->ends.len == 0 || s->largest <= one || s->inner < MIN_GAIN * ends)
    return s->batch;
  for (int64_t n = s->threads; n < s->batch; ++n)
    if (s->batch % n == 0 && s->batch / n * s->order.len <= MAX_CALLS) return n;
  return s->batch;
}

static tn_RelayFunction *split(splitter *s) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, replace)};
  TN_TRYP(tn_post_order_if(s->f->body, see, see_node, s));
  TN_TRYP(tn_post_order_if(s->f->body, see, see_reader, s));
  TN_TRYP(add_end(s, (const tn_obj *)s->f->body));
  int64_t images = images_of(s);
  if (images == s->batch) return (tn_RelayFunction *)(uintptr_t)s->f;
  TN_TRYP(make_parts(s, images));
  void *body = tn_rewrite(s->f->body, cases, TN_COUNT(cases), s);
  return body ? relay_function(s->f->params, body, s->f->ret_type, s->f->attrs) : NULL;
}

/* arguments: threads, bytes of cache that each has */
tn_RelayFunction *relay_tile_batch(tn_RelayFunction *f, const tn_pass_ctx *c) {
  splitter s = {.f = f, .threads = 1, .cache = 1 << 20, .plain = true};
  int64_t dims[MAX_NDIM];
  if (c->nargs > 0) TN_TRYP(tn_any_to_int(&c->args[0], &s.threads));
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &s.cache));
  TN_CHECKP(s.threads > 0 && s.cache > 0, ValueError, NULL,
            "TileBatch: expected a number of threads and bytes of cache, got %lld and %lld",
            (long long)s.threads, (long long)s.cache);
  const tn_TensorType *first = f->params->len ? relay_known_type(tn_arr_obj(f->params, 0)) : NULL;
  if (!first || relay_static_shape(first, dims, MAX_NDIM) < 1 || dims[0] <= s.threads) return f;
  s.batch = dims[0];
  tn_RelayFunction *r = split(&s);
  tn_pmap_fini(&s.inside);
  tn_pmap_fini(&s.outputs);
  tn_vec_fini(&s.order);
  tn_vec_fini(&s.ends);
  return r && r != f ? (tn_RelayFunction *)relay_infer_expr(r, c->mod) : r;
}
