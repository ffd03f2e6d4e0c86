/* pad_einsum: a sum of products gets extents that are multiples.

     C[i, j] += A[i, k] * B[k, j], k < 127        pad_einsum(block, [1, 1, 32])
       =>
     A_pad[i, k] = if_then_else(k < 127, A[i, k], 0)
     B_pad[k, j] = if_then_else(k < 127, B[k, j], 0)
     C[i, j] += A_pad[i, k] * B_pad[k, j], k < 128

   Every index of the block is one of its iterators, or made of those that keep their extents (the
   batch of an operand that may be repeated: if_then_else(n == 1, 0, b)). Padding is 0, so that what
   is added up does not change; a result whose axes grow is computed in C_pad and copied. */
#include "ir/functor.h"
#include "tir/schedule/cache.h"
#include "tir/schedule/reducer.h"

enum { MAX_BUFFERS = 16 };

typedef struct {
  tn_Buffer *buffer, *padded;
  const tn_arr *indices; /* iterators (Var), or expressions of those that do not grow */
  bool written;
} operand;

typedef struct {
  sch_step *e;
  tn_Block *block, *scope;
  const tn_BlockRealize *realize;
  tn_pmap extents; /* iterator (Var) -> its new extent */
  tn_pmap loops;   /* loop variable -> its new extent */
  operand operands[MAX_BUFFERS];
  int n;
} einsum;
static void einsum_fini(einsum *p) {
  tn_pmap_fini(&p->extents);
  tn_pmap_fini(&p->loops);
}

/* ---- the pattern ---- */

static int fail_pattern(const einsum *p, const char *why) {
  tn_str *fast = tn_str_fmt("The block is not a computation of Einsum pattern: %s", why);
  return fast ? sch_fail(p->e, fast->data, SCH_PLACES(p->block),
                         "The block {0} is not a computation of Einsum pattern: %s", why)
              : -1;
}

static const tn_IterVar *iter_of(const einsum *p, const tn_obj *var) {
  for (int64_t i = 0; i < p->block->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(p->block->iter_vars, i);
    if ((const tn_obj *)iv->var == var) return iv;
  }
  return NULL;
}

/* @param iv NULL: an index that is not an iterator */
static bool grows(const einsum *p, const tn_IterVar *iv) {
  return iv && !arith_prove_equal(&p->e->arith, tn_pmap_get(&p->extents, iv->var), iv->dom->extent);
}

static int meet_growing(void *ctx, tn_obj *o) {
  const einsum *p = ctx;
  return o->type_index == TN_TI_BufferLoad || grows(p, iter_of(p, o));
}

static int add_operand(einsum *p, tn_Buffer *b, const tn_arr *indices, bool written) {
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_obj *index = tn_arr_obj(indices, i);
    if (!tn_pmap_has(&p->extents, index) && (written || tn_post_order(index, meet_growing, p)))
      return fail_pattern(p, "all indices are required to be iterators of the block");
  }
  for (int i = 0; i < p->n; ++i) {
    if (p->operands[i].buffer != b) continue;
    return sch_same_exprs(p->operands[i].indices, indices)
               ? 0
               : fail_pattern(p, "each buffer is required to be accessed at one place");
  }
  if (p->n == MAX_BUFFERS) return fail_pattern(p, "it has too many operands");
  p->operands[p->n++] = (operand){.buffer = b, .indices = indices, .written = written};
  return 0;
}

static int meet_load(void *ctx, tn_obj *o) {
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  return load ? add_operand(ctx, load->buffer, load->indices, false) : 0;
}

/* What is added must be a product of loads and casts of them: 0 where one of them is. */
static bool is_product(const tn_obj *o) {
  const tn_Mul *mul = TN_AS(Mul, o);
  const tn_Cast *cast = TN_AS(Cast, o);
  if (mul) return is_product((tn_obj *)mul->a) && is_product((tn_obj *)mul->b);
  return cast ? is_product((tn_obj *)cast->value) : o->type_index == TN_TI_BufferLoad;
}

static int match(einsum *p) {
  sch_reduction r;
  const char *why;
  if (!sch_is_reduction(p->e, p->block, &why))
    return sch_fail(p->e, "Not a reduction block", SCH_PLACES(p->block),
                    "The block {0} is not a reduction block, since %s", why);
  TN_TRY(sch_match_reduction(p->e, p->block, &r));
  if (r.n != 1 || r.combined[0]->hdr.type_index != TN_TI_Add || !is_product((tn_obj *)r.rhs[0]))
    return fail_pattern(p, "it is required to add up products of elements");
  TN_TRY(add_operand(p, r.stores[0]->buffer, r.stores[0]->indices, true));
  return tn_post_order(r.rhs[0], meet_load, p) ? -1 : 0;
}

