/* Matching of patterns, see pattern.h. */
#include <string.h>

#include "base/error.h"
#include "base/stack.h"
#include "ir/imm.h"
#include "ir/module.h"
#include "ir/op.h"
#include "object/functions.h"
#include "relay/dataflow/pattern.h"
#include "relay/infer.h"
#include "tenon/object.h"

void df_matched_fini(df_matched *m) {
  tn_vec_fini(&m->patterns);
  tn_vec_fini(&m->exprs);
  tn_pmap_fini(&m->known);
}

bool df_is_leaf(const tn_DFPattern *p) {
  return TN_AS(WildcardPattern, p) || TN_AS(VarPattern, p) || TN_AS(ConstantPattern, p) ||
         TN_AS(ExprPattern, p);
}

static int note(df_matched *m, const tn_DFPattern *p, const void *e) {
  TN_TRY(tn_vec_push_obj(&m->patterns, p));
  TN_TRY(tn_vec_push_obj(&m->exprs, e));
  return tn_pmap_get(&m->known, p) ? 0 : tn_pmap_put(&m->known, p, e);
}

/* What matched since there were `n` pairs did so in vain. */
static int forget(df_matched *m, int64_t n) {
  while (m->patterns.len > n) {
    const void *p = m->patterns.items[--m->patterns.len].v.obj;
    bool before = false;
    for (int64_t i = 0; i < m->patterns.len && !before; ++i)
      before = m->patterns.items[i].v.obj == p;
    if (!before) TN_TRY(tn_pmap_put(&m->known, p, NULL));
  }
  m->exprs.len = m->patterns.len;
  return 0;
}

/* ---- attributes and types ---- */

static bool same_value(const tn_any *a, const tn_any *b);

static bool same_arrays(const tn_arr *a, const tn_arr *b) {
  if (a->len != b->len) return false;
  for (int64_t i = 0; i < a->len; ++i)
    if (!same_value(&a->items[i], &b->items[i])) return false;
  return true;
}

/* Numbers compare by value, types by name, whatever they are written as. */
static bool same_value(const tn_any *a, const tn_any *b) {
  int64_t i, j;
  double x, y;
  tn_dtype t, u;
  bool objects = tn_any_is_obj(a) && tn_any_is_obj(b), same = false;
  if (objects && TN_AS(Array, a->v.obj) && TN_AS(Array, b->v.obj))
    return same_arrays((const tn_arr *)a->v.obj, (const tn_arr *)b->v.obj);
  if (tn_any_to_int(a, &i) == 0 && tn_any_to_int(b, &j) == 0) return i == j;
  tn_error_clear();
  if (tn_any_to_float(a, &x) == 0 && tn_any_to_float(b, &y) == 0) return x == y;
  tn_error_clear();
  if (objects) return tn_equal(a->v.obj, b->v.obj, 0) == 1;
  same = tn_any_to_dtype(a, &t) == 0 && tn_any_to_dtype(b, &u) == 0 && tn_dtype_eq(t, u);
  tn_error_clear();
  return same;
}

/* The attribute of an operator, of a function, or of a call (of its operator where that has none).
 */
static bool attr_of(const tn_obj *e, const char *key, tn_any *out) {
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  const tn_RelayFunction *f = TN_AS(RelayFunction, e);
  if (TN_AS(Op, e)) return ir_op_attr((const tn_Op *)e, key, out);
  if (f) return ir_attrs_get(f->attrs, key, out);
  if (!c) return false;
  const tn_field *field = c->attrs ? tn_type_field(((const tn_obj *)c->attrs)->type, key) : NULL;
  if (field) {
    *out = tn_field_get((const tn_obj *)c->attrs, field);
    return true;
  }
  const tn_DictAttrs *dict = TN_AS(DictAttrs, c->attrs);
  if (dict && ir_attrs_get(dict, key, out)) return true;
  return TN_AS(Op, c->op) && ir_op_attr((const tn_Op *)c->op, key, out);
}

static int match_attrs(const tn_AttrPattern *p, const tn_obj *e) {
  const tn_DictAttrs *want = TN_AS(DictAttrs, p->attrs);
  for (int64_t i = 0; want && want->dict && i < want->dict->len; ++i) {
    const tn_map_entry *entry = &want->dict->entries[i];
    tn_any have;
    const char *key;
    TN_TRY(tn_any_to_cstr(&entry->key, &key));
    if (!attr_of(e, key, &have) || !same_value(&entry->value, &have)) return 0;
  }
  return want != NULL;
}

/* The type, found where it is not known yet; NULL where it cannot be. */
static const tn_Type *type_of(const df_matched *m, const void *e) {
  const tn_Type *t = TN_IS(RelayExpr, e) ? relay_type_of(e) : NULL;
  if (t || TN_AS(Op, e)) return t;
  t = relay_infer_type(e, m->mod);
  tn_error_clear();
  return t;
}

