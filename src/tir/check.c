/* Invariants of the nodes of tensor programs: what every constructor, keyword construction and the
   JSON reader go through. Operand types and counts are checked here, once, so that passes and code
   generators need not; what only a whole program shows is in analysis/well_formed.c.

   Errors name the node and the part of it that is wrong. */
#include "ir/expr.h"
#include "ir/module.h"
#include "tenon/runtime.h"
#include "tir/tir.h"
#include "tir/tir_impl.h"

static const tn_expr *at(const tn_arr *a, int64_t i) { return (const tn_expr *)tn_arr_obj(a, i); }

static int check_exprs(const tn_arr *a, const char *what, const tn_Span *span) {
  return ir_check_items(a, &tn_type_PrimExpr, what, span);
}

static int check_bool(const tn_expr *cond, const char *what) {
  TN_CHECK(ir_is_bool(cond->dtype), TypeError, cond->span, "%s: expected a bool, got %s", what,
           TN_DT(cond->dtype));
  return 0;
}

static int check_pointer(const tn_Var *v, const char *what, const tn_Span *span) {
  TN_CHECK(v->dtype.code == kDLOpaqueHandle, TypeError, span, "%s: expected a handle, got %s of %s",
           what, tn_cstr(v->name), TN_DT(v->dtype));
  return 0;
}

int tir_check_extents(const tn_arr *shape, const char *name, const tn_Span *span) {
  int64_t total = 1;
  TN_TRY(check_exprs(shape, name, span));
  for (int64_t i = 0; i < shape->len; ++i) {
    const tn_expr *e = at(shape, i);
    int64_t n;
    TN_CHECK(ir_is_integral(e->dtype) && e->dtype.lanes == 1, TypeError, span,
             "shape of %s: extent %lld: expected an integer, got %s", name, (long long)i,
             TN_DT(e->dtype));
    if (!tir_as_int((const tn_obj *)e, &n)) continue;
    TN_CHECK(n >= 0, ValueError, span, "shape of %s: extent %lld is negative: %lld", name,
             (long long)i, (long long)n);
    TN_CHECK(!__builtin_mul_overflow(total, n, &total), ValueError, span,
             "%s has more elements than memory can hold", name);
  }
  return 0;
}

/* ---- buffers ---- */

int tir_check_buffer(tn_obj *self) {
  const tn_Buffer *b = (const tn_Buffer *)self;
  const char *name = tn_cstr(b->name);
  TN_TRY(check_pointer(b->data, "tir.Buffer.data", b->span));
  TN_CHECK(b->dtype.lanes, ValueError, b->span,
           "buffer %s: expected a data type for its elements, got %s", name, TN_DT(b->dtype));
  TN_TRY(tir_check_extents(b->shape, name, b->span));
  TN_TRY(check_exprs(b->strides, "strides", b->span));
  TN_CHECK(b->strides->len == 0 || b->strides->len == b->shape->len, ValueError, b->span,
           "buffer %s: expected %lld strides or none, got %lld", name, (long long)b->shape->len,
           (long long)b->strides->len);
  return 0;
}

static int check_indices(const tn_Buffer *b, const tn_arr *indices, const tn_Span *span) {
  TN_CHECK(
      indices->len == b->shape->len, ValueError, span,
      "buffer %s is %lld-dimensional, cannot be indexed with the %lld-dimensional indices provided",
      tn_cstr(b->name), (long long)b->shape->len, (long long)indices->len);
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_expr *e = at(indices, i);
    TN_CHECK(TN_IS(PrimExpr, e), TypeError, span,
             "index %lld of buffer %s: expected PrimExpr, got %s", (long long)i, tn_cstr(b->name),
             tn_obj_key((const tn_obj *)e));
    TN_CHECK(ir_is_integral(e->dtype), TypeError, span,
             "index %lld of buffer %s: expected an integer, got %s", (long long)i, tn_cstr(b->name),
             TN_DT(e->dtype));
    TN_CHECK(i + 1 == indices->len || e->dtype.lanes == 1, ValueError, span,
             "index %lld of buffer %s: only the last index may be a vector", (long long)i,
             tn_cstr(b->name));
  }
  return 0;
}

