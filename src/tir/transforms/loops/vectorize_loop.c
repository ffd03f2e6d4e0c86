/* Vectorized loops become vector operations.

     for j in T.vectorized(4):
       B[i * 4 + j] = A[j] + x       ->   B[i * 4:i * 4 + 4] = A[0:4] + T.Broadcast(x, 4)

     for j in T.vectorized(4):
       if j < 3: B[j + 8] = A[j]     ->   B[8:11] = A[0:3]

   The loop variable becomes a ramp; an operation with one vector operand works on vectors, its
   other operands broadcast. What has no vector form (a condition or loop bound that varies with the
   variable, an allocation, a call of a scalar function, a store whose place does not vary) is run
   in its own serial loop, the smallest statement at a time. A binding becomes one of a vector where
   all statements in it have a vector form. An extent vscale() * 4 gives scalable vectors, for
   targets that have them. Buffers are flat by now. */
#include "arith/analyzer.h"
#include "target/target.h"
#include "tir/device.h"
#include "tir/transforms/transforms.h"

typedef struct {
  const tn_Var *var;
  tn_expr *ramp;
  int lanes;     /* as tn_dtype_lanes gives it: -n for vscale() * n */
  bool serial;   /* the expression that was just visited has no vector form */
  int64_t loops; /* statements that were run serially */
  tn_pmap lets;  /* tn_Var of a binding -> that of its vector, or its ramp */
} vectorizer;

/* The expression as `lanes` lanes. */
static tn_expr *spread(vectorizer *x, tn_expr *e, int lanes) {
  if (!e || tn_dtype_lanes(e->dtype) == lanes) return e;
  if (e->dtype.lanes == 1) return tir_broadcast(e, lanes, NULL);
  x->serial = true;
  return e;
}

/* Operands of different numbers of lanes cannot meet. */
static bool clash(vectorizer *x, const tn_expr *a, const tn_expr *b) {
  if (a->dtype.lanes > 1 && b->dtype.lanes > 1 && a->dtype.lanes != b->dtype.lanes)
    x->serial = true;
  return x->serial;
}

static tn_obj *vec_var(tn_mut *m, tn_obj *v) {
  vectorizer *x = m->ctx;
  tn_obj *let = tn_pmap_get(&x->lets, v);
  return v == (const tn_obj *)x->var ? (tn_obj *)x->ramp : let ? let : v;
}

static tn_expr *vec_binary(tn_mut *m, tn_expr *e) {
  tn_BinaryOp *op = TN_AS_BINARY(e);
  tn_expr *a = tn_mut_visit(m, op->a), *b = tn_mut_visit(m, op->b);
  if (!a || !b) return NULL;
  if ((a == op->a && b == op->b) || clash(m->ctx, a, b)) return e;
  if (!ir_is_integral(ir_with_lanes(e->dtype, 1))) return tir_binary(e->hdr.type_index, a, b, NULL);
  switch (e->hdr.type_index) {
  case TN_TI_Add: return tir_index_add(a, b);
  case TN_TI_Sub: return tir_index_sub(a, b);
  case TN_TI_Mul: return tir_index_mul(a, b);
  default: return tir_binary(e->hdr.type_index, a, b, NULL);
  }
}

static tn_expr *vec_not(tn_mut *m, tn_Not *e) {
  tn_expr *a = tn_mut_visit(m, e->a);
  return a == e->a ? (tn_expr *)e : tir_not(a, NULL);
}

static tn_expr *vec_cast(tn_mut *m, tn_Cast *e) {
  tn_expr *v = tn_mut_visit(m, e->value);
  if (!v || v == e->value) return v ? (tn_expr *)e : NULL;
  return tir_cast(ir_with_lanes(e->dtype, v->dtype.lanes), v, NULL);
}