static int match_type(const df_matched *m, const tn_Type *want, const void *e) {
  const tn_Type *t = type_of(m, e);
  return t ? tn_equal(t, want, TN_MAP_FREE_VARS) : 0;
}

static int match_shape(const df_matched *m, const tn_arr *want, const void *e) {
  const tn_TensorType *t = TN_AS(TensorType, type_of(m, e));
  return t ? same_arrays(t->shape, want) : 0;
}

static int match_dtype(const df_matched *m, tn_dtype want, const void *e) {
  const tn_TensorType *t = TN_AS(TensorType, type_of(m, e));
  return t && tn_dtype_eq(t->dtype, want);
}

/* ---- expressions ---- */

/* Both sides of an array; None matches anything. */
static int match_all(df_matched *m, const tn_arr *patterns, const tn_arr *exprs) {
  if (!patterns) return 1;
  if (patterns->len != exprs->len) return 0;
  for (int64_t i = 0; i < patterns->len; ++i) {
    int r = df_match(m, (const tn_DFPattern *)tn_arr_obj(patterns, i), tn_arr_obj(exprs, i));
    if (r != 1) return r;
  }
  return 1;
}

/* The order of the operands of sums and products does not matter. */
static int match_call(df_matched *m, const tn_CallPattern *p, const tn_RelayCall *c) {
  if (!c) return 0;
  int r = df_match(m, p->op, c->op);
  if (r != 1) return r;
  int64_t n = m->patterns.len;
  r = match_all(m, p->args, c->args);
  bool swaps = relay_as_call(c, "add") || relay_as_call(c, "multiply");
  if (r != 0 || !swaps || !p->args || p->args->len != 2) return r;
  TN_TRY(forget(m, n));
  r = df_match(m, (const tn_DFPattern *)tn_arr_obj(p->args, 0), relay_arg(c, 1));
  return r == 1 ? df_match(m, (const tn_DFPattern *)tn_arr_obj(p->args, 1), relay_arg(c, 0)) : r;
}

static int match_three(df_matched *m, const tn_DFPattern *const *p, const void *const *e) {
  for (int i = 0; i < 3; ++i) {
    int r = df_match(m, p[i], e[i]);
    if (r != 1) return r;
  }
  return 1;
}

/* Each expression of a path matches anew: what is known of the path's pattern does not count. */
static int match_on_path(df_matched *m, const tn_DFPattern *path, const void *e) {
  DF_MATCHED(own);
  own.mod = m->mod;
  int r = df_match(&own, path, e);
  return r == 1 && note(m, path, e) ? -1 : r;
}

/* Every operand of `e` is the parent, or on a way to it; what is not a call and reads nothing may
 * stand beside one that is. */
static int match_ways(df_matched *m, const tn_DominatorPattern *p, const void *e) {
  bool any = false;
  TN_TRY(tn_stack_check("a dominator pattern's path"));
  const tn_RelayCall *c = TN_AS(RelayCall, e);
  for (int64_t i = 0; c && i < c->args->len; ++i) {
    const void *arg = relay_arg(c, i);
    int r = df_match(m, p->parent, arg);
    if (r == 0) {
      int64_t n = m->patterns.len;
      r = match_on_path(m, p->path, arg);
      if (r == 1) r = match_ways(m, p, arg);
      if (r == 0) TN_TRY(forget(m, n));
    }
    if (r < 0) return -1;
    if (r == 0 && TN_AS(RelayCall, arg)) return 0;
    any = any || r == 1;
  }
  return any;
}

static int match_dominator(df_matched *m, const tn_DominatorPattern *p, const void *e) {
  int r = df_match(m, p->child, e);
  return r == 1 ? match_ways(m, p, e) : r;
}

static int match_get_item(df_matched *m, const tn_TupleGetItemPattern *p,
                          const tn_TupleGetItem *e) {
  if (!e || (p->index >= 0 && p->index != e->index)) return 0;
  return df_match(m, p->tuple, e->tuple_value);
}

static int match_function(df_matched *m, const tn_FunctionPattern *p, const tn_RelayFunction *f) {
  if (!f) return 0;
  int r = match_all(m, p->params, f->params);
  return r == 1 ? df_match(m, p->body, f->body) : r;
}

static int match_let(df_matched *m, const tn_LetPattern *p, const tn_RelayLet *l) {
  if (!l) return 0;
  return match_three(m, (const tn_DFPattern *[]){p->var, p->value, p->body},
                     (const void *[]){l->var, l->value, l->body});
}

