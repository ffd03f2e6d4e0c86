/* Which iterators of a block an instruction's iterators can stand for, when layouts may change:
   those that index the same buffers are fused.

     C[n, h, w, o] += A[n, h + r, w + s, c] * B[r, s, c, o]      C[i, j] += A[i, k] * B[k, j]
       =>  (n, h, w, o, r, s, c)  ->  (n * 256 + h * 16 + w, o, r * 192 + s * 64 + c)

   n, h and w index C and A, as i does. Iterators that fit none stay by themselves, in front.
   Nothing is scheduled here. */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/api.h"
#include "tir/schedule/regions.h"

enum { MAX_BUFFERS = 16 };

typedef struct {
  sch_step e;
  const tn_Block *ours, *theirs;
  tn_map *buffers; /* of the description -> of the block */
  tn_map *indices; /* of the description -> its indices */
  const tn_arr *of_ours[MAX_BUFFERS], *of_theirs[MAX_BUFFERS]; /* indices of each pair */
  int n;
} matcher;

static void matcher_fini(matcher *m) { sch_step_fini(&m->e); }

/* ---- what is computed ---- */

static int pair_buffers(matcher *m, const tn_Buffer *ours, const tn_arr *at,
                        const tn_Buffer *theirs, const tn_arr *at_theirs) {
  tn_any known;
  if (!tn_dtype_eq(ours->dtype, theirs->dtype)) return 0;
  if (tn_map_get(m->buffers, tn_any_obj(theirs), &known))
    return known.v.obj == (const tn_obj *)ours;
  if (m->n == MAX_BUFFERS) return 0;
  m->of_ours[m->n] = at, m->of_theirs[m->n++] = at_theirs;
  TN_TRY(tn_map_set(m->buffers, tn_any_obj(theirs), tn_any_obj(ours)));
  TN_TRY(tn_map_set(m->indices, tn_any_obj(theirs), tn_any_obj(at_theirs)));
  return 1;
}

static int same_expr(matcher *m, const tn_obj *a, const tn_obj *b);

static int same_args(matcher *m, const tn_arr *a, const tn_arr *b) {
  int same = a->len == b->len;
  for (int64_t i = 0; same == 1 && i < a->len; ++i)
    same = same_expr(m, tn_arr_obj(a, i), tn_arr_obj(b, i));
  return same;
}

/* The same operations on elements of buffers that correspond. 1, 0, or -1 with an error. */
static int same_expr(matcher *m, const tn_obj *a, const tn_obj *b) {
  if (a->type_index != b->type_index ||
      !tn_dtype_eq(((const tn_expr *)a)->dtype, ((const tn_expr *)b)->dtype))
    return 0;
  const tn_BinaryOp *p = TN_AS_BINARY(a), *q = TN_AS_BINARY(b);
  const tn_BufferLoad *x = TN_AS(BufferLoad, a), *y = TN_AS(BufferLoad, b);
  const tn_Call *f = TN_AS(Call, a), *g = TN_AS(Call, b);
  if (x) return pair_buffers(m, x->buffer, x->indices, y->buffer, y->indices);
  if (f) return f->op == g->op ? same_args(m, f->args, g->args) : 0;
  if (TN_AS(Cast, a))
    return same_expr(m, (tn_obj *)TN_AS(Cast, a)->value, (tn_obj *)TN_AS(Cast, b)->value);
  if (!p) return tn_equal(a, b, 0);
  int same = same_expr(m, (tn_obj *)p->a, (tn_obj *)q->a);
  return same == 1 ? same_expr(m, (tn_obj *)p->b, (tn_obj *)q->b) : same;
}

static int same_bodies(matcher *m) {
  const tn_BufferStore *a = TN_AS(BufferStore, m->ours->body),
                       *b = TN_AS(BufferStore, m->theirs->body);
  if (!a || !b) return 0;
  int same = pair_buffers(m, a->buffer, a->indices, b->buffer, b->indices);
  return same == 1 ? same_expr(m, (tn_obj *)a->value, (tn_obj *)b->value) : same;
}

/* ---- iterators ---- */

