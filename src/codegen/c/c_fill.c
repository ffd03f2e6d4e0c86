/* Borders, of padded tensors for example: all elements are filled, then those in the midst
   computed.

     for i in 10, j in 10: T[i * 10 + j] = 1 <= i && i < 9 && 1 <= j && j < 9 ? f(i, j) : 0
   =>
     for k in 100: T[k] = 0
     for i in 1..9, j in 1..9: T[i * 10 + j] = f(i, j)

   No element asks where it lies any more, which is shorter and quicker, and compilers copy what is
   copied as a block. */
#include "base/pmap.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "codegen/c/gen.h"

enum { MAX_LOOPS = 16 };

typedef struct {
  tn_For *loop;
  int64_t extent, from, to; /* iterations of which elements are computed: from <= i < to */
} level;

typedef struct {
  c_gen *g;
  level levels[MAX_LOOPS];
  int n;
  tn_pmap lets; /* variables inside -> their values */
  const tn_BufferStore *store;
  tn_expr *inside, *outside; /* what is stored */
} fill;

/* The loops and definitions around one store of a choice. */
static int collect(fill *f, const tn_stmt *s) {
  for (;;) {
    tn_For *loop = TN_AS(For, s);
    const tn_LetStmt *let = TN_AS(LetStmt, s);
    if (loop) {
      level *l = &f->levels[f->n];
      if (f->n == MAX_LOOPS || loop->kind != TIR_FOR_SERIAL || !tir_is_zero(loop->min) ||
          !tir_as_int((tn_obj *)loop->extent, &l->extent) || l->extent <= 0)
        return 0;
      l->loop = loop, l->from = 0, l->to = l->extent;
      ++f->n;
      s = loop->body;
    } else if (let) {
      tn_expr *value;
      TN_GET(value, tir_substitute(let->value, &f->lets));
      TN_TRY(tn_pmap_put(&f->lets, let->var, value));
      s = let->body;
    } else {
      break;
    }
  }
  f->store = TN_AS(BufferStore, s);
  const tn_Call *choice =
      f->store ? tir_as_call((tn_obj *)f->store->value, TIR_OP_if_then_else) : NULL;
  if (!choice || f->store->indices->len != 1 || f->store->value->dtype.lanes != 1) return 0;
  f->inside = (tn_expr *)tn_arr_obj(choice->args, 1);
  f->outside = (tn_expr *)tn_arr_obj(choice->args, 2);
  bool constant = TN_IS(IntImm, f->outside) || TN_IS(FloatImm, f->outside);
  tn_expr *value; /* definitions may read the buffer, too */
  TN_GET(value, tir_substitute(f->inside, &f->lets));
  return constant && !c_uses(value, f->store->buffer->data);
}

/* A bound of one loop: min <= i or i < max. */
static bool narrow(fill *f, const tn_BinaryOp *test) {
  uint32_t op = test->hdr.type_index;
  int64_t c;
  bool var_first = tir_as_int((tn_obj *)test->b, &c);
  if (!var_first && !tir_as_int((tn_obj *)test->a, &c)) return false;
  const tn_expr *v = var_first ? test->a : test->b;
  bool below = var_first == (op == TN_TI_LT || op == TN_TI_LE); /* i < c, else i > c */
  bool equal = op == TN_TI_LE || op == TN_TI_GE;
  for (int i = 0; i < f->n; ++i) {
    level *l = &f->levels[i];
    if ((const tn_expr *)l->loop->loop_var != v) continue;
    if (c < -1 || c > l->extent) return false;
    int64_t bound = below ? c + equal : c + !equal;
    if (below && bound < l->to) l->to = bound;
    if (!below && bound > l->from) l->from = bound;
    return true;
  }
  return false;
}

static bool narrow_all(fill *f, const tn_expr *condition) {
  const tn_And *both = TN_AS(And, condition);
  if (both) return narrow_all(f, both->a) && narrow_all(f, both->b);
  uint32_t op = condition->hdr.type_index;
  bool compares = op == TN_TI_LT || op == TN_TI_LE || op == TN_TI_GT || op == TN_TI_GE;
  return compares && narrow(f, (const tn_BinaryOp *)condition);
}

/* The number of elements when the loops go through all of them in order, else 0. -1: error */
static int64_t elements_in_order(fill *f) {
  tn_expr *index, *sum = tir_zero(TN_I32);
  int64_t n = 1;
  for (int i = f->n - 1; i >= 0; --i) {
    tn_expr *v = (tn_expr *)f->levels[i].loop->loop_var;
    if (!tn_dtype_eq(v->dtype, TN_I32)) return 0;
    sum = tir_add(sum, tir_mul(v, tir_i32((int32_t)n)));
    n *= f->levels[i].extent;
    if (n > INT32_MAX) return 0;
  }
  if (!sum) return -1;
  TN_GET(index, tir_substitute(tn_arr_obj(f->store->indices, 0), &f->lets));
  return arith_prove_equal(&f->g->known, index, sum) ? n : 0;
}

/* ---- what is computed ---- */

