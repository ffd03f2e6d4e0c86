/* Questions that one walk over a program answers (see count.h). */
#include "relay/analysis/count.h"

#include <string.h>

#include "ir/functor.h"
#include "ir/module.h"
#include "relay/analysis/analysis.h"
#include "relay/op.h"
#include "tenon/object.h"

static const char *op_name(const tn_obj *e) {
  const char *name = relay_called_op(e);
  return name ? name : "";
}

/* ---- operators by name ---- */

static int count_op(void *ctx, tn_obj *e) {
  const char *name = op_name(e);
  tn_any had;
  if (!*name) return 0;
  tn_str *key = tn_str_from(name);
  if (!key) return -1;
  int64_t n = tn_map_get(ctx, tn_any_obj(key), &had) ? had.v.i64 : 0;
  return tn_map_set(ctx, tn_any_obj(key), tn_any_int(n + 1));
}

tn_map *relay_op_freqs(const tn_IRModule *m) {
  tn_map *counts = tn_scope_own(tn_map_new());
  for (int64_t i = 0; counts && i < m->functions->len; ++i) {
    const tn_obj *f = m->functions->entries[i].value.v.obj;
    if (TN_AS(RelayFunction, f)) TN_TRYP(tn_post_order(f, count_op, counts));
  }
  return counts;
}

/* ---- operators between dequantize and quantize ---- */

typedef struct {
  tn_map *counts;
  tn_pmap counted;
  bool whole; /* all values of the region come from dequantize or constants */
} fake_quantized;

static bool see_region(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field, (void)child;
  return !relay_as_call(parent, "qnn.dequantize");
}

static int check_region(void *ctx, tn_obj *e) {
  fake_quantized *q = ctx;
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  q->whole &= !TN_AS(RelayVar, e) && (!c || TN_AS(Op, c->op));
  return 0;
}

static int count_region(void *ctx, tn_obj *e) {
  fake_quantized *q = ctx;
  const char *name = op_name(e);
  if (!*name || strcmp(name, "qnn.dequantize") == 0 || tn_pmap_has(&q->counted, e)) return 0;
  TN_TRY(tn_pmap_put_int(&q->counted, e, 1));
  return count_op(q->counts, e);
}

static int count_before_quantize(void *ctx, tn_obj *e) {
  fake_quantized *q = ctx;
  const tn_RelayCall *c = relay_as_call(e, "qnn.quantize");
  if (!c) return 0;
  q->whole = true;
  TN_TRY(tn_post_order_if(relay_arg(c, 0), see_region, check_region, q));
  return q->whole ? tn_post_order_if(relay_arg(c, 0), see_region, count_region, q) : 0;
}

tn_map *relay_fake_quantized_ops(const tn_IRModule *m) {
  fake_quantized q = {.counts = tn_scope_own(tn_map_new())};
  int err = q.counts ? 0 : -1;
  for (int64_t i = 0; !err && i < m->functions->len; ++i) {
    const tn_obj *f = m->functions->entries[i].value.v.obj;
    if (TN_AS(RelayFunction, f)) err = tn_post_order(f, count_before_quantize, &q);
  }
  tn_pmap_fini(&q.counted);
  return err ? NULL : q.counts;
}

/* ---- features ---- */

static const struct {
  const tn_type *type;
  relay_feature feature;
} features[] = {
    {&tn_type_RelayVar, RELAY_F_VAR},
    {&tn_type_GlobalVar, RELAY_F_GLOBAL_VAR},
    {&tn_type_Constant, RELAY_F_CONSTANT},
    {&tn_type_RelayTuple, RELAY_F_TUPLE},
    {&tn_type_TupleGetItem, RELAY_F_TUPLE_GET_ITEM},
    {&tn_type_RelayFunction, RELAY_F_FUNCTION},
    {&tn_type_Op, RELAY_F_OP},
    {&tn_type_RelayCall, RELAY_F_CALL},
    {&tn_type_RelayLet, RELAY_F_LET},
    {&tn_type_RelayIf, RELAY_F_IF},
    {&tn_type_RefCreate, RELAY_F_REF_CREATE},
    {&tn_type_RefRead, RELAY_F_REF_READ},
    {&tn_type_RefWrite, RELAY_F_REF_WRITE},
    {&tn_type_Constructor, RELAY_F_CONSTRUCTOR},
    {&tn_type_Match, RELAY_F_MATCH},
};

typedef struct {
  int64_t found;
  tn_pmap uses; /* expression to the number of times it was met */
} feature_walk;

static bool is_atom(const tn_obj *e) {
  return TN_AS(RelayVar, e) || TN_AS(Op, e) || TN_AS(GlobalVar, e) || TN_AS(Constructor, e) ||
         TN_AS(Constant, e);
}

static int count_use(feature_walk *w, const tn_obj *e) {
  int64_t n = tn_pmap_get_int(&w->uses, e, 0) + 1;
  if (n > 1 && !is_atom(e)) w->found |= 1 << RELAY_F_GRAPH;
  return tn_pmap_put_int(&w->uses, e, n);
}

static int uses_id(void *ctx, tn_obj *e) {
  const tn_RelayVar *v = TN_AS(RelayVar, e);
  return v && v->vid == ctx ? 1 : 0;
}

static int feature_of(void *ctx, tn_obj *e) {
  feature_walk *w = ctx;
  for (int i = 0; i < TN_COUNT(features); ++i) {
    if (e->type == features[i].type) w->found |= (int64_t)1 << features[i].feature;
  }
  const tn_obj *child;
  for (int64_t i = 0; (child = relay_operand(e, i)); ++i) TN_TRY(count_use(w, child));
  const tn_RelayLet *l = TN_AS(RelayLet, e);
  if (!l || !TN_AS(RelayFunction, l->value)) return 0;
  int inside = tn_post_order(l->value, uses_id, l->var->vid);
  if (inside > 0) w->found |= 1 << RELAY_F_LET_REC;
  return inside < 0 ? -1 : 0;
}