static const tn_IterVar *iter_at(const tn_Block *b, int64_t i) {
  return (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
}

static int is_it(void *ctx, tn_obj *o) { return o == ctx; }

/* The buffers whose indices use the iterator, a bit for each pair. */
static uint32_t used_by(const tn_arr *const *indices, int n, const tn_IterVar *iv) {
  uint32_t bits = 0;
  for (int i = 0; i < n; ++i)
    if (tn_post_order(indices[i], is_it, (void *)iv->var)) bits |= UINT32_C(1) << i;
  return bits;
}

/* The iterator of the description that fits, -1: none, -2: several */
static int64_t partner(const matcher *m, const tn_IterVar *iv) {
  uint32_t mine = used_by(m->of_ours, m->n, iv);
  int64_t found = -1;
  for (int64_t i = 0; i < m->theirs->iter_vars->len; ++i) {
    const tn_IterVar *other = iter_at(m->theirs, i);
    if (other->iter_type != iv->iter_type || used_by(m->of_theirs, m->n, other) != mine) continue;
    found = found == -1 ? i : -2;
  }
  return found;
}

static tn_expr *append_digit(tn_expr *all, const tn_IterVar *iv, tn_Var *v) {
  return all ? tir_add(tir_mul(all, iv->dom->extent), (tn_expr *)v) : (tn_expr *)v;
}

/* The map, or NULL without an error where an iterator of the description has no partner. */
static tn_IndexMap *propose(matcher *m) {
  TN_VEC(from);
  TN_VEC(to);
  TN_VEC(fused);
  int64_t n = m->theirs->iter_vars->len;
  for (int64_t i = 0; i < n; ++i) TN_TRYP(tn_vec_push(&fused, tn_any_none()));
  for (int64_t i = 0; i < m->ours->iter_vars->len; ++i) {
    const tn_IterVar *iv = iter_at(m->ours, i);
    int64_t at = partner(m, iv);
    tn_Var *v = tir_var_like(iv->var, tn_cstr(iv->var->name));
    if (!v || tn_vec_push_obj(&from, v)) return NULL;
    if (at == -2) return NULL;
    if (at == -1) TN_TRYP(tn_vec_push_obj(&to, v));
    if (at == -1) continue;
    tn_any *slot = &fused.items[at];
    tn_expr *all = append_digit(tn_any_is_obj(slot) ? (tn_expr *)slot->v.obj : NULL, iv, v);
    if (!all) return NULL;
    *slot = tn_any_obj(all);
  }
  for (int64_t i = 0; i < n; ++i) {
    if (!tn_any_is_obj(&fused.items[i])) return NULL;
    tn_expr *all;
    TN_GETP(all, arith_simplify(&m->e.arith, (tn_expr *)fused.items[i].v.obj));
    TN_TRYP(tn_vec_push_obj(&to, all));
  }
  return TN_MAKE(IndexMap, .initial_indices = tn_arr_from(&from),
                 .final_indices = tn_arr_from(&to));
}

static int meet_block(void *ctx, tn_obj *o) {
  matcher *m = ctx;
  const tn_BlockRealize *r = TN_AS(BlockRealize, o);
  if (r) m->theirs = r->block;
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

/* (schedule, block, description) -> AutoTensorizeMappingInfo, or None where it does not fit */
static int f_mapping_info(TN_ARGS) {
  SCH_ARG_SCHEDULE("get_auto_tensorize_mapping_info", 3);
  SCH_ARG_HANDLE(BlockRV, block, 1);
  SCH_ARG_HANDLE(PrimFunc, desc, 2);
  matcher m __attribute__((cleanup(matcher_fini))) = {
      .e = {.s = s, .primitive = "get-auto-tensorize-mapping-info"}};
  TN_GET(m.ours, sch_block_of(&m.e, block));
  TN_CHECK(tn_pre_order(desc->body, meet_block, &m) >= 0 && m.theirs, ValueError, NULL,
           "get_auto_tensorize_mapping_info: expected a description with a block");
  TN_GET(m.buffers, tn_scope_own(tn_map_new()));
  TN_GET(m.indices, tn_scope_own(tn_map_new()));
  int same = same_bodies(&m);
  tn_IndexMap *map = same == 1 ? propose(&m) : NULL;
  if (same < 0 || (!map && tn_error_pending())) return -1;
  *ret = tn_any_none();
  if (!map) return 0;
  return tn_ret_obj(ret, TN_NEW(AutoTensorizeMappingInfo, .mappings = tn_arr_of(1, map),
                                .lhs_buffer_map = m.buffers, .rhs_buffer_indices = m.indices,
                                .lhs_iters = m.ours->iter_vars, .rhs_iters = m.theirs->iter_vars));
}

static const tn_func_row rows[] = {
    {"tir.schedule.GetAutoTensorizeMappingInfo", f_mapping_info},
};

int schedule_tensorize_auto_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
