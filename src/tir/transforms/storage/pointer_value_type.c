/* Arrays that are always accessed as vectors of one size become arrays of vectors.

     A = T.allocate([64], "float32", "local")   ->   A = T.allocate([16], "float32x4", "local")
     A[i * 4:i * 4 + 4] = x                          A[i] = x

   Pointers that the function takes become pointers to vectors too. Not changed are arrays whose
   pointers are used otherwise, and buffers that are parameters, whose types the caller knows. */
#include "arith/analyzer.h"
#include "tir/transforms/transforms.h"

typedef struct {
  tn_pmap lanes;   /* tn_Var -> lanes of all its accesses, -1: none in common */
  tn_pmap allowed; /* tn_Var that may change */
  tn_pmap vars;    /* tn_Var -> its replacement */
  arith_analyzer known;
} rewriter;

/* ---- looking ---- */

static int note_access(rewriter *x, const tn_Buffer *b, const tn_arr *indices) {
  int64_t now = -1, before = tn_pmap_get_int(&x->lanes, b->data, 0);
  const tn_Ramp *r = indices->len == 1 ? TN_AS(Ramp, tn_arr_obj(indices, 0)) : NULL;
  if (r && tir_is_one(r->stride) && b->dtype.lanes == 1 && b->shape->len == 1) {
    arith_modular m = arith_modular_set(&x->known, r->base);
    bool whole = r->lanes > 0 && m.coeff % r->lanes == 0 && m.base % r->lanes == 0;
    if (whole) now = r->lanes;
  }
  if (before && before != now) now = -1;
  return tn_pmap_put_int(&x->lanes, b->data, now);
}

static tn_obj *look_load(tn_mut *m, tn_BufferLoad *op) {
  if (note_access(m->ctx, op->buffer, op->indices)) return NULL;
  return tn_mut_visit(m, op->indices) ? (tn_obj *)op : NULL;
}
static tn_obj *look_store(tn_mut *m, tn_BufferStore *op) {
  if (note_access(m->ctx, op->buffer, op->indices)) return NULL;
  return tn_mut_visit(m, op->indices) && tn_mut_visit(m, op->value) ? (tn_obj *)op : NULL;
}
static tn_obj *look_var(tn_mut *m, tn_obj *v) {
  rewriter *x = m->ctx;
  if (((tn_Var *)v)->dtype.code == kDLOpaqueHandle) TN_TRYP(tn_pmap_put_int(&x->lanes, v, -1));
  return v;
}
static tn_obj *look_allocate(tn_mut *m, tn_Allocate *op) {
  rewriter *x = m->ctx;
  int64_t n;
  bool flat =
      op->extents->len == 1 && op->dtype.lanes == 1 && tir_as_int(tn_arr_obj(op->extents, 0), &n);
  if (flat) TN_TRYP(tn_pmap_put_int(&x->allowed, op->buffer_var, n));
  return tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
}
static tn_obj *look_for(tn_mut *m, tn_For *op) {
  rewriter *x = m->ctx;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || arith_bind_range(&x->known, op->loop_var, r, true)) return NULL;
  return tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
}
static tn_obj *look_attr(tn_mut *m, tn_AttrStmt *op) {
  if (!tn_mut_visit(m, op->value)) return NULL;
  return tn_mut_visit(m, op->body) ? (tn_obj *)op : NULL;
}
static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

/* Lanes of the vectors that the array of this variable is made of, 0 when it stays. */
static int64_t lanes_of(const rewriter *x, const tn_Var *v) {
  int64_t lanes = tn_pmap_get_int(&x->lanes, v, -1);
  int64_t n = tn_pmap_get_int(&x->allowed, v, -1); /* 0: a pointer to any number */
  return lanes > 1 && n >= 0 && n % lanes == 0 ? lanes : 0;
}

/* ---- rewriting ---- */

static tn_obj *use_var(tn_mut *m, tn_obj *v) {
  tn_obj *r = tn_pmap_get(&((rewriter *)m->ctx)->vars, v);
  return r ? r : v;
}

static tn_expr *divided(rewriter *x, tn_expr *e, int64_t lanes) {
  return arith_simplify(&x->known, tir_floordiv(e, tir_const_int(e->dtype, lanes)));
}

static tn_obj *use_buffer(tn_mut *m, tn_Buffer *b) {
  rewriter *x = m->ctx;
  int64_t lanes = lanes_of(x, b->data);
  if (!lanes) return (tn_obj *)b;
  tn_Buffer copy = *b;
  TN_GETP(copy.data, tn_pmap_get(&x->vars, b->data));
  copy.dtype = ir_with_lanes(b->dtype, (int)lanes);
  TN_GETP(copy.shape, tn_arr_of(1, divided(x, (tn_expr *)tn_arr_obj(b->shape, 0), lanes)));
  return tn_node_copy(&tn_type_Buffer, &copy);
}

