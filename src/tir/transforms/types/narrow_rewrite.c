/* Rewriting indices to other integers: part of tir.NarrowDataType, tir.ForceNarrowIndexToInt32 and
   tir_with_index_type. */
#include "tir/transforms/types/narrow_impl.h"

static tn_dtype narrow_type(const narrower *x, tn_dtype t) {
  return tn_dtype_of(t.code, x->bits, t.lanes);
}

/* The variable to bind instead of `v`: itself when it stays. */
static tn_Var *bind(narrower *x, tn_Var *v) {
  tn_Var *r;
  if (!narrow_is_wide(x, v->dtype) || tn_pmap_has(&x->wide, v)) return v;
  TN_GETP(r, tir_var(tn_cstr(v->name), narrow_type(x, v->dtype)));
  TN_TRYP(tn_pmap_put(&x->narrow, v, r));
  return r;
}

/* Visits as an index or as a value. */
static void *visit_as(tn_mut *m, const void *e, bool index) {
  narrower *x = m->ctx;
  bool outer = x->index;
  int need = x->need;
  x->index = index, x->need = 0;
  void *r = tn_mut_visit(m, e);
  x->index = outer, x->need = need;
  return r;
}

/* As an index of the type. */
static tn_expr *index_of(tn_mut *m, tn_expr *e, tn_dtype t) {
  tn_expr *r = visit_as(m, e, true);
  return r ? tir_cast(t, r, NULL) : NULL;
}

/* ---- expressions ---- */

static tn_obj *use_var(tn_mut *m, tn_Var *v) {
  narrower *x = m->ctx;
  tn_expr *r = tn_pmap_get(&x->narrow, v);
  if (!r && x->force && x->index) TN_GETP(r, (tn_expr *)bind(x, v));
  if (!r || r == (tn_expr *)v) return (tn_obj *)v;
  return x->index ? (tn_obj *)r : (tn_obj *)tir_cast(v->dtype, r, NULL);
}

static tn_obj *use_const(tn_mut *m, tn_IntImm *e) {
  const narrower *x = m->ctx;
  if (!x->index || x->need > x->bits || !narrow_is_wide(x, e->dtype)) return (tn_obj *)e;
  int64_t last = INT64_MAX >> (64 - x->bits);
  if (e->value < -last - 1 || e->value > last) return (tn_obj *)e;
  return (tn_obj *)tir_int(narrow_type(x, e->dtype), e->value);
}

/* Operands under the bits that the expression needs. */
static int deeper(narrower *x, const tn_expr *e) {
  int outer = x->need;
  if (x->index && ir_is_int(ir_with_lanes(e->dtype, 1))) {
    int own = narrow_bits(x, e);
    if (own > outer) x->need = own;
  }
  return outer;
}

static tn_obj *use_binary(tn_mut *m, tn_expr *e) {
  narrower *x = m->ctx;
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  int outer = deeper(x, e);
  tn_expr *a = tn_mut_visit(m, op->a), *b = tn_mut_visit(m, op->b);
  x->need = outer;
  if (!a || !b) return NULL;
  return a == op->a && b == op->b ? (tn_obj *)e
                                  : (tn_obj *)tir_binary(e->hdr.type_index, a, b, op->span);
}

static tn_obj *use_compare(tn_mut *m, tn_expr *e) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  tn_expr *a = visit_as(m, op->a, true), *b = visit_as(m, op->b, true);
  if (!a || !b) return NULL;
  return a == op->a && b == op->b ? (tn_obj *)e
                                  : (tn_obj *)tir_binary(e->hdr.type_index, a, b, op->span);
}

/* An integer before its sign was extended: converted further it gives the same. */
static tn_expr *unextended(tn_expr *e) {
  const tn_Cast *c = TN_AS(Cast, e);
  bool extended = c && ir_is_int(ir_with_lanes(e->dtype, 1)) &&
                  ir_is_int(ir_with_lanes(c->value->dtype, 1)) &&
                  c->value->dtype.bits < e->dtype.bits;
  return extended ? c->value : e;
}

static tn_obj *use_cast(tn_mut *m, tn_Cast *e) {
  narrower *x = m->ctx;
  bool index = x->index && ir_is_int(ir_with_lanes(e->value->dtype, 1));
  int outer = deeper(x, (tn_expr *)e);
  bool fits = x->index && x->need <= x->bits && narrow_is_wide(x, e->dtype);
  bool was = x->index;
  x->index = index;
  tn_expr *v = tn_mut_visit(m, e->value);
  x->index = was, x->need = outer;
  if (!v) return NULL;
  if (fits) return (tn_obj *)tir_cast(narrow_type(x, e->dtype), v, NULL);
  if (v != e->value) v = unextended(v);
  return v == e->value ? (tn_obj *)e : (tn_obj *)tir_cast(e->dtype, v, e->span);
}

