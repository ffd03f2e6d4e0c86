/* Does a tensor program access its buffers at indices that it has read, without a bound?

     B[i] = A[I[i]]                       no: what I holds may be anything
     B[i] = A[max(min(I[i], 7), 0)]       yes, where A has 8 elements
     if 0 <= I[i] and I[i] < 8: ...       yes

   Every value that is read stands for a variable of which nothing is known, the same one for equal
   reads between which nothing is written. Indices that such variables take part in must
   be proven to be within the extents of their buffer by what is around them. What a program has
   counted itself is not data: places that a sort keeps in its own memory. Extents that are not
   known are 1 or more: of buffers without elements nothing is read, which relations and shape
   functions take care of. */
#include "base/error.h"
#include "ir/functor.h"
#include "object/functions.h"
#include "tir/analysis.h"
#include "tir/analysis/access_bounds.h"
#include "tir/script/printer.h"
#include "tir/tir_impl.h"

typedef struct {
  access_bounds at;
  tn_pmap data;    /* variables that stand for data, or run as far as it says; buffers of data */
  tn_pmap written; /* buffers */
  tn_pmap twins;   /* variable -> int64 variable */
  tn_vec reads;    /* pairs of a load and its variable */
  int64_t fresh;   /* reads of what is written count from here on */
  tn_vec kept;     /* what the tables refer to, owned */
  tn_buf errors;
} checker;

/* ---- reads ---- */

static int note_access(void *ctx, tn_obj *o) {
  checker *x = ctx;
  const tn_BufferStore *s = TN_AS(BufferStore, o);
  const tn_BufferLoad *l = TN_AS(BufferLoad, o);
  if (l && !tn_pmap_has(&x->written, l->buffer)) return tn_pmap_put(&x->data, l->buffer, l->buffer);
  return s ? tn_pmap_put(&x->written, s->buffer, s->buffer) : 0;
}

/* Is it data: something from a buffer that is read before it is written, or that data is written
 * to?
 */
static int is_data(void *ctx, tn_obj *o) {
  const checker *x = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  if (!load) return tn_pmap_has(&x->data, o);
  return tn_pmap_has(&x->data, load->buffer);
}

static int find_data(checker *x, const void *from, const void *to) {
  int found = tn_pmap_has(&x->data, to) ? 0 : tn_post_order(from, is_data, x);
  return found == 1 ? tn_pmap_put(&x->data, to, to) : found;
}

/* Data is what takes its value from data. */
static int spread_data(void *ctx, tn_obj *o) {
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  const tn_LetStmt *let = TN_AS(LetStmt, o);
  const tn_For *loop = TN_AS(For, o);
  const tn_BlockRealize *block = TN_AS(BlockRealize, o);
  if (store) return find_data(ctx, store->value, store->buffer);
  if (let) return find_data(ctx, let->value, let->var);
  if (loop)
    return find_data(ctx, loop->min, loop->loop_var) || find_data(ctx, loop->extent, loop->loop_var)
               ? -1
               : 0;
  for (int64_t i = 0; block && i < block->iter_values->len; ++i) {
    const tn_IterVar *iter = (const tn_IterVar *)tn_arr_obj(block->block->iter_vars, i);
    TN_TRY(find_data(ctx, tn_arr_obj(block->iter_values, i), iter->var));
  }
  return 0;
}

static int keep(checker *x, void *o) {
  TN_TRY(tn_vec_push_obj(&x->kept, o));
  tn_retain(o);
  return 0;
}

/* The variable of a load whose indices are as they are known. */
static tn_expr *variable_of(checker *x, tn_BufferLoad *load) {
  int64_t i = tn_pmap_has(&x->written, load->buffer) ? x->fresh : 0;
  for (; i + 1 < x->reads.len; i += 2)
    if (arith_same((tn_expr *)x->reads.items[i].v.obj, (tn_expr *)load))
      return (tn_expr *)x->reads.items[i + 1].v.obj;
  tn_Var *v;
  TN_GETP(v, tir_var("read", load->dtype));
  TN_TRYP(keep(x, load) || keep(x, v));
  TN_TRYP(tn_vec_push_obj(&x->reads, load) || tn_vec_push_obj(&x->reads, v));
  if (is_data(x, (tn_obj *)load)) TN_TRYP(tn_pmap_put(&x->data, v, v));
  return (tn_expr *)v;
}