typedef struct {
  tn_Var *vars[MAX_LOOPS]; /* of loops that begin at zero */
  int64_t extents[MAX_LOOPS];
  int n;
  tn_expr *value, *index;
} nest;

/* Replaces variables in both, in terms of what the analyzer knows. */
static int replace(nest *t, const tn_pmap *vars, arith_analyzer *known) {
  TN_GET(t->value, tir_substitute(t->value, vars));
  TN_GET(t->index, tir_substitute(t->index, vars));
  TN_GET(t->value, arith_simplify(known, t->value));
  TN_GET(t->index, arith_simplify(known, t->index));
  return 0;
}

static int midst(fill *f, nest *t) {
  TN_PMAP(begin);
  *t = (nest){.n = f->n, .value = f->inside, .index = (tn_expr *)tn_arr_obj(f->store->indices, 0)};
  for (int i = 0; i < f->n; ++i) {
    const level *l = &f->levels[i];
    tn_Var *v = l->loop->loop_var;
    tn_expr *sum = tir_add((tn_expr *)v, tir_int(v->dtype, l->from));
    TN_GET(sum, sum);
    TN_TRY(tn_pmap_put(&begin, v, sum));
    t->vars[i] = v, t->extents[i] = l->to - l->from;
  }
  TN_GET(t->value, tir_substitute(t->value, &f->lets));
  TN_GET(t->index, tir_substitute(t->index, &f->lets));
  return replace(t, &begin, &f->g->known);
}

static int divides(void *ctx, tn_obj *o) {
  (void)ctx;
  return TN_IS(FloorDiv, o) || TN_IS(FloorMod, o) ? 2 : 0;
}

/* The inner two loops as one, where their elements follow one another. @return 1, 0, -1 */
static int join_inner(nest *t) {
  TN_ARITH(known);
  TN_PMAP(parts);
  nest one = *t;
  if (t->n < 2) return 0;
  tn_Var *outer = t->vars[t->n - 2], *inner = t->vars[t->n - 1], *k = tir_var("k", TN_I32);
  tn_expr *width = tir_i32((int32_t)t->extents[t->n - 1]), *i, *j;
  int64_t n = t->extents[t->n - 2] * t->extents[t->n - 1]; /* as many as a tensor has, at most */
  TN_TRY(arith_bind_range(&known, k, tir_range(tir_zero(TN_I32), tir_i32((int32_t)n)), false));
  TN_GET(i, tir_floordiv((tn_expr *)k, width));
  TN_GET(j, tir_floormod((tn_expr *)k, width));
  TN_TRY(tn_pmap_put(&parts, outer, i));
  TN_TRY(tn_pmap_put(&parts, inner, j));
  TN_TRY(replace(&one, &parts, &known));
  int r = tn_pre_order(one.value, divides, NULL);
  if (r == 0) r = tn_pre_order(one.index, divides, NULL);
  if (r != 0) return r < 0 ? -1 : 0;
  --one.n;
  one.vars[one.n - 1] = k, one.extents[one.n - 1] = n;
  *t = one;
  return 1;
}

static tn_stmt *loop_over(tn_Var *v, int64_t n, tn_stmt *body) {
  return (tn_stmt *)TN_NEW(For, .loop_var = v, .min = tir_zero(v->dtype),
                           .extent = tir_int(v->dtype, n), .kind = TIR_FOR_SERIAL, .body = body,
                           .annotations = tn_scope_own(tn_map_new()));
}

static tn_stmt *computed(fill *f) {
  nest t;
  int r;
  tn_stmt *s;
  TN_TRYP(midst(f, &t));
  while ((r = join_inner(&t)) > 0) continue;
  TN_TRYP(r);
  TN_GETP(s, tir_store(f->store->buffer, t.value, tn_arr_of(1, t.index)));
  for (int i = t.n - 1; i >= 0; --i) TN_GETP(s, loop_over(t.vars[i], t.extents[i], s));
  return s;
}

static tn_stmt *filled(const fill *f, int64_t n) {
  tn_stmt *s;
  tn_Var *k = tir_var("k", TN_I32);
  TN_GETP(s, tir_store(f->store->buffer, f->outside, tn_arr_of(1, k)));
  return loop_over(k, n, s);
}

static tn_stmt *fill_first(fill *f, const tn_For *s) {
  tn_stmt *first, *then;
  int r = collect(f, (const tn_stmt *)s);
  if (r <= 0) return NULL;
  const tn_Call *choice = (const tn_Call *)f->store->value;
  if (!narrow_all(f, (const tn_expr *)tn_arr_obj(choice->args, 0))) return NULL;
  for (int i = 0; i < f->n; ++i)
    if (f->levels[i].from >= f->levels[i].to) return NULL;
  int64_t n = elements_in_order(f);
  if (n <= 0) return NULL;
  TN_GETP(first, filled(f, n));
  TN_GETP(then, computed(f));
  return tir_seq2(first, then);
}

tn_stmt *c_fill_first(c_gen *g, const tn_For *s) {
  fill f = {.g = g};
  tn_stmt *r = g->d->kernels ? NULL : fill_first(&f, s);
  tn_pmap_fini(&f.lets);
  return r;
}