static tn_expr *vec_select(tn_mut *m, tn_Select *e) {
  vectorizer *x = m->ctx;
  tn_expr *c = tn_mut_visit(m, e->condition), *t = tn_mut_visit(m, e->true_value),
          *f = tn_mut_visit(m, e->false_value);
  if (!c || !t || !f) return NULL;
  if (c == e->condition && t == e->true_value && f == e->false_value) return (tn_expr *)e;
  if (clash(x, c, t) || clash(x, t, f) || clash(x, c, f)) return (tn_expr *)e;
  int n = tn_dtype_lanes(c->dtype.lanes > 1 ? c->dtype : t->dtype.lanes > 1 ? t->dtype : f->dtype);
  return tir_select(c, spread(x, t, n), spread(x, f, n), NULL);
}

static int is_lane_var(void *ctx, tn_obj *node) {
  const vectorizer *x = ctx;
  return node == (const tn_obj *)x->var || tn_pmap_get(&x->lets, node);
}

/* Does it depend on the lane? */
static bool varies(vectorizer *x, const void *operand) {
  return operand && tn_post_order(operand, is_lane_var, x) != 0;
}

/* What already is a vector may only keep its lanes. */
static tn_expr *vec_vector(tn_mut *m, tn_expr *e) {
  vectorizer *x = m->ctx;
  if (varies(x, e)) x->serial = true;
  return e;
}

static tn_expr *vec_load(tn_mut *m, tn_BufferLoad *e) {
  vectorizer *x = m->ctx;
  tn_arr *indices = tn_mut_visit(m, e->indices);
  if (!indices || indices == e->indices) return indices ? (tn_expr *)e : NULL;
  for (int64_t i = 0; i + 1 < indices->len; ++i)
    x->serial |= ((tn_expr *)tn_arr_obj(indices, i))->dtype.lanes > 1;
  x->serial |= e->buffer->dtype.lanes > 1;
  return x->serial ? (tn_expr *)e : tir_load(e->buffer, indices);
}

/* Arguments of a call, all with as many lanes as the widest; the array itself when none changed. */
static tn_arr *vec_args(tn_mut *m, tn_arr *args, int64_t first, int *lanes) {
  vectorizer *x = m->ctx;
  TN_VEC(v);
  tn_arr *r = tn_mut_visit(m, args);
  *lanes = 1;
  if (!r || r == args) return r;
  for (int64_t i = first; i < r->len; ++i) {
    const tn_expr *e = (tn_expr *)tn_arr_obj(r, i);
    if (e->dtype.lanes > 1 && (*lanes < 0 || tn_dtype_lanes(e->dtype) > *lanes || *lanes == 1))
      *lanes = tn_dtype_lanes(e->dtype);
  }
  for (int64_t i = 0; i < r->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(r, i);
    if (i >= first) e = spread(x, e, *lanes);
    if (!e || tn_vec_push_obj(&v, e)) return NULL;
  }
  return tn_arr_from(&v);
}

static tn_expr *vec_choice(tn_mut *m, tn_Call *e) {
  vectorizer *x = m->ctx;
  int lanes;
  if (varies(x, tn_arr_obj(e->args, 0))) x->serial = true;
  tn_arr *args = vec_args(m, e->args, 1, &lanes);
  if (!args || args == e->args || x->serial) return args ? (tn_expr *)e : NULL;
  return tir_call_args(ir_with_lanes(e->dtype, lanes), TIR_OP_if_then_else, args, e->span);
}

static tn_expr *vec_call(tn_mut *m, tn_Call *e) {
  vectorizer *x = m->ctx;
  int lanes;
  if (tir_as_call((tn_obj *)e, TIR_OP_if_then_else)) return vec_choice(m, e);
  if (!tir_op_vectorizable((tn_obj *)e->op)) return vec_vector(m, (tn_expr *)e);
  tn_arr *args = vec_args(m, e->args, 0, &lanes);
  if (!args || args == e->args || x->serial) return args ? (tn_expr *)e : NULL;
  tn_Call copy = *e;
  copy.args = args;
  copy.dtype = ir_with_lanes(e->dtype, lanes);
  return tn_node_copy(&tn_type_Call, &copy);
}

