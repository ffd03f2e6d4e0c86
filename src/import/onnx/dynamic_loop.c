/* Loops whose number of iterations is known at run time only, as functions that call themselves.

   With a condition, or nothing to collect, the call is the last thing that happens, so that the
   machine needs no stack:

     let %loop = fn (%i, %going, %s, %all) {
       if (%going && %i < %n) { ...; %loop(%i + 1, %more, %next, concatenate((%all, [%y]))) }
       else { (%s, %all) } };
     %loop(0, true, %first, <nothing>)

   Without, iterations are halved, and what both halves have collected is put together once for each
   of log(n) levels, rather than for each iteration:

     let %run = fn (%i, %n, %s) {
       if (%n <= 1) { one iteration } else { %a = %run(%i, %n / 2, %s); %b = %run(..., %a.0);
                                        (%b.0, concatenate((%a.1, %b.1))) } };

   Small iterations come in chunks of 16 and of 4, so that there are few calls and few pieces to put
   together.

   What does not depend on the iteration is computed before the loop. */
#include "import/onnx/dynamic_loop.h"

#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "relay/analysis/analysis.h"
#include "relay/infer.h"
#include "tenon/object.h"

enum { MAX_STATES = 256, MAX_TRIES = 8, CHUNKS = 2 };
static const int64_t chunk_sizes[CHUNKS] = {4, 16};

static void *i64(int64_t v) { return relay_const_int(TN_I64, v); }
static void *typed(void *e) { return e ? relay_infer_new(e) : NULL; }

static void *new_var(const char *name, void *type) {
  return type ? relay_infer_expr(relay_var(name, type), NULL) : NULL;
}

/* What is made of an iteration. */
typedef struct {
  const onnx_loop *t;
  void *index, *states[MAX_STATES]; /* variables */
  void *first[MAX_STATES];          /* states before the first iteration */
  tn_arr *got;
  tn_Type *types[MAX_STATES];     /* of the states */
  tn_TensorType *all[MAX_STATES]; /* of what is collected, with its first axis dynamic */
  tn_RelayVar *chunks[CHUNKS];    /* functions of iterations in a row; NULL: there are none */
  void *chunk_values[CHUNKS];
} round;

static int64_t first_state(const round *r) { return r->t->going ? 1 : 0; }
static void *next_state(const round *r, int64_t i) {
  return tn_arr_obj(r->got, first_state(r) + i);
}
static void *collected(const round *r, int64_t i) {
  return tn_arr_obj(r->got, first_state(r) + r->t->nstates + i);
}

/* ---- types ---- */

static tn_TensorType *tensor_type(const void *e) {
  return e ? TN_AS(TensorType, relay_type_of(e)) : NULL;
}

static int one_try(const onnx_ctx *c, round *r) {
  const onnx_loop *t = r->t;
  TN_GET(r->index, new_var("i", relay_scalar_type(TN_I64)));
  for (int64_t i = 0; i < t->nstates; ++i) TN_GET(r->states[i], new_var("state", r->types[i]));
  TN_GET(r->got, t->step(t->ctx, r->index, r->states));
  if (r->got->len == first_state(r) + t->nstates + t->ncollected) return 0;
  return onnx_fail(c, "the body has %lld results, expected %lld", (long long)r->got->len,
                   (long long)(first_state(r) + t->nstates + t->ncollected)),
         -1;
}

/* Dynamic extents need no mark: tensors of one rank can be passed on as they are. */
static void *as_state(const round *r, int64_t i, void *e) {
  const tn_TensorType *t = tensor_type(e), *want = TN_AS(TensorType, r->types[i]);
  return t && want ? e : onnx_widen(e, r->types[i]);
}

static int widen_states(round *r) {
  TN_VEC(all);
  for (int64_t i = 0; i < r->got->len; ++i) {
    int64_t k = i - first_state(r);
    void *e = tn_arr_obj(r->got, i);
    TN_TRY(tn_vec_push_obj(&all, k >= 0 && k < r->t->nstates ? as_state(r, k, e) : e));
  }
  for (int64_t i = 0; i < r->t->nstates; ++i) TN_GET(r->first[i], as_state(r, i, r->t->states[i]));
  TN_GET(r->got, tn_arr_from(&all));
  return 0;
}

