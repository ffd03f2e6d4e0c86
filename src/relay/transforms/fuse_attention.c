/* FuseAttention: softmax between two products of matrices becomes one primitive function, with what
   scales and masks the scores and what only moves the operands, for kernels that keep the scores of
   a few rows near.

     %0 = einsum((%q, %k), equation="bmhk,bnhk->bhmn");
     %1 = nn.softmax(add(divide(%0, 8f), %mask), axis=3);
     einsum((%1, %v), equation="bhmk,bkhn->bmhn")
   =>
     %0 = fn (%p0, %p1, %p2, %p3, Primitive=1) { the same };
     %0(%q, %k, %mask, %v)

   Products are written over four axes in it, items and heads first. Numbers that query and key are
   multiplied by become one that the scores are multiplied by. Parts, reshapes and transposes of an
   operand are computed inside, so that what a layer made of query, key and value together is read
   where it lies. Nobody else may read the scores, and all extents are known. */
#include "base/error.h"
#include "base/scope.h"
#include "ir/module.h"
#include "relay/infer.h"
#include "relay/expr/call_builder.h"
#include "relay/expr/expr_info.h"
#include "relay/expr/replace.h"
#include "relay/transforms/transforms.h"
#include "tenon/object.h"

enum {
  NDIM = 4,
  MAX_STEPS = 16, /* between the products */
  MIN_ROWS = 4,   /* fewer do not pay for transposing keys */
  MIN_COLUMNS = 8 /* of scores and of the result: less than a vector */
};

/* An expression before and after what it is made of was rewritten. */
typedef struct {
  const void *pre;
  void *post;
} pair;

/* A product of matrices as a sum over named axes. */
typedef struct {
  pair a, b;
  char left[NDIM + 1], right[NDIM + 1], out[NDIM + 1];
  bool flat; /* batch_matmul: b and h are one axis */
} product;

/* A match, then the function that is made of it. */
typedef struct {
  const tn_pmap *readers;
  product scores, result;
  pair softmax, x;
  int64_t b, h, m, n, k, d;
  double scale;
  tn_dtype dtype;
  tn_vec args, params;
} attention;

static pair argument(pair call, int64_t i) {
  const tn_RelayCall *c = (const tn_RelayCall *)call.pre, *now = TN_AS(RelayCall, call.post);
  return (pair){relay_arg(c, i), now ? relay_arg(now, i) : NULL};
}

static bool is_alone(const attention *t, const void *e) {
  return tn_pmap_get_int(t->readers, e, 0) <= 1;
}

static bool is_one_of(const char *op, const char *const *list, int n) {
  for (int i = 0; op && i < n; ++i)
    if (strcmp(op, list[i]) == 0) return true;
  return false;
}

/* Does it give its argument another shape and nothing more? */
static bool reshapes(const void *e) { return RELAY_ASK(values, e) == RELAY_RESHAPED; }

/* Extents of a tensor of `n` axes; false: it has others, or they are dynamic. */
static bool shape_of(const void *e, int n, int64_t *dims) {
  const tn_TensorType *t = relay_known_type(e);
  return t && t->shape->len == n && relay_static_shape(t, dims, n) == n;
}

/* ---- products ---- */

/* "abcd,efgh->ijkl" with letters only */
static bool read_equation(const char *s, product *p) {
  char *terms[] = {p->left, p->right, p->out};
  static const int from[] = {0, NDIM + 1, 2 * NDIM + 3};
  if (strlen(s) != 3 * NDIM + 3 || s[NDIM] != ',' || s[2 * NDIM + 1] != '-' ||
      s[2 * NDIM + 2] != '>')
    return false;
  for (int i = 0; i < 3; ++i) {
    memcpy(terms[i], s + from[i], NDIM);
    for (int k = 0; k < NDIM; ++k)
      if (terms[i][k] < 'A' || terms[i][k] > 'z') return false;
  }
  return true;
}

