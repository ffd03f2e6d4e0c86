/* Which integers are places and which are data. Places are made of loop variables, extents and
   constants, and do not overflow their type; data come out of memory or from calls and wrap around.
   Code generators may say the first of places only. */
#include "ir/expr.h"
#include "ir/functor.h"
#include "tir/analysis.h"

enum { DATA = 1, EXTENTS = 2 };              /* a variable that is data; a pointer to extents */
enum { SHAPE = 2, STRIDES = 3, VALUE = 12 }; /* fields of T.tvm_struct_get */

static int64_t field_of(const tn_obj *e) {
  const tn_Call *get = tir_as_call(e, TIR_OP_tvm_struct_get);
  int64_t field;
  return get && get->args->len == 3 && tir_as_int(tn_arr_obj(get->args, 2), &field) ? field : -1;
}

static bool is_data_call(const tn_Call *c) {
  tir_op_id op = tir_op_number((const tn_obj *)c->op);
  if (op == TIR_OP_tvm_struct_get) return field_of((const tn_obj *)c) == VALUE;
  return op == TIR_OP_END || op == TIR_OP_call_pure_extern || op == TIR_OP_call_llvm_pure_intrin ||
         tir_call_effect((const tn_obj *)c->op) > TIR_EFFECT_PURE;
}

static int is_data(void *ctx, tn_obj *node) {
  const tn_pmap *known = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  const tn_Call *call = TN_AS(Call, node);
  const tn_Cast *cast = TN_AS(Cast, node);
  if (load) return tn_pmap_get_int(known, load->buffer->data, 0) == EXTENTS ? 1 : 2;
  if (call && is_data_call(call)) return 2;
  if (cast && !ir_is_integral(cast->value->dtype)) return 2;
  return tn_pmap_get_int(known, node, 0) == DATA ? 2 : 0;
}

bool tir_is_place(const tn_pmap *data, const tn_expr *e) {
  return tn_pre_order(e, is_data, (void *)(uintptr_t)data) == 0;
}

static int note(tn_pmap *data, const tn_Var *v, const tn_expr *value) {
  int64_t field = field_of((const tn_obj *)value);
  if (field == SHAPE || field == STRIDES) return tn_pmap_put_int(data, v, EXTENTS);
  if (!ir_is_integral(v->dtype) || tir_is_place(data, value)) return 0;
  return tn_pmap_put_int(data, v, DATA);
}

static int note_let(void *ctx, tn_obj *node) {
  const tn_LetStmt *s = TN_AS(LetStmt, node);
  const tn_Let *e = TN_AS(Let, node);
  if (s) return note(ctx, s->var, s->value);
  return e ? note(ctx, e->var, e->value) : 0;
}

int tir_find_data(const tn_PrimFunc *f, tn_pmap *data) {
  return tn_pre_order(f->body, note_let, data);
}