/* The iteration with types of states that hold before and after it. */
static int settle_types(const onnx_ctx *c, round *r) {
  const onnx_loop *t = r->t;
  bool same = false;
  for (int64_t i = 0; i < t->nstates; ++i) r->types[i] = relay_type_of(t->states[i]);
  for (int tries = 0; !same && tries < MAX_TRIES; ++tries) {
    TN_TRY(one_try(c, r));
    same = true;
    for (int64_t i = 0; i < t->nstates; ++i) {
      tn_Type *now = relay_join_types(r->types[i], relay_type_of(next_state(r, i)));
      if (!now && tn_error_pending()) return -1;
      if (!now) return onnx_fail(c, "state %lld changes its type", (long long)i), -1;
      same = same && tn_equal(now, r->types[i], 0) == 1;
      r->types[i] = now;
    }
  }
  for (int64_t i = 0; i < t->ncollected; ++i) {
    const tn_TensorType *e = tensor_type(collected(r, i));
    TN_VEC(dims);
    if (!e) return onnx_fail(c, "a result that is not a tensor is not supported"), -1;
    TN_TRY(tn_vec_push_obj(&dims, relay_any()));
    for (int64_t k = 0; k < e->shape->len; ++k) TN_TRY(tn_vec_push_obj(&dims, relay_dim(e, k)));
    TN_GET(r->all[i], relay_tensor_type(tn_arr_from(&dims), e->dtype));
  }
  if (!same) return onnx_fail(c, "the shapes of its states do not settle"), -1;
  return widen_states(r);
}

/* States and what is collected. */
static tn_Type *result_type(const round *r) {
  TN_VEC(v);
  for (int64_t i = 0; i < r->t->nstates; ++i) TN_TRYP(tn_vec_push_obj(&v, r->types[i]));
  for (int64_t i = 0; i < r->t->ncollected; ++i) TN_TRYP(tn_vec_push_obj(&v, r->all[i]));
  return (tn_Type *)relay_tuple_type(tn_arr_from(&v));
}

static tn_Type *function_type(const tn_arr *params, tn_Type *result) {
  TN_VEC(v);
  for (int64_t i = 0; i < params->len; ++i)
    TN_TRYP(tn_vec_push_obj(&v, relay_type_of(tn_arr_obj(params, i))));
  tn_arr *args, *none;
  TN_GETP(args, tn_arr_from(&v));
  TN_GETP(none, tn_arr_of(0));
  return (tn_Type *)TN_NEW(FuncType, .arg_types = args, .ret_type = result, .type_params = none,
                           .type_constraints = none);
}

/* ---- what does not change ---- */

typedef struct {
  tn_pmap changes; /* expression -> it depends on the iteration */
  tn_pmap moved;   /* expression -> variable */
  tn_vec values, vars;
  tn_arr *outside; /* variables that are not the turn's */
} invariants;

static void invariants_fini(invariants *v) {
  tn_pmap_fini(&v->changes);
  tn_pmap_fini(&v->moved);
  tn_vec_fini(&v->values);
  tn_vec_fini(&v->vars);
}

static bool changes(const invariants *v, const void *e) {
  const tn_RelayVar *var = TN_AS(RelayVar, e);
  for (int64_t i = 0; var && i < v->outside->len; ++i)
    if (((const tn_RelayVar *)tn_arr_obj(v->outside, i))->vid == var->vid) return false;
  return var || tn_pmap_has(&v->changes, e);
}

/* Branches run only when they are chosen, so that nothing is taken out of them; nor of functions.
 */
static bool runs_always(const tn_obj *parent, const tn_field *field, const tn_obj *child) {
  (void)field;
  const tn_RelayIf *branch = TN_AS(RelayIf, parent);
  if (branch) return child == (const tn_obj *)branch->cond;
  return !TN_AS(RelayFunction, parent) && !TN_AS(RelayLet, parent) &&
         (TN_AS(Array, child) || tn_obj_is(child, &tn_type_RelayExpr));
}