static bool product_of(pair e, product *p) {
  const tn_RelayCall *c = relay_as_call(e.pre, "nn.batch_matmul");
  *p = (product){{NULL, NULL}};
  if (c) {
    p->flat = true;
    p->a = argument(e, 0), p->b = argument(e, 1);
    memcpy(p->left, relay_attr_int(c->attrs, "transpose_a", 0) ? "bhkm" : "bhmk", NDIM);
    memcpy(p->right, relay_attr_int(c->attrs, "transpose_b", 1) ? "bhnk" : "bhkn", NDIM);
    memcpy(p->out, "bhmn", NDIM);
    return p->a.post && p->b.post;
  }
  c = relay_as_call(e.pre, "einsum");
  pair both = c ? argument(e, 0) : e;
  const tn_RelayTuple *pre = c ? TN_AS(RelayTuple, both.pre) : NULL,
                      *post = c ? TN_AS(RelayTuple, both.post) : NULL;
  if (!pre || !post || pre->fields->len != 2 || post->fields->len != 2) return false;
  p->a = (pair){tn_arr_obj(pre->fields, 0), tn_arr_obj(post->fields, 0)};
  p->b = (pair){tn_arr_obj(pre->fields, 1), tn_arr_obj(post->fields, 1)};
  return read_equation(relay_attr_str(c->attrs, "equation"), p);
}

/* Other names for the axes: `from` are those of a term in order, `to` the new ones. The fifth name,
   which the term lacks, becomes the last of `to`. */
static bool rename_axes(product *p, const char *from, const char *to) {
  char now[3][NDIM + 1] = {{0}};
  char *terms[] = {p->left, p->right, p->out};
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < NDIM; ++k) {
      const char *at = memchr(from, terms[i][k], NDIM);
      now[i][k] = at ? to[at - from] : to[NDIM];
    }
  char other = 0; /* the fifth name is one */
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < NDIM; ++k) {
      if (now[i][k] != to[NDIM]) continue;
      if (other && terms[i][k] != other) return false;
      other = terms[i][k];
    }
  for (int i = 0; i < 3; ++i) memcpy(terms[i], now[i], NDIM);
  return true;
}

static bool has_names(const char *term, const char *names) {
  for (int i = 0; i < NDIM; ++i)
    if (!memchr(term, names[i], NDIM)) return false;
  return true;
}

static int64_t extent_of(const attention *t, char name) {
  static const char names[] = "bhmnkd";
  const int64_t dims[] = {t->b, t->h, t->m, t->n, t->k, t->d};
  const char *at = strchr(names, name);
  return at ? dims[at - names] : -1;
}

/* Has an operand the extents that the names of its axes have? */
static bool operand_fits(const attention *t, const product *p, const void *e, const char *names) {
  const tn_TensorType *type = relay_known_type(e);
  int64_t dims[NDIM], want[NDIM];
  for (int i = 0; i < NDIM; ++i) want[i] = extent_of(t, names[i]);
  if (!type || !tn_dtype_eq(type->dtype, t->dtype)) return false;
  if (p->flat)
    return shape_of(e, 3, dims) && dims[0] == want[0] * want[1] && dims[1] == want[2] &&
           dims[2] == want[3];
  return shape_of(e, NDIM, dims) && memcmp(dims, want, sizeof dims) == 0;
}

/* ---- the match ---- */

/* Can a call stand between scores and softmax? Element by element, as many of them. */
static bool is_step(const attention *t, const void *e) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const tn_TensorType *type = c && relay_called_op(e) ? relay_known_type(e) : NULL;
  return type && tn_dtype_eq(type->dtype, t->dtype) && is_alone(t, e) &&
         relay_count_elements(type) == t->b * t->h * t->m * t->n &&
         (reshapes(e) || relay_op_pattern((const tn_obj *)c->op) <= RELAY_BROADCAST);
}