/* Element type of the buffer with the lanes of the last index. */
static tn_dtype access_dtype(const tn_Buffer *b, const tn_arr *indices) {
  int lanes = indices->len ? at(indices, indices->len - 1)->dtype.lanes : 1;
  return tn_dtype_of(b->dtype.code, b->dtype.bits, b->dtype.lanes * lanes);
}

int tir_check_load(tn_obj *self) {
  tn_BufferLoad *e = (tn_BufferLoad *)self;
  TN_TRY(check_indices(e->buffer, e->indices, e->span));
  e->dtype = access_dtype(e->buffer, e->indices);
  return 0;
}

int tir_check_store(tn_obj *self) {
  tn_BufferStore *s = (tn_BufferStore *)self;
  TN_TRY(check_indices(s->buffer, s->indices, s->span));
  tn_dtype want = access_dtype(s->buffer, s->indices), got = s->value->dtype;
  TN_CHECK(tn_dtype_eq(want, got), TypeError, s->span,
           "store to buffer %s: expected a value of type %s, got %s", tn_cstr(s->buffer->name),
           TN_DT(want), TN_DT(got));
  return 0;
}

int tir_check_producer_load(tn_obj *self) {
  const tn_ProducerLoad *e = (const tn_ProducerLoad *)self;
  return check_exprs(e->indices, "tir.ProducerLoad.indices", e->span);
}
int tir_check_producer_store(tn_obj *self) {
  const tn_ProducerStore *s = (const tn_ProducerStore *)self;
  return check_exprs(s->indices, "tir.ProducerStore.indices", s->span);
}

static int check_ranges(const tn_Buffer *b, const tn_arr *ranges, const char *what,
                        const tn_Span *span) {
  TN_TRY(ir_check_items(ranges, &tn_type_Range, what, span));
  TN_CHECK(ranges->len == b->shape->len, ValueError, span,
           "%s: buffer %s has %lld dimensions, got %lld ranges", what, tn_cstr(b->name),
           (long long)b->shape->len, (long long)ranges->len);
  return 0;
}

int tir_check_region(tn_obj *self) {
  const tn_BufferRegion *r = (const tn_BufferRegion *)self;
  return check_ranges(r->buffer, r->region, "tir.BufferRegion.region", NULL);
}

int tir_check_buffer_realize(tn_obj *self) {
  const tn_BufferRealize *r = (const tn_BufferRealize *)self;
  TN_TRY(check_ranges(r->buffer, r->bounds, "tir.BufferRealize.bounds", r->span));
  return check_bool(r->condition, "tir.BufferRealize.condition");
}

/* ---- statements ---- */

int tir_check_if(tn_obj *self) {
  return check_bool(((tn_IfThenElse *)self)->condition, "tir.IfThenElse.condition");
}
int tir_check_while(tn_obj *self) {
  return check_bool(((tn_While *)self)->condition, "tir.While.condition");
}

int tir_check_let(tn_obj *self) {
  const tn_LetStmt *s = (const tn_LetStmt *)self;
  TN_CHECK(tn_dtype_eq(s->var->dtype, s->value->dtype), TypeError, s->span,
           "tir.LetStmt: %s is of %s, its value of %s", tn_cstr(s->var->name), TN_DT(s->var->dtype),
           TN_DT(s->value->dtype));
  return 0;
}

int tir_check_assert(tn_obj *self) {
  const tn_AssertStmt *s = (const tn_AssertStmt *)self;
  TN_TRY(check_bool(s->condition, "tir.AssertStmt.condition"));
  TN_CHECK(TN_IS(StringImm, s->message) || tn_dtype_eq(s->message->dtype, TN_I32), TypeError,
           s->span, "tir.AssertStmt.message: expected a text, got %s", TN_DT(s->message->dtype));
  return 0;
}

static int splice(tn_vec *out, const tn_arr *stmts) {
  for (int64_t i = 0; i < stmts->len; ++i) {
    const tn_SeqStmt *inner = TN_AS(SeqStmt, tn_arr_obj(stmts, i));
    TN_TRY(inner ? splice(out, inner->seq) : tn_vec_push(out, stmts->items[i]));
  }
  return 0;
}