static tn_obj *use_select(tn_mut *m, tn_Select *e) {
  narrower *x = m->ctx;
  int outer = deeper(x, (tn_expr *)e);
  tn_expr *c = tn_mut_visit(m, e->condition), *t = tn_mut_visit(m, e->true_value),
          *f = tn_mut_visit(m, e->false_value);
  x->need = outer;
  if (!c || !t || !f) return NULL;
  if (c == e->condition && t == e->true_value && f == e->false_value) return (tn_obj *)e;
  return (tn_obj *)tir_select(c, t, f, e->span);
}

static tn_obj *use_ramp(tn_mut *m, tn_Ramp *e) {
  narrower *x = m->ctx;
  int outer = deeper(x, (tn_expr *)e);
  tn_expr *base = tn_mut_visit(m, e->base), *stride = tn_mut_visit(m, e->stride);
  x->need = outer;
  if (!base || !stride) return NULL;
  if (base == e->base && stride == e->stride) return (tn_obj *)e;
  TN_GETP(stride, tir_cast(base->dtype, stride, NULL));
  return (tn_obj *)TN_MAKE(Ramp, .base = base, .stride = stride, .lanes = e->lanes);
}

static tn_obj *use_broadcast(tn_mut *m, tn_Broadcast *e) {
  tn_expr *v = tn_mut_visit(m, e->value);
  return v == e->value ? (tn_obj *)e : (tn_obj *)tir_broadcast(v, (int)e->lanes, NULL);
}

/* Leading zeros of an index that is not negative are those of the narrow one, and as many more as
   the types differ. NULL without an error: the argument has to stay wide. */
static tn_expr *use_clz(tn_mut *m, const tn_Call *e) {
  narrower *x = m->ctx;
  tn_expr *value = (tn_expr *)tn_arr_obj(e->args, 0);
  tn_dtype t = value->dtype;
  if (!x->force || !narrow_is_wide(x, t) || t.bits < x->bits ||
      arith_const_bound(&x->known, value).min < 0)
    return NULL;
  tn_expr *now = visit_as(m, value, true);
  if (!now || now->dtype.bits != x->bits) return NULL;
  tn_expr *zeros = tir_call(e->dtype, TIR_OP_clz, 1, now);
  return zeros ? tir_add(tir_sub(zeros, tir_const_int(e->dtype, x->bits)),
                         tir_const_int(e->dtype, t.bits))
               : NULL;
}

/* Arguments keep their types: they are values, but those of conditions and choices. */
static tn_obj *use_call(tn_mut *m, tn_Call *e) {
  narrower *x = m->ctx;
  TN_VEC(v);
  bool choice = tir_as_call((tn_obj *)e, TIR_OP_if_then_else) != NULL, same = true;
  tn_expr *zeros = tir_as_call((tn_obj *)e, TIR_OP_clz) ? use_clz(m, e) : NULL;
  if (zeros || tn_error_pending()) return (tn_obj *)zeros;
  for (int64_t i = 0; i < e->args->len; ++i) {
    tn_obj *old = tn_arr_obj(e->args, i);
    tn_obj *now = visit_as(m, old, choice && i > 0 && x->index);
    if (old && !now) return NULL;
    if (now != old && TN_IS(PrimExpr, now) && !choice)
      TN_GETP(now, (tn_obj *)tir_cast(((tn_expr *)old)->dtype, (tn_expr *)now, NULL));
    TN_TRYP(tn_vec_push_obj(&v, now));
    same &= now == old;
  }
  if (same) return (tn_obj *)e;
  if (choice)
    return (tn_obj *)tir_if_then_else((tn_expr *)v.items[0].v.obj, (tn_expr *)v.items[1].v.obj,
                                      (tn_expr *)v.items[2].v.obj, e->span);
  tn_Call copy = *e;
  TN_GETP(copy.args, tn_arr_from(&v));
  return tn_node_copy(&tn_type_Call, &copy);
}

