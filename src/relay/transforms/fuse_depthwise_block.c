/* FuseDepthwiseBlock(threads, cache, lanes): a convolution that makes many channels, the depthwise one
   behind it and the product that makes few of them again become one kernel, which goes through the
   image in bands of rows. What is between them is as large as a band, and stays in cache.

     %1 = clip(add(nn.contrib_conv2d_NCHWc(%x, %w), %b), 0, 6);             many channels
     %2 = nn.contrib_depthwise_conv2d_NCHWc(%1, %v, padding=[1, 1, 1, 1]);
   =>
     %1 = clip(add(nn.contrib_conv2d_NCHWc(%x, %w, padding=[1, 1, 1, 1]), %b), 0, 6);
     %2 = nn.contrib_clear_border(%1, padding=[1, 1, 1, 1], rows=14, convolutions=2);
     %3 = nn.contrib_depthwise_conv2d_NCHWc(%2, %v);

   The first convolution computes the border of its image too, so that nothing is copied to put
   zeros around; FuseOps makes one kernel of it all, kernels/bands.c schedules that. Neighbouring
   bands compute some rows twice. Whether that pays is a matter of bytes that leave the cache. */
#include "base/alloc.h"
#include "base/error.h"
#include "ir/imm.h"
#include "relay/infer.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"
#include "target/machine_cost.h"

enum {
  MAX_NODES = 16, /* between two convolutions */
  NDIM = 5,       /* of data in blocks of channels */
  MAX_TAPS = 49,
  MIN_BLOCK = 4,
  MAX_LANES = 1 << 20,
  ROW = 2,
  COL = 3,
};
static const double gain = 0.1; /* of the time of the kernels, that is asked for */

/* A convolution. */
typedef struct {
  int64_t in, out, size[2], result[2]; /* channels; height, width of data and of the result */
  int64_t kernel[2], stride[2], before[2], after[2];
} problem;

typedef struct {
  problem e, d;                                     /* of the first and the depthwise one */
  const tn_RelayCall *expand, *depthwise, *project; /* project: NULL, there is none */
  int64_t rows;                                     /* of the last one's result in a band */
} chain;

typedef struct {
  int64_t threads, cache, lanes;
  const tn_RelayFunction *f;
  tn_pmap readers; /* of each expression */
  tn_pmap used;    /* convolutions that belong to a chain */
  tn_pmap index;   /* depthwise convolution -> 1 + its chain */
  chain *chains;
  int64_t n, cap;
} bands;

/* ---- what may be computed together ---- */

/* Does it treat all elements alike: element by element, with constants that are the same for all
   rows and columns? */
static bool is_uniform(const tn_RelayCall *c) {
  const relay_op_row *row = TN_AS(Op, c->op) ? relay_op_row_of((const tn_obj *)c->op) : NULL;
  if (!row || !row->element || relay_op_is_stateful((const tn_obj *)c->op)) return false;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const tn_obj *arg = tn_arr_obj(c->args, i);
    if (!TN_AS(Constant, arg)) continue;
    const tn_TensorType *t = relay_known_type(arg);
    int64_t n = t ? t->shape->len : NDIM + 1;
    if (n > NDIM) return false;
    for (int64_t axis = ROW; axis <= COL; ++axis)
      if (axis + n >= NDIM && !relay_int_is(t->shape, axis + n - NDIM, 1)) return false;
  }
  return true;
}

/* The expressions from a convolution's result to where it is read, and the number of readers of
   each. */
typedef struct {
  const tn_obj *nodes[MAX_NODES];
  int64_t reads[MAX_NODES];
  int n;
  const tn_RelayCall *source; /* the convolution */
} between;

static bool look(between *b, const tn_obj *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  for (int i = 0; i < b->n; ++i)
    if (b->nodes[i] == e) return ++b->reads[i], true;
  if (!c || b->n == MAX_NODES) return false;
  b->nodes[b->n] = e;
  b->reads[b->n++] = 1;
  if (relay_as_call(c, "nn.contrib_conv2d_NCHWc") ||
      relay_as_call(c, "nn.contrib_depthwise_conv2d_NCHWc")) {
    bool first = !b->source;
    b->source = c;
    return first;
  }
  if (!is_uniform(c)) return false;
  for (int64_t i = 0; i < c->args->len; ++i) {
    const tn_obj *arg = tn_arr_obj(c->args, i);
    if (!TN_AS(Constant, arg) && !look(b, arg)) return false;
  }
  return true;
}

/* The convolution that `e` is made of element by element, with all that depends on it inside; NULL
   where there is none. */
