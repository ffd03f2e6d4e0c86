/* Expressions of scripts. Plain numbers stay plain while only plain numbers are involved (they are
   sizes and flags); they become constants where they meet an expression. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tir/script/build_impl.h"
#include "tir/script/op_names.h"

/* ---- conversions ---- */

tn_expr *to_expr(builder *b, const ast *at, const val *v) {
  tn_expr *e = NULL;
  if (v->kind == VAL_PLAIN && v->v.type_index == TN_TI_BufferRegion)
    e = region_as_load(b, at, (tn_BufferRegion *)v->v.v.obj);
  else if (v->kind == VAL_PLAIN) e = ir_expr_from(&v->v);
  if (e) return e;
  if (tn_error_pending()) return (void)place_error(b, at), NULL;
  return (void)ast_error(b->src, at, "expected an expression"), NULL;
}

tn_obj *to_obj(builder *b, const ast *at, const val *v) {
  if (v->kind != VAL_PLAIN) return (void)ast_error(b->src, at, "expected a value"), NULL;
  if (tn_any_is_obj(&v->v)) return v->v.v.obj;
  if (v->v.type_index == TN_NONE) return NULL;
  if (v->v.type_index == TN_CSTR) return (tn_obj *)tn_str_from(v->v.v.cstr);
  return (tn_obj *)to_expr(b, at, v);
}

tn_expr *eval_expr(builder *b, const ast *n) {
  val v;
  return eval(b, n, &v) ? NULL : to_expr(b, n, &v);
}

tn_obj *eval_obj(builder *b, const ast *n) {
  val v;
  if (eval(b, n, &v)) return NULL;
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_NONE)
    return (void)ast_error(b->src, n, "expected a value, got None"), NULL;
  return to_obj(b, n, &v);
}

int eval_int(builder *b, const ast *n, int64_t *out) {
  val v;
  TN_TRY(eval(b, n, &v));
  if (v.kind != VAL_PLAIN || tn_any_to_int(&v.v, out)) {
    tn_error_clear();
    return ast_error(b->src, n, "expected a constant integer");
  }
  return 0;
}

const char *eval_text(builder *b, const ast *n) {
  val v;
  const char *text;
  if (eval(b, n, &v)) return NULL;
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_TI_StringImm)
    return tn_cstr(((tn_StringImm *)v.v.v.obj)->value);
  if (v.kind == VAL_PLAIN && tn_any_to_cstr(&v.v, &text) == 0) return text;
  tn_error_clear();
  return (void)ast_error(b->src, n, "expected a string"), NULL;
}

const char *eval_memory_scope(builder *b, const ast *n) {
  const char *scope = n ? eval_text(b, n) : "global";
  return scope && !*scope ? "global" : scope;
}

/* "float32", or T.float32 as in T.float32x4 */
int eval_dtype(builder *b, const ast *n, tn_dtype *out) {
  val v;
  TN_TRY(eval(b, n, &v));
  const char *text = v.kind == VAL_T ? v.name : NULL;
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_DTYPE) {
    *out = v.v.v.dtype;
    return 0;
  }
  if (!text && (v.kind != VAL_PLAIN || tn_any_to_cstr(&v.v, &text))) {
    tn_error_clear();
    return ast_error(b->src, n, "expected a data type such as \"float32\"");
  }
  return tn_dtype_parse(text, strlen(text), out) ? place_error(b, n) : 0;
}

tn_arr *to_exprs(builder *b, const ast *at, const val *v) {
  TN_VEC(out);
  const tn_arr *items =
      v->kind == VAL_PLAIN && v->v.type_index == TN_TI_Array ? (tn_arr *)v->v.v.obj : NULL;
  for (int64_t i = 0; i < (items ? items->len : 1); ++i) {
    val item = items ? PLAIN(items->items[i]) : *v;
    tn_expr *e = to_expr(b, at, &item);
    if (!e || tn_vec_push_obj(&out, e)) return NULL;
  }
  return tn_arr_from(&out);
}

