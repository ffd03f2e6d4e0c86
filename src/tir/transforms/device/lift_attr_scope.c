/* An attribute that statements share is put around them once, as far out as it holds.

     with T.attr(x, "key", 1): a                with T.attr(x, "key", 1):
     with T.attr(x, "key", 1): b           ->     a; b

   Argument: the key. An attribute whose value depends on a loop stays inside it. */
#include "tenon/object.h"
#include "tir/transforms/transforms.h"

typedef struct {
  const tn_str *key;
  tn_AttrStmt *attr; /* around what was just visited; it was taken away. NULL: none */
} lifter;

static tn_stmt *wrapped(const tn_AttrStmt *a, tn_stmt *body) {
  if (!a || !body) return body;
  tn_AttrStmt copy = *a;
  copy.body = body;
  return tn_node_copy(&tn_type_AttrStmt, &copy);
}

static bool same_attr(const tn_AttrStmt *a, const tn_AttrStmt *b) {
  if (!a || !b) return a == b;
  bool same_node = a->node == b->node || (a->node && b->node && tn_equal(a->node, b->node, 0) == 1);
  return same_node && tn_equal(a->value, b->value, 0) == 1;
}

/* A visited body with its attribute, which goes no further out. */
static tn_stmt *closed(tn_mut *m, tn_stmt *s) {
  lifter *x = m->ctx;
  tn_stmt *r = tn_mut_visit(m, s);
  r = wrapped(x->attr, r);
  x->attr = NULL;
  return r;
}

static tn_obj *lift_attr(tn_mut *m, tn_AttrStmt *op) {
  lifter *x = m->ctx;
  if (!tn_str_eq(op->attr_key, tn_cstr(x->key))) {
    tn_AttrStmt *r = tn_mut_children(m, op);
    return (tn_obj *)r;
  }
  tn_stmt *body = tn_mut_visit(m, op->body);
  body = x->attr && !same_attr(x->attr, op) ? wrapped(x->attr, body) : body;
  x->attr = op;
  return (tn_obj *)body;
}

static tn_obj *lift_for(tn_mut *m, tn_For *op) {
  lifter *x = m->ctx;
  tn_stmt *body = tn_mut_visit(m, op->body);
  if (body && x->attr && tir_uses_var(x->attr->value, op->loop_var)) {
    body = wrapped(x->attr, body);
    x->attr = NULL;
  }
  return (tn_obj *)tir_for_with(op, op->min, op->extent, body);
}

static tn_obj *lift_allocate(tn_mut *m, tn_Allocate *op) {
  tn_Allocate copy = *op;
  TN_GETP(copy.body, closed(m, op->body));
  return copy.body == op->body ? (tn_obj *)op : tn_node_copy(&tn_type_Allocate, &copy);
}
static tn_obj *lift_let(tn_mut *m, tn_LetStmt *op) {
  tn_LetStmt copy = *op;
  TN_GETP(copy.body, closed(m, op->body));
  return copy.body == op->body ? (tn_obj *)op : tn_node_copy(&tn_type_LetStmt, &copy);
}

static tn_obj *lift_if(tn_mut *m, tn_IfThenElse *op) {
  lifter *x = m->ctx;
  tn_IfThenElse copy = *op;
  TN_GETP(copy.then_case, tn_mut_visit(m, op->then_case));
  if (op->else_case) {
    tn_AttrStmt *first = x->attr;
    x->attr = NULL;
    TN_GETP(copy.else_case, tn_mut_visit(m, op->else_case));
    if (!same_attr(first, x->attr)) {
      TN_GETP(copy.then_case, wrapped(first, copy.then_case));
      TN_GETP(copy.else_case, wrapped(x->attr, copy.else_case));
      x->attr = NULL;
    }
  }
  bool same = copy.then_case == op->then_case && copy.else_case == op->else_case;
  return same ? (tn_obj *)op : tn_node_copy(&tn_type_IfThenElse, &copy);
}

/* Neighbours with the same attribute share it; all of them pass it on. */
static tn_obj *lift_sequence(tn_mut *m, tn_SeqStmt *op) {
  lifter *x = m->ctx;
  TN_VEC(all);
  TN_VEC(run);
  tn_AttrStmt *current = NULL;
  for (int64_t i = 0; i < op->seq->len; ++i) {
    x->attr = NULL;
    tn_stmt *s = tn_mut_visit(m, tn_arr_obj(op->seq, i));
    if (!s) return NULL;
    if (run.len && !same_attr(x->attr, current)) {
      TN_TRYP(tn_vec_push_obj(&all, wrapped(current, tir_seq(&run))));
      run.len = 0;
    }
    current = x->attr;
    TN_TRYP(tn_vec_push_obj(&run, s));
  }
  x->attr = all.len ? NULL : current;
  if (!all.len) return (tn_obj *)tir_seq(&run);
  TN_TRYP(tn_vec_push_obj(&all, wrapped(current, tir_seq(&run))));
  return tn_error_pending() ? NULL : (tn_obj *)tir_seq(&all);
}

tn_PrimFunc *tir_lift_attr_scope(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {
      TN_CASE(AttrStmt, lift_attr), TN_CASE(For, lift_for),       TN_CASE(Allocate, lift_allocate),
      TN_CASE(LetStmt, lift_let),   TN_CASE(IfThenElse, lift_if), TN_CASE(SeqStmt, lift_sequence)};
  TN_CHECKP(c->nargs == 1 && c->args[0].type_index == TN_TI_String, TypeError, NULL,
            "tir.LiftAttrScope: expected the key of an attribute");
  lifter x = {.key = (const tn_str *)c->args[0].v.obj};
  TN_MUT(m, cases, &x);
  return tir_with_body(f, closed(&m, f->body));
}