/* ---- statements ---- */

/* The statement for each value of the variable in turn. */
static tn_stmt *serially(vectorizer *x, tn_stmt *s) {
  TN_PMAP(value);
  x->serial = false;
  x->loops += 1;
  tn_str *name = tn_str_fmt("%s_s", tn_cstr(x->var->name));
  tn_Var *v = name ? tir_var_like(x->var, tn_cstr(name)) : NULL;
  if (!v) return NULL;
  TN_TRYP(tn_pmap_put(&value, x->var, v));
  return (tn_stmt *)TN_MAKE(For, .loop_var = v, .min = tir_zero(v->dtype),
                            .extent = tir_lanes(v->dtype, x->lanes, 0), .kind = TIR_FOR_SERIAL,
                            .body = tir_substitute_fold(s, &value),
                            .annotations = tn_scope_own(tn_map_new()));
}

/* Is the store done when it was done once? */
static int loads_from(void *ctx, tn_obj *node) {
  const tn_BufferLoad *l = TN_AS(BufferLoad, node);
  return l && l->buffer->data == ((const tn_BufferStore *)ctx)->buffer->data;
}
static bool idempotent(tn_BufferStore *s) {
  return tir_side_effect(s->value) <= TIR_EFFECT_READ &&
         tn_post_order(s->value, loads_from, s) == 0;
}

static tn_stmt *vec_store(tn_mut *m, tn_BufferStore *s) {
  vectorizer *x = m->ctx;
  x->serial = false;
  tn_arr *indices = tn_mut_visit(m, s->indices);
  tn_expr *value = tn_mut_visit(m, s->value);
  if (!indices || !value) return NULL;
  for (int64_t i = 0; i + 1 < indices->len; ++i)
    x->serial |= ((tn_expr *)tn_arr_obj(indices, i))->dtype.lanes > 1;
  const tn_expr *last = indices->len ? (tn_expr *)tn_arr_obj(indices, indices->len - 1) : NULL;
  bool varies = indices != s->indices || value != s->value;
  if (varies && (indices == s->indices || s->buffer->dtype.lanes > 1)) x->serial = true;
  if (!varies) return idempotent(s) ? (tn_stmt *)s : serially(x, (tn_stmt *)s);
  if (x->serial) return serially(x, (tn_stmt *)s);
  value = spread(x, value, tn_dtype_lanes(last->dtype));
  if (x->serial) return serially(x, (tn_stmt *)s);
  return value ? tir_store(s->buffer, value, indices) : NULL;
}

/* Statements that have a vector form only where these operands do not vary. */
static tn_stmt *vec_if(tn_mut *m, tn_IfThenElse *s) {
  if (varies(m->ctx, s->condition)) return serially(m->ctx, (tn_stmt *)s);
  return tn_mut_children(m, s);
}
static tn_stmt *vec_for(tn_mut *m, tn_For *s) {
  if (varies(m->ctx, s->min) || varies(m->ctx, s->extent)) return serially(m->ctx, (tn_stmt *)s);
  return tn_mut_children(m, s);
}
static tn_stmt *vec_attr(tn_mut *m, tn_AttrStmt *s) {
  if (varies(m->ctx, s->value)) return serially(m->ctx, (tn_stmt *)s);
  return tn_mut_children(m, s);
}
static tn_stmt *vec_let(tn_mut *m, tn_LetStmt *s) {
  vectorizer *x = m->ctx;
  tn_LetStmt copy = *s;
  if (!varies(x, s->value)) return tn_mut_children(m, s);
  x->serial = false;
  TN_GETP(copy.value, tn_mut_visit(m, s->value));
  if (x->serial || tn_dtype_lanes(copy.value->dtype) != x->lanes) return serially(x, (tn_stmt *)s);
  TN_GETP(copy.var, tir_var(tn_cstr(s->var->name), copy.value->dtype));
  bool place =
      TN_IS(Ramp, copy.value) || TN_IS(Broadcast, copy.value); /* is seen where it is used */
  int64_t loops = x->loops;
  TN_TRYP(tn_pmap_put(&x->lets, s->var, place ? (void *)copy.value : copy.var));
  TN_GETP(copy.body, tn_mut_visit(m, s->body));
  TN_TRYP(tn_pmap_put(&x->lets, s->var, NULL));
  /* a loop over the lanes needs the scalar */
  if (x->loops != loops) return serially(x, (tn_stmt *)s);
  return place ? copy.body : tn_node_copy(&tn_type_LetStmt, &copy);
}
static tn_stmt *vec_whole(tn_mut *m, tn_stmt *s) { return serially(m->ctx, s); }
static tn_stmt *vec_sequence(tn_mut *m, tn_SeqStmt *s) { return tn_mut_children(m, s); }