/* A sequence holds no sequence: what it stands for would not depend on it, and no text has it. */
int tir_check_seq(tn_obj *self) {
  const tn_SeqStmt *s = (const tn_SeqStmt *)self;
  bool nested = false;
  TN_TRY(ir_check_items(s->seq, &tn_type_Stmt, "tir.SeqStmt.seq", s->span));
  for (int64_t i = 0; i < s->seq->len; ++i) nested |= TN_AS(SeqStmt, tn_arr_obj(s->seq, i)) != NULL;
  if (!nested) return 0;
  TN_VEC(flat);
  TN_TRY(splice(&flat, s->seq));
  tn_any all = tn_any_obj(tn_arr_from(&flat));
  return all.v.obj ? tn_field_set(self, tn_type_field(&tn_type_SeqStmt, "seq"), &all) : -1;
}

int tir_check_allocate(tn_obj *self) {
  const tn_Allocate *s = (const tn_Allocate *)self;
  TN_TRY(check_pointer(s->buffer_var, "tir.Allocate.buffer_var", s->span));
  TN_TRY(tir_check_extents(s->extents, tn_cstr(s->buffer_var->name), s->span));
  return check_bool(s->condition, "tir.Allocate.condition");
}

/* Content that is there has as many elements of as many bits as the statement says: whoever reads
   it goes by the statement. */
int tir_check_const(tn_obj *self) {
  const tn_AllocateConst *s = (const tn_AllocateConst *)self;
  const char *name = tn_cstr(s->buffer_var->name);
  int64_t want = 1, n;
  TN_TRY(check_pointer(s->buffer_var, "tir.AllocateConst.buffer_var", s->span));
  TN_TRY(tir_check_extents(s->extents, name, s->span));
  for (int64_t i = 0; i < s->extents->len; ++i) {
    TN_CHECK(tir_as_int((const tn_obj *)at(s->extents, i), &n), ValueError, s->span,
             "tir.AllocateConst: extent %lld of %s is not constant", (long long)i, name);
    want *= n;
  }
  if (!s->data) return 0;
  const DLTensor *dl = tn_tensor_dl((const tn_tensor *)(const void *)s->data);
  int64_t got = 1;
  for (int i = 0; i < dl->ndim; ++i) got *= dl->shape[i];
  TN_CHECK(tn_dtype_bytes(dl->dtype, got) == tn_dtype_bytes(s->dtype, want), ValueError, s->span,
           "tir.AllocateConst: %s holds %lld elements of %s, the data are %lld of %s", name,
           (long long)want, TN_DT(s->dtype), (long long)got, TN_DT(dl->dtype));
  return 0;
}

/* A constant bound takes the wider type of the loop variable. */
static int widen_bound(tn_For *f, const char *field, const tn_expr *bound) {
  const tn_IntImm *i = TN_AS(IntImm, bound);
  if (!i || i->dtype.bits >= f->loop_var->dtype.bits) return 0;
  tn_any wide = tn_any_obj(tir_const_int(f->loop_var->dtype, i->value));
  return wide.v.obj ? tn_field_set((tn_obj *)f, tn_type_field(&tn_type_For, field), &wide) : -1;
}

int tir_check_for(tn_obj *self) {
  tn_For *f = (tn_For *)self;
  const char *name = tn_cstr(f->loop_var->name);
  TN_CHECK(f->kind >= TIR_FOR_SERIAL && f->kind <= TIR_FOR_THREAD_BINDING, ValueError, f->span,
           "tir.For.kind: expected 0 to 4, got %d", f->kind);
  tn_dtype v = f->loop_var->dtype;
  TN_CHECK(ir_is_integral(v) && v.lanes == 1, TypeError, f->span,
           "loop variable %s: expected an integer, got %s", name, TN_DT(v));
  if (widen_bound(f, "min", f->min) || widen_bound(f, "extent", f->extent)) return -1;
  tn_dtype lo = f->min->dtype, n = f->extent->dtype;
  TN_CHECK(tn_dtype_eq(f->min->dtype, f->extent->dtype) || tir_is_zero(f->min), TypeError, f->span,
           "loop over %s: min is %s but extent is %s", name, TN_DT(f->min->dtype),
           TN_DT(f->extent->dtype));
  TN_CHECK(ir_is_integral(lo) && ir_is_integral(n) && n.lanes == 1, TypeError, f->span,
           "loop over %s: expected an integer extent, got %s", name, TN_DT(n));
  TN_CHECK(lo.bits <= v.bits && n.bits <= v.bits, TypeError, f->span,
           "loop over %s: the variable's type %s is narrower than the extent's, %s", name, TN_DT(v),
           TN_DT(lo.bits > n.bits ? lo : n));
  TN_CHECK(f->kind != TIR_FOR_THREAD_BINDING || f->thread_binding, ValueError, f->span,
           "loop over %s: a loop bound to a thread needs thread_binding, the IterVar of the thread "
           "axis",
           name);
  return 0;
}