static const tn_RelayCall *source_of(const bands *s, const tn_obj *e) {
  between b = {.n = 0};
  if (!look(&b, e) || !b.source) return NULL;
  for (int i = 0; i < b.n; ++i)
    if (tn_pmap_get_int(&s->readers, b.nodes[i], 0) != b.reads[i]) return NULL;
  return b.source;
}

/* ---- convolutions ---- */

static bool is_floats(const tn_TensorType *t) {
  return t && t->dtype.code == kDLFloat && t->dtype.bits == 32 && t->dtype.lanes == 1;
}

/* Top, left, bottom, right; false: it is written in another way. */
static bool get_pads(const tn_RelayCall *c, problem *p) {
  const tn_arr *pads = relay_attr_obj(c->attrs, "padding");
  if (!pads || (pads->len != 2 && pads->len != 4)) return false;
  for (int i = 0; i < 2; ++i) {
    p->before[i] = relay_listed(pads, i);
    p->after[i] = relay_listed(pads, i + pads->len - 2);
    if (p->before[i] < 0 || p->after[i] < 0) return false;
  }
  return true;
}

/* float32, with constant weights and no dilation. */
static bool get_problem(const tn_RelayCall *c, problem *p) {
  int64_t in[NDIM], out[NDIM];
  const tn_TensorType *data = relay_known_type(relay_arg(c, 0)), *result = relay_known_type(c);
  const tn_TensorType *weight = relay_known_type(relay_arg(c, 1));
  const tn_arr *steps = relay_attr_obj(c->attrs, "strides"),
               *spread = relay_attr_obj(c->attrs, "dilation");
  if (!is_floats(data) || !is_floats(weight) || !is_floats(result) ||
      !TN_AS(Constant, relay_arg(c, 1)) || !get_pads(c, p))
    return false;
  int n = relay_static_shape(data, in, NDIM);
  if (n < NDIM - 1 || relay_static_shape(result, out, NDIM) != NDIM || out[NDIM - 1] < MIN_BLOCK)
    return false;
  p->in = n == NDIM ? in[1] * in[NDIM - 1] : in[1];
  p->out = out[1] * out[NDIM - 1];
  for (int i = 0; i < 2; ++i) {
    p->size[i] = in[ROW + i], p->result[i] = out[ROW + i];
    p->stride[i] = relay_listed(steps, i);
    if (!relay_known_int(weight->shape, ROW + i, &p->kernel[i])) return false;
    if (relay_listed(spread, i) != 1 || p->result[i] < 1) return false;
  }
  return true;
}

static bool is_product(const problem *p) {
  for (int i = 0; i < 2; ++i)
    if (p->kernel[i] != 1 || p->stride[i] != 1 || p->before[i] || p->after[i]) return false;
  return true;
}

static bool is_depthwise(const problem *p) {
  for (int i = 0; i < 2; ++i)
    if (p->before[i] >= p->kernel[i] || p->after[i] >= p->kernel[i]) return false;
  return p->in == p->out && p->kernel[0] * p->kernel[1] <= MAX_TAPS;
}

/* ---- what it costs ---- */

/* Bytes that a band keeps in cache. */
static double band_bytes(const problem *e, const problem *d, bool project, int64_t rows) {
  int64_t high = (rows - 1) * d->stride[0] + d->kernel[0];
  int64_t wide = d->size[1] + d->before[1] + d->after[1];
  int64_t source = (high - 1) * e->stride[0] + e->kernel[0];
  int64_t n = source * wide * e->stride[1] * e->in + high * wide * e->out;
  if (project) n += rows * d->result[1] * d->out;
  return 4.0 * (double)n;
}

/* The most rows that divide the height and give each thread as many bands; 0: none do. */
static int64_t choose_rows(const bands *s, const problem *e, const problem *d, bool project) {
  int64_t height = d->result[0];
  for (int64_t rows = height; rows > 0; --rows) {
    int64_t n = height / rows;
    if (height % rows || n < 2 || n < s->threads || (n % s->threads && n < 4 * s->threads))
      continue;
    if (band_bytes(e, d, project, rows) <= (double)s->cache * 5 / 8) return rows;
  }
  return 0;
}

static double products(const problem *p, bool depthwise) {
  double taps = (double)(p->kernel[0] * p->kernel[1]);
  return taps * (double)(p->result[0] * p->result[1] * p->out) * (depthwise ? 1 : (double)p->in);
}

