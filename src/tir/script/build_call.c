/* Calls in scripts that give a value: T.float32(x), T.min(a, b), intrinsics, methods of buffers and
 * expressions. */
#include <string.h>

#include "tir/script/build_impl.h"
#include "tir/script/op_names.h"

/* ---- arguments ---- */

const ast *arg_of(const ast *call, int position, const char *name) {
  int at = 0;
  for (int i = 0; i < call->items.n; ++i) {
    const ast *a = call->items.items[i];
    bool keyword = a->kind == AST_KEYWORD;
    bool is = keyword ? name && a->text && strcmp(a->text, name) == 0 : at++ == position;
    if (is) return see(a), keyword ? a->a : a;
  }
  return NULL;
}

int count_args(const ast *call) {
  int n = 0;
  for (int i = 0; i < call->items.n; ++i) n += call->items.items[i]->kind != AST_KEYWORD;
  return n;
}

static int push_arg(builder *b, const ast *at, const val *v, tn_vec *out) {
  tn_obj *o = NULL;
  if (v->kind == VAL_PLAIN && v->v.type_index == TN_TI_BufferRegion)
    o = (tn_obj *)to_expr(b, at, v);
  else if (v->kind == VAL_PLAIN && (v->v.type_index == TN_TI_String || v->v.type_index == TN_CSTR))
    o = (tn_obj *)ir_expr_from(&v->v);
  else o = to_obj(b, at, v);
  if (!o && tn_error_pending()) return place_error(b, at);
  return tn_vec_push_obj(out, o);
}

int eval_args(builder *b, const ast *call, tn_vec *out) {
  for (int i = 0; i < call->items.n; ++i) {
    const ast *a = call->items.items[i];
    val v;
    if (a->kind == AST_KEYWORD) {
      /* older scripts give a type that follows from the operands, programs a place */
      if (a->text && (strcmp(a->text, "dtype") == 0 || strcmp(a->text, "span") == 0)) see(a);
      continue;
    }
    TN_TRY(eval(b, a->kind == AST_STARRED ? a->a : a, &v));
    if (a->kind != AST_STARRED) {
      TN_TRY(push_arg(b, a, &v, out));
      continue;
    }
    if (v.kind != VAL_PLAIN || v.v.type_index != TN_TI_Array)
      return ast_error(b->src, a, "expected a list or tuple behind *");
    const tn_arr *items = (tn_arr *)v.v.v.obj;
    for (int64_t j = 0; j < items->len; ++j) {
      val item = PLAIN(items->items[j]);
      TN_TRY(push_arg(b, a, &item, out));
    }
  }
  return 0;
}

/* The n arguments as expressions; an error names how many were expected. */
static int expr_args(builder *b, const ast *call, const char *name, int n, tn_expr **out) {
  TN_VEC(args);
  TN_TRY(eval_args(b, call, &args));
  if (args.len != n)
    return ast_error(b->src, call, "T.%s: expected %d argument%s, got %lld", name, n,
                     n == 1 ? "" : "s", (long long)args.len);
  for (int i = 0; i < n; ++i) {
    val v = PLAIN(args.items[i]);
    if (!(out[i] = to_expr(b, call, &v))) return -1;
  }
  return 0;
}

static int give(builder *b, const ast *call, void *obj, val *out) {
  *out = PLAIN_OBJ(obj);
  return obj ? 0 : place_error(b, call);
}

/* ---- T.float32(x), T.handle("float32"), T.int32() ---- */

static tn_expr *typed_text(builder *b, const ast *at, tn_dtype t, const char *text) {
  double x = strcmp(text, "inf") == 0    ? 1.0 / 0.0
             : strcmp(text, "-inf") == 0 ? -1.0 / 0.0
             : strcmp(text, "nan") == 0  ? __builtin_nan("")
                                         : 1.0;
  if (x == 1.0)
    return (void)ast_error(b->src, at, "expected a number, \"inf\", \"-inf\" or \"nan\""), NULL;
  return tir_float(t, x);
}