/* What is made of constants alone becomes one where it stands, and weights are packed there. */
static bool is_worth_moving(const void *e) {
  if (!(TN_AS(RelayCall, e) || TN_AS(TupleGetItem, e)) || !tensor_type(e)) return false;
  const tn_arr *vars = relay_free_vars(e);
  return vars && vars->len > 0;
}

static int look(void *ctx, tn_obj *node) {
  invariants *v = ctx;
  const void *e;
  if (!tn_obj_is(node, &tn_type_RelayExpr)) return 0;
  bool any = TN_AS(RelayIf, node) || TN_AS(RelayLet, node) || TN_AS(RelayFunction, node);
  for (int64_t i = 0; !any && (e = relay_operand(node, i)) != NULL; ++i) any = changes(v, e);
  if (!any) return 0;
  TN_TRY(tn_pmap_put_int(&v->changes, node, 1));
  if (TN_AS(RelayLet, node) || TN_AS(RelayFunction, node)) return 0;
  for (int64_t i = 0; (e = relay_operand(node, i)) != NULL; ++i) {
    bool own = TN_AS(RelayIf, node) && i > 0;
    if (own || changes(v, e) || !is_worth_moving(e) || tn_pmap_has(&v->moved, e)) continue;
    tn_RelayVar *var;
    TN_GET(var, new_var("kept", relay_type_of(e)));
    TN_TRY(tn_pmap_put(&v->moved, e, var));
    TN_TRY(tn_vec_push_obj(&v->values, e));
    TN_TRY(tn_vec_push_obj(&v->vars, var));
  }
  return 0;
}

static tn_obj *use_kept(void *ctx, tn_obj *pre, tn_obj *post) {
  const invariants *v = ctx;
  tn_obj *var = (tn_obj *)(uintptr_t)tn_pmap_get(&v->moved, pre);
  return var ? var : post;
}

static void *with_kept(const invariants *v, void *e) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, use_kept),
                                          TN_REWRITE(TupleGetItem, use_kept)};
  if (!e || v->values.len == 0) return e;
  return tn_rewrite(e, cases, TN_COUNT(cases), (void *)(uintptr_t)v);
}

/* The turn's results with what does not depend on it in variables. */
static int take_out(round *r, invariants *v) {
  TN_VEC(params);
  tn_RelayTuple *all;
  tn_RelayFunction *f;
  TN_TRY(tn_vec_push_obj(&params, r->index));
  for (int64_t i = 0; i < r->t->nstates; ++i) TN_TRY(tn_vec_push_obj(&params, r->states[i]));
  TN_GET(all, relay_tuple(r->got));
  TN_GET(f, relay_function(tn_arr_from(&params), all, NULL, NULL));
  TN_GET(v->outside, relay_free_vars(f));
  TN_TRY(tn_post_order_if(all, runs_always, look, v) < 0);
  TN_GET(all, with_kept(v, all));
  r->got = all->fields;
  return 0;
}

static void *bind_kept(const invariants *v, void *body) {
  for (int64_t i = v->values.len; body && i-- > 0;)
    body = relay_let((tn_RelayVar *)v->vars.items[i].v.obj, v->values.items[i].v.obj, body);
  return body;
}

/* ---- the functions ---- */

static void *row_of(void *e) { return onnx_expand_dims(e, 0, 1); }

static void *joined(void *a, void *b) { return a && b ? onnx_concat(tn_arr_of(2, a, b), 0) : NULL; }

/* Nothing yet: no rows, and no elements where extents are dynamic. */
static void *nothing(const tn_TensorType *t) {
  int64_t dims[ONNX_MAX_NDIM];
  for (int64_t i = 0; i < t->shape->len; ++i)
    if (!relay_known_int(t->shape, i, &dims[i])) dims[i] = 0;
  dims[0] = 0;
  void *a = relay_attrs("zeros", 2, "shape", tn_any_obj(relay_ints(dims, t->shape->len)), "dtype",
                        tn_any_dtype(t->dtype));
  return a ? relay_call("zeros", a, 0) : NULL;
}

static int push_states(const round *r, void *const *states, tn_vec *out) {
  for (int64_t i = 0; i < r->t->nstates; ++i) TN_TRY(tn_vec_push_obj(out, states[i]));
  return 0;
}