/* @return rows of a band, 0 where bands gain too little */
static int64_t rows_that_pay(const bands *s, const problem *e, const problem *d, const problem *p) {
  int64_t rows = choose_rows(s, e, d, p != NULL);
  if (!rows) return 0;
  const target_machine m = {.vector_bytes = 4 * (int)s->lanes, .l2 = s->cache};
  double first = machine_conv_cycles(&m, products(e, false));
  double all = first + machine_depthwise_cycles(&m, products(d, true));
  if (p) all += machine_conv_cycles(&m, products(p, false));
  double bytes = 4.0 * (double)(e->result[0] * e->result[1] * e->out);
  bool far = bytes > (double)s->cache * 3 / 4;
  double saved = machine_stream_cycles(&m, bytes, far ? MACHINE_FAR : MACHINE_L2);
  double high = (double)((rows - 1) * d->stride[0] + d->kernel[0]) * (double)(d->result[0] / rows);
  double wide = (double)(d->size[1] + d->before[1] + d->after[1]);
  double more = high * wide / (double)(d->size[0] * d->size[1]) - 1;
  double extra = more * first;
  extra += machine_copy_cycles(&m, 4.0 * (1 + more) * (double)(e->in * e->size[0] * e->size[1]));
  return saved - extra >= gain * (all + saved) ? rows : 0;
}

/* ---- the chains ---- */

static bool is_taken(const bands *s, const tn_RelayCall *c) { return tn_pmap_has(&s->used, c); }

static int add_chain(bands *s, const chain *c) {
  TN_GROW(s->chains, s->cap, s->n + 1, return -1);
  s->chains[s->n++] = *c;
  TN_TRY(tn_pmap_put_int(&s->index, c->depthwise, s->n));
  TN_TRY(tn_pmap_put_int(&s->used, c->expand, 1));
  return c->project ? tn_pmap_put_int(&s->used, c->project, 1) : 0;
}

/* @param project the product behind it, or NULL */
static int see_depthwise(bands *s, const tn_RelayCall *depthwise, const tn_RelayCall *project,
                         const problem *p) {
  problem e, d;
  const tn_RelayCall *expand = NULL;
  if (!tn_pmap_has(&s->index, depthwise) && get_problem(depthwise, &d) && is_depthwise(&d))
    expand = source_of(s, tn_arr_obj(depthwise->args, 0));
  if (!expand || !relay_as_call(expand, "nn.contrib_conv2d_NCHWc") || is_taken(s, expand) ||
      relay_attr_int(expand->attrs, "groups", 1) != 1 || !get_problem(expand, &e))
    return 0;
  chain c = {e, d, expand, depthwise, project, rows_that_pay(s, &e, &d, p)};
  return c.rows ? add_chain(s, &c) : 0;
}

static int see_project(void *ctx, tn_obj *node) {
  bands *s = ctx;
  const tn_RelayCall *c = relay_as_call(node, "nn.contrib_conv2d_NCHWc");
  problem p;
  if (!c || relay_attr_int(c->attrs, "groups", 1) != 1 || !get_problem(c, &p) || !is_product(&p))
    return 0;
  const tn_RelayCall *source = source_of(s, tn_arr_obj(c->args, 0));
  if (!source || !relay_as_call(source, "nn.contrib_depthwise_conv2d_NCHWc")) return 0;
  return see_depthwise(s, source, c, &p);
}

static int see_alone(void *ctx, tn_obj *node) {
  const tn_RelayCall *c = relay_as_call(node, "nn.contrib_depthwise_conv2d_NCHWc");
  return c ? see_depthwise(ctx, c, NULL, NULL) : 0;
}

/* The insides of functions are none of this one's. */
static bool see(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)parent;
  (void)field;
  return !TN_AS(RelayFunction, child);
}

/* ---- the other program ---- */

static tn_arr *pads_of(const int64_t before[2], const int64_t after[2]) {
  return relay_ints((const int64_t[]){before[0], before[1], after[0], after[1]}, 4);
}

/* The convolution with results around those that it has, and no data that none of them needs. */
static void *with_border(const tn_RelayCall *expand, const chain *c) {
  problem e = c->e;
  for (int i = 0; i < 2; ++i) {
    e.before[i] += c->d.before[i] * e.stride[i];
    e.after[i] += c->d.after[i] * e.stride[i];
    int64_t left = (e.size[i] + e.before[i] + e.after[i] - e.kernel[i]) % e.stride[i];
    e.after[i] -= left < e.after[i] ? left : e.after[i];
  }
  void *attrs = relay_attrs_with(expand->attrs, "padding", tn_any_obj(pads_of(e.before, e.after)));
  return attrs ? relay_call_new(expand->op, expand->args, attrs) : NULL;
}