/* ---- new extents ---- */

static tn_expr *multiple_of(const einsum *p, tn_expr *extent, tn_expr *factor) {
  tn_expr *f = tir_cast(extent->dtype, factor, NULL);
  return f ? arith_simplify(&p->e->arith, tir_mul(tir_ceildiv(extent, f, NULL), f)) : NULL;
}

/* The loop that an iterator is bound to, if to nothing else. */
static const tn_For *loop_of(const einsum *p, const tn_obj *value) {
  for (const tn_obj *o = sch_parent(p->e, p->realize); o && o->type_index != TN_TI_Block;
       o = sch_parent(p->e, o)) {
    const tn_For *f = TN_AS(For, o);
    if (f && (const tn_obj *)f->loop_var == value && tir_is_zero(f->min)) return f;
  }
  return NULL;
}

static int find_extents(einsum *p, const tn_arr *padding) {
  const tn_arr *iters = p->block->iter_vars;
  if (padding->len != iters->len)
    return sch_fail(p->e, "The padding size does not match the number of block iters",
                    SCH_PLACES(p->block),
                    "The padding has %lld numbers, the block {0} has %lld iterators",
                    (long long)padding->len, (long long)iters->len);
  for (int64_t i = 0; i < iters->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(iters, i);
    const tn_For *f = loop_of(p, tn_arr_obj(p->realize->iter_values, i));
    int64_t factor;
    tn_obj *given = tn_arr_obj(padding, i);
    if (!tir_as_int(given, &factor) || factor < 1)
      return sch_fail(p->e, "The padding is required to be positive", SCH_PLACES(p->block),
                      "Number %lld of the padding of block {0} is required to be positive",
                      (long long)i);
    if (!f || !tir_is_zero(iv->dom->min) || !tir_is_one(p->realize->predicate))
      return fail_pattern(p, "each iterator is required to be bound to its own loop");
    tn_expr *extent = multiple_of(p, iv->dom->extent, (tn_expr *)given);
    if (!extent || tn_pmap_put(&p->extents, iv->var, extent) ||
        tn_pmap_put(&p->loops, f->loop_var, extent))
      return -1;
  }
  return 0;
}

/* ---- copies ---- */

/* A buffer with room for the padding, where an axis grows. */
static int pad_buffer(einsum *p, operand *o) {
  TN_VEC(shape);
  bool any = false;
  for (int64_t i = 0; i < o->indices->len; ++i) {
    const tn_IterVar *iv = iter_of(p, tn_arr_obj(o->indices, i));
    any = any || grows(p, iv);
    TN_TRY(tn_vec_push_obj(&shape, grows(p, iv) ? tn_pmap_get(&p->extents, iv->var)
                                                : tn_arr_obj(o->buffer->shape, i)));
  }
  if (any) TN_GET(o->padded, sch_buffer_like(o->buffer, tn_arr_from(&shape), "pad", "global"));
  return 0;
}

/* The elements that were there, and 0 around; or (of a result) those copied back. */
static tn_stmt *make_copy(einsum *p, const operand *o) {
  SCH_NEST(n);
  tn_expr *inside = tir_bool(true);
  tn_Block *block;
  for (int64_t i = 0; i < o->indices->len; ++i) {
    const tn_IterVar *iv = iter_of(p, tn_arr_obj(o->indices, i));
    tn_expr *extent = (tn_expr *)tn_arr_obj(o->written ? o->buffer->shape : o->padded->shape, i);
    if (sch_nest_add(&n, extent, NULL, tir_range(tir_zero(extent->dtype), extent))) return NULL;
    tn_expr *v = (tn_expr *)n.indices.items[i].v.obj;
    if (grows(p, iv))
      TN_GETP(inside, tir_and(inside, tir_lt(v, (tn_expr *)tn_arr_obj(o->buffer->shape, i))));
  }
  tn_arr *at = tn_arr_from(&n.indices);
  tn_str *name = tn_str_fmt("%s_pad", tn_cstr(o->buffer->name));
  if (!at || !name) return NULL;
  if (o->written)
    return sch_nest_make(&n, name, tir_store(o->buffer, tir_load(o->padded, at), at), &block);
  tn_expr *value =
      tir_if_then_else(inside, tir_load(o->buffer, at), tir_zero(o->buffer->dtype), NULL);
  return value ? sch_nest_make(&n, name, tir_store(o->padded, value, at), &block) : NULL;
}