/* The body tells whether the variable is part of an index. */
static tn_obj *use_let(tn_mut *m, tn_Let *e) {
  const narrower *x = m->ctx;
  tn_Let copy = *e;
  TN_GETP(copy.body, visit_as(m, e->body, false));
  tn_Var *narrow = tn_pmap_get(&x->narrow, e->var);
  if (narrow) copy.var = narrow;
  TN_GETP(copy.value, visit_as(m, e->value, narrow != NULL));
  TN_GETP(copy.value, tir_cast(copy.var->dtype, copy.value, NULL));
  bool same = copy.var == e->var && copy.value == e->value && copy.body == e->body;
  return same ? (tn_obj *)e
              : (tn_obj *)TN_MAKE(Let, .var = copy.var, .value = copy.value, .body = copy.body);
}

/* ---- buffers ---- */

static tn_obj *use_buffer(tn_mut *m, tn_Buffer *b) {
  narrower *x = m->ctx;
  tn_Buffer copy = *b;
  TN_GETP(copy.shape, visit_as(m, b->shape, x->force));
  TN_GETP(copy.strides, visit_as(m, b->strides, x->force));
  if (b->elem_offset) TN_GETP(copy.elem_offset, visit_as(m, b->elem_offset, x->force));
  bool same =
      copy.shape == b->shape && copy.strides == b->strides && copy.elem_offset == b->elem_offset;
  return same ? (tn_obj *)b : tn_node_copy(&tn_type_Buffer, &copy);
}

/* Indices; with `all` those that hold loaded values or results of calls are converted. */
static tn_arr *use_indices(tn_mut *m, tn_arr *indices) {
  narrower *x = m->ctx;
  TN_VEC(v);
  tn_arr *now;
  TN_GETP(now, visit_as(m, indices, true));
  for (int64_t i = 0; x->all && i < now->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(now, i);
    if (narrow_is_wide(x, e->dtype)) TN_GETP(e, tir_cast(narrow_type(x, e->dtype), e, NULL));
    TN_TRYP(tn_vec_push_obj(&v, e));
  }
  return x->all ? tn_arr_from(&v) : now;
}

static tn_obj *use_load(tn_mut *m, tn_BufferLoad *op) {
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = use_indices(m, op->indices);
  if (!b || !indices) return NULL;
  if (b == op->buffer && indices == op->indices) return (tn_obj *)op;
  tn_expr *r = tir_load(b, indices);
  const narrower *x = m->ctx;
  return r && !x->index ? (tn_obj *)tir_cast(op->dtype, r, NULL) : (tn_obj *)r;
}

static tn_obj *use_store(tn_mut *m, tn_BufferStore *op) {
  tn_Buffer *b = tn_mut_visit(m, op->buffer);
  tn_arr *indices = use_indices(m, op->indices);
  tn_expr *value = visit_as(m, op->value, false);
  if (!b || !indices || !value) return NULL;
  if (b == op->buffer && indices == op->indices && value == op->value) return (tn_obj *)op;
  tn_dtype t = tn_dtype_of(b->dtype.code, b->dtype.bits, op->value->dtype.lanes);
  return (tn_obj *)tir_store(b, tir_cast(t, value, NULL), indices);
}

/* ---- statements ---- */

/* The thread axis that a loop is bound to has the type of the loop's variable. */
static tn_IterVar *bound_to(const tn_IterVar *axis, tn_dtype t) {
  tn_IterVar copy = *axis;
  TN_GETP(copy.var, tir_var(tn_cstr(axis->var->name), t));
  if (axis->dom)
    TN_GETP(copy.dom,
            tir_range(tir_cast(t, axis->dom->min, NULL), tir_cast(t, axis->dom->extent, NULL)));
  return tn_node_copy(&tn_type_IterVar, &copy);
}

static tn_obj *use_for(tn_mut *m, tn_For *op) {
  narrower *x = m->ctx;
  tn_For copy = *op;
  tn_Range *r = tir_range(op->min, op->extent);
  if (!r || arith_bind_range(&x->known, op->loop_var, r, true)) return NULL;
  TN_GETP(copy.loop_var, bind(x, op->loop_var));
  bool narrow = copy.loop_var != op->loop_var;
  TN_GETP(copy.min, narrow ? index_of(m, op->min, copy.loop_var->dtype)
                           : index_of(m, op->min, op->min->dtype));
  TN_GETP(copy.extent, narrow ? index_of(m, op->extent, copy.loop_var->dtype)
                              : index_of(m, op->extent, op->extent->dtype));
  if (narrow && op->thread_binding && narrow_is_wide(x, op->thread_binding->var->dtype))
    TN_GETP(copy.thread_binding, bound_to(op->thread_binding, copy.loop_var->dtype));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  bool same = !narrow && copy.min == op->min && copy.extent == op->extent && copy.body == op->body;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_For, &copy);
}