tn_arr *eval_exprs(builder *b, const ast *n) {
  val v;
  return eval(b, n, &v) ? NULL : to_exprs(b, n, &v);
}

/* ---- names, literals ---- */

/* An expression that starts at a name of the host goes to it as a whole: only its end has to be a
   value that scripts know. @return 1 when it does not, 0 when it was evaluated, -1 */
static int host_chain(builder *b, const ast *n, val *out) {
  const ast *root = n;
  while (root->kind == AST_CALL || root->kind == AST_ATTR || root->kind == AST_INDEX)
    root = root->a;
  if (root->kind != AST_NAME) return 1;
  if (find_name(b, root->text, out))
    return TN_AS(HostValue, val_obj(out)) && root != n ? host_eval(b, n, out) : 1;
  int r = ask_host(b, root, out);
  if (r < 0) return -1;
  return r == 0 ? 1 : host_eval(b, n, out);
}

static int eval_name(builder *b, const ast *n, val *out) {
  if (find_name(b, n->text, out)) return 0;
  int r = ask_host(b, n, out);
  return r == 1 ? host_eval(b, n, out) : r;
}

/* @param negative the number stands behind a minus, and comes with it */
static int eval_number(builder *b, const ast *n, bool negative, val *out) {
  char digits[80];
  size_t len = 0;
  for (const char *s = n->text; *s && len + 1 < sizeof digits; ++s) {
    if (*s != '_') digits[len++] = *s;
  }
  digits[len] = '\0';
  if (n->kind == AST_FLOAT) {
    double f = strtod(digits, NULL);
    *out = PLAIN(tn_any_float(negative ? -f : f));
    return 0;
  }
  int base = digits[0] != '0'                       ? 10
             : digits[1] == 'x' || digits[1] == 'X' ? 16
             : digits[1] == 'b' || digits[1] == 'B' ? 2
             : digits[1] == 'o' || digits[1] == 'O' ? 8
                                                    : 10;
  if (!negative && build_wide(n, out) == 0) return 0;
  unsigned long long x = strtoull(digits + (base == 10 ? 0 : 2), NULL, base);
  if (x > (uint64_t)INT64_MAX + negative)
    return ast_error(b->src, n, "integer %s does not fit 64 bits", n->text);
  *out = PLAIN(tn_any_int((int64_t)(negative ? 0 - x : x)));
  return 0;
}

static int eval_sequence(builder *b, ast_list items, tn_vec *out) {
  for (int i = 0; i < items.n; ++i) {
    const ast *n = items.items[i];
    val v;
    TN_TRY(eval(b, n->kind == AST_STARRED ? n->a : n, &v));
    if (v.kind != VAL_PLAIN) return ast_error(b->src, n, "expected a value");
    if (n->kind != AST_STARRED) {
      TN_TRY(tn_vec_push(out, v.v));
      continue;
    }
    if (v.v.type_index != TN_TI_Array)
      return ast_error(b->src, n, "expected a list or tuple behind *");
    const tn_arr *a = (tn_arr *)v.v.v.obj;
    for (int64_t j = 0; j < a->len; ++j) TN_TRY(tn_vec_push(out, a->items[j]));
  }
  return 0;
}

/* Counts the elements of a list or dictionary and of those in it as steps: names let each of many
   lists hold the one before twice, and the last one is as large as 2 to their number. Depth is
   limited because attributes and comparisons of lists recurse. */
static int count_elements(builder *b, const ast *n, const tn_any *v, int depth) {
  tn_any key, value;
  const tn_obj *o = tn_any_is_obj(v) ? v->v.obj : NULL;
  const tn_arr *a = TN_AS(Array, o);
  const tn_map *m = TN_AS(Map, o);
  if (!a && !m) return 0;
  if (depth > BUILD_LISTS_MAX) return ast_error(b->src, n, "lists are nested too deeply");
  for (int64_t i = 0; a && i < a->len; ++i) {
    TN_TRY(one_step(b, n));
    TN_TRY(count_elements(b, n, &a->items[i], depth + 1));
  }
  for (int64_t i = 0; m && tn_map_at(m, i, &key, &value); ++i) {
    TN_TRY(one_step(b, n));
    TN_TRY(count_elements(b, n, &key, depth + 1));
    TN_TRY(count_elements(b, n, &value, depth + 1));
  }
  return 0;
}

