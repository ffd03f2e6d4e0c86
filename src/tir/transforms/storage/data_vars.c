/* Which variables of a function hold data rather than indices: numbers whose arithmetic wraps
   around, where an index is taken not to overflow (arith/analyzer.h).

     def main(A: T.Buffer((n,), "int32"), n: T.int32, k: T.int32):    n: an extent, an index
       x: T.int32 = A[0]                                              x: loaded
       y: T.int32 = x + n                                             y: made of x
       O[0] = k * 4 // 4                                              k: no extent

   Numbers that arguments are unpacked to are what the parameters were.

   Every pass over a function runs with the answer at hand. It is found when an analyzer asks for it
   the first time. */
#include "arith/analyzer.h"
#include "tir/transforms/transforms.h"

#include "base/alloc.h"

typedef struct {
  const tn_PrimFunc *func;
  tn_pmap data; /* variables */
  bool ready, failed;
  arith_origin before;
} origins;

/* ---- looking ---- */

typedef struct {
  tn_pmap indices; /* variables that extents, strides and offsets are made of */
  tn_pmap fields;  /* pointers among the fields of arguments: to shapes and strides */
  tn_pmap *data;
  bool loads, unpacks; /* of the value that is looked at: memory, or a field of an argument */
} looker;

static int note_index(void *ctx, tn_obj *node) {
  return TN_IS(Var, node) ? tn_pmap_put_int(&((looker *)ctx)->indices, node, 1) : 0;
}

static int note_extents(looker *l, const void *extents) {
  return extents ? tn_post_order(extents, note_index, l) : 0;
}

static int note_node(void *ctx, tn_obj *node) {
  looker *l = ctx;
  switch (node->type_index) {
  case TN_TI_Buffer: {
    const tn_Buffer *b = (const tn_Buffer *)node;
    TN_TRY(note_extents(l, b->shape));
    TN_TRY(note_extents(l, b->strides));
    return note_extents(l, b->elem_offset);
  }
  case TN_TI_For:
    TN_TRY(note_extents(l, ((const tn_For *)node)->min));
    return note_extents(l, ((const tn_For *)node)->extent);
  case TN_TI_AttrStmt:
    return TN_IS(IterVar, ((const tn_AttrStmt *)node)->node)
               ? note_extents(l, ((const tn_AttrStmt *)node)->value)
               : 0;
  case TN_TI_Allocate: return note_extents(l, ((const tn_Allocate *)node)->extents);
  case TN_TI_IterVar: return note_extents(l, ((const tn_IterVar *)node)->dom);
  default: return 0;
  }
}

static int note_load(void *ctx, tn_obj *node) {
  looker *l = ctx;
  const tn_Call *call = TN_AS(Call, node);
  const tn_Cast *cast = TN_AS(Cast, node);
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  bool field = (call && tir_as_call(node, TIR_OP_tvm_struct_get)) ||
               (load && tn_pmap_has(&l->fields, load->buffer->data));
  l->unpacks |= field;
  if (call && !field) l->loads |= tir_call_effect((tn_obj *)call->op) > TIR_EFFECT_PURE;
  if (cast) l->loads |= ir_is_floating(ir_with_lanes(cast->value->dtype, 1));
  l->loads |= (load && !field) || tn_pmap_has(l->data, node);
  return 0;
}

/* A binding comes before those within it. */
static int note_binding(void *ctx, tn_obj *node) {
  looker *l = ctx;
  const tn_LetStmt *s = TN_AS(LetStmt, node);
  const tn_Let *e = TN_AS(Let, node);
  const tn_expr *value = s ? s->value : e ? e->value : NULL;
  if (!value) return 0;
  const tn_Var *v = s ? s->var : e->var;
  l->loads = l->unpacks = false;
  TN_TRY(tn_post_order(value, note_load, l));
  if (l->unpacks && v->dtype.code == kDLOpaqueHandle) return tn_pmap_put_int(&l->fields, v, 1);
  bool data = l->loads || (l->unpacks && !tn_pmap_has(&l->indices, v));
  return data ? tn_pmap_put_int(l->data, v, 1) : 0;
}

static int find_parameters(looker *l, const tn_PrimFunc *f) {
  TN_TRY(tn_post_order(f, note_node, l));
  for (int64_t i = 0; i < f->params->len; ++i) {
    const tn_expr *p = (const tn_expr *)tn_arr_obj(f->params, i);
    if (ir_is_integral(p->dtype) && !tn_pmap_has(&l->indices, p))
      TN_TRY(tn_pmap_put_int(l->data, p, 1));
  }
  return 0;
}

static int find(origins *o) {
  looker l = {.data = &o->data};
  int err = find_parameters(&l, o->func) || tn_pre_order(o->func->body, note_binding, &l) < 0;
  tn_pmap_fini(&l.indices);
  tn_pmap_fini(&l.fields);
  return err ? -1 : 0;
}

/* ---- answering ---- */

static bool is_data(void *ctx, const tn_Var *v) {
  origins *o = ctx;
  if (!o->ready) {
    o->failed = find(o) != 0;
    if (o->failed) tn_error_clear();
    o->ready = true;
  }
  return o->failed || tn_pmap_has(&o->data, v);
}

void *tir_data_begin(const tn_BaseFunc *f) {
  origins *o;
  TN_GETP(o, tn_alloc_zero(1, sizeof *o));
  o->func = (const tn_PrimFunc *)f;
  tn_retain((void *)(uintptr_t)f);
  o->before = arith_set_origin((arith_origin){is_data, o});
  return o;
}

void tir_data_end(void *state) {
  origins *o = state;
  arith_set_origin(o->before);
  tn_pmap_fini(&o->data);
  tn_release((void *)(uintptr_t)o->func);
  tn_free(o);
}
