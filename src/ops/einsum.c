/* Sums of products by names of axes.

     einsum((%a, %b), equation="ij,jk->ik")       r[i][k] = sum of a[i][j] * b[j][k] over j
     einsum((%a,), equation="...ii->...i")        a name that occurs twice is a diagonal

   Without an arrow the result has the names that occur once, sorted; dots are the axes that are not
   named, which broadcast. */
#include <ctype.h>
#include <string.h>

#include "ir/imm.h"
#include "ops/ops.h"

#define TN_FIELDS_EinsumAttrs(F, S)                                                                \
  F(S, REF, String, equation, 0, "names of the axes of the operands, then of the result")
#define EINSUM_ATTRS(N)                                                                            \
  N(EinsumAttrs, Attrs, "relay.attrs.EinsumAttrs", NODE, TREE, tn_no_hooks, "attributes of einsum")
TN_NODES_LOCAL(EINSUM_ATTRS)

enum { MAX_OPERANDS = 16, MAX_NAMES = 64, DOT = 128, MAX_DOTS = 32 };

/* Names of axes: letters, and DOT + i for the i-th axis from the end of those that dots stand for.
 */
typedef struct {
  int n;
  unsigned char names[MAX_NAMES];
} term;

typedef struct {
  int n; /* operands */
  term operands[MAX_OPERANDS], out;
  bool arrow;
  tn_expr *extent[256];
} sums;

static int fail(const char *equation, const char *why) {
  return TN_RAISE(ValueError, NULL, "\"%s\": %s", equation, why);
}

/* One term up to `end`; dots stand for `dots` axes. */
static int read_term(const char *equation, const char *s, const char *end, int dots, term *t) {
  t->n = 0;
  for (; s < end; ++s) {
    if (*s == ' ') continue;
    if (*s == '.') {
      if (end - s < 3 || s[1] != '.' || s[2] != '.') return fail(equation, "a single dot");
      if (t->n + dots > MAX_NAMES || dots > MAX_DOTS) return fail(equation, "too many dimensions");
      for (int i = dots; i-- > 0;) t->names[t->n++] = (unsigned char)(DOT + i);
      s += 2;
    } else if (isalpha((unsigned char)*s) && t->n < MAX_NAMES) t->names[t->n++] = (unsigned char)*s;
    else return fail(equation, "expected letters, commas, dots and an arrow");
  }
  return 0;
}

static int letters(const char *s, const char *end, bool *dots) {
  int n = 0;
  for (*dots = false; s < end; ++s) {
    n += isalpha((unsigned char)*s) != 0;
    *dots = *dots || *s == '.';
  }
  return n;
}

/* Each name has one extent; 1 meets any other. */
static int bind(sums *s, const char *equation, const term *t, const tn_arr *shape) {
  if (t->n != shape->len) return fail(equation, "an operand has another number of dimensions");
  for (int i = 0; i < t->n; ++i) {
    tn_expr **known = &s->extent[t->names[i]], *e = (tn_expr *)tn_arr_obj(shape, i);
    if (*known) e = relay_broadcast_dim(*known, e);
    *known = e;
    if (!e && tn_error_pending()) return -1;
    if (!e) return fail(equation, "two axes of one name have different extents");
  }
  return 0;
}

/* Without an arrow: dots, then names that occur once, in order. */
static void usual_result(sums *s, int dots) {
  int count[256] = {0};
  for (int i = 0; i < s->n; ++i)
    for (int k = 0; k < s->operands[i].n; ++k) ++count[s->operands[i].names[k]];
  for (int i = dots; i-- > 0;) s->out.names[s->out.n++] = (unsigned char)(DOT + i);
  for (int i = 'A'; i <= 'z'; ++i)
    if (count[i] == 1 && s->out.n < MAX_NAMES) s->out.names[s->out.n++] = (unsigned char)i;
}

static int check_result(const sums *s, const char *equation) {
  bool seen[256] = {false};
  for (int i = 0; i < s->out.n; ++i) {
    unsigned char name = s->out.names[i];
    if (!s->extent[name]) return fail(equation, "the result has a name that no operand has");
    if (seen[name]) return fail(equation, "the result has a name twice");
    seen[name] = true;
  }
  return 0;
}

/* @param shapes array of arrays of extents */
static int read_sums(const char *equation, const tn_arr *shapes, sums *s) {
  const char *at = equation, *arrow = strstr(equation, "->"),
             *end = arrow ? arrow : equation + strlen(equation);
  int most_dots = 0;
  *s = (sums){.arrow = arrow != NULL};
  for (;; ++at) {
    const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
    bool has;
    int n = letters(at, stop, &has);
    if (s->n >= MAX_OPERANDS || s->n >= shapes->len) return fail(equation, "too many operands");
    const tn_arr *shape = (const tn_arr *)tn_arr_obj(shapes, s->n);
    int dots = has ? (int)shape->len - n : 0;
    if (dots < 0) return fail(equation, "an operand has another number of dimensions");
    if (dots > most_dots) most_dots = dots;
    TN_TRY(read_term(equation, at, stop, dots, &s->operands[s->n]));
    TN_TRY(bind(s, equation, &s->operands[s->n], shape));
    ++s->n;
    at = stop;
    if (!comma) break;
  }
  if (s->n != shapes->len) return fail(equation, "fewer terms than operands");
  if (!arrow) usual_result(s, most_dots);
  else TN_TRY(read_term(equation, arrow + 2, equation + strlen(equation), most_dots, &s->out));
  return check_result(s, equation);
}