static int make_var(builder *b, const ast *call, tn_dtype t, val *out) {
  const ast *size = arg_of(call, -1, "is_size_var");
  val flag = PLAIN(tn_any_bool(false));
  if (size) TN_TRY(eval(b, size, &flag));
  tn_Var *v = tir_var("v", t);
  if (v && flag.v.v.i64) {
    tn_SizeVar sized = {.dtype = t, .name = v->name, .type_annotation = v->type_annotation};
    v = tn_node_copy(&tn_type_SizeVar, &sized);
  }
  if (v && tn_pmap_put_int(&b->declared, v, 1)) return -1;
  return give(b, call, v, out);
}

static int typed_value(builder *b, const ast *call, tn_dtype t, val *out) {
  const ast *a = arg_of(call, 0, "expr");
  val v;
  if (!a) return make_var(b, call, t, out);
  TN_TRY(eval(b, a, &v));
  const char *text;
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_NONE) return make_var(b, call, t, out);
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_TI_String && tn_any_to_cstr(&v.v, &text) == 0)
    return give(b, call, typed_text(b, a, t, text), out);
  bool plain_int = v.kind == VAL_PLAIN && (v.v.type_index == TN_INT || v.v.type_index == TN_BOOL);
  if (plain_int) return give(b, call, tir_const_int(t, v.v.v.i64), out);
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_FLOAT)
    return give(b, call, tir_const_float(t, v.v.v.f64), out);
  tn_expr *e = to_expr(b, a, &v);
  return e ? give(b, call, tir_cast(t, e, NULL), out) : -1;
}

static int handle_value(builder *b, const ast *call, val *out) {
  const ast *type = arg_of(call, 0, "dtype"), *scope = arg_of(call, 1, "storage_scope");
  tn_dtype t;
  if (!type) return typed_value(b, call, TN_HANDLE, out);
  TN_TRY(eval_dtype(b, type, &t));
  const char *s = scope ? eval_text(b, scope) : "global";
  tn_Var *v = s ? tir_pointer_var("v", t, s) : NULL;
  if (!v || tn_pmap_put_int(&b->declared, v, 1)) return -1;
  return give(b, call, v, out);
}

/* ---- functions with their own node ---- */

static const struct {
  const char *name;
  uint32_t node;
} node_calls[] =
    {
        {"Add", TN_TI_Add},
        {"Sub", TN_TI_Sub},
        {"Mul", TN_TI_Mul},
        {"Div", TN_TI_Div},
        {"Mod", TN_TI_Mod},
        {"FloorDiv", TN_TI_FloorDiv},
        {"FloorMod", TN_TI_FloorMod},
        {"Min", TN_TI_Min},
        {"Max", TN_TI_Max},
        {"EQ", TN_TI_EQ},
        {"NE", TN_TI_NE},
        {"LT", TN_TI_LT},
        {"LE", TN_TI_LE},
        {"GT", TN_TI_GT},
        {"GE", TN_TI_GE},
        {"And", TN_TI_And},
        {"Or", TN_TI_Or},
},
  folded_calls[] = {
      {"min", TN_TI_Min},           {"max", TN_TI_Max},           {"div", TN_TI_Div},
      {"truncdiv", TN_TI_Div},      {"truncmod", TN_TI_Mod},      {"floordiv", TN_TI_FloorDiv},
      {"floormod", TN_TI_FloorMod}, {"indexdiv", TN_TI_FloorDiv}, {"indexmod", TN_TI_FloorMod},
};

static int call_binary(builder *b, const ast *call, const char *name, val *out) {
  tn_expr *x[2];
  for (int i = 0; i < TN_COUNT(node_calls); ++i) {
    if (strcmp(node_calls[i].name, name) != 0) continue;
    TN_TRY(expr_args(b, call, name, 2, x));
    bool compares = node_calls[i].node >= TN_TI_EQ;
    tn_BinaryOp proto = {.dtype =
                             compares ? tn_dtype_of(kDLUInt, 1, x[0]->dtype.lanes) : x[0]->dtype,
                         .a = x[0],
                         .b = x[1]};
    return give(b, call, ir_node_check(tn_node_copy(tn_type_get(node_calls[i].node), &proto)), out);
  }
  for (int i = 0; i < TN_COUNT(folded_calls); ++i) {
    if (strcmp(folded_calls[i].name, name) != 0) continue;
    TN_TRY(expr_args(b, call, name, 2, x));
    if (tir_check_written(folded_calls[i].node, x[1], NULL)) return place_error(b, call);
    return give(b, call, tir_binary(folded_calls[i].node, x[0], x[1], NULL), out);
  }
  return 1;
}