static int push_next(const round *r, tn_vec *out) {
  for (int64_t i = 0; i < r->t->nstates; ++i) TN_TRY(tn_vec_push_obj(out, next_state(r, i)));
  return 0;
}

static int push_fields(void *tuple, int64_t from, int64_t n, tn_vec *out) {
  for (int64_t i = 0; i < n; ++i)
    TN_TRY(tn_vec_push_obj(out, tuple ? relay_get_item(tuple, from + i) : NULL));
  return 0;
}

static void *call_of(void *f, tn_vec *args) {
  tn_arr *a = tn_arr_from(args);
  return a ? relay_call_new(f, a, NULL) : NULL;
}

static void *bind_chunks(const round *r, void *body) {
  for (int i = 0; i < CHUNKS && body; ++i)
    if (r->chunks[i]) body = relay_let(r->chunks[i], r->chunk_values[i], body);
  return body;
}

/* let f = fn (params) -> type { body }; f(args), with what is kept before it */
static void *loop_of(const round *r, const invariants *v, tn_RelayVar *f, tn_arr *params,
                     void *body, tn_Type *type, tn_vec *args) {
  tn_RelayFunction *fn;
  void *call, *let;
  TN_GETP(fn, body ? relay_function(params, body, type, NULL) : NULL);
  TN_GETP(call, call_of(f, args));
  TN_GETP(let, relay_let(f, fn, call));
  return typed(bind_kept(v, bind_chunks(r, let)));
}

/* ---- one iteration after the other ---- */

static void *may_go_on(const round *r, void *index, void *going) {
  void *left = r->t->count ? onnx_binary("less", index, r->t->count) : NULL;
  if (r->t->count && !left) return NULL;
  if (!going) return left;
  return left ? onnx_binary("logical_and", going, left) : going;
}

/* The first iteration has nothing to add to, whatever its extents are. */
static void *grown(const round *r, void *all, int64_t i) {
  void *row = row_of(collected(r, i)), *both = joined(all, row);
  void *first = onnx_binary("equal", r->index, i64(0));
  return row && both && first ? relay_if(first, row, both) : NULL;
}

static void *one_by_one(round *r, const invariants *v) {
  const onnx_loop *t = r->t;
  void *going = t->going ? new_var("going", relay_scalar_type(TN_BOOL1)) : NULL;
  void *all[MAX_STATES];
  TN_VEC(params);
  TN_VEC(again);
  TN_VEC(args);
  TN_VEC(ends);
  TN_TRYP(tn_vec_push_obj(&params, r->index));
  if (t->going) TN_TRYP(tn_vec_push_obj(&params, going));
  TN_TRYP(push_states(r, r->states, &params));
  for (int64_t i = 0; i < t->ncollected; ++i) {
    TN_GETP(all[i], new_var("all", r->all[i]));
    TN_TRYP(tn_vec_push_obj(&params, all[i]));
  }
  tn_arr *list;
  tn_Type *type;
  tn_RelayVar *f;
  TN_GETP(list, tn_arr_from(&params));
  TN_GETP(type, result_type(r));
  TN_GETP(f, relay_var("loop", function_type(list, type)));
  TN_TRYP(tn_vec_push_obj(&again, onnx_binary("add", r->index, i64(1))));
  if (t->going) TN_TRYP(tn_vec_push_obj(&again, onnx_reshape(tn_arr_obj(r->got, 0), NULL, 0)));
  TN_TRYP(push_next(r, &again));
  for (int64_t i = 0; i < t->ncollected; ++i) TN_TRYP(tn_vec_push_obj(&again, grown(r, all[i], i)));
  TN_TRYP(push_states(r, r->states, &ends));
  for (int64_t i = 0; i < t->ncollected; ++i) TN_TRYP(tn_vec_push_obj(&ends, all[i]));
  void *cond = may_go_on(r, r->index, going), *more = call_of(f, &again),
       *end = relay_tuple(tn_arr_from(&ends));
  TN_TRYP(tn_vec_push_obj(&args, i64(0)));
  if (t->going) TN_TRYP(tn_vec_push_obj(&args, onnx_reshape(t->going, NULL, 0)));
  TN_TRYP(push_states(r, r->first, &args));
  for (int64_t i = 0; i < t->ncollected; ++i) TN_TRYP(tn_vec_push_obj(&args, nothing(r->all[i])));
  return cond && more && end ? loop_of(r, v, f, list, relay_if(cond, more, end), type, &args)
                             : NULL;
}