static int match_if(df_matched *m, const tn_IfPattern *p, const tn_RelayIf *e) {
  if (!e) return 0;
  return match_three(m, (const tn_DFPattern *[]){p->cond, p->true_branch, p->false_branch},
                     (const void *[]){e->cond, e->true_branch, e->false_branch});
}

static int match_alt(df_matched *m, const tn_AltPattern *p, const void *e) {
  int r = df_match(m, p->left, e);
  return r == 0 ? df_match(m, p->right, e) : r;
}

static int match_var(const tn_VarPattern *p, const tn_RelayVar *v) {
  return v && (p->name->len == 0 || tn_str_eq(v->vid->name_hint, tn_cstr(p->name)));
}

static int match_node(df_matched *m, const tn_obj *p, const tn_obj *e) {
  int r;
  switch (p->type_index) {
  case TN_TI_WildcardPattern: return 1;
  case TN_TI_ExprPattern: {
    const tn_obj *want = (const tn_obj *)((const tn_ExprPattern *)p)->expr;
    return want == e ? 1 : tn_equal(want, e, 0);
  }
  case TN_TI_VarPattern: return match_var((const tn_VarPattern *)p, TN_AS(RelayVar, e));
  case TN_TI_ConstantPattern: return TN_AS(Constant, e) != NULL;
  case TN_TI_CallPattern: return match_call(m, (const tn_CallPattern *)p, TN_AS(RelayCall, e));
  case TN_TI_FunctionPattern:
    return match_function(m, (const tn_FunctionPattern *)p, TN_AS(RelayFunction, e));
  case TN_TI_LetPattern: return match_let(m, (const tn_LetPattern *)p, TN_AS(RelayLet, e));
  case TN_TI_IfPattern: return match_if(m, (const tn_IfPattern *)p, TN_AS(RelayIf, e));
  case TN_TI_TuplePattern: {
    const tn_RelayTuple *t = TN_AS(RelayTuple, e);
    return t ? match_all(m, ((const tn_TuplePattern *)p)->fields, t->fields) : 0;
  }
  case TN_TI_TupleGetItemPattern:
    return match_get_item(m, (const tn_TupleGetItemPattern *)p, TN_AS(TupleGetItem, e));
  case TN_TI_AltPattern: return match_alt(m, (const tn_AltPattern *)p, e);
  case TN_TI_DominatorPattern: return match_dominator(m, (const tn_DominatorPattern *)p, e);
  case TN_TI_AttrPattern:
    r = df_match(m, ((const tn_AttrPattern *)p)->pattern, e);
    return r == 1 ? match_attrs((const tn_AttrPattern *)p, e) : r;
  case TN_TI_TypePattern:
    r = df_match(m, ((const tn_TypePattern *)p)->pattern, e);
    return r == 1 ? match_type(m, ((const tn_TypePattern *)p)->type, e) : r;
  case TN_TI_ShapePattern:
    r = df_match(m, ((const tn_ShapePattern *)p)->pattern, e);
    return r == 1 ? match_shape(m, ((const tn_ShapePattern *)p)->shape, e) : r;
  case TN_TI_DataTypePattern:
    r = df_match(m, ((const tn_DataTypePattern *)p)->pattern, e);
    return r == 1 ? match_dtype(m, ((const tn_DataTypePattern *)p)->dtype, e) : r;
  default: return TN_RAISE(TypeError, NULL, "expected a pattern, got %s", tn_obj_key(p));
  }
}

int df_match(df_matched *m, const tn_DFPattern *pattern, const void *expr) {
  const void *before = tn_pmap_get(&m->known, pattern);
  int64_t n = m->patterns.len;
  if (before) return before == expr;
  TN_TRY(tn_stack_check("a pattern"));
  int r = match_node(m, (const tn_obj *)pattern, expr);
  if (r == 1) TN_TRY(note(m, pattern, expr));
  if (r == 0) TN_TRY(forget(m, n));
  return r;
}

tn_map *df_node_map(const df_matched *m, const tn_pmap *now) {
  tn_map *map;
  TN_GETP(map, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < m->patterns.len; ++i) {
    tn_obj *e = m->exprs.items[i].v.obj, *became = now ? tn_pmap_get(now, e) : NULL;
    tn_any found;
    TN_VEC(all);
    bool had = tn_map_get(map, m->patterns.items[i], &found);
    for (int64_t k = 0; had && k < ((tn_arr *)found.v.obj)->len; ++k)
      TN_TRYP(tn_vec_push(&all, ((tn_arr *)found.v.obj)->items[k]));
    TN_TRYP(tn_vec_push_obj(&all, became ? became : e));
    TN_TRYP(tn_map_set(map, m->patterns.items[i], tn_any_obj(tn_arr_from(&all))));
  }
  return map;
}