static int call_cast(builder *b, const ast *call, const char *name, val *out) {
  tn_dtype t;
  bool node = strcmp(name, "Cast") == 0;
  const ast *type = arg_of(call, node ? 0 : 1, "dtype"),
            *value = arg_of(call, node ? 1 : 0, "value");
  if (!type || !value)
    return ast_error(b->src, call, "T.%s: expected a data type and a value", name);
  TN_TRY(eval_dtype(b, type, &t));
  tn_expr *e = eval_expr(b, value);
  if (!e) return -1;
  return give(b, call,
              node ? (tn_expr *)TN_MAKE(Cast, .dtype = t, .value = e) : tir_cast(t, e, NULL), out);
}

static int call_let(builder *b, const ast *call, val *out) {
  const ast *inner_of = arg_of(call, 0, "expr"), *where = arg_of(call, 1, "where");
  if (!inner_of || !where || where->kind != AST_DICT || where->items.n != 2)
    return ast_error(b->src, call, "T.Let: expected T.Let(expr, where={var: value})");
  tn_expr *value = eval_expr(b, where->items.items[1]);
  tn_Var *var;
  /* the variable is known in the expression only */
  if (!value || !open_body(b) || bind_var(b, where->items.items[0], &var, value->dtype)) return -1;
  tn_expr *inner = eval_expr(b, inner_of);
  if (!inner || !close_body(b)) return -1;
  return give(b, call, TN_MAKE(Let, .var = var, .value = value, .body = inner), out);
}

static int call_shuffle(builder *b, const ast *call, val *out) {
  const ast *v = arg_of(call, 0, "vectors"), *i = arg_of(call, 1, "indices");
  tn_arr *vectors = v ? eval_exprs(b, v) : NULL, *indices = vectors && i ? eval_exprs(b, i) : NULL;
  if (!indices)
    return tn_error_pending() ? -1
                              : ast_error(b->src, call, "T.Shuffle: expected vectors and indices");
  return give(b, call, TN_MAKE(Shuffle, .vectors = vectors, .indices = indices), out);
}

static int call_vector(builder *b, const ast *call, const char *name, val *out) {
  tn_expr *x[3];
  int64_t lanes;
  bool ramp = strcmp(name, "Ramp") == 0 || strcmp(name, "ramp") == 0;
  int n = ramp ? 3 : 2;
  TN_TRY(expr_args(b, call, name, n, x));
  if (tir_lanes_from(name, x[n - 1], &lanes)) {
    tn_error_clear();
    return ast_error(b->src, call,
                     "T.%s: expected a positive constant or T.vscale() times one as the number of "
                     "lanes",
                     name);
  }
  if (ramp) TN_GET(x[1], tir_cast(x[0]->dtype, x[1], NULL));
  return give(b, call,
              ramp ? (void *)TN_MAKE(Ramp, .base = x[0], .stride = x[1], .lanes = lanes)
                   : (void *)TN_MAKE(Broadcast, .value = x[0], .lanes = lanes),
              out);
}

static int call_select(builder *b, const ast *call, const char *name, val *out) {
  tn_expr *x[3];
  TN_TRY(expr_args(b, call, name, 3, x));
  if (strcmp(name, "Select") == 0) {
    if (tir_match_types(&x[1], &x[2], NULL)) return place_error(b, call);
    return give(b, call,
                TN_MAKE(Select, .condition = x[0], .true_value = x[1], .false_value = x[2]), out);
  }
  return give(b, call, tir_if_then_else(x[0], x[1], x[2], NULL), out);
}

