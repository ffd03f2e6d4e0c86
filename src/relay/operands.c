/* The operands of an expression, in the order in which they are evaluated. */
#include "relay/relay.h"

static const void *item(const tn_arr *a, int64_t i) { return i < a->len ? tn_arr_obj(a, i) : NULL; }

const void *relay_operand(const tn_obj *e, int64_t i) {
  switch (e->type_index) {
  case TN_TI_RelayCall: {
    const tn_RelayCall *c = (const tn_RelayCall *)e;
    return i > 0 ? item(c->args, i - 1) : (const void *)c->op;
  }
  case TN_TI_RelayTuple: return item(((const tn_RelayTuple *)e)->fields, i);
  case TN_TI_TupleGetItem: return i == 0 ? ((const tn_TupleGetItem *)e)->tuple_value : NULL;
  case TN_TI_RelayFunction: {
    const tn_RelayFunction *f = (const tn_RelayFunction *)e;
    return i == f->params->len ? (const void *)f->body : item(f->params, i);
  }
  case TN_TI_RelayLet: {
    const tn_RelayLet *l = (const tn_RelayLet *)e;
    const void *all[] = {l->value, l->var, l->body};
    return i < 3 ? all[i] : NULL;
  }
  case TN_TI_RelayIf: {
    const tn_RelayIf *c = (const tn_RelayIf *)e;
    const void *all[] = {c->cond, c->true_branch, c->false_branch};
    return i < 3 ? all[i] : NULL;
  }
  case TN_TI_RefCreate: return i == 0 ? ((const tn_RefCreate *)e)->value : NULL;
  case TN_TI_RefRead: return i == 0 ? ((const tn_RefRead *)e)->ref : NULL;
  case TN_TI_RefWrite: {
    const tn_RefWrite *w = (const tn_RefWrite *)e;
    return i == 0 ? w->ref : i == 1 ? w->value : NULL;
  }
  case TN_TI_Match: {
    const tn_Match *m = (const tn_Match *)e;
    const tn_Clause *c = i > 0 ? item(m->clauses, i - 1) : NULL;
    return i == 0 ? (const void *)m->data : c ? c->rhs : NULL;
  }
  default: return NULL;
  }
}