/* Which argument of a step leads to the first product; -1: none. */
static int64_t path_of(const attention *t, const void *e, int depth) {
  product p;
  const tn_RelayCall *c = (const tn_RelayCall *)e;
  for (int64_t i = 0; depth < MAX_STEPS && i < c->args->len; ++i) {
    const void *arg = relay_arg(c, i);
    pair same = {arg, (void *)(uintptr_t)arg};
    if (is_alone(t, arg) && product_of(same, &p)) return i;
    if (is_step(t, arg) && path_of(t, arg, depth + 1) >= 0) return i;
  }
  return -1;
}

/* The first product, through steps. */
static bool find_scores(attention *t) {
  pair e = t->x;
  for (int depth = 0; depth <= MAX_STEPS; ++depth) {
    if (!is_alone(t, e.pre)) return false;
    if (product_of(e, &t->scores)) return true;
    int64_t i = is_step(t, e.pre) ? path_of(t, e.pre, depth) : -1;
    if (i < 0) return false;
    e = argument(e, i);
    if (!e.post) return false;
  }
  return false;
}

/* The softmax that the second product reads. */
static bool find_softmax(attention *t) {
  pair e = t->result.a;
  int64_t dims[NDIM];
  while (is_alone(t, e.pre) && reshapes(e.pre) && e.post) e = argument(e, 0);
  const tn_RelayCall *c = relay_as_call(e.pre, "nn.softmax");
  const tn_TensorType *type = c ? relay_known_type(c) : NULL;
  int64_t n = type ? type->shape->len : 0, axis = c ? relay_attr_int(c->attrs, "axis", -1) : 0;
  if ((n != 3 && n != NDIM) || !is_alone(t, e.pre) || !shape_of(e.pre, (int)n, dims) ||
      (axis != -1 && axis != n - 1) || !relay_as_call(e.post, "nn.softmax"))
    return false;
  t->softmax = e;
  t->x = argument(e, 0);
  t->dtype = type->dtype;
  t->b = dims[0], t->h = n == NDIM ? dims[1] : 1;
  t->m = dims[n - 2], t->n = dims[n - 1];
  return true;
}

/* Axes of the products by their names b, h, m, n, k and d. */
static bool name_axes(attention *t) {
  int64_t dims[NDIM];
  product *s = &t->scores, *r = &t->result;
  char to[] = "bhmnd", from[NDIM + 1] = {0};
  memcpy(from, r->left, NDIM);
  if (!rename_axes(r, from, to) || !has_names(r->right, "bhnd") || r->out[NDIM - 1] != 'd' ||
      !has_names(r->out, "bhmd"))
    return false;
  memcpy(from, s->out, NDIM);
  if (!rename_axes(s, from, "bhmnk") || !has_names(s->left, "bhmk") || !has_names(s->right, "bhnk"))
    return false;
  /* where softmax has three axes, a product of four tells b and h */
  bool told = relay_known_type(t->softmax.pre)->shape->len == NDIM;
  const product *four = told ? NULL : !s->flat ? s : !r->flat ? r : NULL;
  if (four && shape_of(four->a.pre, NDIM, dims)) {
    int64_t all = t->b * t->h;
    for (int i = 0; i < NDIM; ++i) {
      if (four->left[i] == 'b') t->b = dims[i];
      if (four->left[i] == 'h') t->h = dims[i];
    }
    if (t->b * t->h != all) return false;
  }
  return true;
}

/* The extent that the axis `name` of an operand has. */
static int64_t extent_in(const product *p, const void *e, const char *names, char name) {
  int64_t dims[NDIM];
  int n = p->flat ? 3 : NDIM;
  const char *at = memchr(names, name, NDIM);
  if (!at || !shape_of(e, n, dims)) return -1;
  return at - names - (NDIM - n) < 0 ? -1 : dims[at - names - (NDIM - n)];
}

/* What kernels take: enough of rows and columns, and keys and values of a head stay in the cache.
   kernels/attention.c asks the same. @param cache bytes */