static tn_arr *result_shape(const sums *s) {
  TN_VEC(v);
  for (int i = 0; i < s->out.n; ++i) TN_TRYP(tn_vec_push_obj(&v, s->extent[s->out.names[i]]));
  return tn_arr_from(&v);
}

/* ---- relation ---- */

static int relation(relay_rel *r) {
  const tn_EinsumAttrs *a = r->attrs;
  sums s;
  tn_dtype type = {0};
  TN_VEC(shapes);
  RELAY_TUPLE_OF(data, r, 0);
  for (int64_t i = 0; i < data->fields->len; ++i) {
    const tn_TensorType *t = (const tn_TensorType *)tn_arr_obj(data->fields, i);
    RELAY_CHECK(r, i == 0 || tn_dtype_eq(t->dtype, type), "operands of different types");
    type = t->dtype;
    TN_TRY(tn_vec_push_obj(&shapes, t->shape));
  }
  tn_arr *all;
  TN_GET(all, tn_arr_from(&shapes));
  if (read_sums(tn_cstr(a->equation), all, &s)) return ops_rel_failed(r);
  return relay_rel_result(r, relay_tensor_type(result_shape(&s), type));
}

/* ---- compute ---- */

typedef struct {
  const relay_compute *c;
  const sums *s;
  tn_arr *axes; /* IterVar of the names that are summed over */
  tn_expr *index[256];
} product;

static tn_expr *factor(const product *p, int i) {
  const tn_Tensor *t = relay_input(p->c, i);
  const term *names = &p->s->operands[i];
  TN_VEC(v);
  for (int k = 0; k < names->n; ++k) {
    tn_expr *own = te_extent(t, k), *all = p->s->extent[names->names[k]];
    tn_expr *place = ops_repeated_index(own, all, p->index[names->names[k]]);
    TN_TRYP(tn_vec_push_obj(&v, place));
  }
  return te_at(t, tn_arr_from(&v));
}

static tn_expr *element(void *ctx, tn_arr *at) {
  product *p = ctx;
  TN_VEC(axes);
  for (int i = 0; i < 256; ++i) p->index[i] = NULL;
  for (int i = 0; i < p->s->out.n; ++i) p->index[p->s->out.names[i]] = te_index(at, i);
  for (int i = 0; i < 256; ++i) {
    if (!p->s->extent[i] || p->index[i]) continue;
    tn_IterVar *k;
    TN_GETP(k, te_reduce_axis(p->s->extent[i], ops_reduce_name((int)axes.len)));
    p->index[i] = (tn_expr *)k->var;
    TN_TRYP(tn_vec_push_obj(&axes, k));
  }
  tn_expr *e = factor(p, 0);
  for (int i = 1; i < p->s->n; ++i) e = tir_mul(e, factor(p, i));
  return axes.len ? te_reduce(TE_SUM, e, tn_arr_from(&axes), NULL) : e;
}

static int sums_of(const relay_compute *c, sums *s) {
  TN_VEC(shapes);
  for (int64_t i = 0; i < c->inputs->len; ++i)
    TN_TRY(tn_vec_push_obj(&shapes, relay_input(c, i)->shape));
  tn_arr *all;
  TN_GET(all, tn_arr_from(&shapes));
  return read_sums(tn_cstr(((const tn_EinsumAttrs *)c->attrs)->equation), all, s);
}

static tn_arr *compute(const relay_compute *c) {
  sums s;
  TN_TRYP(sums_of(c, &s));
  product p = {.c = c, .s = &s};
  return tn_arr_of(1, te_compute(result_shape(&s), element, &p, "T_einsum", "einsum"));
}

static tn_arr *shape_function(const relay_shape_query *q) {
  sums s;
  const tn_EinsumAttrs *a = q->attrs;
  TN_TRYP(read_sums(tn_cstr(a->equation), q->shapes, &s));
  return tn_arr_of(1, result_shape(&s));
}

static const relay_op_row rows[] = {
    {.name = "einsum",
     .inputs = "data",
     .attrs = &tn_type_EinsumAttrs,
     .level = 1,
     .pattern = RELAY_OUT_ELEMWISE_FUSABLE,
     .rel_name = "Einsum",
     .rel = relation,
     .compute = compute,
     .shape = shape_function,
     .doc = "sums of products of tensors by names of their axes",
     .values = RELAY_COMPUTED},
};

RELAY_FAMILY(einsum, EINSUM_ATTRS)
