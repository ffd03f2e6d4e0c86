/* Which functions of a module refer to which, and what goes into functions for other code
   generators and comes out of them (see count.h). */
#include "base/error.h"
#include "ir/functor.h"
#include "ir/module.h"
#include "relay/analysis/count.h"
#include "relay/infer.h"
#include "relay/op.h"

static int add_global(void *ctx, tn_obj *e) {
  const tn_GlobalVar *v = TN_AS(GlobalVar, e);
  tn_vec *out = ctx;
  for (int64_t i = 0; v && i < out->len; ++i)
    if (tn_str_eq(((tn_GlobalVar *)out->items[i].v.obj)->name_hint, tn_cstr(v->name_hint)))
      return 0;
  return v ? tn_vec_push_obj(out, e) : 0;
}

tn_map *relay_call_graph(const tn_IRModule *m) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->functions->len; ++i) {
    const tn_map_entry *e = &m->functions->entries[i];
    TN_VEC(called);
    TN_CHECKP(TN_AS(RelayFunction, e->value.v.obj), TypeError, NULL,
              "CallGraph: @%s is a %s, expected functions of Relay",
              tn_cstr(((const tn_GlobalVar *)e->key.v.obj)->name_hint), tn_obj_key(e->value.v.obj));
    TN_TRYP(tn_post_order(e->value.v.obj, add_global, &called));
    TN_TRYP(tn_map_set(out, e->key, tn_any_obj(tn_arr_from(&called))));
  }
  return out;
}

/* ---- calibration ---- */

typedef struct {
  const tn_IRModule *mod;
  tn_vec outputs; /* of the new main */
  tn_map *places; /* GlobalVar -> [first, inputs, results] */
} calibration;

static const tn_RelayFunction *external(const calibration *c, const tn_obj *callee) {
  const tn_GlobalVar *v = TN_AS(GlobalVar, callee);
  tn_any found;
  const tn_BaseFunc *f = v ? ir_module_lookup(c->mod, v) : NULL;
  return f && ir_attrs_get(f->attrs, "Compiler", &found) ? TN_AS(RelayFunction, f) : NULL;
}

static int add_external(void *ctx, tn_obj *e) {
  calibration *c = ctx;
  const tn_RelayCall *call = TN_AS(RelayCall, e);
  if (!call || !external(c, (tn_obj *)call->op)) return 0;
  const tn_TupleType *tuple = TN_AS(TupleType, relay_type_of(call));
  int64_t first = c->outputs.len, n = tuple ? tuple->fields->len : 1;
  for (int64_t i = 0; i < call->args->len; ++i) {
    TN_CHECK(relay_tensor_type_of_expr(relay_arg(call, i)), ValueError, call->span,
             "get_calibration_data: @%s gets a tuple",
             tn_cstr(((tn_GlobalVar *)call->op)->name_hint));
    TN_TRY(tn_vec_push_obj(&c->outputs, relay_arg(call, i)));
  }
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(tn_vec_push_obj(&c->outputs, tuple ? (void *)relay_get_item(e, i) : (void *)e));
  const int64_t place[] = {first, call->args->len, n};
  tn_arr *numbers;
  TN_GET(numbers, relay_ints(place, 3));
  return tn_map_set(c->places, tn_any_obj(call->op), tn_any_obj(numbers));
}

/* Functions for other code generators become part of main. */
static tn_IRModule *opened(const calibration *c, const tn_GlobalVar *main, tn_RelayFunction *f) {
  tn_map *functions;
  tn_any key, value;
  TN_GETP(functions, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; tn_map_at(c->mod->functions, i, &key, &value); ++i) {
    tn_RelayFunction *own = TN_AS(RelayFunction, value.v.obj);
    if (key.v.obj == (tn_obj *)(uintptr_t)main) own = f;
    else if (external(c, key.v.obj)) {
      tn_DictAttrs *attrs;
      TN_GETP(attrs, ir_attrs_with(NULL, "Inline", tn_any_obj(tir_i32(1))));
      TN_GETP(own, relay_function(own->params, own->body, own->ret_type, attrs));
    }
    TN_TRYP(tn_map_set(functions, key, own ? tn_any_obj(own) : value));
  }
  return ir_module_with_functions(c->mod, functions);
}

static tn_arr *calibrate(calibration *c) {
  const tn_GlobalVar *main;
  tn_RelayFunction *f;
  tn_RelayTuple *all;
  tn_IRModule *m;
  TN_GETP(main, ir_module_var(c->mod, "main"));
  f = TN_AS(RelayFunction, ir_module_lookup(c->mod, main));
  TN_CHECKP(f, TypeError, NULL, "get_calibration_data: @main is not a function of Relay");
  TN_TRYP(tn_post_order(f->body, add_external, c));
  TN_GETP(all, relay_tuple(tn_arr_from(&c->outputs)));
  TN_GETP(f, relay_function(f->params, all, NULL, f->attrs));
  TN_GETP(m, opened(c, main, f));
  return tn_arr_of(2, m, c->places);
}

tn_arr *relay_calibration(tn_IRModule *m) {
  calibration c = {0};
  TN_GETP(c.mod, relay_infer_module(m));
  TN_GETP(c.places, tn_scope_own(tn_map_new()));
  tn_arr *r = calibrate(&c);
  tn_vec_fini(&c.outputs);
  return r;
}