static int eval_array(builder *b, const ast *n, val *out) {
  TN_VEC(items);
  TN_TRY(eval_sequence(b, n->items, &items));
  tn_arr *a = tn_arr_from(&items);
  *out = PLAIN_OBJ(a);
  return a ? count_elements(b, n, &out->v, 1) : -1;
}

/* A value as it is kept in attributes: numbers are constants there, also inside lists. */
static tn_obj *attribute_value(builder *b, const ast *at, const val *v) {
  TN_VEC(items);
  tn_obj *o = v->kind == VAL_PLAIN && v->v.type_index == TN_NONE ? NULL : to_obj(b, at, v);
  const tn_arr *a = o && o->type_index == TN_TI_Array ? (const tn_arr *)o : NULL;
  for (int64_t i = 0; a && i < a->len; ++i) {
    val item = PLAIN(a->items[i]);
    tn_obj *element = attribute_value(b, at, &item);
    if ((!element && tn_error_pending()) || tn_vec_push_obj(&items, element)) return NULL;
  }
  return a ? (tn_obj *)tn_arr_from(&items) : o;
}

static int eval_dict(builder *b, const ast *n, val *out) {
  tn_map *m = tn_scope_own(tn_map_new());
  if (!m) return -1;
  for (int i = 0; i + 1 < n->items.n; i += 2) {
    val k, v;
    TN_TRY(eval(b, n->items.items[i], &k));
    TN_TRY(eval(b, n->items.items[i + 1], &v));
    tn_obj *value = attribute_value(b, n->items.items[i + 1], &v);
    if (!value && tn_error_pending()) return -1;
    TN_TRY(tn_map_set(m, k.v, tn_any_obj(value)));
  }
  *out = PLAIN_OBJ(m);
  return count_elements(b, n, &out->v, 1);
}

/* ---- operators ---- */

static const struct {
  const char *text;
  uint32_t node;
} binary_ops[] = {
    {"+", TN_TI_Add},       {"-", TN_TI_Sub},      {"*", TN_TI_Mul}, {"/", TN_TI_Div},
    {"//", TN_TI_FloorDiv}, {"%", TN_TI_FloorMod}, {"==", TN_TI_EQ}, {"!=", TN_TI_NE},
    {"<", TN_TI_LT},        {"<=", TN_TI_LE},      {">", TN_TI_GT},  {">=", TN_TI_GE},
};

static bool is_number(const val *v) {
  return v->kind == VAL_PLAIN &&
         (v->v.type_index == TN_INT || v->v.type_index == TN_BOOL || v->v.type_index == TN_FLOAT);
}
static double as_double(const val *v) {
  return v->v.type_index == TN_FLOAT ? v->v.v.f64 : (double)v->v.v.i64;
}

static int64_t floor_div(int64_t a, int64_t b) {
  return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}

/* x to the n-th, n >= 0, by squaring. @return whether it fits */
static bool int_power(int64_t x, int64_t n, int64_t *out) {
  for (*out = 1; n > 0; n >>= 1) {
    if ((n & 1) && __builtin_mul_overflow(*out, x, out)) return false;
    if (n > 1 && __builtin_mul_overflow(x, x, &x)) return false;
  }
  return true;
}

/* Arithmetic of integers as Python has it. @return whether the result fits, *known whether the
   operator is one of these */