static int call_range(builder *b, const ast *call, val *out) {
  tn_expr *x[2];
  TN_TRY(expr_args(b, call, "Range", 2, x));
  return give(b, call, script_range(x[0], x[1]), out);
}

static int call_iter_var(builder *b, const ast *call, val *out) {
  static const char *const types[] = {"DataPar",    "ThreadIndex",  "CommReduce",
                                      "Ordered",    "Opaque",       "Unrolled",
                                      "Vectorized", "Parallelized", "Tensorized"};
  const ast *v = arg_of(call, 0, "v"), *dom = arg_of(call, 1, "dom"),
            *type = arg_of(call, 2, "iter_type"), *tag = arg_of(call, 3, "thread_tag");
  if (!v || !dom || !type || !tag)
    return ast_error(b->src, call, "T.iter_var: expected var, dom, iter_type and thread_tag");
  tn_obj *var = eval_obj(b, v), *range = NULL;
  val d;
  if (!var || eval(b, dom, &d)) return -1;
  if (d.v.type_index != TN_NONE && !(range = to_obj(b, dom, &d))) return -1;
  const char *kind = eval_text(b, type), *thread = kind ? eval_text(b, tag) : NULL;
  if (!thread) return -1;
  for (int i = 0; i < TN_COUNT(types); ++i) {
    if (strcmp(types[i], kind) == 0)
      return give(b, call,
                  TN_MAKE_CHECKED(IterVar, .dom = (tn_Range *)range, .var = (tn_Var *)var,
                                  .iter_type = i, .thread_tag = tn_str_from(thread)),
                  out);
  }
  return ast_error(b->src, type, "T.iter_var: unknown type \"%s\"", kind);
}

/* T.comm_reducer(lambda x0, y0: x0 + y0, [identity]): the variables take the types of the
 * identities */
static int call_reducer(builder *b, const ast *call, val *out) {
  const ast *f = arg_of(call, 0, "combiner"), *id = arg_of(call, 1, "identity");
  if (!f || !id || f->kind != AST_LAMBDA)
    return ast_error(b->src, call, "T.comm_reducer: expected a lambda and a list of identities");
  tn_arr *identity = eval_exprs(b, id);
  TN_VEC(vars);
  if (!identity) return -1;
  if (f->items.n != 2 * identity->len)
    return ast_error(b->src, f, "T.comm_reducer: expected %lld parameters, got %d",
                     (long long)(2 * identity->len), f->items.n);
  if (!open_body(b)) return -1;
  for (int i = 0; i < f->items.n; ++i) {
    tn_Var *v = tir_var(f->items.items[i]->text,
                        ((tn_expr *)tn_arr_obj(identity, i % identity->len))->dtype);
    if (!v || tn_vec_push_obj(&vars, v) || bind_name(b, f->items.items[i]->text, PLAIN_OBJ(v)))
      return -1;
  }
  tn_arr *result = eval_exprs(b, f->a);
  if (!result || !close_body(b)) return -1;
  tn_vec lhs = {vars.items, identity->len, 0}, rhs = {vars.items + identity->len, identity->len, 0};
  tn_arr *l = tn_arr_from(&lhs), *r = tn_arr_from(&rhs);
  return give(
      b, call,
      TN_MAKE(CommReducer, .lhs = l, .rhs = r, .result = result, .identity_element = identity),
      out);
}

static int call_reduce(builder *b, const ast *call, val *out) {
  tn_obj *parts[5];
  int64_t index;
  static const char *const names[] = {"combiner", "source", "init", "axis", "condition"};
  for (int i = 0; i < 5; ++i) {
    const ast *a = arg_of(call, i, names[i]);
    if (!a) return ast_error(b->src, call, "T.reduce: %s is missing", names[i]);
    if (!(parts[i] = eval_obj(b, a))) return -1;
  }
  if (!arg_of(call, 5, "value_index"))
    return ast_error(b->src, call, "T.reduce: value_index is missing");
  TN_TRY(eval_int(b, arg_of(call, 5, "value_index"), &index));
  tn_expr *cond =
      ir_expr_from(&(tn_any){.type_index = (int32_t)parts[4]->type_index, .v.obj = parts[4]});
  return give(b, call,
              TN_MAKE_CHECKED(Reduce, .combiner = (tn_CommReducer *)parts[0],
                              .source = (tn_arr *)parts[1], .init = (tn_arr *)parts[2],
                              .axis = (tn_arr *)parts[3], .condition = cond, .value_index = index),
              out);
}