static bool is_worth_it(const attention *t, int64_t cache) {
  int64_t bytes = t->dtype.bits / 8;
  return t->dtype.code == kDLFloat && t->dtype.bits >= 32 && t->m >= MIN_ROWS &&
         t->n >= MIN_COLUMNS && t->d >= MIN_COLUMNS && t->b > 0 && t->h > 0 && t->k > 0 &&
         t->n <= 2 * cache / bytes / (t->k + t->d + 32);
}

static bool match(attention *t, pair call, int64_t cache) {
  if (!product_of(call, &t->result) || !find_softmax(t)) return false;
  if (!find_scores(t) || !name_axes(t)) return false;
  const product *s = &t->scores, *r = &t->result;
  t->k = extent_in(s, s->a.pre, s->left, 'k');
  t->d = extent_in(r, r->b.pre, r->right, 'd');
  return is_worth_it(t, cache) && operand_fits(t, s, s->a.pre, s->left) &&
         operand_fits(t, s, s->b.pre, s->right) && operand_fits(t, r, r->a.pre, r->left) &&
         operand_fits(t, r, r->b.pre, r->right);
}

/* ---- the function ---- */

/* What is computed outside is a parameter; numbers stay inside. */
static void *param_for(attention *t, pair e) {
  double number;
  TN_BUF(name);
  tn_RelayVar *v;
  if (TN_AS(Constant, e.pre) && relay_as_scalar(e.pre, &number)) return e.post;
  for (int64_t i = 0; i < t->args.len; ++i)
    if (t->args.items[i].v.obj == e.post) return t->params.items[i].v.obj;
  tn_buf_printf(&name, "p%lld", (long long)t->args.len);
  TN_TRYP(tn_buf_ok(&name));
  TN_GETP(v, relay_var(tn_buf_cstr(&name), (tn_Type *)relay_known_type(e.pre)));
  TN_TRYP(tn_vec_push_obj(&t->args, e.post));
  TN_TRYP(tn_vec_push_obj(&t->params, v));
  return v;
}

/* Does a call only say which elements of its argument are where? */
static bool moves(const void *e) {
  static const char *const ops[] = {"transpose", "strided_slice"};
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  int64_t dims[8];
  double index;
  const tn_TensorType *type = c ? relay_known_type(e) : NULL;
  if (!type || type->shape->len > 8 || relay_static_shape(type, dims, 8) < 0) return false;
  if (relay_as_call(e, "take"))
    return relay_as_scalar(relay_arg(c, 1), &index) &&
           relay_tensor_type_of_expr(relay_arg(c, 1))->shape->len == 0 &&
           relay_attr_obj(c->attrs, "axis") && relay_attr_int(c->attrs, "batch_dims", 0) == 0;
  return c->args->len == 1 && (reshapes(e) || is_one_of(relay_called_op(e), ops, TN_COUNT(ops)));
}

/* The number that a call multiplies all elements by, and which argument these are; -1: it does
   something else. */
static int64_t factor_of(const void *e, double *by) {
  const tn_RelayCall *c = relay_as_call(e, "multiply"), *div = relay_as_call(e, "divide");
  for (int64_t i = 0; c && i < 2; ++i)
    if (relay_uniform(relay_arg(c, 1 - i), by) && relay_same_type(e, relay_arg(c, i))) return i;
  if (!div || !relay_uniform(relay_arg(div, 1), by) || *by == 0 ||
      !relay_same_type(e, relay_arg(div, 0)))
    return -1;
  *by = 1 / *by;
  return 0;
}