static bool int_binary(const char *op, int64_t i, int64_t j, int64_t *out, bool *known) {
  *known = true;
  if (!strcmp(op, "+")) return !__builtin_add_overflow(i, j, out);
  if (!strcmp(op, "-")) return !__builtin_sub_overflow(i, j, out);
  if (!strcmp(op, "*")) return !__builtin_mul_overflow(i, j, out);
  if (!strcmp(op, "**") && j >= 0) return int_power(i, j, out);
  if (!strcmp(op, "//") || !strcmp(op, "%")) {
    if (i == INT64_MIN && j == -1) return false;
    *out = op[0] == '/' ? floor_div(i, j) : i - j * floor_div(i, j);
    return true;
  }
  if (!strcmp(op, "<<") && j >= 0 && j <= 62) {
    *out = (int64_t)((uint64_t)i << j);
    return *out >> j == i;
  }
  *known = !strcmp(op, ">>") && j >= 0 && j <= 62;
  if (*known) *out = i >> j;
  return true;
}

/* Python's arithmetic on plain numbers. @return 1 when the operator is not for them */
static int plain_binary(builder *b, const ast *n, const char *op, const val *x, const val *y,
                        val *out) {
  bool ints = x->v.type_index != TN_FLOAT && y->v.type_index != TN_FLOAT, known = false;
  int64_t i = x->v.v.i64, j = y->v.v.i64, r = 0;
  double f = as_double(x), g = as_double(y);
  if (strchr("/%", op[0]) && g == 0) return ast_error(b->src, n, "division by zero");
  if (ints && !int_binary(op, i, j, &r, &known))
    return ast_error(b->src, n, "the number does not fit 64 bits");
  if (known) *out = PLAIN(tn_any_int(r));
  else if (!strcmp(op, "/")) *out = PLAIN(tn_any_float(f / g));
  else if (!strcmp(op, "**")) *out = PLAIN(tn_any_float(pow(f, g)));
  else if (!strcmp(op, "//")) *out = PLAIN(tn_any_float(floor(f / g)));
  else if (!strcmp(op, "%")) *out = PLAIN(tn_any_float(f - g * floor(f / g)));
  else if (!strcmp(op, "+")) *out = PLAIN(tn_any_float(f + g));
  else if (!strcmp(op, "-")) *out = PLAIN(tn_any_float(f - g));
  else if (!strcmp(op, "*")) *out = PLAIN(tn_any_float(f * g));
  else if (!strcmp(op, "==")) *out = PLAIN(tn_any_bool(ints ? i == j : f == g));
  else if (!strcmp(op, "!=")) *out = PLAIN(tn_any_bool(ints ? i != j : f != g));
  else if (!strcmp(op, "<")) *out = PLAIN(tn_any_bool(ints ? i < j : f < g));
  else if (!strcmp(op, "<=")) *out = PLAIN(tn_any_bool(ints ? i <= j : f <= g));
  else if (!strcmp(op, ">")) *out = PLAIN(tn_any_bool(ints ? i > j : f > g));
  else if (!strcmp(op, ">=")) *out = PLAIN(tn_any_bool(ints ? i >= j : f >= g));
  else return 1;
  return 0;
}

static tn_expr *bit_operation(const char *op, tn_expr *x, tn_expr *y) {
  if (op[0] == '<' || op[0] == '>') TN_TRYP(tir_check_shift(x, y, NULL));
  if (!strcmp(op, "<<")) return tir_shift(TIR_OP_shift_left, x, y, NULL);
  if (!strcmp(op, ">>")) return tir_shift(TIR_OP_shift_right, x, y, NULL);
  if (!strcmp(op, "&")) return tir_bitwise(TIR_OP_bitwise_and, x, y, NULL);
  if (!strcmp(op, "|")) return tir_bitwise(TIR_OP_bitwise_or, x, y, NULL);
  if (!strcmp(op, "^")) return tir_bitwise(TIR_OP_bitwise_xor, x, y, NULL);
  return TN_RAISEP(TypeError, NULL, "the operator %s is not supported", op);
}