static int call_index_map(builder *b, const ast *call, val *out) {
  const ast *f = arg_of(call, 0, "mapping");
  TN_VEC(vars);
  if (!f || f->kind != AST_LAMBDA) return ast_error(b->src, call, "T.index_map: expected a lambda");
  if (!open_body(b)) return -1;
  for (int i = 0; i < f->items.n; ++i) {
    tn_Var *v = tir_var(f->items.items[i]->text, TN_I32);
    if (!v || tn_vec_push_obj(&vars, v) || bind_name(b, f->items.items[i]->text, PLAIN_OBJ(v)))
      return -1;
  }
  tn_arr *final = eval_exprs(b, f->a);
  if (!final || !close_body(b)) return -1;
  return give(b, call,
              TN_MAKE(IndexMap, .initial_indices = tn_arr_from(&vars), .final_indices = final),
              out);
}

static int call_buffer(builder *b, const ast *call, val *out) {
  tn_Buffer *buf = eval_buffer(b, call, 0, "buffer");
  return give(b, call, buf, out);
}

static int call_meta_var(builder *b, const ast *call, val *out) {
  const ast *a = arg_of(call, 0, "value");
  return a ? eval(b, a, out) : ast_error(b->src, call, "T.meta_var: expected a value");
}

/* ---- intrinsics ---- */

/* Takes the type out of the arguments where it stands first or last. */
static int take_dtype(builder *b, const ast *call, const char *name, tir_dtype_place place,
                      tn_vec *args, tn_dtype *t) {
  const ast *keyword = arg_of(call, -1, "dtype");
  if (keyword) return eval_dtype(b, keyword, t);
  if (place == TIR_DTYPE_NONE) {
    *t = tir_op_script_dtype(name, args->items, args->len);
    return 0;
  }
  int64_t at = place == TIR_DTYPE_FIRST ? 0 : args->len - 1;
  const tn_StringImm *text = args->len ? TN_AS(StringImm, args->items[at].v.obj) : NULL;
  if (!text)
    return ast_error(b->src, call, "T.%s: expected the data type of the result as the %s argument",
                     name, at ? "last" : "first");
  TN_TRY(tn_dtype_parse(text->value->data, text->value->len, t));
  for (int64_t i = at; i + 1 < args->len; ++i) args->items[i] = args->items[i + 1];
  args->len--;
  return 0;
}

/* Shifts written as calls are kept as they are, but not by a number of bits that has no meaning. */
static bool shift_is_valid(const tn_Call *c) {
  tir_op_id id = tir_op_number((const tn_obj *)c->op);
  if (id != TIR_OP_shift_left && id != TIR_OP_shift_right) return true;
  const tn_expr *a = (const tn_expr *)tn_arr_obj(c->args, 0);
  return tir_check_shift(a, (const tn_expr *)tn_arr_obj(c->args, 1), NULL) == 0;
}

/* A thread axis stands for its variable among operands. */
static void use_axis_vars(tn_vec *args) {
  for (int64_t i = 0; i < args->len; ++i) {
    const tn_IterVar *iv =
        tn_any_is_obj(&args->items[i]) ? TN_AS(IterVar, args->items[i].v.obj) : NULL;
    if (iv) args->items[i] = tn_any_obj(iv->var);
  }
}

/* A value read as of the type that it has is the value itself. */
static tn_expr *reinterpreted_as_is(const tn_Op *op, const tn_vec *args, tn_dtype t) {
  tn_expr *e = args->len == 1 ? (tn_expr *)args->items[0].v.obj : NULL;
  bool same = e && TN_IS(PrimExpr, e) && tn_dtype_eq(e->dtype, t);
  return same && tir_op_number((const tn_obj *)op) == TIR_OP_reinterpret ? e : NULL;
}