/* What is between the convolutions, again behind the one with a border. */
static tn_obj *rebuilt(tn_pmap *done, const tn_obj *e, const chain *in) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  tn_obj *known = tn_pmap_get(done, e);
  TN_VEC(args);
  if (known || !c) return known ? known : (tn_obj *)(uintptr_t)e;
  bool source = relay_as_call(c, "nn.contrib_conv2d_NCHWc") != NULL;
  for (int64_t i = 0; !source && i < c->args->len; ++i) {
    tn_obj *arg;
    TN_GETP(arg, rebuilt(done, tn_arr_obj(c->args, i), in));
    TN_TRYP(tn_vec_push_obj(&args, arg));
  }
  void *now = source ? with_border(c, in) : relay_call_new(c->op, tn_arr_from(&args), c->attrs);
  if (!now || tn_pmap_put(done, e, now)) return NULL;
  return now;
}

static tn_obj *in_bands(const chain *c, const tn_RelayCall *depthwise) {
  static const int64_t none[4];
  TN_PMAP(done);
  tn_obj *x;
  TN_GETP(x, rebuilt(&done, tn_arr_obj(depthwise->args, 0), c));
  void *mark = relay_attrs("nn.contrib_clear_border", 3, "padding",
                           tn_any_obj(pads_of(c->d.before, c->d.after)), "rows",
                           tn_any_int(c->rows), "convolutions", tn_any_int(c->project ? 2 : 1));
  x = relay_call("nn.contrib_clear_border", mark, 1, x);
  void *attrs = relay_attrs_with(depthwise->attrs, "padding", tn_any_obj(relay_ints(none, 4)));
  tn_arr *args = x ? tn_arr_of(2, x, tn_arr_obj(depthwise->args, 1)) : NULL;
  return attrs && args ? (tn_obj *)relay_call_new(depthwise->op, args, attrs) : NULL;
}

static tn_obj *replace(void *ctx, tn_obj *pre, tn_obj *post) {
  const bands *s = ctx;
  int64_t i = tn_pmap_get_int(&s->index, pre, 0);
  if (i == 0) return post;
  void *now = in_bands(&s->chains[i - 1], (const tn_RelayCall *)post);
  return relay_replaced("FuseDepthwiseBlock", now, post, pre);
}

static tn_RelayFunction *fuse(bands *s) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, replace)};
  TN_TRYP(relay_count_readers(s->f, &s->readers));
  TN_TRYP(tn_post_order_if(s->f->body, see, see_project, s));
  TN_TRYP(tn_post_order_if(s->f->body, see, see_alone, s));
  if (s->n == 0) return (tn_RelayFunction *)(uintptr_t)s->f;
  void *body = tn_rewrite(s->f->body, cases, TN_COUNT(cases), s);
  return body ? relay_function(s->f->params, body, s->f->ret_type, s->f->attrs) : NULL;
}

/* Is the option relay.backend.bands on? @return 1, 0, -1 with an error */
static int is_on(const tn_pass_ctx *c) {
  const tn_str *s = TN_AS(String, ir_config_get(c->node, "relay.backend.bands"));
  if (!s || tn_str_eq(s, "auto")) return 1;
  TN_CHECK(tn_str_eq(s, "off"), ValueError, NULL,
           "relay.backend.bands: expected \"auto\" or \"off\", got \"%s\"", tn_cstr(s));
  return 0;
}

/* arguments: threads, bytes of cache that each has, numbers in a vector */
tn_RelayFunction *relay_fuse_depthwise_block(tn_RelayFunction *f, const tn_pass_ctx *c) {
  bands s = {.f = f, .threads = 1, .cache = 1 << 20, .lanes = 8};
  if (c->nargs > 0) TN_TRYP(tn_any_to_int(&c->args[0], &s.threads));
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &s.cache));
  if (c->nargs > 2) TN_TRYP(tn_any_to_int(&c->args[2], &s.lanes));
  TN_CHECKP(s.threads > 0 && s.cache > 0 && s.lanes > 0 && s.lanes <= MAX_LANES, ValueError, NULL,
            "FuseDepthwiseBlock: expected numbers of threads, bytes of cache and lanes, got %lld, "
            "%lld and "
            "%lld",
            (long long)s.threads, (long long)s.cache, (long long)s.lanes);
  int on = is_on(c);
  if (on <= 0) return on < 0 ? NULL : f;
  tn_RelayFunction *r = fuse(&s);
  tn_pmap_fini(&s.readers);
  tn_pmap_fini(&s.used);
  tn_pmap_fini(&s.index);
  tn_free(s.chains);
  return r && r != f ? (tn_RelayFunction *)relay_infer_expr(r, c->mod) : r;
}