static tn_stmt *vectorize(tn_For *op, int lanes) {
  static const tn_mut_case cases[] = {TN_CASE(Var, vec_var),
                                      TN_CASE(SizeVar, vec_var),
                                      TN_CASE(Add, vec_binary),
                                      TN_CASE(Sub, vec_binary),
                                      TN_CASE(Mul, vec_binary),
                                      TN_CASE(Div, vec_binary),
                                      TN_CASE(Mod, vec_binary),
                                      TN_CASE(FloorDiv, vec_binary),
                                      TN_CASE(FloorMod, vec_binary),
                                      TN_CASE(Min, vec_binary),
                                      TN_CASE(Max, vec_binary),
                                      TN_CASE(EQ, vec_binary),
                                      TN_CASE(NE, vec_binary),
                                      TN_CASE(LT, vec_binary),
                                      TN_CASE(LE, vec_binary),
                                      TN_CASE(GT, vec_binary),
                                      TN_CASE(GE, vec_binary),
                                      TN_CASE(And, vec_binary),
                                      TN_CASE(Or, vec_binary),
                                      TN_CASE(Not, vec_not),
                                      TN_CASE(Cast, vec_cast),
                                      TN_CASE(Select, vec_select),
                                      TN_CASE(Ramp, vec_vector),
                                      TN_CASE(Broadcast, vec_vector),
                                      TN_CASE(Shuffle, vec_vector),
                                      TN_CASE(Let, vec_vector),
                                      TN_CASE(Call, vec_call),
                                      TN_CASE(BufferLoad, vec_load),
                                      TN_CASE(BufferStore, vec_store),
                                      TN_CASE(IfThenElse, vec_if),
                                      TN_CASE(For, vec_for),
                                      TN_CASE(AttrStmt, vec_attr),
                                      TN_CASE(LetStmt, vec_let),
                                      TN_CASE(SeqStmt, vec_sequence),
                                      TN_CASE(Evaluate, vec_whole),
                                      TN_CASE(Allocate, vec_whole),
                                      TN_CASE(AllocateConst, vec_whole),
                                      TN_CASE(DeclBuffer, vec_whole),
                                      TN_CASE(While, vec_whole),
                                      TN_CASE(AssertStmt, vec_whole),
                                      TN_CASE(Prefetch, vec_whole),
                                      TN_CASE(BlockRealize, vec_whole)};
  vectorizer x = {.var = op->loop_var, .lanes = lanes};
  tn_expr *min = tir_cast(op->loop_var->dtype, op->min, NULL);
  TN_GETP(x.ramp, (tn_expr *)TN_MAKE(Ramp, .base = min, .stride = tir_one(op->loop_var->dtype),
                                     .lanes = lanes));
  TN_MUT(m, cases, &x);
  tn_stmt *body = tn_mut_visit(&m, op->body);
  tn_pmap_fini(&x.lets);
  return body;
}