/* Integers of any type are seen as numbers that do not overflow, int64, so that an index and an
   extent of other types can be compared; what they are read or counted with is a variable. */
static tn_Var *twin(checker *x, tn_Var *v) {
  tn_Var *other = tn_pmap_get(&x->twins, v);
  if (other) return other;
  TN_GETP(other, tir_var(tn_cstr(v->name), TN_I64));
  TN_TRYP(keep(x, other));
  TN_TRYP(tn_pmap_put(&x->twins, v, other));
  if (tn_pmap_has(&x->data, v)) TN_TRYP(tn_pmap_put(&x->data, other, other));
  if (ir_is_uint(v->dtype))
    TN_TRYP(arith_set_bound(&x->at.known, other, (arith_bound){0, ARITH_POS_INF}, true));
  return other;
}

static bool is_narrow(tn_dtype t) {
  return ir_is_integral(t) && !ir_is_bool(t) && t.lanes == 1 && !tn_dtype_eq(t, TN_I64);
}

static tn_obj *see_load(void *ctx, tn_obj *pre, tn_obj *post) {
  (void)pre;
  tn_Var *v = (tn_Var *)variable_of(ctx, (tn_BufferLoad *)post);
  return (tn_obj *)(v && is_narrow(v->dtype) ? twin(ctx, v) : v);
}
static tn_obj *see_var(void *ctx, tn_obj *pre, tn_obj *post) {
  checker *x = ctx;
  tn_Var *v = (tn_Var *)post;
  tn_obj *value = tn_pmap_get(&x->at.values, v);
  (void)pre;
  return value ? value : is_narrow(v->dtype) ? (tn_obj *)twin(x, v) : post;
}
static tn_obj *see_number(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_IntImm *n = (const tn_IntImm *)post;
  (void)ctx, (void)pre;
  return is_narrow(n->dtype) ? (tn_obj *)tir_i64(n->value) : post;
}
static tn_obj *see_cast(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_Cast *c = (const tn_Cast *)post;
  (void)ctx, (void)pre;
  if (!is_narrow(c->dtype) && !tn_dtype_eq(c->dtype, TN_I64)) return post;
  return ir_is_integral(c->value->dtype) ? (tn_obj *)tir_cast(TN_I64, c->value, NULL)
                                         : (tn_obj *)tir_cast(TN_I64, (tn_expr *)post, NULL);
}
static tn_obj *see_binary(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_Add *e = (const tn_Add *)post; /* all have the fields of Add */
  (void)ctx;
  return pre == post ? post : (tn_obj *)tir_binary(post->type_index, e->a, e->b, NULL);
}
static tn_obj *see_select(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_Select *e = (const tn_Select *)post;
  (void)ctx;
  if (pre == post) return post;
  return (tn_obj *)tir_select(e->condition, e->true_value, e->false_value, NULL);
}
static tn_obj *see_call(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_Call *c = tir_as_call(post, TIR_OP_if_then_else);
  (void)ctx;
  tn_dtype t = ((const tn_expr *)post)->dtype;
  if (!c || c->args->len != 3)
    return is_narrow(t) ? (tn_obj *)tir_cast(TN_I64, (tn_expr *)post, NULL) : post;
  if (pre == post) return post;
  return (tn_obj *)tir_if_then_else((tn_expr *)tn_arr_obj(c->args, 0),
                                    (tn_expr *)tn_arr_obj(c->args, 1),
                                    (tn_expr *)tn_arr_obj(c->args, 2), NULL);
}