static int call_intrinsic(builder *b, const ast *call, const char *name, val *out) {
  TN_VEC(args);
  tn_Op *op = tir_op_by_script_name(name);
  tn_dtype t;
  if (!op) return 1;
  TN_TRY(eval_args(b, call, &args));
  if (take_dtype(b, call, tir_op_script_name(op), tir_op_dtype_place(op), &args, &t))
    return place_error(b, call);
  use_axis_vars(&args);
  tn_expr *same = reinterpreted_as_is(op, &args, t);
  if (same) return give(b, call, same, out);
  if (strncmp(tir_op_script_name(op), "call_llvm_", 10) == 0)
    TN_TRY(name_llvm_intrinsic(b, call, &args));
  tn_Call *made = TN_MAKE(Call, .dtype = t, .op = (tn_BaseExpr *)op, .args = tn_arr_from(&args));
  if (made && !shift_is_valid(made)) return place_error(b, call);
  return give(b, call, made, out);
}

static const struct {
  const char *name;
  tn_expr *(*build)(tn_expr *, tn_expr *);
} two_operands[] = {{"ceildiv", NULL}, {"pow", NULL}, {"power", NULL}, {"fmod", NULL}};

static int call_two(builder *b, const ast *call, const char *name, val *out) {
  tn_expr *x[2];
  for (int i = 0; i < TN_COUNT(two_operands); ++i) {
    if (strcmp(two_operands[i].name, name) != 0) continue;
    if (arg_of(call, -1, "dtype")) return 1; /* the intrinsic as it stands */
    TN_TRY(expr_args(b, call, name, 2, x));
    if (i == 0 && tir_check_written(TN_TI_FloorDiv, x[1], NULL)) return place_error(b, call);
    if (i == 0) return give(b, call, tir_ceildiv(x[0], x[1], NULL), out);
    return give(b, call, tir_float_binary(i == 3 ? TIR_OP_fmod : TIR_OP_pow, x[0], x[1], NULL),
                out);
  }
  if (strcmp(name, "abs") != 0) return 1;
  TN_TRY(expr_args(b, call, name, 1, x));
  return give(b, call, tir_abs(x[0], NULL), out);
}

static int call_limit(builder *b, const ast *call, const char *name, val *out) {
  tn_dtype t;
  const ast *a = arg_of(call, 0, "dtype");
  if (!a) return ast_error(b->src, call, "T.%s: expected a data type", name);
  TN_TRY(eval_dtype(b, a, &t));
  tn_expr *e = name[1] == 'i'   ? tir_min_value(t)
               : name[1] == 'a' ? tir_max_value(t)
                                : tir_infinity(t);
  return give(b, call, e, out);
}

int call_t(builder *b, const ast *call, const char *name, val *out) {
  static const struct {
    const char *name;
    int (*call)(builder *, const ast *, val *);
  } simple[] = {{"handle", handle_value},    {"Let", call_let},
                {"Shuffle", call_shuffle},   {"Range", call_range},
                {"iter_var", call_iter_var}, {"comm_reducer", call_reducer},
                {"reduce", call_reduce},     {"index_map", call_index_map},
                {"Buffer", call_buffer},     {"buffer_decl", call_buffer},
                {"meta_var", call_meta_var}};
  static const struct {
    const char *name;
    int (*call)(builder *, const ast *, const char *, val *);
  } named[] = {{"Cast", call_cast},       {"cast", call_cast},           {"Ramp", call_vector},
               {"ramp", call_vector},     {"Broadcast", call_vector},    {"broadcast", call_vector},
               {"Select", call_select},   {"if_then_else", call_select}, {"min_value", call_limit},
               {"max_value", call_limit}, {"infinity", call_limit}};
  tn_dtype t;
  for (int i = 0; i < TN_COUNT(simple); ++i) {
    if (strcmp(simple[i].name, name) == 0) return simple[i].call(b, call, out);
  }
  for (int i = 0; i < TN_COUNT(named); ++i) {
    if (strcmp(named[i].name, name) == 0) return named[i].call(b, call, named[i].name, out);
  }
  if (strcmp(name, "boolean") == 0) return typed_value(b, call, TN_BOOL1, out);
  if (tn_dtype_parse(name, strlen(name), &t) == 0) return typed_value(b, call, t, out);
  tn_error_clear();
  int r = call_binary(b, call, name, out);
  if (r == 1) r = call_two(b, call, name, out);
  if (r == 1) r = call_named(b, call, name, out);
  return r == 1 ? call_intrinsic(b, call, name, out) : r;
}