/* An operand as it is read inside. @param scale where its factors go; NULL: they stay */
static void *operand(attention *t, pair e, double *scale, int depth) {
  if (depth > MAX_STEPS) return param_for(t, e);
  double by = 1;
  const tn_TupleGetItem *part = TN_AS(TupleGetItem, e.pre), *now = TN_AS(TupleGetItem, e.post);
  if (part && now && relay_as_call(part->tuple_value, "split")) {
    pair all = argument((pair){part->tuple_value, now->tuple_value}, 0);
    const tn_RelayCall *split = TN_AS(RelayCall, part->tuple_value);
    if (!all.post || !relay_known_type(all.pre)) return param_for(t, e);
    void *inside = operand(t, all, scale, depth + 1);
    tn_RelayCall *again =
        inside ? relay_call_new(split->op, tn_arr_of(1, inside), split->attrs) : NULL;
    return again ? relay_get_item(again, part->index) : NULL;
  }
  const tn_RelayCall *c = TN_AS(RelayCall, e.pre);
  int64_t i = scale && c ? factor_of(e.pre, &by) : -1;
  if (i >= 0 && argument(e, i).post) {
    *scale *= by;
    return operand(t, argument(e, i), scale, depth + 1);
  }
  if (!moves(e.pre) || !argument(e, 0).post) return param_for(t, e);
  TN_VEC(args);
  TN_TRYP(tn_vec_push_obj(&args, operand(t, argument(e, 0), scale, depth + 1)));
  for (int64_t k = 1; k < c->args->len; ++k) TN_TRYP(tn_vec_push_obj(&args, relay_arg(c, k)));
  return relay_call_new(c->op, tn_arr_from(&args), c->attrs);
}

static void *shaped(const attention *t, void *e, const char *names) {
  int64_t dims[NDIM];
  for (int i = 0; i < NDIM; ++i) dims[i] = extent_of(t, names[i]);
  return e ? relay_reshape(e, relay_ints(dims, NDIM)) : NULL;
}

static void *sum_of(const attention *t, const product *p, void *a, void *b) {
  if (p->flat) a = shaped(t, a, p->left), b = shaped(t, b, p->right);
  tn_str *equation = tn_str_fmt("%s,%s->%s", p->left, p->right, p->out);
  void *both = a && b ? relay_tuple(tn_arr_of(2, a, b)) : NULL;
  void *attrs = equation ? relay_attrs("einsum", 1, "equation", tn_any_obj(equation)) : NULL;
  return both && attrs ? relay_call("einsum", attrs, 1, both) : NULL;
}

/* The first product, in the shape that those who read it see. */
static void *scores(attention *t, pair e) {
  product *p = &t->scores;
  void *q = operand(t, p->a, &t->scale, 0), *k = q ? operand(t, p->b, &t->scale, 0) : NULL,
       *s = k ? sum_of(t, p, q, k) : NULL;
  if (s && t->scale != 1) s = relay_binary("multiply", s, relay_const_float(t->dtype, t->scale));
  return s && p->flat ? relay_reshape(s, relay_known_type(e.pre)->shape) : s;
}

/* A step between the products, with what is computed outside as parameters. */
static void *step(attention *t, pair e, int depth) {
  product p;
  if (product_of(e, &p)) return scores(t, e);
  const tn_RelayCall *c = (const tn_RelayCall *)e.pre;
  int64_t way = path_of(t, e.pre, depth);
  TN_VEC(args);
  for (int64_t i = 0; i < c->args->len; ++i) {
    pair arg = argument(e, i);
    TN_TRYP(tn_vec_push_obj(&args, i == way ? step(t, arg, depth + 1) : param_for(t, arg)));
  }
  return relay_call_new(c->op, tn_arr_from(&args), c->attrs);
}

static void *body(attention *t) {
  void *x = step(t, t->x, 0);
  if (relay_known_type(t->x.pre)->shape->len != NDIM) x = shaped(t, x, "bhmn");
  void *attrs = relay_attrs("nn.softmax", 1, "axis", tn_any_int(NDIM - 1));
  void *p = x && attrs ? relay_call("nn.softmax", attrs, 1, x) : NULL;
  void *v = p ? operand(t, t->result.b, NULL, 0) : NULL;
  product *r = &t->result;
  if (r->flat) v = shaped(t, v, r->right);
  product four = *r;
  four.flat = false;
  return v ? sum_of(t, &four, p, v) : NULL;
}