int64_t relay_features(const void *expr) {
  feature_walk w = {0};
  int err = tn_post_order(expr, feature_of, &w);
  tn_pmap_fini(&w.uses);
  return err ? -1 : w.found;
}

/* ---- layers ---- */

typedef struct {
  const tn_arr *ops;
  tn_pmap depth;
} layers;

static int64_t depth_of(const layers *l, const void *e) { return tn_pmap_get_int(&l->depth, e, 0); }

static bool is_one_of(const tn_arr *names, const char *name) {
  for (int64_t i = 0; i < names->len; ++i) {
    if (strcmp(tn_cstr((const tn_str *)tn_arr_obj(names, i)), name) == 0) return true;
  }
  return false;
}

static int count_layer(void *ctx, tn_obj *e) {
  layers *l = ctx;
  const void *child;
  int64_t most = 0;
  for (int64_t i = 0; (child = relay_operand(e, i)); ++i) {
    if (depth_of(l, child) > most) most = depth_of(l, child);
  }
  return tn_pmap_put_int(&l->depth, e, most + is_one_of(l->ops, op_name(e)));
}

int64_t relay_count_layers(const void *expr, const tn_arr *ops) {
  layers l = {.ops = ops};
  int err = tn_post_order(expr, count_layer, &l);
  int64_t n = depth_of(&l, expr);
  tn_pmap_fini(&l.depth);
  return err ? -1 : n;
}

/* ---- data types ---- */

static int add_dtype(tn_map *all, tn_dtype t) {
  tn_str *s = tn_str_from(TN_DT(t));
  return s ? tn_map_set(all, tn_any_obj(s), tn_any_int(1)) : -1;
}

static int add_dtypes(void *ctx, tn_obj *t) {
  const tn_TensorType *tensor = TN_AS(TensorType, t);
  if (tensor) return add_dtype(ctx, tensor->dtype);
  return TN_IS(Type, t) || TN_AS(Array, t) ? tn_visit_children(t, add_dtypes, ctx) : 0;
}

static int dtypes_of(void *ctx, tn_obj *e) {
  tn_Type *t = TN_IS(RelayExpr, e) ? relay_type_of(e) : NULL;
  return t ? add_dtypes(ctx, (tn_obj *)t) : 0;
}

tn_arr *relay_dtypes(const void *expr) {
  TN_VEC(v);
  tn_map *all = tn_scope_own(tn_map_new());
  if (!all || tn_post_order(expr, dtypes_of, all)) return NULL;
  for (int64_t i = 0; i < all->len; ++i) TN_TRYP(tn_vec_push(&v, all->entries[i].key));
  return tn_arr_from(&v);
}

/* ---- other ---- */

bool relay_is_constant(const void *expr) {
  const tn_RelayTuple *t = TN_AS(RelayTuple, expr);
  bool all = t != NULL;
  for (int64_t i = 0; all && i < t->fields->len; ++i)
    all = relay_is_constant(tn_arr_obj(t->fields, i));
  return TN_AS(Constant, expr) || all;
}

static int find_transpose(void *ctx, tn_obj *e) {
  const tn_RelayCall *dense = relay_as_call(e, "nn.dense");
  const tn_RelayCall *t = dense ? relay_as_call(relay_arg(dense, 1), "transpose") : NULL;
  const tn_RelayVar *w = t ? TN_AS(RelayVar, relay_arg(t, 0)) : NULL;
  return w ? tn_vec_push_obj(ctx, w->vid->name_hint) : 0;
}

tn_arr *relay_fc_transposes(const void *expr) {
  TN_VEC(v);
  return tn_post_order(expr, find_transpose, &v) ? NULL : tn_arr_from(&v);
}

typedef struct {
  int64_t left;
  tn_obj *found;
} numbered;

static int find_number(void *ctx, tn_obj *e) {
  numbered *n = ctx;
  if (!TN_AS(RelayCall, e) && !TN_AS(RelayTuple, e) && !TN_AS(TupleGetItem, e)) return 0;
  if (n->left-- > 0) return 0;
  n->found = e;
  return 1;
}

tn_IRModule *relay_intermediate(const tn_IRModule *m, int64_t at) {
  numbered n = {.left = at};
  tn_GlobalVar *v = ir_module_var(m, "main");
  if (!v) return NULL;
  if (at >= 0 && tn_post_order(ir_module_lookup(m, v), find_number, &n) < 0) return NULL;
  TN_CHECKP(n.found, IndexError, NULL, "the program has no expression of number %lld",
            (long long)at);
  return relay_module_from_expr(n.found, NULL, NULL);
}

/* ---- kernels ---- */

static int add_kernel(void *ctx, tn_obj *e) {
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  uint64_t hash;
  if (!f || !ir_attrs_flag(f->attrs, "Primitive")) return 0;
  TN_TRY(tn_hash_any(tn_any_obj(f), 0, &hash));
  tn_str *name = tn_str_fmt("%llu", (unsigned long long)hash);
  if (!name) return -1;
  if (tn_map_find(ctx, tn_cstr(name))) return 0;
  return tn_map_set(ctx, tn_any_obj(name), tn_any_obj(f));
}

tn_map *relay_kernels(const tn_IRModule *m) {
  tn_map *all = tn_scope_own(tn_map_new());
  tn_GlobalVar *v = all ? ir_module_var(m, "main") : NULL;
  return v && tn_post_order(ir_module_lookup(m, v), add_kernel, all) == 0 ? all : NULL;
}