static int apply_binary(builder *b, const ast *n, const char *op, const val *x, const val *y,
                        val *out) {
  if (is_number(x) && is_number(y)) {
    int r = plain_binary(b, n, op, x, y, out);
    if (r <= 0) return r;
  }
  tn_expr *ex = to_expr(b, n, x), *ey = ex ? to_expr(b, n, y) : NULL, *e = NULL;
  if (!ey) return -1;
  bool found = false;
  for (int i = 0; i < TN_COUNT(binary_ops) && !found; ++i) {
    if (strcmp(binary_ops[i].text, op) != 0) continue;
    bool int_div =
        binary_ops[i].node == TN_TI_Div && ir_is_integral(ex->dtype) && ir_is_integral(ey->dtype);
    if (int_div)
      return ast_error(b->src, n,
                       "integers divide in several ways: write // (floor), T.truncdiv, or T.Div");
    if (tir_check_written(binary_ops[i].node, ey, NULL) == 0)
      e = tir_binary(binary_ops[i].node, ex, ey, NULL);
    found = true;
  }
  if (!found) e = bit_operation(op, ex, ey);
  *out = PLAIN_OBJ(e);
  return e ? 0 : place_error(b, n);
}

static int eval_binary(builder *b, const ast *n, val *out) {
  val x, y;
  int r = build_wide(n, out);
  if (r <= 0) return r;
  TN_TRY(eval(b, n->a, &x));
  TN_TRY(eval(b, n->b, &y));
  return apply_binary(b, n, n->text, &x, &y, out);
}

/* A number of the program, which nobody knows while the script is read. */
static bool is_unknown(const tn_any *v) {
  const tn_obj *o = tn_any_is_obj(v) ? v->v.obj : NULL;
  return o && TN_IS(PrimExpr, o) && !TN_IS(IntImm, o) && !TN_IS(FloatImm, o) &&
         !TN_IS(StringImm, o);
}

static bool has_unknown(const val *v) {
  if (v->kind != VAL_PLAIN) return false;
  const tn_arr *list = TN_AS(Array, val_obj(v));
  for (int64_t i = 0; list && i < list->len; ++i)
    if (is_unknown(&list->items[i])) return true;
  return is_unknown(&v->v);
}

/* x in (1, 3) and x is y: asked while the script is read. */
static int eval_membership(builder *b, const ast *n, const val *x, const val *y, val *out) {
  bool is = strncmp(n->ops[0], "is", 2) == 0;
  bool none = y->kind == VAL_PLAIN && y->v.type_index == TN_NONE;
  if ((has_unknown(x) || has_unknown(y)) && !(is && none))
    return ast_error(b->src, n,
                     "`%s` is asked while the script is read, and compares no numbers of the "
                     "program: write ==, joined with `or` where there are several",
                     n->ops[0]);
  return host_eval(b, n, out);
}

static int eval_compare(builder *b, const ast *n, val *out) {
  val x, y;
  if (n->items.n != 2)
    return ast_error(b->src, n, "a chain of comparisons is not supported: join them with `and`");
  TN_TRY(eval(b, n->items.items[0], &x));
  TN_TRY(eval(b, n->items.items[1], &y));
  bool plain_text = x.kind == VAL_PLAIN && y.kind == VAL_PLAIN &&
                    (x.v.type_index == TN_TI_String || x.v.type_index == TN_NONE);
  if (!strncmp(n->ops[0], "is", 2) || !strcmp(n->ops[0], "in") || !strcmp(n->ops[0], "not in"))
    return eval_membership(b, n, &x, &y, out);
  if (plain_text) return host_eval(b, n, out);
  return apply_binary(b, n, n->ops[0], &x, &y, out);
}

/* As Python's operator on expressions has it: x * -1. */
static tn_expr *negated(tn_expr *e) {
  tn_expr *minus = e->dtype.code == kDLUInt ? NULL : tir_const_int(e->dtype, -1);
  return minus ? tir_mul(e, minus) : tn_error_pending() ? NULL : tir_neg(e, NULL);
}