static tn_obj *narrow_axis(tn_mut *m, tn_IterVar *axis) {
  tn_IterVar copy = *axis;
  TN_GETP(copy.var, bind(m->ctx, axis->var));
  if (copy.var == axis->var) return (tn_obj *)axis;
  if (axis->dom)
    TN_GETP(copy.dom, tir_range(index_of(m, axis->dom->min, copy.var->dtype),
                                index_of(m, axis->dom->extent, copy.var->dtype)));
  return tn_node_copy(&tn_type_IterVar, &copy);
}

static tn_obj *use_attr(tn_mut *m, tn_AttrStmt *op) {
  narrower *x = m->ctx;
  tn_AttrStmt copy = *op;
  tn_IterVar *axis = TN_AS(IterVar, op->node);
  if (!axis) return tn_mut_children(m, op);
  tn_Range *r = tir_range(tir_zero(op->value->dtype), op->value);
  if (!r || arith_bind_range(&x->known, axis->var, r, true)) return NULL;
  TN_GETP(copy.node, narrow_axis(m, axis));
  bool narrow = copy.node != op->node;
  TN_GETP(copy.value, index_of(m, op->value,
                               narrow ? ((tn_IterVar *)copy.node)->var->dtype : op->value->dtype));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  bool same = !narrow && copy.value == op->value && copy.body == op->body;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_AttrStmt, &copy);
}

static tn_obj *use_let_stmt(tn_mut *m, tn_LetStmt *op) {
  narrower *x = m->ctx;
  tn_LetStmt copy = *op;
  if (x->force) TN_GETP(copy.var, bind(x, op->var));
  TN_GETP(copy.value, visit_as(m, op->value, x->force && copy.var != op->var));
  if (op->var->dtype.code != kDLOpaqueHandle)
    TN_GETP(copy.value, tir_cast(copy.var->dtype, copy.value, NULL));
  TN_GETP(copy.body, tn_mut_visit(m, op->body));
  bool same = copy.var == op->var && copy.value == op->value && copy.body == op->body;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}

/* The values of a block's iterators follow its variables. */
static bool names_buffers(const tn_obj *o) {
  const tn_arr *list = o ? TN_AS(Array, o) : NULL;
  for (int64_t i = 0; list && i < list->len; ++i)
    if (!tn_arr_obj(list, i) || !TN_IS(Buffer, tn_arr_obj(list, i))) return false;
  return o && (TN_IS(Buffer, o) || (list && list->len));
}

/* Annotations may name buffers, in lists too. */
static tn_obj *use_block(tn_mut *m, tn_Block *op) {
  TN_GETP(op, (tn_Block *)tn_mut_children(m, op));
  tn_map *now = op->annotations;
  tn_any k, v;
  for (int64_t i = 0; op->annotations && tn_map_at(op->annotations, i, &k, &v); ++i) {
    tn_obj *o = tn_any_is_obj(&v) ? v.v.obj : NULL, *to;
    if (!names_buffers(o)) continue;
    TN_GETP(to, tn_mut_visit(m, o));
    if (to != o) TN_GETP(now, tn_map_with(now, k, tn_any_obj(to)));
  }
  if (now == op->annotations) return (tn_obj *)op;
  tn_Block copy = *op;
  copy.annotations = now;
  return tn_node_copy(&tn_type_Block, &copy);
}

static tn_obj *use_realize(tn_mut *m, tn_BlockRealize *op) {
  TN_VEC(v);
  tn_BlockRealize copy = *op;
  TN_GETP(copy.predicate, tn_mut_visit(m, op->predicate));
  TN_GETP(copy.block, tn_mut_visit(m, op->block));
  for (int64_t i = 0; i < op->iter_values->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(copy.block->iter_vars, i);
    tn_expr *value = index_of(m, (tn_expr *)tn_arr_obj(op->iter_values, i), iv->var->dtype);
    if (!value || tn_vec_push_obj(&v, value)) return NULL;
  }
  TN_GETP(copy.iter_values, tn_arr_from(&v));
  return tn_node_copy(&tn_type_BlockRealize, &copy);
}

static tn_obj *use_axis(tn_mut *m, tn_IterVar *axis) { return narrow_axis(m, axis); }
static tn_obj *use_range(tn_mut *m, tn_Range *r) {
  tn_expr *min = visit_as(m, r->min, true), *extent = visit_as(m, r->extent, true);
  if (!min || !extent || (min == r->min && extent == r->extent))
    return min && extent ? (tn_obj *)r : NULL;
  TN_TRYP(tir_match_types(&min, &extent, NULL));
  return (tn_obj *)tir_range(min, extent);
}