/* ---- halves ---- */

static void *single_turn(const round *r) {
  TN_VEC(v);
  TN_TRYP(push_next(r, &v));
  for (int64_t i = 0; i < r->t->ncollected; ++i)
    TN_TRYP(tn_vec_push_obj(&v, row_of(collected(r, i))));
  return relay_tuple(tn_arr_from(&v));
}

/* Turns in a row. What differs between them is a vector, which their kernels get as an argument. */
static void *in_a_row(const onnx_ctx *c, const round *r, void *index, void **states, int64_t n) {
  tn_vec rows[MAX_STATES] = {{0}};
  TN_VEC(all);
  int64_t ns = r->t->nstates, nc = r->t->ncollected;
  int err = 0;
  for (int64_t k = 0; k < n && !err; ++k) {
    void *at = relay_const_ints(TN_I64, &k, 1);
    at = at ? typed(onnx_binary("add", index, at)) : NULL;
    const tn_arr *got = at ? r->t->step(r->t->ctx, at, states) : NULL;
    err = !got || (got->len != ns + nc && (onnx_fail(c, "the body has other results"), true));
    for (int64_t i = 0; i < ns && !err; ++i) states[i] = tn_arr_obj(got, i);
    for (int64_t i = 0; i < nc && !err; ++i)
      err = tn_vec_push_obj(&rows[i], row_of(tn_arr_obj(got, ns + i)));
  }
  for (int64_t i = 0; i < ns && !err; ++i) err = tn_vec_push_obj(&all, states[i]);
  for (int64_t i = 0; i < nc && !err; ++i)
    err = tn_vec_push_obj(&all, onnx_concat(tn_arr_from(&rows[i]), 0));
  for (int64_t i = 0; i < nc; ++i) tn_vec_fini(&rows[i]);
  return err ? NULL : relay_tuple(tn_arr_from(&all));
}

/* A chunk is a separate function: what branches have in common is computed before all of them. */
static int make_chunk(const onnx_ctx *c, round *r, const invariants *v, int number) {
  void *index, *states[MAX_STATES], *body;
  tn_arr *list;
  TN_VEC(params);
  TN_GET(index, new_var("i", relay_scalar_type(TN_I64)));
  TN_TRY(tn_vec_push_obj(&params, index));
  for (int64_t i = 0; i < r->t->nstates; ++i) TN_GET(states[i], new_var("state", r->types[i]));
  TN_TRY(push_states(r, states, &params));
  TN_GET(list, tn_arr_from(&params));
  TN_GET(body, with_kept(v, in_a_row(c, r, index, states, chunk_sizes[number])));
  TN_GET(body, typed(body));
  TN_GET(r->chunk_values[number], relay_function(list, body, relay_type_of(body), NULL));
  TN_GET(r->chunks[number], relay_var("iterations", function_type(list, relay_type_of(body))));
  return 0;
}

/* So many iterations that the first part is whole chunks, or half of them. */
static void *first_turns(const round *r, void *n) {
  void *half = onnx_binary("divide", n, i64(2)), *all = half;
  for (int i = 0; i < CHUNKS && r->chunks[i] && all; ++i) {
    int64_t size = chunk_sizes[i];
    void *up = onnx_binary("divide", onnx_binary("add", half, i64(size - 1)), i64(size));
    all = onnx_where(onnx_binary("greater", n, i64(size)), onnx_binary("multiply", up, i64(size)),
                     all);
  }
  return all;
}