/* ---- blocks and functions ---- */

int tir_check_block(tn_obj *self) {
  const tn_Block *b = (const tn_Block *)self;
  TN_TRY(ir_check_items(b->iter_vars, &tn_type_IterVar, "tir.Block.iter_vars", b->span));
  TN_TRY(ir_check_items(b->reads, &tn_type_BufferRegion, "tir.Block.reads", b->span));
  TN_TRY(ir_check_items(b->writes, &tn_type_BufferRegion, "tir.Block.writes", b->span));
  TN_TRY(ir_check_items(b->alloc_buffers, &tn_type_Buffer, "tir.Block.alloc_buffers", b->span));
  return ir_check_items(b->match_buffers, &tn_type_MatchBufferRegion, "tir.Block.match_buffers",
                        b->span);
}

int tir_check_realize(tn_obj *self) {
  tn_BlockRealize *r = (tn_BlockRealize *)self;
  TN_TRY(check_exprs(r->iter_values, "tir.BlockRealize.iter_values", r->span));
  TN_CHECK(r->iter_values->len == r->block->iter_vars->len, ValueError, r->span,
           "block %s: expected %lld iterator values, got %lld", tn_cstr(r->block->name_hint),
           (long long)r->block->iter_vars->len, (long long)r->iter_values->len);
  return check_bool(r->predicate, "tir.BlockRealize.predicate");
}

int tir_check_index_map(tn_obj *self) {
  const tn_IndexMap *m = (const tn_IndexMap *)self;
  TN_TRY(ir_check_items(m->initial_indices, &tn_type_Var, "tir.IndexMap.initial_indices", NULL));
  return check_exprs(m->final_indices, "tir.IndexMap.final_indices", NULL);
}

static int check_buffer_map(const tn_PrimFunc *f) {
  for (int64_t i = 0; i < f->buffer_map->len; ++i) {
    const tn_map_entry *e = &f->buffer_map->entries[i];
    const tn_obj *key = tn_any_is_obj(&e->key) ? e->key.v.obj : NULL;
    const tn_obj *value = tn_any_is_obj(&e->value) ? e->value.v.obj : NULL;
    TN_CHECK(TN_IS(Var, key) && TN_IS(Buffer, value), TypeError, f->span,
             "tir.PrimFunc.buffer_map: expected Var to Buffer, got %s to %s",
             tn_type_key((uint32_t)e->key.type_index), tn_type_key((uint32_t)e->value.type_index));
    TN_TRY(check_pointer((const tn_Var *)key, "tir.PrimFunc.buffer_map", f->span));
    bool known = false;
    for (int64_t j = 0; j < f->params->len && !known; ++j) known = tn_arr_obj(f->params, j) == key;
    TN_CHECK(known, ValueError, f->span, "tir.PrimFunc.buffer_map: %s is not a parameter",
             tn_cstr(((const tn_Var *)key)->name));
  }
  return 0;
}

/* No result is written as the empty tuple, no attributes as an empty dictionary, so that equal
 * functions look alike. */
int tir_check_func(tn_obj *self) {
  tn_PrimFunc *f = (tn_PrimFunc *)self;
  TN_TRY(ir_check_items(f->params, &tn_type_Var, "tir.PrimFunc.params", f->span));
  TN_TRY(check_buffer_map(f));
  if (!f->attrs) {
    tn_any attrs = tn_any_obj(ir_attrs_new(tn_scope_own(tn_map_new())));
    TN_TRY(!attrs.v.obj || tn_field_set(self, tn_type_field(&tn_type_PrimFunc, "attrs"), &attrs));
  }
  if (f->ret_type) return 0;
  tn_any none = tn_any_obj(TN_NEW(TupleType, .fields = tn_arr_of(0)));
  return none.v.obj ? tn_field_set(self, tn_type_field(&tn_type_PrimFunc, "ret_type"), &none) : -1;
}
