/* Asking operators for facts (see facts.h). */
#include "relay/facts.h"

#include "ir/op.h"
#include "object/functions.h"
#include "relay/op.h"
#include "relay/relay_impl.h"

const tn_obj *relay_op_of(const void *call) {
  const tn_RelayCall *c = TN_AS(RelayCall, call);
  return c && TN_AS(Op, c->op) ? (const tn_obj *)c->op : NULL;
}

/* ---- questions ---- */

/* What a row with a function of elements states by having it. */
static const relay_op_row of_elements = {.values = RELAY_COMPUTED,
                                         .apart = RELAY_IMAGES_AND_CHANNELS};

#define ANSWER(fact, VALUES, doc)                                                                  \
  relay_##fact relay_op_##fact(const tn_obj *op) {                                                 \
    const relay_op_row *row = relay_op_row_of(op);                                                 \
    if (!row) return RELAY_##fact##_unset;                                                         \
    return row->fact == RELAY_##fact##_unset && row->element ? of_elements.fact : row->fact;       \
  }
RELAY_FACTS(ANSWER)

bool relay_op_only_moves(const tn_obj *op) {
  relay_values v = relay_op_values(op);
  return v == RELAY_RESHAPED || v == RELAY_MOVED || v == RELAY_CHOSEN;
}

/* ---- for programs ---- */

#define TEXT(name, text, doc)    [RELAY_##name] = text,
#define TEXTS(fact, VALUES, doc) static const char *const fact##_texts[] = {VALUES(TEXT)};
RELAY_FACTS(TEXTS)

static int add_fact(tn_map *all, const char *name, const char *text) {
  return text ? tn_map_set(all, tn_any_cstr(name), tn_any_cstr(text)) : 0;
}

/* Of the operator of a name: fact -> what it states, without those that are unset. */
static int facts(TN_ARGS) {
  const char *name;
  tn_Op *op;
  tn_map *all;
  TN_NARGS("relay.op.facts", 1);
  TN_TRY(tn_any_to_cstr(&args[0], &name));
  TN_GET(op, ir_op_get(name));
  TN_GET(all, tn_scope_own(tn_map_new()));
  int err = 0;
#define ADD(fact, VALUES, doc)                                                                     \
  err = err || add_fact(all, #fact, fact##_texts[relay_op_##fact((const tn_obj *)op)]);
  RELAY_FACTS(ADD)
  return err ? -1 : tn_ret_obj(ret, all);
}

/* fact -> {what it may state: what that means} */
static int fact_values(TN_ARGS) {
  tn_map *all;
  TN_NARGS("relay.op.fact_values", 0);
  (void)args;
  TN_GET(all, tn_scope_own(tn_map_new()));
#define ADD_VALUE(name, text, doc) err = err || add_fact(one, text, doc);
#define ADD_VALUES(fact, VALUES, doc)                                                              \
  {                                                                                                \
    tn_map *one;                                                                                   \
    int err = 0;                                                                                   \
    TN_GET(one, tn_scope_own(tn_map_new()));                                                       \
    VALUES(ADD_VALUE)                                                                              \
    if (err) return -1;                                                                            \
    TN_TRY(tn_map_set(all, tn_any_cstr(#fact), tn_any_obj(one)));                                  \
  }
  RELAY_FACTS(ADD_VALUES)
  return tn_ret_obj(ret, all);
}

static const tn_func_row rows[] = {{"relay.op.facts", facts},
                                   {"relay.op.fact_values", fact_values}};

int relay_facts_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
