/* Unification of types (see solver.h). */
#include "base/stack.h"
#include "ir/module.h"
#include "object/repr.h"
#include "relay/infer/solver_impl.h"
#include "relay/type_text.h"

/* ---- walking types ---- */

typedef struct {
  tn_Type *(*leaf)(void *ctx, const tn_Type *t); /* for IncompleteType and TypeVar */
  void *ctx;
} type_map;

static tn_obj *map_type(void *ctx, tn_obj *o) {
  const type_map *m = ctx;
  switch (o->type_index) {
  case TN_TI_IncompleteType:
  case TN_TI_TypeVar: return (tn_obj *)m->leaf(m->ctx, (const tn_Type *)o);
  case TN_TI_TupleType:
  case TN_TI_FuncType:
  case TN_TI_RefType:
  case TN_TI_TypeCall:
  case TN_TI_TypeRelation:
    TN_TRYP(tn_stack_check("a type"));
    return tn_map_children(o, map_type, ctx);
  case TN_TI_Array: return tn_map_children(o, map_type, ctx);
  default: return o;
  }
}

tn_Type *relay_follow(const relay_solver *s, const tn_Type *type) {
  while (TN_AS(IncompleteType, type)) {
    const tn_Type *next = tn_pmap_get(&s->bound, type);
    if (!next) break;
    type = next;
  }
  return (tn_Type *)(uintptr_t)type;
}

static tn_Type *resolve_leaf(void *ctx, const tn_Type *t) {
  tn_Type *known = relay_follow(ctx, t);
  return TN_AS(IncompleteType, known) || known == t ? known : relay_resolve(ctx, known);
}

tn_Type *relay_resolve(relay_solver *s, const void *type) {
  type_map m = {resolve_leaf, s};
  return type ? (tn_Type *)map_type(&m, (tn_obj *)(uintptr_t)type) : NULL;
}

static tn_Type *bind_leaf(void *ctx, const tn_Type *t) {
  tn_Type *to = tn_pmap_get(ctx, t);
  return to ? to : (tn_Type *)(uintptr_t)t;
}

tn_Type *relay_type_bind(const void *type, const tn_pmap *vars) {
  type_map m = {bind_leaf, (void *)(uintptr_t)vars};
  return type ? (tn_Type *)map_type(&m, (tn_obj *)(uintptr_t)type) : NULL;
}

typedef struct {
  relay_solver *s;
  const tn_Type *what;
  bool found;
} occurrence;

static tn_Type *occurs_leaf(void *ctx, const tn_Type *t) {
  occurrence *o = ctx;
  const tn_Type *known = relay_follow(o->s, t);
  if (known == o->what) o->found = true;
  else if (!TN_AS(IncompleteType, known) && known != t) {
    type_map m = {occurs_leaf, o};
    map_type(&m, (tn_obj *)(uintptr_t)known);
  }
  return (tn_Type *)(uintptr_t)t;
}

/* Is `what` part of the type? */
static bool occurs(relay_solver *s, const tn_Type *what, const tn_Type *in) {
  if (TN_AS(TensorType, in)) return false;
  occurrence o = {.s = s, .what = what};
  type_map m = {occurs_leaf, &o};
  map_type(&m, (tn_obj *)(uintptr_t)in);
  return o.found;
}

bool relay_is_wrong(relay_solver *s, const tn_Type *type) {
  return s->wrong && occurs(s, s->wrong, type);
}

/* ---- binding ---- */

static int keep(relay_solver *s, const void *o) {
  TN_TRY(tn_vec_push_obj(&s->kept, o));
  tn_retain(o);
  return 0;
}

static int bind(relay_solver *s, tn_Type *unknown, tn_Type *to) {
  TN_TRY(keep(s, unknown));
  TN_TRY(keep(s, to));
  TN_TRY(tn_pmap_put(&s->bound, unknown, to));
  return relay_solver_wake(s, unknown);
}

static tn_Type *give_up_leaf(void *ctx, const tn_Type *t) {
  relay_solver *s = ctx;
  tn_Type *known = relay_follow(s, t);
  if (TN_AS(IncompleteType, known)) TN_TRYP(known != s->wrong && bind(s, known, s->wrong));
  else if (known != t) TN_TRYP(relay_give_up(s, known));
  return (tn_Type *)(uintptr_t)t;
}

int relay_give_up(relay_solver *s, const tn_Type *type) {
  type_map m = {give_up_leaf, s};
  return type && s->wrong && !map_type(&m, (tn_obj *)(uintptr_t)type) ? -1 : 0;
}

/* The last IncompleteType before what `t` stands for; NULL when it is not one. */
static tn_Type *last_unknown(const relay_solver *s, tn_Type *t) {
  tn_Type *last = NULL;
  while (TN_AS(IncompleteType, t)) {
    last = t;
    if (!(t = tn_pmap_get(&s->bound, t))) break;
  }
  return last;
}

static tn_Type *join(relay_solver *s, tn_Type *a, tn_Type *b);

/* ---- extents ---- */

static tn_expr *known_dim(const relay_solver *s, tn_expr *e) {
  tn_expr *to = TN_AS(Var, e) ? tn_pmap_get(&s->dims, e) : NULL;
  return to ? to : e;
}