/* ---- the block and its loops ---- */

static tn_obj *wider_iter(const einsum *p, const tn_IterVar *iv) {
  tn_IterVar copy = *iv;
  copy.dom = tir_range(iv->dom->min, tn_pmap_get(&p->extents, iv->var));
  return copy.dom ? tn_node_copy(&tn_type_IterVar, &copy) : NULL;
}

/* Accesses go to the padded buffers, the domains of iterators grow. */
static tn_Block *wider_block(einsum *p) {
  sch_step *e = p->e;
  TN_VEC(iters);
  for (int i = 0; i < p->n; ++i) {
    const operand *o = &p->operands[i];
    if (o->padded) TN_TRYP(tn_pmap_put(&e->vars, o->buffer, o->padded));
  }
  tn_Block *now = (tn_Block *)sch_rewrite(e, (const tn_stmt *)p->block);
  tn_pmap_fini(&e->vars);
  e->vars = (tn_pmap){0};
  for (int64_t i = 0; now && i < now->iter_vars->len; ++i) {
    tn_obj *iv = wider_iter(p, (const tn_IterVar *)tn_arr_obj(now->iter_vars, i));
    if (!iv || tn_vec_push_obj(&iters, iv)) return NULL;
  }
  if (!now) return NULL;
  tn_Block copy = *now;
  copy.iter_vars = tn_arr_from(&iters);
  tn_Block *out = copy.iter_vars ? tn_node_copy(&tn_type_Block, &copy) : NULL;
  return out && sch_moved(e, p->block, out) == 0 ? out : NULL;
}

/* The statement of the scope with the block, its loops as long as the iterators are. */
static tn_stmt *wider_nest(einsum *p, const tn_obj **top) {
  sch_step *e = p->e;
  tn_BlockRealize copy = *p->realize;
  TN_GETP(copy.block, wider_block(p));
  tn_stmt *s = tn_node_copy(&tn_type_BlockRealize, &copy);
  const tn_obj *o = (const tn_obj *)p->realize;
  for (const tn_obj *up = sch_parent(e, o); s && up && up->type_index == TN_TI_For;
       up = sch_parent(e, up)) {
    const tn_For *f = (const tn_For *)up;
    tn_expr *extent = tn_pmap_get(&p->loops, f->loop_var);
    tn_For *now = sch_loop(f, f->loop_var, f->min, extent ? extent : f->extent, s);
    if (!now || sch_moved(e, f, now)) return NULL;
    s = (tn_stmt *)now;
    o = up;
  }
  *top = o;
  return s;
}

static int pad(einsum *p) {
  TN_VEC(stmts);
  const tn_obj *top;
  tn_Buffer *padded[MAX_BUFFERS] = {NULL};
  int npadded = 0;
  for (int i = 0; i < p->n; ++i) TN_TRY(pad_buffer(p, &p->operands[i]));
  tn_stmt *nest;
  TN_GET(nest, wider_nest(p, &top));
  for (int pass = 0; pass < 2; ++pass) { /* operands before, the result after */
    for (int i = 0; i < p->n; ++i) {
      const operand *o = &p->operands[i];
      tn_stmt *copy;
      if (!o->padded || o->written != (pass == 1)) continue;
      padded[npadded++] = o->padded; /* allocated in the order of the copies */
      TN_GET(copy, make_copy(p, o));
      TN_TRY(tn_vec_push_obj(&stmts, copy));
    }
    if (pass == 0) TN_TRY(tn_vec_push_obj(&stmts, nest));
  }
  TN_TRY(sch_replace(p->e, (const tn_stmt *)top, tir_seq(&stmts)));
  TN_TRY(sch_add_buffers(p->e, p->scope, npadded, padded));
  return sch_commit(p->e);
}

int sch_pad_einsum(tn_TirSchedule *s, const tn_BlockRV *block, const tn_arr *padding) {
  SCH_STEP(e, s, "pad-einsum");
  einsum p __attribute__((cleanup(einsum_fini))) = {.e = &e};
  TN_GET(p.block, sch_block_of(&e, block));
  TN_GET(p.scope, sch_scope_root(&e, p.block, true));
  p.realize = sch_realize_of(&e, p.block);
  TN_TRY(find_extents(&p, padding));
  TN_TRY(match(&p));
  return pad(&p);
}