/* ---- methods ---- */

static int access_ptr(builder *b, const ast *call, tn_Buffer *buf, val *out) {
  const ast *mask = arg_of(call, 0, "access_mask"), *offset = arg_of(call, 3, "offset"),
            *extent = arg_of(call, 4, "extent");
  const ast *lanes = arg_of(call, 2, "content_lanes");
  int64_t bits = 0, n = 1;
  val m;
  if (!mask) return ast_error(b->src, call, "access_ptr: access_mask is missing");
  TN_TRY(eval(b, mask, &m));
  const char *text;
  if (m.kind == VAL_PLAIN && m.v.type_index == TN_TI_String && tn_any_to_cstr(&m.v, &text) == 0)
    bits = (strchr(text, 'r') ? 1 : 0) | (strchr(text, 'w') ? 2 : 0);
  else TN_TRY(eval_int(b, mask, &bits));
  if (lanes) TN_TRY(eval_int(b, lanes, &n));
  tn_expr *off = offset ? eval_expr(b, offset) : tir_i32(0),
          *ext = off && extent ? eval_expr(b, extent) : NULL;
  if (!off || (extent && !ext)) return -1;
  tn_expr *e = tir_buffer_access_ptr(buf, (int)bits, (int)n, off, ext);
  return give(b, call, e, out);
}

static int vload(builder *b, const ast *call, tn_Buffer *buf, val *out) {
  const ast *begin = arg_of(call, 0, "begin"), *type = arg_of(call, 1, "dtype");
  if (!begin) return ast_error(b->src, call, "vload: begin, the first element, is missing");
  tn_arr *indices = eval_exprs(b, begin);
  tn_dtype t = buf->dtype;
  if (!indices) return -1;
  if (type) TN_TRY(eval_dtype(b, type, &t));
  TN_VEC(v);
  for (int64_t i = 0; i < indices->len; ++i) {
    tn_expr *e = (tn_expr *)tn_arr_obj(indices, i);
    if (i + 1 == indices->len && t.lanes > buf->dtype.lanes)
      e = (tn_expr *)TN_MAKE(Ramp, .base = e, .stride = tir_one(e->dtype),
                             .lanes = tn_dtype_lanes(t) / buf->dtype.lanes);
    if (!e || tn_vec_push_obj(&v, e)) return -1;
  }
  return give(b, call, tir_load(buf, tn_arr_from(&v)), out);
}

static int call_astype(builder *b, const ast *call, const val *self, val *out) {
  tn_dtype t;
  const ast *a = arg_of(call, 0, "dtype");
  tn_expr *e = to_expr(b, call, &(val){.kind = VAL_PLAIN, .v = self->v});
  if (!e || !a) return a ? -1 : ast_error(b->src, call, "astype: expected a data type");
  TN_TRY(eval_dtype(b, a, &t));
  return give(b, call, tir_cast(t, e, NULL), out);
}

int call_method(builder *b, const ast *call, const val *m, val *out) {
  tn_Buffer *buf = TN_AS(Buffer, m->v.v.obj); /* methods are always those of objects */
  if (buf && strcmp(m->name, "access_ptr") == 0) return access_ptr(b, call, buf, out);
  if (buf && strcmp(m->name, "vload") == 0) return vload(b, call, buf, out);
  if (buf && strcmp(m->name, "scope") == 0) {
    *out = PLAIN_OBJ(tn_str_from(tir_buffer_scope(buf)));
    return 0;
  }
  if (strcmp(m->name, "astype") == 0) return call_astype(b, call, m, out);
  return host_eval(b, call, out);
}