/* The extent both have then; NULL (without an error) when they differ. */
static tn_expr *join_dim(relay_solver *s, tn_expr *a, tn_expr *b) {
  a = known_dim(s, a), b = known_dim(s, b);
  if (a == b || relay_dim_is_any(a)) return a;
  if (relay_dim_is_any(b)) return b;
  if (TN_AS(Var, b) && TN_AS(IntImm, a)) {
    tn_expr *t = a;
    a = b, b = t;
  }
  if (TN_AS(Var, a) && TN_AS(IntImm, b)) return tn_pmap_put(&s->dims, a, b) ? NULL : b;
  return relay_dim_equal(a, b) == 1 ? a : NULL;
}

static void print_dim(tn_buf *out, const tn_expr *e) {
  int64_t v;
  if (tir_as_int((const tn_obj *)e, &v)) tn_buf_printf(out, "%lld", (long long)v);
  else tn_repr_print(out, tn_any_obj(e));
}

static tn_Type *join_tensors(relay_solver *s, const tn_TensorType *a, const tn_TensorType *b) {
  if (!tn_dtype_eq(a->dtype, b->dtype)) return NULL;
  if (a->shape->len != b->shape->len) {
    tn_buf_printf(&s->why, "\ntensor type `%s` has %lld dimensions, while `%s` has %lld dimensions",
                  relay_type_text(a), (long long)a->shape->len, relay_type_text(b),
                  (long long)b->shape->len);
    return NULL;
  }
  TN_VEC(dims);
  bool as_a = true, as_b = true, fits = true;
  for (int64_t i = 0; i < a->shape->len; ++i) {
    tn_expr *x = relay_dim(a, i), *y = relay_dim(b, i), *e = join_dim(s, x, y);
    if (!e && !tn_error_pending()) {
      tn_buf_printf(&s->why, "%s dimension %lld conflicts: ", fits ? "\nin particular" : "",
                    (long long)i);
      print_dim(&s->why, x);
      tn_buf_puts(&s->why, " does not match ");
      print_dim(&s->why, y);
      tn_buf_puts(&s->why, ".");
      fits = false;
    }
    as_a = as_a && (e == x || known_dim(s, x) != x), as_b = as_b && e == y;
    if (fits) TN_TRYP(tn_vec_push_obj(&dims, e));
  }
  if (!fits) return NULL;
  if (as_a || as_b) return (tn_Type *)(uintptr_t)(as_a ? a : b);
  return (tn_Type *)relay_tensor_type(tn_arr_from(&dims), a->dtype);
}

/* ---- other types ---- */

/* The joined elements; a itself where they are its own. */
static tn_arr *join_lists(relay_solver *s, tn_arr *a, const tn_arr *b) {
  TN_VEC(v);
  bool same = true;
  if (a->len != b->len) return NULL;
  for (int64_t i = 0; i < a->len; ++i) {
    tn_Type *t = (tn_Type *)tn_arr_obj(a, i), *j = join(s, t, (tn_Type *)tn_arr_obj(b, i));
    if (!j) return NULL;
    same = same && j == t;
    TN_TRYP(tn_vec_push_obj(&v, j));
  }
  return same ? a : tn_arr_from(&v);
}

static tn_Type *join_tuples(relay_solver *s, tn_TupleType *a, const tn_TupleType *b) {
  tn_arr *fields = join_lists(s, a->fields, b->fields);
  return (tn_Type *)(fields == a->fields || !fields ? fields ? a : NULL : relay_tuple_type(fields));
}

/* The type parameters of b become those of a; unknown types where a has none: a polymorphic
   function can be used as any of its instances. */
static const tn_FuncType *with_params_of(const tn_FuncType *a, const tn_FuncType *b) {
  TN_PMAP(vars);
  if (b->type_params->len == 0 || a->type_params == b->type_params) return b;
  for (int64_t i = 0; i < b->type_params->len; ++i) {
    const tn_Type *to = a->type_params->len ? (tn_Type *)tn_arr_obj(a->type_params, i)
                                            : (tn_Type *)relay_incomplete_type();
    if (!to || tn_pmap_put(&vars, tn_arr_obj(b->type_params, i), to)) return NULL;
  }
  tn_FuncType *open = TN_NEW(FuncType, .type_params = tn_arr_of(0), .arg_types = b->arg_types,
                             .ret_type = b->ret_type, .type_constraints = b->type_constraints);
  return open ? (const tn_FuncType *)relay_type_bind(open, &vars) : NULL;
}

static tn_Type *join_functions(relay_solver *s, tn_FuncType *a, tn_FuncType *b) {
  if (a->type_params->len && !b->type_params->len) return join_functions(s, b, a);
  if (a->type_params->len && a->type_params->len != b->type_params->len) return NULL;
  const tn_FuncType *other = with_params_of(a, b);
  tn_arr *args = other ? join_lists(s, a->arg_types, other->arg_types) : NULL;
  tn_Type *result = args ? join(s, a->ret_type, other->ret_type) : NULL;
  if (!result) return NULL;
  if (args == a->arg_types && result == a->ret_type) return (tn_Type *)a;
  return (tn_Type *)TN_NEW(FuncType, .type_params = a->type_params, .arg_types = args,
                           .ret_type = result, .type_constraints = a->type_constraints);
}