static bool is_entered(void *ctx, const tn_obj *o) {
  (void)ctx;
  return !TN_IS(Buffer, o);
}

static tn_expr *see(access_bounds *a, tn_expr *e) {
#define BINARY(T) [TN_TI_##T] = see_binary
  static const tn_rewrite_case cases[] = {
      TN_REWRITE(BufferLoad, see_load),
      TN_REWRITE(Var, see_var),
      TN_REWRITE(SizeVar, see_var),
      TN_REWRITE(IntImm, see_number),
      TN_REWRITE(Cast, see_cast),
      TN_REWRITE(Select, see_select),
      TN_REWRITE(Call, see_call),
      BINARY(Add),
      BINARY(Sub),
      BINARY(Mul),
      BINARY(Div),
      BINARY(Mod),
      BINARY(FloorDiv),
      BINARY(FloorMod),
      BINARY(Min),
      BINARY(Max),
      BINARY(EQ),
      BINARY(NE),
      BINARY(LT),
      BINARY(LE),
      BINARY(GT),
      BINARY(GE),
  };
#undef BINARY
  return tn_rewrite_if(e, is_entered, cases, TN_COUNT(cases), a);
}

static void note_change(access_bounds *a) {
  checker *x = (checker *)a;
  x->fresh = x->reads.len;
}

/* ---- accesses ---- */

static int note_loop(access_bounds *a, tn_Var *v, tn_expr *min, tn_expr *extent) {
  checker *x = (checker *)a;
  tn_Var *number = is_narrow(v->dtype) ? twin(x, v) : v;
  tn_Range *r = number ? tir_range(min, extent) : NULL;
  if (!r || arith_bind_range(&a->known, number, r, true)) return -1;
  return find_data(x, min, number) || find_data(x, extent, number) ? -1 : 0;
}

/* Extents of a buffer that are variables are not 0. */
static int note_extent(void *ctx, tn_obj *o) {
  checker *x = ctx;
  tn_Var *v = TN_AS(Var, o);
  if (!v || !ir_is_int(v->dtype)) return 0;
  return arith_set_bound(&x->at.known, v, (arith_bound){1, ARITH_POS_INF}, true);
}

static int report(checker *x, const tn_Buffer *b, int64_t axis, const tn_expr *index) {
  tn_str *text, *extent;
  TN_GET(text, script_print((tn_obj *)(uintptr_t)index, NULL));
  TN_GET(extent, script_print(tn_arr_obj(b->shape, axis), NULL));
  tn_buf_printf(&x->errors, "buffer %s: index %lld, %s, may be beyond the extent %s\n",
                tn_cstr(b->name), (long long)axis, tn_cstr(text), tn_cstr(extent));
  return tn_buf_ok(&x->errors);
}

/* Is `e` at least (below) another number where the condition holds? Compared as they are written:
   the analyzer makes something else of an index that is a choice. */
static bool says(const tn_expr *cond, const tn_expr *e, const tn_expr *other, bool below) {
  const tn_And *both = TN_AS(And, cond);
  if (both) return says(both->a, e, other, below) || says(both->b, e, other, below);
  const tn_LT *p = (const tn_LT *)cond; /* all have the fields of LT */
  bool left = below ? TN_IS(LT, p) : TN_IS(GE, p), right = below ? TN_IS(GT, p) : TN_IS(LE, p);
  return (left && arith_same(p->a, e) && arith_same(p->b, other)) ||
         (right && arith_same(p->b, e) && arith_same(p->a, other));
}

static bool holds(access_bounds *a, tn_expr *e, tn_expr *other, bool below) {
  for (int64_t i = 0; i < a->conditions.len; ++i)
    if (says((const tn_expr *)a->conditions.items[i].v.obj, e, other, below)) return true;
  return arith_prove(&a->known, below ? tir_lt(e, other) : tir_ge(e, other));
}