static void *made(attention *t, pair call) {
  tn_DictAttrs *attrs;
  tn_RelayFunction *f;
  t->scale = 1;
  void *e = body(t);
  TN_GETP(attrs, ir_attrs_with(NULL, "Primitive", tn_any_obj(tir_i32(1))));
  TN_GETP(e, e);
  TN_GETP(f, relay_function(tn_arr_from(&t->params), e, NULL, attrs));
  tn_RelayCall *c = relay_call_new(f, tn_arr_from(&t->args), NULL);
  return c && t->result.flat ? relay_reshape(c, relay_known_type(call.pre)->shape) : (void *)c;
}

/* ---- what others ask ---- */

/* What an operand is made of, through calls that nobody else reads; `scaled`: numbers that it is
   multiplied by do not count. */
static const void *origin_of(const attention *t, const void *e, bool scaled) {
  double by;
  for (int depth = 0; depth <= MAX_STEPS && is_alone(t, e); ++depth) {
    int64_t i = scaled ? factor_of(e, &by) : -1;
    if (i < 0 && !moves(e)) break;
    e = relay_arg((const tn_RelayCall *)e, i < 0 ? 0 : i);
  }
  return e;
}

typedef struct {
  const tn_pmap *readers;
  int64_t cache;
  int (*fn)(void *ctx, const void *const operands[3]);
  void *ctx;
} seeing;

static int see_product(void *ctx, tn_obj *node) {
  const seeing *x = ctx;
  attention t = {.readers = x->readers};
  if (!TN_AS(RelayCall, node)) return 0;
  if (!match(&t, (pair){node, node}, x->cache)) return tn_error_pending() ? -1 : 0;
  const void *operands[] = {origin_of(&t, t.scores.a.pre, true),
                            origin_of(&t, t.scores.b.pre, true),
                            origin_of(&t, t.result.b.pre, false)};
  return x->fn(x->ctx, operands);
}

int relay_each_attention(const tn_RelayFunction *f, const tn_pmap *readers, int64_t cache,
                         int (*fn)(void *ctx, const void *const operands[3]), void *ctx) {
  seeing x = {readers, cache, fn, ctx};
  return tn_post_order(f, see_product, &x);
}

/* ---- the pass ---- */

typedef struct {
  tn_pmap readers;
  int64_t cache;
} fusing;

static tn_obj *fuse(void *ctx, tn_obj *pre, tn_obj *post) {
  fusing *x = ctx;
  attention t = {.readers = &x->readers};
  pair call = {pre, post};
  tn_obj *r = post;
  if (match(&t, call, x->cache)) {
    r = relay_replaced("FuseAttention", made(&t, call), post, pre);
  } else if (tn_error_pending()) r = NULL;
  tn_vec_fini(&t.args);
  tn_vec_fini(&t.params);
  return r;
}

static bool enters(void *ctx, const tn_obj *o) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, o);
  (void)ctx;
  return !f || !ir_attrs_flag(f->attrs, "Primitive");
}

static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, fuse)};

/* arguments: threads, bytes of cache that each has */
tn_RelayFunction *relay_fuse_attention(tn_RelayFunction *f, const tn_pass_ctx *c) {
  fusing x = {.cache = 1 << 20};
  if (c->nargs > 1) TN_TRYP(tn_any_to_int(&c->args[1], &x.cache));
  TN_CHECKP(x.cache > 0, ValueError, NULL, "FuseAttention: expected bytes of cache, got %lld",
            (long long)x.cache);
  TN_GETP(f, relay_infer_expr(f, c->mod));
  tn_RelayFunction *r = relay_count_readers(f, &x.readers)
                            ? NULL
                            : tn_rewrite_if(f, enters, cases, TN_COUNT(cases), &x);
  tn_pmap_fini(&x.readers);
  return r && r != f ? (tn_RelayFunction *)relay_infer_expr(r, c->mod) : r;
}
