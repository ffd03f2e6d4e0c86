/* Indices whose values fit are computed in narrower integers.

     for i in range(T.int64(16)):               for i in range(16):
       B[i * T.int64(4)] = 0               ->     B[i * 4] = 0

   Argument: the number of bits. A loop variable becomes narrow when every index and loop bound that
   it is a part of fits; where it is used as a value it is converted back. Variables that are passed
   keep their types. */
#include "tir/transforms/types/narrow_impl.h"

int narrow_bits(narrower *x, const tn_expr *e) {
  tn_dtype t = ir_with_lanes(e->dtype, 1);
  if (x->force || !narrow_is_wide(x, t)) return x->bits;
  arith_bound b = arith_const_bound(&x->known, e);
  int64_t limit = (int64_t)1 << (x->bits - 1);
  return b.min >= -limit && b.max < limit ? x->bits : t.bits;
}

/* ---- looking ---- */

typedef struct {
  narrower *x;
  bool *any;
} looker;

/* Under an expression that needs more bits so do its parts. */
static tn_obj *look_int(tn_mut *m, tn_expr *e) {
  narrower *x = ((looker *)m->ctx)->x;
  if (!x->index || !ir_is_int(ir_with_lanes(e->dtype, 1))) return tn_mut_children(m, e);
  int outer = x->need, own = narrow_bits(x, e);
  if (own > outer) x->need = own;
  if (TN_IS(Var, e) && x->need > x->bits) TN_TRYP(tn_pmap_put_int(&x->wide, e, 1));
  bool call = TN_IS(Call, e) || TN_IS(BufferLoad, e);
  if (call) x->index = false;
  void *r = tn_mut_children(m, e);
  if (call) x->index = true;
  x->need = outer;
  return r;
}

static const void *look_index(tn_mut *m, const void *e) {
  narrower *x = ((looker *)m->ctx)->x;
  bool outer = x->index;
  int need = x->need;
  x->index = true, x->need = 0;
  const void *r = tn_mut_visit(m, e);
  x->index = outer, x->need = need;
  return r;
}

static tn_obj *look_compare(tn_mut *m, tn_expr *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  return look_index(m, op->a) && look_index(m, op->b) ? (tn_obj *)e : NULL;
}
static tn_obj *look_load(tn_mut *m, tn_BufferLoad *op) {
  return look_index(m, op->indices) ? (tn_obj *)op : NULL;
}
static tn_obj *look_store(tn_mut *m, tn_BufferStore *op) {
  return look_index(m, op->indices) && tn_mut_visit(m, op->value) ? (tn_obj *)op : NULL;
}

static tn_obj *look_for(tn_mut *m, tn_For *op) {
  looker *l = m->ctx;
  tn_Range *r = tir_range(op->min, op->extent);
  *l->any |= narrow_is_wide(l->x, op->loop_var->dtype);
  if (!r || !look_index(m, op->min) || !look_index(m, op->extent)) return NULL;
  TN_TRYP(arith_bind_range(&l->x->known, op->loop_var, r, true));
  /* the end of the range is a value that the loop compares with */
  tn_expr *end = tir_add(op->min, op->extent);
  if (!end || !look_index(m, end)) return NULL;
  if (narrow_bits(l->x, end) > l->x->bits) TN_TRYP(tn_pmap_put_int(&l->x->wide, op->loop_var, 1));
  return tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
}

static tn_obj *look_attr(tn_mut *m, tn_AttrStmt *op) {
  looker *l = m->ctx;
  const tn_IterVar *axis = TN_AS(IterVar, op->node);
  if (axis) {
    tn_Range *r = tir_range(tir_zero(op->value->dtype), op->value);
    *l->any |= narrow_is_wide(l->x, axis->var->dtype);
    if (!r || arith_bind_range(&l->x->known, axis->var, r, true)) return NULL;
    if (narrow_bits(l->x, op->value) > l->x->bits)
      TN_TRYP(tn_pmap_put_int(&l->x->wide, axis->var, 1));
  }
  return tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
}

/* Iterators of blocks are bound as loop variables are; the values that they get must fit too. */
static tn_obj *look_realize(tn_mut *m, tn_BlockRealize *op) {
  looker *l = m->ctx;
  narrower *x = l->x;
  for (int64_t i = 0; i < op->iter_values->len; ++i) {
    tn_expr *value = (tn_expr *)tn_arr_obj(op->iter_values, i);
    const tn_IterVar *axis = (const tn_IterVar *)tn_arr_obj(op->block->iter_vars, i);
    *l->any |= narrow_is_wide(x, axis->var->dtype);
    if (!look_index(m, value) || !look_index(m, axis->dom->min) ||
        !look_index(m, axis->dom->extent) ||
        arith_bind_range(&x->known, axis->var, axis->dom, true))
      return NULL;
    tn_expr *end = tir_add(axis->dom->min, axis->dom->extent);
    if (!end) return NULL;
    if (narrow_bits(x, end) > x->bits || narrow_bits(x, value) > x->bits)
      TN_TRYP(tn_pmap_put_int(&x->wide, axis->var, 1));
  }
  if (!tn_mut_visit(m, op->predicate)) return NULL;
  return tn_mut_children(m, op->block) ? (tn_obj *)op : NULL;
}

static tn_obj *look_range(tn_mut *m, tn_Range *r) {
  return look_index(m, r->min) && look_index(m, r->extent) ? (tn_obj *)r : NULL;
}