static tn_obj *skip(tn_mut *m, tn_obj *o) {
  (void)m;
  return o;
}

static const tn_mut_case cases[] = {TN_CASE(Var, use_var),
                                    TN_CASE(SizeVar, use_var),
                                    TN_CASE(IntImm, use_const),
                                    TN_CASE(Add, use_binary),
                                    TN_CASE(Sub, use_binary),
                                    TN_CASE(Mul, use_binary),
                                    TN_CASE(Div, use_binary),
                                    TN_CASE(Mod, use_binary),
                                    TN_CASE(FloorDiv, use_binary),
                                    TN_CASE(FloorMod, use_binary),
                                    TN_CASE(Min, use_binary),
                                    TN_CASE(Max, use_binary),
                                    TN_CASE(EQ, use_compare),
                                    TN_CASE(NE, use_compare),
                                    TN_CASE(LT, use_compare),
                                    TN_CASE(LE, use_compare),
                                    TN_CASE(GT, use_compare),
                                    TN_CASE(GE, use_compare),
                                    TN_CASE(Cast, use_cast),
                                    TN_CASE(Select, use_select),
                                    TN_CASE(Ramp, use_ramp),
                                    TN_CASE(Broadcast, use_broadcast),
                                    TN_CASE(Call, use_call),
                                    TN_CASE(Let, use_let),
                                    TN_CASE(Buffer, use_buffer),
                                    TN_CASE(BufferLoad, use_load),
                                    TN_CASE(BufferStore, use_store),
                                    TN_CASE(For, use_for),
                                    TN_CASE(AttrStmt, use_attr),
                                    TN_CASE(LetStmt, use_let_stmt),
                                    TN_CASE(IterVar, use_axis),
                                    TN_CASE(Range, use_range),
                                    TN_CASE(BlockRealize, use_realize),
                                    TN_CASE(Block, use_block),
                                    TN_CASE(Map, skip)};

/* The buffers of the parameters with narrow shapes. */
static tn_map *narrow_buffers(tn_mut *m, tn_map *buffers) {
  tn_map *r = buffers;
  tn_any k, v;
  for (int64_t i = 0; tn_map_at(buffers, i, &k, &v); ++i) {
    tn_obj *b = tn_mut_visit(m, v.v.obj);
    if (!b) return NULL;
    if (b != v.v.obj) TN_GETP(r, tn_map_with(r, k, tn_any_obj(b)));
  }
  return r;
}

tn_PrimFunc *narrow_rewrite(narrower *x, tn_PrimFunc *f) {
  TN_MUT(m, cases, x);
  tn_PrimFunc copy = *f;
  if (x->force && f->buffer_map) TN_GETP(copy.buffer_map, narrow_buffers(&m, f->buffer_map));
  TN_GETP(copy.body, tn_mut_visit(&m, f->body));
  if (copy.body == f->body && copy.buffer_map == f->buffer_map) return f;
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}

/* Parameters that are part of indices: as they are bound. */
static tn_arr *bound_params(const narrower *x, const tn_arr *params) {
  TN_VEC(v);
  for (int64_t i = 0; i < params->len; ++i) {
    const tn_obj *now = tn_pmap_get(&x->narrow, tn_arr_obj(params, i));
    TN_TRYP(tn_vec_push_obj(&v, now ? now : tn_arr_obj(params, i)));
  }
  return tn_arr_from(&v);
}

/* Twice: a variable may be used as a value before it is known to be part of an index. */
tn_PrimFunc *narrow_rewrite_all(narrower *x, tn_PrimFunc *f) {
  tn_PrimFunc *once, *twice;
  TN_GETP(once, narrow_rewrite(x, f));
  if (once == f) return f;
  TN_GETP(twice, narrow_rewrite(x, f));
  tn_PrimFunc copy = *twice;
  TN_GETP(copy.params, bound_params(x, f->params));
  return tn_node_copy(&tn_type_PrimFunc, &copy);
}

tn_PrimFunc *tir_with_index_type(tn_PrimFunc *f, tn_dtype t) {
  __attribute__((cleanup(narrow_fini))) narrower x = {.bits = t.bits, .force = true, .all = true};
  TN_CHECKP(t.code == kDLInt && t.lanes == 1 && t.bits > 1, ValueError, f->span,
            "index type: expected a signed integer such as int64, got %s", TN_DT(t));
  return narrow_rewrite_all(&x, f);
}