/* The results of n iterations, by their number. */
static void *by_number(const round *r, void *n, void *one, void *two) {
  void *few = onnx_binary("less", n, i64(2)), *e = few ? relay_if(few, one, two) : NULL;
  for (int i = 0; i < CHUNKS && r->chunks[i] && e; ++i) {
    TN_VEC(args);
    TN_TRYP(tn_vec_push_obj(&args, r->index));
    TN_TRYP(push_states(r, r->states, &args));
    void *whole = call_of(r->chunks[i], &args),
         *same = onnx_binary("equal", n, i64(chunk_sizes[i]));
    e = whole && same ? relay_if(same, whole, e) : NULL;
  }
  return e;
}

/* A half from `from` on, of n iterations, whose states are those of `before`, or variables. */
static void *half(const round *r, void *f, void *from, void *n, void *before) {
  TN_VEC(v);
  TN_TRYP(tn_vec_push_obj(&v, from));
  TN_TRYP(tn_vec_push_obj(&v, n));
  if (before) TN_TRYP(push_fields(before, 0, r->t->nstates, &v));
  else TN_TRYP(push_states(r, r->states, &v));
  return call_of(f, &v);
}

static void *two_halves(const round *r, void *f, void *n) {
  void *less = first_turns(r, n), *rest = less ? onnx_binary("subtract", n, less) : NULL;
  void *a = less && rest ? half(r, f, r->index, less, NULL) : NULL;
  void *b = a ? half(r, f, onnx_binary("add", r->index, less), rest, a) : NULL;
  int64_t k = r->t->nstates;
  TN_VEC(v);
  if (!b) return NULL;
  TN_TRYP(push_fields(b, 0, k, &v));
  for (int64_t i = 0; i < r->t->ncollected; ++i)
    TN_TRYP(tn_vec_push_obj(&v, joined(relay_get_item(a, k + i), relay_get_item(b, k + i))));
  return relay_tuple(tn_arr_from(&v));
}

static void *by_halves(const onnx_ctx *c, round *r, const invariants *v) {
  const onnx_loop *t = r->t;
  void *n = new_var("n", relay_scalar_type(TN_I64));
  TN_VEC(params);
  TN_VEC(args);
  TN_VEC(none);
  for (int i = 0; i < CHUNKS && t->chunks; ++i) TN_TRYP(make_chunk(c, r, v, i));
  TN_TRYP(tn_vec_push_obj(&params, r->index));
  TN_TRYP(tn_vec_push_obj(&params, n));
  TN_TRYP(push_states(r, r->states, &params));
  tn_arr *list;
  tn_Type *type;
  tn_RelayVar *f;
  TN_GETP(list, tn_arr_from(&params));
  TN_GETP(type, result_type(r));
  TN_GETP(f, relay_var("run", function_type(list, type)));
  void *one = single_turn(r), *two = two_halves(r, f, n), *body;
  TN_GETP(body, one && two ? by_number(r, n, one, two) : NULL);
  for (int64_t i = 0; i < t->ncollected; ++i) TN_TRYP(tn_vec_push_obj(&none, nothing(r->all[i])));
  void *any = onnx_binary("greater", t->count, i64(0));
  if (!any) return NULL;
  TN_TRYP(tn_vec_push_obj(&args, i64(0)));
  TN_TRYP(tn_vec_push_obj(&args, t->count));
  TN_TRYP(push_states(r, r->first, &args));
  void *loop = loop_of(r, v, f, list, body, type, &args);
  TN_VEC(ends);
  TN_TRYP(push_states(r, r->first, &ends));
  for (int64_t i = 0; i < none.len; ++i) TN_TRYP(tn_vec_push(&ends, none.items[i]));
  void *end = relay_tuple(tn_arr_from(&ends));
  return loop && end ? typed(relay_if(any, loop, end)) : NULL;
}

void *onnx_run_loop(const onnx_ctx *c, const onnx_loop *t) {
  round r = {.t = t};
  __attribute__((cleanup(invariants_fini))) invariants v = {.outside = NULL};
  if (t->nstates > MAX_STATES || t->ncollected > MAX_STATES)
    return onnx_fail(c, "a loop of %lld states", (long long)t->nstates);
  TN_TRYP(settle_types(c, &r));
  TN_TRYP(take_out(&r, &v));
  return t->going || t->ncollected == 0 ? one_by_one(&r, &v) : by_halves(c, &r, &v);
}