static int eval_unary(builder *b, const ast *n, val *out) {
  val x;
  bool literal = n->a->kind == AST_INT || n->a->kind == AST_FLOAT;
  if (literal && !strcmp(n->text, "-")) return eval_number(b, n->a, true, out);
  TN_TRY(eval(b, n->a, &x));
  if (is_number(&x)) {
    if (!strcmp(n->text, "not")) *out = PLAIN(tn_any_bool(as_double(&x) == 0));
    else if (!strcmp(n->text, "+")) *out = x;
    else if (!strcmp(n->text, "~")) *out = PLAIN(tn_any_int(~x.v.v.i64));
    else if (x.v.type_index != TN_FLOAT && x.v.v.i64 == INT64_MIN)
      return ast_error(b->src, n, "the number does not fit 64 bits");
    else
      *out = x.v.type_index == TN_FLOAT ? PLAIN(tn_any_float(-x.v.v.f64))
                                        : PLAIN(tn_any_int(-x.v.v.i64));
    return 0;
  }
  tn_expr *e = to_expr(b, n->a, &x);
  if (!e) return -1;
  if (!strcmp(n->text, "+") && (e->dtype.code == kDLOpaqueHandle || TN_IS(StringImm, e)))
    return ast_error(b->src, n, "+ needs a number");
  if (!strcmp(n->text, "not")) e = tir_not(e, NULL);
  else if (!strcmp(n->text, "-")) e = negated(e);
  else if (!strcmp(n->text, "~")) e = tir_bitwise_not(e, NULL);
  *out = PLAIN_OBJ(e);
  return e ? 0 : place_error(b, n);
}

static int eval_bool(builder *b, const ast *n, val *out) {
  bool and_ = !strcmp(n->text, "and");
  TN_TRY(eval(b, n->items.items[0], out));
  for (int i = 1; i < n->items.n; ++i) {
    val y;
    if (is_number(out)) { /* Python's short circuit */
      if ((as_double(out) != 0) != and_) return 0;
      TN_TRY(eval(b, n->items.items[i], out));
      continue;
    }
    TN_TRY(eval(b, n->items.items[i], &y));
    tn_expr *ex = to_expr(b, n, out), *ey = ex ? to_expr(b, n, &y) : NULL;
    tn_expr *e = ey ? (and_ ? tir_and(ex, ey) : tir_or(ex, ey)) : NULL;
    if (!e) return place_error(b, n);
    *out = PLAIN_OBJ(e);
  }
  return 0;
}

static int eval_ifexp(builder *b, const ast *n, val *out) {
  val c;
  TN_TRY(eval(b, n->a, &c));
  if (is_number(&c)) return eval(b, as_double(&c) != 0 ? n->b : n->c, out);
  tn_expr *cond = to_expr(b, n->a, &c), *t = cond ? eval_expr(b, n->b) : NULL,
          *f = t ? eval_expr(b, n->c) : NULL;
  tn_expr *e = f ? tir_if_then_else(cond, t, f, NULL) : NULL;
  *out = PLAIN_OBJ(e);
  return e ? 0 : place_error(b, n);
}

/* ---- attributes, indices ---- */

static int eval_attr(builder *b, const ast *n, val *out) {
  val base;
  TN_TRY(eval(b, n->a, &base));
  if (base.kind == VAL_T || base.kind == VAL_I) {
    TN_BUF(path);
    tn_buf_printf(&path, "%s%s%s", base.name, *base.name ? "." : "", n->text);
    const char *text = tn_buf_cstr(&path);
    *out =
        (val){.kind = base.kind, .name = text ? tn_arena_strndup(&b->arena, text, path.len) : NULL};
    return out->name ? 0 : -1;
  }
  if (base.kind == VAL_MODULE)
    return find_name(b, n->text, out)
               ? 0
               : ast_error(b->src, n, "the module has no function %s", n->text);
  if (base.kind == VAL_PLAIN && tn_any_is_obj(&base.v)) {
    const tn_field *f = tn_type_field(base.v.v.obj->type, n->text);
    if (f) {
      *out = PLAIN(tn_field_get(base.v.v.obj, f));
      return out->v.type_index == TN_TI_Function ? host_eval(b, n, out) : 0;
    }
    *out = (val){.kind = VAL_METHOD, .v = base.v, .name = n->text};
    return 0;
  }
  return host_eval(b, n, out);
}

/* ---- calls ---- */