/* ---- a last vector that is not full ---- */

typedef struct {
  const tn_Var *var;
  int64_t limit; /* of a condition  var < limit  on statements or values; 0: none is found */
  bool below;    /* the lanes for which it holds, or the others? */
} half;

/* `var < limit` may be written with a sum that has the variable: 64 + var < 77. */
static int64_t limit_of(const half *h, const tn_expr *condition) {
  TN_ARITH(a);
  const tn_Call *likely = tir_as_call((const tn_obj *)condition, TIR_OP_likely);
  tn_obj *e = likely ? tn_arr_obj(likely->args, 0) : (tn_obj *)(uintptr_t)condition;
  int64_t n;
  if (!tir_uses_var(e, h->var)) return 0;
  e = (tn_obj *)arith_simplify(&a, (tn_expr *)e);
  const tn_BinaryOp *less = e && e->type_index == TN_TI_LT ? TN_AS_BINARY(e) : NULL;
  return less && less->a == (const tn_expr *)h->var && tir_as_int((tn_obj *)less->b, &n) ? n : 0;
}

static const tn_expr *condition_of(const tn_obj *node) {
  const tn_IfThenElse *s = TN_AS(IfThenElse, node);
  const tn_Call *e = tir_as_call(node, TIR_OP_if_then_else);
  return s ? s->condition : e ? (const tn_expr *)tn_arr_obj(e->args, 0) : NULL;
}

static int find_limit(void *ctx, tn_obj *node) {
  half *h = ctx;
  const tn_expr *condition = condition_of(node);
  if (condition && h->limit <= 0) h->limit = limit_of(h, condition);
  return 0;
}

static bool is_decided(const half *h, const tn_obj *node) {
  const tn_expr *condition = condition_of(node);
  return condition && limit_of(h, condition) == h->limit;
}

static tn_stmt *half_if(tn_mut *m, tn_IfThenElse *s) {
  const half *h = m->ctx;
  if (!is_decided(h, (tn_obj *)s)) return tn_mut_children(m, s);
  tn_stmt *kept = h->below ? s->then_case : s->else_case;
  return kept ? tn_mut_visit(m, kept) : tir_nop();
}

static tn_expr *half_call(tn_mut *m, tn_Call *e) {
  const half *h = m->ctx;
  if (!is_decided(h, (tn_obj *)e)) return tn_mut_children(m, e);
  return tn_mut_visit(m, tn_arr_obj(e->args, h->below ? 1 : 2));
}

/* The lanes below the limit or those from it on, their own loop. */
static tn_stmt *half_loop(const tn_For *op, half h, int64_t lanes) {
  static const tn_mut_case cases[] = {TN_CASE(IfThenElse, half_if), TN_CASE(Call, half_call)};
  TN_PMAP(value);
  TN_MUT(m, cases, &h);
  tn_For copy = *op;
  tn_dtype t = op->loop_var->dtype;
  TN_GETP(copy.loop_var, tir_var_like(op->loop_var, tn_cstr(op->loop_var->name)));
  tn_expr *at = (tn_expr *)copy.loop_var;
  if (!h.below) TN_GETP(at, tir_add(at, tir_int(t, h.limit)));
  TN_GETP(copy.body, tn_mut_visit(&m, op->body));
  TN_TRYP(tn_pmap_put(&value, op->loop_var, at));
  TN_GETP(copy.body, tir_substitute_fold(copy.body, &value));
  TN_GETP(copy.extent, tir_int(t, h.below ? h.limit : lanes - h.limit));
  return tn_node_copy(&tn_type_For, &copy);
}

typedef struct {
  const tn_PrimFunc *func;
  bool enabled;
} mode;