static tn_Type *join_refs(relay_solver *s, tn_RefType *a, const tn_RefType *b) {
  tn_Type *value = join(s, a->value, b->value);
  if (!value || value == a->value) return (tn_Type *)(value ? a : NULL);
  return (tn_Type *)TN_NEW(RefType, .value = value);
}

static bool same_name(const tn_Type *a, const tn_Type *b) {
  const tn_GlobalTypeVar *x = TN_AS(GlobalTypeVar, a), *y = TN_AS(GlobalTypeVar, b);
  return a == b || (x && y && tn_str_eq(x->name_hint, tn_cstr(y->name_hint)));
}

static tn_Type *join_calls(relay_solver *s, tn_TypeCall *a, const tn_TypeCall *b) {
  tn_arr *args = same_name(a->func, b->func) ? join_lists(s, a->args, b->args) : NULL;
  if (!args || args == a->args) return (tn_Type *)(args ? a : NULL);
  return (tn_Type *)TN_NEW(TypeCall, .func = a->func, .args = args);
}

/* A data type without parameters may be written List or List[]. */
static tn_Type *join_bare(tn_Type *a, tn_Type *b) {
  const tn_TypeCall *c = TN_AS(TypeCall, a), *d = TN_AS(TypeCall, b);
  if (c && c->args->len == 0 && same_name(c->func, b)) return a;
  if (d && d->args->len == 0 && same_name(d->func, a)) return b;
  return NULL;
}

static tn_Type *join_concrete(relay_solver *s, tn_Type *a, tn_Type *b) {
  if (a == b) return a;
  if (((tn_obj *)a)->type_index != ((tn_obj *)b)->type_index) return join_bare(a, b);
  switch (((tn_obj *)a)->type_index) {
  case TN_TI_TensorType: return join_tensors(s, (tn_TensorType *)a, (tn_TensorType *)b);
  case TN_TI_TupleType: return join_tuples(s, (tn_TupleType *)a, (tn_TupleType *)b);
  case TN_TI_FuncType: return join_functions(s, (tn_FuncType *)a, (tn_FuncType *)b);
  case TN_TI_RefType: return join_refs(s, (tn_RefType *)a, (tn_RefType *)b);
  case TN_TI_TypeCall: return join_calls(s, (tn_TypeCall *)a, (tn_TypeCall *)b);
  case TN_TI_GlobalTypeVar: return same_name(a, b) ? a : NULL;
  case TN_TI_TypeVar: return NULL;
  default: return tn_equal(a, b, 0) == 1 ? a : NULL;
  }
}

static tn_Type *join_unknown(relay_solver *s, tn_Type *unknown, tn_Type *to) {
  if (unknown == to) return to;
  if (occurs(s, unknown, to)) {
    tn_buf_puts(&s->why, "\nthe type would contain itself");
    return NULL;
  }
  TN_TRYP(bind(s, unknown, to));
  return to;
}

/* NULL without an error: they differ, and s->why begins with the parts that do. */
static tn_Type *join(relay_solver *s, tn_Type *a, tn_Type *b) {
  TN_TRYP(tn_stack_check("a type"));
  tn_Type *x = relay_follow(s, a), *y = relay_follow(s, b);
  if (s->wrong && (x == s->wrong || y == s->wrong)) {
    tn_Type *other = x == s->wrong ? y : x;
    return relay_give_up(s, other) ? NULL : relay_follow(s, other);
  }
  if (TN_AS(IncompleteType, x)) return join_unknown(s, x, y);
  if (TN_AS(IncompleteType, y)) return join_unknown(s, y, x);
  size_t before = s->why.len;
  tn_Type *j = join_concrete(s, x, y);
  if (!j && !tn_error_pending() && !s->named) {
    TN_BUF(detail); /* of the innermost types: before what was found out about their extents */
    if (s->why.len > before) tn_buf_puts(&detail, tn_buf_cstr(&s->why) + before);
    s->why.len = before;
    tn_buf_printf(&s->why, "\nIn particular `%s` does not match `%s`%s", relay_type_text(x),
                  relay_type_text(y), tn_buf_cstr(&detail));
    s->named = true;
  }
  if (!j) return NULL;
  tn_Type *ua = j == x ? NULL : last_unknown(s, a), *ub = j == y ? NULL : last_unknown(s, b);
  if (ua) TN_TRYP(bind(s, ua, j));
  if (ub && ub != ua) TN_TRYP(bind(s, ub, j));
  return j;
}

tn_Type *relay_unify(relay_solver *s, tn_Type *a, tn_Type *b, tn_Span *span) {
  if (!a || !b) return NULL;
  tn_buf_clear(&s->why);
  s->named = false;
  tn_Type *j = join(s, a, b);
  if (!j && !tn_error_pending())
    relay_type_error(span, "The Relay type checker is unable to show the following types match.%s",
                     tn_buf_cstr(&s->why));
  return j;
}
