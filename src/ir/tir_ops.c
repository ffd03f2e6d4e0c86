/* Registration of the intrinsics: rows of tir_ops.def become operators with attributes. */
#include "ir/tir_ops.h"

#include "ir/functor.h"
#include "ir/ir_impl.h"

static const struct {
  const char *name;
  int8_t ninputs;
  uint8_t effect, vectorizable;
  const char *doc;
} rows[] = {
#define AS_ROW(name, ninputs, effect, vec, doc)                                                    \
  {"tir." #name, ninputs, TIR_EFFECT_##effect, vec, doc},
    TIR_OPS(AS_ROW)};

static tn_Op *ops[TIR_OP_END];

tn_Op *tir_op(tir_op_id id) { return ops[id]; }

tir_op_id tir_op_number(const tn_obj *op) {
  const tn_Op *o = TN_AS(Op, op);
  return o && o->index < TIR_OP_END ? (tir_op_id)o->index : TIR_OP_END;
}

tir_effect tir_call_effect(const tn_obj *op) {
  tn_any v;
  tir_op_id id = tir_op_number(op);
  if (id != TIR_OP_END) return (tir_effect)rows[id].effect;
  const tn_Op *o = TN_AS(Op, op);
  if (o && ir_op_attr(o, "TCallEffectKind", &v)) {
    int64_t kind;
    if (tn_any_to_int(&v, &kind) == 0 && kind >= 0 && kind <= TIR_EFFECT_JUMP)
      return (tir_effect)kind;
    tn_error_clear();
  }
  return TIR_EFFECT_OPAQUE;
}

static int note_effect(void *ctx, tn_obj *node) {
  tir_effect *worst = ctx, e = TIR_EFFECT_PURE;
  const tn_Call *call = TN_AS(Call, node);
  if (call) e = tir_call_effect((tn_obj *)call->op);
  else if (node->type_index >= TN_TI_END_expr && TN_IS(PrimExpr, node)) e = TIR_EFFECT_READ;
  if (e > *worst) *worst = e;
  return 0;
}

int tir_effect_of(const tn_expr *e, tir_effect *out) {
  *out = TIR_EFFECT_PURE;
  return tn_post_order(e, note_effect, out);
}

typedef struct {
  int64_t nodes, most;
} counted;

static int count_node(void *ctx, tn_obj *node) {
  counted *c = ctx;
  bool expr = TN_IS(PrimExpr, node);
  if ((!expr && !TN_AS(Array, node)) || TN_AS(IntImm, node)) return 0;
  c->nodes += expr;
  return c->nodes > c->most ? 1 : tn_visit_children(node, count_node, ctx);
}

bool tir_is_larger(const tn_expr *e, int64_t most) {
  counted c = {.most = most};
  return count_node(&c, (tn_obj *)(uintptr_t)e) != 0;
}

tir_effect tir_side_effect(const tn_expr *e) {
  tir_effect worst;
  if (tir_effect_of(e, &worst)) {
    tn_error_clear();
    return TIR_EFFECT_OPAQUE;
  }
  return worst;
}

bool tir_op_vectorizable(const tn_obj *op) {
  tn_any v;
  tir_op_id id = tir_op_number(op);
  if (id != TIR_OP_END) return rows[id].vectorizable;
  const tn_Op *o = TN_AS(Op, op);
  return o && ir_op_attr(o, "TVectorizable", &v);
}

static int add(int id) {
  tn_Op *op = ir_op_declare(rows[id].name);
  tn_str *doc = tn_str_from(rows[id].doc);
  if (!op || !doc) return -1;
  TN_ICHECK(op->index == id);
  tn_retain(doc);
  tn_release(op->description);
  op->description = doc;
  op->num_inputs = rows[id].ninputs;
  ops[id] = op;
  TN_TRY(ir_op_set_attr(op, "TCallEffectKind", tn_any_int(rows[id].effect), 10));
  if (rows[id].vectorizable) TN_TRY(ir_op_set_attr(op, "TVectorizable", tn_any_bool(true), 10));
  return 0;
}

/* Runs before any other operator is declared: numbers are indices. */
int ir_tir_ops_init(void) {
  for (int i = 0; i < TIR_OP_END; ++i) TN_TRY(add(i));
  return 0;
}