/* Is e below n (n >= 1)? */
static bool is_below(access_bounds *a, tn_expr *e, tn_expr *n) {
  const tn_Min *least = TN_AS(Min, e);
  const tn_Max *most = TN_AS(Max, e);
  const tn_FloorMod *mod = TN_AS(FloorMod, e);
  const tn_FloorDiv *div = TN_AS(FloorDiv, e);
  if (holds(a, e, n, true)) return true;
  if (mod && holds(a, mod->b, tir_i64(1), false) && holds(a, n, mod->b, false)) return true;
  if (most) return is_below(a, most->a, n) && is_below(a, most->b, n);
  if (least) return is_below(a, least->a, n) || is_below(a, least->b, n);
  return div && holds(a, div->b, tir_i64(1), false) && is_below(a, div->a, tir_mul(n, div->b));
}

static bool is_natural(access_bounds *a, tn_expr *e) {
  const tn_FloorMod *mod = TN_AS(FloorMod, e);
  const tn_FloorDiv *div = TN_AS(FloorDiv, e);
  tn_expr *by = mod ? mod->b : div ? div->b : NULL;
  if (holds(a, e, tir_i64(0), false)) return true;
  return by && holds(a, by, tir_i64(1), false) && (mod || is_natural(a, div->a));
}

static int check_access(access_bounds *a, const tn_Buffer *b, const tn_arr *indices) {
  checker *x = (checker *)a;
  for (int64_t i = 0; i < indices->len && i < b->shape->len; ++i) {
    tn_expr *index, *extent = (tn_expr *)tn_arr_obj(b->shape, i);
    TN_GET(index, see(a, (tn_expr *)tn_arr_obj(indices, i)));
    TN_GET(index, tir_cast(TN_I64, index, NULL));
    int from_data = tn_post_order(index, is_data, x);
    if (from_data < 0) return -1;
    if (!from_data) continue;
    TN_GET(extent, see(a, extent));
    TN_TRY(tn_post_order(extent, note_extent, x));
    if (!is_natural(a, index) || !is_below(a, index, extent))
      TN_TRY(report(x, b, i, (tn_expr *)tn_arr_obj(indices, i)));
  }
  return 0;
}

/* ---- the question ---- */

static void checker_fini(checker *x) {
  tir_access_fini(&x->at);
  tn_pmap_fini(&x->data);
  tn_pmap_fini(&x->written);
  tn_pmap_fini(&x->twins);
  for (int64_t i = 0; i < x->kept.len; ++i) tn_release(x->kept.items[i].v.obj);
  tn_vec_fini(&x->kept);
  tn_vec_fini(&x->reads);
  tn_buf_fini(&x->errors);
}

static int check(checker *x, const tn_PrimFunc *f) {
  TN_TRY(tn_post_order(f->body, note_access, x));
  for (size_t known = SIZE_MAX; known != x->data.len;) {
    known = x->data.len;
    TN_TRY(tn_post_order(f->body, spread_data, x));
  }
  return tir_walk_accesses(&x->at, f->body);
}

int tir_has_unbounded_data_indices(const tn_PrimFunc *f) {
  __attribute__((cleanup(checker_fini))) checker x = {
      .at = {.see = see, .loop = note_loop, .changed = note_change, .access = check_access}};
  TN_TRY(check(&x, f));
  return x.errors.len > 0;
}

/* tir.analysis.unbounded_data_indices(function) -> text, a line for each */
static int unbounded(TN_ARGS) {
  __attribute__((cleanup(checker_fini))) checker x = {
      .at = {.see = see, .loop = note_loop, .changed = note_change, .access = check_access}};
  const char *text;
  TN_NARGS("tir.analysis.unbounded_data_indices", 1);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_CHECK(f, TypeError, NULL, "unbounded_data_indices: expected a PrimFunc, got None");
  TN_TRY(check(&x, f));
  TN_GET(text, tn_buf_cstr(&x.errors));
  return tn_ret_obj(ret, tn_str_from(text));
}

static const tn_func_row rows[] = {{"tir.analysis.unbounded_data_indices", unbounded}};

int data_indices_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