static int call_function(builder *b, const ast *n, const val *f, val *out) {
  TN_VEC(args);
  if (f->v.type_index == TN_TI_GlobalVar) {
    const ast *type = arg_of(n, -1, "dtype");
    TN_TRY(eval_args(b, n, &args));
    tn_Call *call = call_global((tn_GlobalVar *)f->v.v.obj, &args);
    if (call && type) TN_TRY(eval_dtype(b, type, &call->dtype));
    *out = PLAIN_OBJ(call);
    return call ? 0 : -1;
  }
  return host_eval(b, n, out); /* which knows what the script may call */
}

static int eval_call(builder *b, const ast *n, val *out) {
  val f;
  TN_TRY(eval(b, n->a, &f));
  if (f.kind == VAL_METHOD) return call_method(b, n, &f, out);
  if (f.kind == VAL_PLAIN) return call_function(b, n, &f, out);
  bool range = f.kind == VAL_I && strcmp(f.name, "Range") == 0;
  int r = f.kind == VAL_T || range ? call_t(b, n, f.name, out) : 1;
  return r == 1 ? call_unknown(b, n, &f, out) : r;
}

static int eval_chain(builder *b, const ast *n, val *out) {
  int r = host_chain(b, n, out);
  if (r <= 0) return r;
  if (n->kind == AST_ATTR) return eval_attr(b, n, out);
  return n->kind == AST_INDEX ? eval_index(b, n, out) : eval_call(b, n, out);
}

static int eval_const(const ast *n, val *out) {
  *out = PLAIN(tn_any_none());
  if (!strcmp(n->text, "True")) *out = PLAIN(tn_any_bool(true));
  if (!strcmp(n->text, "False")) *out = PLAIN(tn_any_bool(false));
  return 0;
}

static int eval_bare(builder *b, const ast *n, val *out) {
  switch (n->kind) {
  case AST_NAME: return eval_name(b, n, out);
  case AST_INT:
  case AST_FLOAT: return eval_number(b, n, false, out);
  case AST_STR: {
    tn_str *s = tn_scope_own(tn_str_new_n(n->text, (size_t)n->ntext));
    *out = PLAIN_OBJ(s);
    return s ? 0 : -1;
  }
  case AST_CONST: return eval_const(n, out);
  case AST_ATTR:
  case AST_INDEX:
  case AST_CALL: return eval_chain(b, n, out);
  case AST_UNARY: return eval_unary(b, n, out);
  case AST_BINARY: return eval_binary(b, n, out);
  case AST_BOOLOP: return eval_bool(b, n, out);
  case AST_COMPARE: return eval_compare(b, n, out);
  case AST_IFEXP: return eval_ifexp(b, n, out);
  case AST_TUPLE:
  case AST_LIST: return eval_array(b, n, out);
  case AST_DICT: return eval_dict(b, n, out);
  case AST_LAMBDA:
  case AST_FSTR:
  case AST_COMP:
  case AST_SET: return host_eval(b, n, out);
  default: return ast_error(b->src, n, "expected an expression");
  }
}

/* Expressions that were made of this text are at its place; constants and variables are not made
   here, or not here alone. */
static int place_value(builder *b, const ast *n, const val *v) {
  tn_obj *o = val_obj(v);
  if (!o || n->kind == AST_NAME || n->kind == AST_ATTR || !TN_IS(PrimExpr, o) || TN_IS(Var, o) ||
      TN_AS(IntImm, o) || TN_AS(FloatImm, o) || TN_AS(StringImm, o) || ((tn_expr *)o)->span)
    return 0;
  if (tn_use_count(o) != 1) return 0; /* others hold it already */
  tn_any span = tn_any_obj(span_at(b, n));
  return span.v.obj ? tn_field_set(o, tn_type_field(o->type, "span"), &span) : -1;
}

int eval(builder *b, const ast *n, val *out) {
  if (++b->depth > BUILD_DEPTH_MAX)
    return ast_error(b->src, n, "the expression is nested too deeply");
  TN_TRY(one_step(b, n));
  see(n);
  TN_TRY(eval_bare(b, n, out));
  b->depth--;
  return place_value(b, n, out);
}