static tn_arr *use_indices(tn_mut *m, const tn_Buffer *b, tn_arr *indices) {
  rewriter *x = m->ctx;
  int64_t lanes = lanes_of(x, b->data);
  tn_arr *r = tn_mut_visit(m, indices);
  if (!lanes || !r) return r;
  return tn_arr_of(1, divided(x, ((tn_Ramp *)tn_arr_obj(r, 0))->base, lanes));
}

static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = use_indices(m, op->buffer, op->indices);
  if (!b || !indices) return NULL;
  return b == op->buffer && indices == op->indices ? (tn_obj *)op : (tn_obj *)tir_load(b, indices);
}
static tn_obj *use_store(tn_mut *m, tn_BufferStore *op) {
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = use_indices(m, op->buffer, op->indices);
  tn_expr *value = tn_mut_visit(m, op->value);
  if (!b || !indices || !value) return NULL;
  if (b == op->buffer && indices == op->indices && value == op->value) return (tn_obj *)op;
  return (tn_obj *)tir_store(b, value, indices);
}

static tn_obj *use_allocate(tn_mut *m, tn_Allocate *op) {
  rewriter *x = m->ctx;
  int64_t lanes = lanes_of(x, op->buffer_var);
  tn_Allocate *r = tn_mut_children(m, op);
  if (!r || !lanes) return (tn_obj *)r;
  tn_Allocate copy = *r;
  TN_GETP(copy.buffer_var, tn_pmap_get(&x->vars, op->buffer_var));
  copy.dtype = ir_with_lanes(op->dtype, (int)lanes);
  TN_GETP(copy.extents, tn_arr_of(1, divided(x, (tn_expr *)tn_arr_obj(op->extents, 0), lanes)));
  return tn_node_copy(&tn_type_Allocate, &copy);
}

/* Variables of arrays that change get their own types. */
static int rename_all(rewriter *x) {
  for (size_t i = 0; i < x->allowed.cap; ++i) {
    const tn_Var *v = x->allowed.slots[i].key;
    int64_t lanes = v ? lanes_of(x, v) : 0;
    const tn_PointerType *p = v ? TN_AS(PointerType, v->type_annotation) : NULL;
    const tn_PrimType *t = p ? TN_AS(PrimType, p->element_type) : NULL;
    if (!lanes || !t) continue;
    tn_Var *r;
    TN_GET(r, tir_pointer_var(tn_cstr(v->name), ir_with_lanes(t->dtype, (int)lanes),
                              tn_cstr(p->storage_scope)));
    TN_TRY(tn_pmap_put(&x->vars, v, r));
  }
  return 0;
}

static void rewriter_fini(rewriter *x) {
  tn_pmap_fini(&x->lanes);
  tn_pmap_fini(&x->allowed);
  tn_pmap_fini(&x->vars);
  arith_fini(&x->known);
}

/* Typed pointers among the parameters that are not buffers. */
static int allow_parameters(rewriter *x, const tn_PrimFunc *f) {
  tn_any found;
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_Var *v = (const tn_Var *)tn_arr_obj(f->params, i);
    const tn_PointerType *p = TN_AS(PointerType, v->type_annotation);
    if (!p || !TN_AS(PrimType, p->element_type)) continue;
    if (tn_map_get(f->buffer_map, f->params->items[i], &found)) continue;
    TN_TRY(tn_pmap_put_int(&x->allowed, v, 0));
  }
  return 0;
}

tn_PrimFunc *tir_pointer_value_type(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case looking[] = {
      TN_CASE(BufferLoad, look_load), TN_CASE(BufferStore, look_store),
      TN_CASE(Var, look_var),         TN_CASE(Allocate, look_allocate),
      TN_CASE(For, look_for),         TN_CASE(AttrStmt, look_attr),
      TN_CASE(Buffer, skip)};
  static const tn_mut_case cases[] = {
      TN_CASE(Var, use_var), TN_CASE(Buffer, use_buffer), TN_CASE(BufferLoad, use_load),
      TN_CASE(BufferStore, use_store), TN_CASE(Allocate, use_allocate)};
  (void)c;
  __attribute__((cleanup(rewriter_fini))) rewriter x = {0};
  TN_MUT(look, looking, &x);
  TN_MUT(m, cases, &x);
  TN_TRYP(allow_parameters(&x, f));
  if (!tn_mut_visit(&look, f->body) || rename_all(&x)) return NULL;
  if (x.vars.len == 0) return f;
  tn_PrimFunc copy = *f;
  TN_GETP(copy.params, tn_mut_visit(&m, f->params));
  TN_GETP(copy.body, tn_mut_visit(&m, f->body));
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}