static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

#define LOOK_CASE(Name)    TN_CASE(Name, look_int)
#define COMPARE_CASE(Name) TN_CASE(Name, look_compare)

int narrow_find_wide(narrower *x, const tn_PrimFunc *f, bool *any) {
  static const tn_mut_case cases[] = {LOOK_CASE(Var),
                                      LOOK_CASE(SizeVar),
                                      LOOK_CASE(Add),
                                      LOOK_CASE(Sub),
                                      LOOK_CASE(Mul),
                                      LOOK_CASE(Div),
                                      LOOK_CASE(Mod),
                                      LOOK_CASE(FloorDiv),
                                      LOOK_CASE(FloorMod),
                                      LOOK_CASE(Min),
                                      LOOK_CASE(Max),
                                      LOOK_CASE(Cast),
                                      LOOK_CASE(Select),
                                      LOOK_CASE(Ramp),
                                      LOOK_CASE(Broadcast),
                                      LOOK_CASE(Call),
                                      LOOK_CASE(Let),
                                      COMPARE_CASE(EQ),
                                      COMPARE_CASE(NE),
                                      COMPARE_CASE(LT),
                                      COMPARE_CASE(LE),
                                      COMPARE_CASE(GT),
                                      COMPARE_CASE(GE),
                                      TN_CASE(BufferLoad, look_load),
                                      TN_CASE(For, look_for),
                                      TN_CASE(AttrStmt, look_attr),
                                      TN_CASE(BufferStore, look_store),
                                      TN_CASE(BlockRealize, look_realize),
                                      TN_CASE(Range, look_range),
                                      TN_CASE(IterVar, skip),
                                      TN_CASE(Buffer, skip),
                                      TN_CASE(Map, skip)};
  looker l = {x, any};
  TN_MUT(m, cases, &l);
  *any = false;
  return tn_mut_visit(&m, f->body) ? 0 : -1;
}

void narrow_fini(narrower *x) {
  arith_fini(&x->known);
  tn_pmap_fini(&x->wide);
  tn_pmap_fini(&x->narrow);
}

/* A statement that binds a variable which could be narrower. */
static bool is_wide(const tn_stmt *s, const void *arg) {
  const tn_BlockRealize *realize = TN_AS(BlockRealize, s);
  const tn_arr *axes = realize ? realize->block->iter_vars : NULL;
  for (int64_t i = 0; axes && i < axes->len; ++i)
    if (narrow_is_wide(arg, ((const tn_IterVar *)tn_arr_obj(axes, i))->var->dtype)) return true;
  const tn_For *loop = TN_AS(For, s);
  const tn_AttrStmt *attr = TN_AS(AttrStmt, s);
  const tn_IterVar *axis = attr ? TN_AS(IterVar, attr->node) : NULL;
  const tn_Var *v = loop ? loop->loop_var : axis ? axis->var : NULL;
  return v && narrow_is_wide(arg, v->dtype);
}

tn_PrimFunc *tir_narrow_data_type(tn_PrimFunc *f, const tn_pass_ctx *c) {
  int64_t bits = 32;
  bool any;
  if (c->nargs > 0 && c->args[0].type_index != TN_NONE) TN_TRYP(tn_any_to_int(&c->args[0], &bits));
  TN_CHECKP(bits == 8 || bits == 16 || bits == 32 || bits == 64, ValueError, NULL,
            "NarrowDataType: expected 8, 16, 32 or 64 bits, got %lld", (long long)bits);
  __attribute__((cleanup(narrow_fini))) narrower x = {.bits = (int)bits};
  if (!tir_has_stmt(f->body, is_wide, &x)) return f;
  TN_TRYP(narrow_find_wide(&x, f, &any));
  return any ? narrow_rewrite(&x, f) : f;
}

/* Elements of buffers are data, which is never cut. */
static int refuse_wide(const tn_Buffer *b, const char *where) {
  bool wide = b->dtype.code == kDLInt && b->dtype.bits > 32;
  TN_CHECK(!wide, TenonError, b->span,
           "The buffer %s in the function %s has dtype %s: ForceNarrowIndexToInt32 narrows "
           "indices, not data (use int32 elements, or NarrowDataType)",
           tn_cstr(b->name), where, TN_DT(b->dtype));
  return 0;
}

static int refuse_allocated(void *ctx, tn_obj *o) {
  const tn_Block *b = TN_AS(Block, o);
  const tn_DeclBuffer *d = TN_AS(DeclBuffer, o);
  (void)ctx;
  for (int64_t i = 0; b && i < b->alloc_buffers->len; ++i)
    TN_TRY(refuse_wide((const tn_Buffer *)tn_arr_obj(b->alloc_buffers, i), "allocated buffers"));
  return d ? refuse_wide(d->buffer, "declared buffers") : 0;
}

tn_PrimFunc *tir_force_narrow_index(tn_PrimFunc *f, const tn_pass_ctx *c) {
  __attribute__((cleanup(narrow_fini))) narrower x = {.bits = 32, .force = true};
  tn_any k, v;
  (void)c;
  for (int64_t i = 0; tn_map_at(f->buffer_map, i, &k, &v); ++i)
    TN_TRYP(refuse_wide((const tn_Buffer *)v.v.obj, "buffer map"));
  TN_TRYP(tn_post_order(f->body, refuse_allocated, NULL));
  return narrow_rewrite_all(&x, f);
}