/* Has the target of the function, or the current one, vectors of unknown length? */
static bool has_scalable(const tn_PrimFunc *f) {
  tn_obj *target = tir_func_attr(f, "target");
  if (!target) target = (tn_obj *)target_current();
  return tir_target_feature(target, "has_sve");
}

/* The lanes of a loop's vectors: its extent, 0 for a negative one, -n for vscale() * n. */
static int lanes_of(const mode *x, const tn_For *r, int64_t *lanes) {
  bool scalable = false;
  const char *name = tn_cstr(r->loop_var->name);
  if (tir_as_int((tn_obj *)r->extent, lanes)) {
    if (*lanes < 0) *lanes = 0;
  } else {
    int known = tir_lanes_from("VectorizeLoop", r->extent, lanes);
    if (known) tn_error_clear();
    else scalable = has_scalable(x->func);
    TN_CHECK(
        !known, ValueError, r->span,
        "Failed to vectorize loop over %s with extent that is not constant: give it a constant "
        "extent",
        name);
    TN_CHECK(scalable, ValueError, r->span,
             "Failed to vectorize loop over %s with an extent of vscale(): the target has no "
             "scalable vectors; give the loop a constant extent, or the target +sve",
             name);
  }
  TN_CHECK(*lanes <= INT16_MAX && *lanes >= -INT16_MAX, ValueError, r->span,
           "Failed to vectorize loop over %s with extent %lld: at most %d lanes", name,
           (long long)*lanes, INT16_MAX);
  return 0;
}

static tn_stmt *lower_for(tn_mut *m, tn_For *op);

/* Two loops where a condition holds for the first lanes only. */
static tn_stmt *halves(tn_mut *m, const tn_For *op, int64_t lanes, bool *done) {
  half h = {.var = op->loop_var};
  TN_TRYP(tn_post_order(op->body, find_limit, &h));
  *done = h.limit > 0 && h.limit < lanes;
  if (!*done) return NULL;
  tn_stmt *both[2];
  for (int i = 0; i < 2; ++i) {
    h.below = i == 0;
    tn_stmt *loop = half_loop(op, h, lanes);
    TN_GETP(both[i], loop);
    TN_GETP(both[i], tir_is_nop(((tn_For *)loop)->body) ? tir_nop() : lower_for(m, (tn_For *)loop));
  }
  return tir_seq2(both[0], both[1]);
}

static tn_stmt *lower_for(tn_mut *m, tn_For *op) {
  tn_For *r = tn_mut_children(m, op);
  const mode *x = m->ctx;
  int64_t lanes;
  if (!r || r->kind != TIR_FOR_VECTORIZED) return (tn_stmt *)r;
  tn_For copy = *r;
  copy.kind = TIR_FOR_SERIAL;
  if (!x->enabled) return tn_node_copy(&tn_type_For, &copy);
  TN_TRYP(lanes_of(x, r, &lanes));
  bool divided = false;
  tn_stmt *parts = tir_is_zero(r->min) ? halves(m, r, lanes, &divided) : NULL;
  if (divided || tn_error_pending()) return parts;
  if (lanes != 1 && lanes != 0 && tir_is_zero(r->min)) return vectorize(r, (int)lanes);
  return tn_node_copy(&tn_type_For, &copy);
}

tn_PrimFunc *tir_vectorize_loop(tn_PrimFunc *f, const tn_pass_ctx *c) {
  static const tn_mut_case cases[] = {TN_CASE(For, lower_for)};
  mode x = {.func = f, .enabled = true};
  if (!tir_has_loop(f->body, TIR_FOR_VECTORIZED)) return f;
  if (c->nargs > 0 && c->args[0].type_index != TN_NONE)
    TN_TRYP(tn_any_to_bool(&c->args[0], &x.enabled));
  if (ir_config_int(c->node, "tir.disable_vectorize", 0)) x.enabled = false;
  TN_MUT(m, cases, &x);
  return tir_with_body(f, tn_mut_visit(&m, f->body));
}
