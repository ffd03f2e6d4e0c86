/* Writes documents as Python source: precedence and brackets, indentation, comments. Marking and
   underlining of places is in doc_underline.c. */
#include <math.h>
#include <string.h>

#include "ir/expr.h"
#include "tir/script/doc_impl.h"

/* How tightly an expression binds, loosest first. */
typedef enum {
  PREC_LAMBDA = 1,
  PREC_IF,
  PREC_OR,
  PREC_AND,
  PREC_NOT,
  PREC_COMPARE,
  PREC_BITOR,
  PREC_BITXOR,
  PREC_BITAND,
  PREC_SHIFT,
  PREC_ADD,
  PREC_MUL,
  PREC_UNARY,
  PREC_POW,
  PREC_ATOM,
} precedence;

static const struct {
  const char *text;
  uint8_t prec, arity;
} operations[] = {
    [DOC_NEG] = {"-", PREC_UNARY, 1},     [DOC_INVERT] = {"~", PREC_UNARY, 1},
    [DOC_NOT] = {"not ", PREC_NOT, 1},    [DOC_ADD] = {"+", PREC_ADD, 2},
    [DOC_SUB] = {"-", PREC_ADD, 2},       [DOC_MUL] = {"*", PREC_MUL, 2},
    [DOC_DIV] = {"/", PREC_MUL, 2},       [DOC_FLOORDIV] = {"//", PREC_MUL, 2},
    [DOC_MOD] = {"%", PREC_MUL, 2},       [DOC_POW] = {"**", PREC_POW, 2},
    [DOC_LSHIFT] = {"<<", PREC_SHIFT, 2}, [DOC_RSHIFT] = {">>", PREC_SHIFT, 2},
    [DOC_BITAND] = {"&", PREC_BITAND, 2}, [DOC_BITOR] = {"|", PREC_BITOR, 2},
    [DOC_BITXOR] = {"^", PREC_BITXOR, 2}, [DOC_LT] = {"<", PREC_COMPARE, 2},
    [DOC_LE] = {"<=", PREC_COMPARE, 2},   [DOC_EQ] = {"==", PREC_COMPARE, 2},
    [DOC_NE] = {"!=", PREC_COMPARE, 2},   [DOC_GT] = {">", PREC_COMPARE, 2},
    [DOC_GE] = {">=", PREC_COMPARE, 2},   [DOC_AND] = {"and", PREC_AND, 2},
    [DOC_OR] = {"or", PREC_OR, 2},        [DOC_IF_THEN_ELSE] = {"if", PREC_IF, 3},
};

static int write_expr(writer *w, const tn_Doc *d);
static int write_stmt(writer *w, const tn_Doc *d);

static const tn_Doc *item(const tn_arr *a, int64_t i) { return (const tn_Doc *)tn_arr_obj(a, i); }

/* A number is written like a negative operand when it is one: (-1) ** 2. */
static bool is_negative(const tn_obj *value) {
  const tn_IntImm *i = TN_AS(IntImm, value);
  const tn_FloatImm *f = TN_AS(FloatImm, value);
  return (i && i->value < 0) || (f && f->value < 0);
}

static precedence precedence_of(const tn_Doc *d) {
  const tn_OperationDoc *op = TN_AS(OperationDoc, d);
  const tn_LiteralDoc *lit = TN_AS(LiteralDoc, d);
  if (op)
    return op->kind > 0 && op->kind < TN_COUNT(operations) ? (precedence)operations[op->kind].prec
                                                           : PREC_ATOM;
  if (TN_AS(LambdaDoc, d)) return PREC_LAMBDA;
  return lit && is_negative(lit->value) ? PREC_UNARY : PREC_ATOM;
}

/* A child of an operator: in brackets when it binds more loosely, or as loosely and `strict`. */
static int write_child(writer *w, const tn_Doc *child, precedence parent, bool strict) {
  precedence prec = precedence_of(child);
  bool bracket = prec < parent || (strict && prec == parent);
  if (bracket) put(w, "(");
  TN_TRY(write_expr(w, child));
  if (bracket) put(w, ")");
  return 0;
}

static int write_joined(writer *w, const tn_arr *items) {
  for (int64_t i = 0; i < items->len; ++i) {
    if (i) put(w, ", ");
    TN_TRY(write_expr(w, item(items, i)));
  }
  return 0;
}

/* ---- literals ---- */

/* The shortest form that reads back as a float: with a point or an exponent. */
static void write_float(writer *w, double x) {
  int64_t from = (int64_t)w->out.len;
  tn_buf_double(&w->out, x);
  bool whole = true;
  for (int64_t i = from; i < (int64_t)w->out.len; ++i)
    whole &= w->out.data[i] == '-' || (w->out.data[i] >= '0' && w->out.data[i] <= '9');
  if (whole) put(w, ".0");
}

static int write_literal(writer *w, const tn_LiteralDoc *d) {
  const tn_obj *v = d->value;
  if (!v) return put(w, "None"), 0;
  const tn_IntImm *i = TN_AS(IntImm, v);
  const tn_FloatImm *f = TN_AS(FloatImm, v);
  const tn_str *s = v->type_index == TN_TI_String ? (const tn_str *)v : NULL;
  if (i && i->dtype.bits == 1 && i->dtype.code == kDLUInt) put(w, i->value ? "True" : "False");
  else if (i) tn_buf_printf(&w->out, "%lld", (long long)i->value);
  else if (f) write_float(w, f->value);
  else if (s) tn_buf_quote(&w->out, s->data, s->len);
  else
    return TN_RAISE(TypeError, NULL,
                    "LiteralDoc.value: expected None, IntImm, FloatImm or String, got %s",
                    tn_obj_key(v));
  return 0;
}

/* ---- expressions ---- */

static int write_call(writer *w, const tn_CallDoc *d) {
  TN_TRY(write_child(w, (const tn_Doc *)d->callee, PREC_ATOM, false));
  put(w, "(");
  TN_TRY(write_joined(w, d->args));
  for (int64_t i = 0; i < d->kwargs_keys->len; ++i) {
    if (i || d->args->len) put(w, ", ");
    put(w, tn_cstr((const tn_str *)tn_arr_obj(d->kwargs_keys, i)));
    put(w, "=");
    TN_TRY(write_expr(w, item(d->kwargs_values, i)));
  }
  put(w, ")");
  return 0;
}

static int write_index(writer *w, const tn_IndexDoc *d) {
  TN_TRY(write_child(w, (const tn_Doc *)d->value, PREC_ATOM, false));
  put(w, "[");
  if (d->indices->len == 0) put(w, "()");
  TN_TRY(write_joined(w, d->indices));
  put(w, "]");
  return 0;
}

static int write_slice(writer *w, const tn_SliceDoc *d) {
  if (d->start) TN_TRY(write_expr(w, (const tn_Doc *)d->start));
  put(w, ":");
  if (d->stop) TN_TRY(write_expr(w, (const tn_Doc *)d->stop));
  if (d->step) {
    put(w, ":");
    TN_TRY(write_expr(w, (const tn_Doc *)d->step));
  }
  return 0;
}

/* Left-associative chains are as deep as they are long, so the left spine is walked, not recursed
 * into. */
static int write_binary(writer *w, const tn_OperationDoc *d) {
  precedence prec = (precedence)operations[d->kind].prec;
  /* a < b < c would say a < b and b < c */
  bool right_associative = d->kind == DOC_POW, chains = prec == PREC_COMPARE;
  TN_TRY(write_child(w, item(d->operands, 0), prec, right_associative || chains));
  tn_buf_printf(&w->out, " %s ", operations[d->kind].text);
  /* what stands behind ** may have a sign: x ** -y */
  if (right_associative) return write_child(w, item(d->operands, 1), PREC_UNARY, false);
  return write_child(w, item(d->operands, 1), prec, true);
}

static int write_operation(writer *w, const tn_OperationDoc *d) {
  bool known = d->kind > 0 && d->kind < TN_COUNT(operations) && operations[d->kind].text;
  TN_CHECK(known, ValueError, NULL, "OperationDoc.kind: %d is not an operator", d->kind);
  TN_CHECK(d->operands->len == operations[d->kind].arity, ValueError, NULL,
           "OperationDoc.operands: expected %d operands for '%s', got %lld",
           operations[d->kind].arity, operations[d->kind].text, (long long)d->operands->len);
  if (operations[d->kind].arity == 2) return write_binary(w, d);
  if (operations[d->kind].arity == 1) {
    put(w, operations[d->kind].text);
    return write_child(w, item(d->operands, 0), (precedence)operations[d->kind].prec, false);
  }
  TN_TRY(write_child(w, item(d->operands, 1), PREC_IF, true));
  put(w, " if ");
  TN_TRY(write_child(w, item(d->operands, 0), PREC_IF, true));
  put(w, " else ");
  return write_child(w, item(d->operands, 2), PREC_IF, true);
}

static int write_lambda(writer *w, const tn_LambdaDoc *d) {
  put(w, "lambda");
  if (d->args->len) put(w, " ");
  TN_TRY(write_joined(w, d->args));
  put(w, ": ");
  return write_child(w, (const tn_Doc *)d->body, PREC_LAMBDA, false);
}

static int write_dict(writer *w, const tn_DictDoc *d) {
  put(w, "{");
  for (int64_t i = 0; i < d->keys->len; ++i) {
    if (i) put(w, ", ");
    TN_TRY(write_expr(w, item(d->keys, i)));
    put(w, ": ");
    TN_TRY(write_expr(w, item(d->values, i)));
  }
  put(w, "}");
  return 0;
}

static int write_sequence(writer *w, const tn_arr *items, const char *open, const char *close) {
  put(w, open);
  TN_TRY(write_joined(w, items));
  if (items->len == 1 && *open == '(') put(w, ",");
  put(w, close);
  return 0;
}

static int write_bare_expr(writer *w, const tn_Doc *d) {
  switch (d ? (int)d->hdr.type_index : 0) {
  case TN_TI_LiteralDoc: return write_literal(w, (const tn_LiteralDoc *)d);
  case TN_TI_IdDoc: return put(w, tn_cstr(((const tn_IdDoc *)d)->name)), 0;
  case TN_TI_AttrAccessDoc:
    TN_TRY(write_child(w, (const tn_Doc *)((const tn_AttrAccessDoc *)d)->value, PREC_ATOM, false));
    put(w, ".");
    put(w, tn_cstr(((const tn_AttrAccessDoc *)d)->name));
    return 0;
  case TN_TI_IndexDoc: return write_index(w, (const tn_IndexDoc *)d);
  case TN_TI_CallDoc: return write_call(w, (const tn_CallDoc *)d);
  case TN_TI_OperationDoc: return write_operation(w, (const tn_OperationDoc *)d);
  case TN_TI_LambdaDoc: return write_lambda(w, (const tn_LambdaDoc *)d);
  case TN_TI_TupleDoc: return write_sequence(w, ((const tn_TupleDoc *)d)->elements, "(", ")");
  case TN_TI_ListDoc: return write_sequence(w, ((const tn_ListDoc *)d)->elements, "[", "]");
  case TN_TI_DictDoc: return write_dict(w, (const tn_DictDoc *)d);
  case TN_TI_SliceDoc: return write_slice(w, (const tn_SliceDoc *)d);
  default:
    return TN_RAISE(TypeError, NULL, "expected a document of an expression, got %s", tn_obj_key(d));
  }
}

static int write_expr(writer *w, const tn_Doc *d) {
  size_t start = w->out.len;
  TN_CHECK(++w->depth <= DOC_DEPTH_MAX, ValueError, NULL,
           "the document is nested more than %d levels deep", DOC_DEPTH_MAX);
  TN_TRY(write_bare_expr(w, d));
  w->depth--;
  return mark_span(w, d, start);
}

/* ---- statements ---- */

static void new_line(writer *w) {
  put(w, "\n");
  tn_buf_pad(&w->out, ' ', (size_t)w->indent);
}

static int write_block(writer *w, const tn_arr *stmts) {
  w->indent += w->opt->indent_spaces;
  if (stmts->len == 0) {
    new_line(w);
    put(w, "pass");
  }
  for (int64_t i = 0; i < stmts->len; ++i) {
    new_line(w);
    TN_TRY(write_stmt(w, item(stmts, i)));
  }
  w->indent -= w->opt->indent_spaces;
  return 0;
}

/* A comment above the statement, one line for each of its lines. */
static void comment_above(writer *w, const tn_str *comment) {
  const char *s = tn_cstr(comment);
  if (!comment) return;
  for (;;) {
    size_t n = strcspn(s, "\n");
    put(w, "# ");
    tn_buf_put(&w->out, s, n);
    new_line(w);
    if (!s[n]) return;
    s += n + 1;
  }
}

/* A comment beside the statement: only one line fits there. */
static int comment_beside(writer *w, const tn_str *comment) {
  if (!comment) return 0;
  TN_CHECK(!strchr(comment->data, '\n'), ValueError, NULL,
           "the comment of this statement cannot have newlines: it stands beside it");
  put(w, "  # ");
  put(w, comment->data);
  return 0;
}

static int write_assign(writer *w, const tn_AssignDoc *d) {
  const tn_TupleDoc *targets = TN_AS(TupleDoc, d->lhs);
  size_t start = w->out.len;
  if (targets && targets->elements->len > 1) TN_TRY(write_joined(w, targets->elements));
  else TN_TRY(write_expr(w, (const tn_Doc *)d->lhs));
  if (targets) TN_TRY(mark_span(w, (const tn_Doc *)d->lhs, start));
  if (d->annotation) {
    put(w, ": ");
    TN_TRY(write_expr(w, (const tn_Doc *)d->annotation));
  }
  if (d->rhs) {
    put(w, " = ");
    const tn_TupleDoc *values = TN_AS(TupleDoc, d->rhs);
    start = w->out.len;
    if (values && values->elements->len > 1) TN_TRY(write_joined(w, values->elements));
    else TN_TRY(write_expr(w, (const tn_Doc *)d->rhs));
    if (values) TN_TRY(mark_span(w, (const tn_Doc *)d->rhs, start));
  }
  return comment_beside(w, d->comment);
}

/* Ends the head of a statement that has a body. Its mark covers the head only: that of a loop over the
   whole program would leave nothing to see. */
static int end_head(writer *w, const void *stmt, size_t start) {
  put(w, ":");
  return mark_span(w, stmt, start);
}

static int write_if(writer *w, const tn_IfDoc *d) {
  comment_above(w, d->comment);
  size_t start = w->out.len;
  put(w, "if ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->predicate));
  TN_TRY(end_head(w, d, start));
  TN_TRY(write_block(w, d->then_branch));
  if (d->else_branch->len == 0) return 0;
  new_line(w);
  put(w, "else:");
  return write_block(w, d->else_branch);
}

static int write_for(writer *w, const tn_ForDoc *d) {
  comment_above(w, d->comment);
  size_t start = w->out.len;
  put(w, "for ");
  const tn_TupleDoc *targets = TN_AS(TupleDoc, d->lhs);
  if (targets && targets->elements->len == 1) {
    TN_TRY(write_expr(w, item(targets->elements, 0)));
    put(w, ",");
  } else if (targets) {
    TN_TRY(write_joined(w, targets->elements));
  } else {
    TN_TRY(write_expr(w, (const tn_Doc *)d->lhs));
  }
  put(w, " in ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->rhs));
  TN_TRY(end_head(w, d, start));
  return write_block(w, d->body);
}

static int write_scope(writer *w, const tn_ScopeDoc *d) {
  comment_above(w, d->comment);
  size_t start = w->out.len;
  put(w, "with ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->rhs));
  if (d->lhs) {
    put(w, " as ");
    TN_TRY(write_expr(w, (const tn_Doc *)d->lhs));
  }
  TN_TRY(end_head(w, d, start));
  return write_block(w, d->body);
}

static int write_doc_string(writer *w, const tn_str *text) {
  const char *s = tn_cstr(text);
  if (!*s) return 0;
  put(w, "\"\"\"");
  new_line(w);
  for (;;) {
    size_t n = strcspn(s, "\n");
    tn_buf_put(&w->out, s, n);
    if (!s[n]) break;
    s += n + 1;
    if (!*s || *s == '\n') put(w, "\n"); /* an empty line gets no indentation */
    else new_line(w);
  }
  new_line(w);
  put(w, "\"\"\"");
  return 0;
}

static int write_decorators(writer *w, const tn_arr *decorators) {
  for (int64_t i = 0; i < decorators->len; ++i) {
    put(w, "@");
    TN_TRY(write_expr(w, item(decorators, i)));
    new_line(w);
  }
  return 0;
}

/* The comment of a function or class is its documentation string. */
static int write_body_with_doc(writer *w, const tn_str *comment, const tn_arr *body) {
  if (comment) {
    w->indent += w->opt->indent_spaces;
    new_line(w);
    TN_TRY(write_doc_string(w, comment));
    w->indent -= w->opt->indent_spaces;
  }
  return write_block(w, body);
}

static int write_function(writer *w, const tn_FunctionDoc *d) {
  TN_TRY(write_decorators(w, d->decorators));
  put(w, "def ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->name));
  put(w, "(");
  for (int64_t i = 0; i < d->args->len; ++i) {
    if (i) put(w, ", ");
    TN_TRY(write_stmt(w, item(d->args, i)));
  }
  put(w, ")");
  if (d->return_type) {
    put(w, " -> ");
    TN_TRY(write_expr(w, (const tn_Doc *)d->return_type));
  }
  put(w, ":");
  TN_TRY(write_body_with_doc(w, d->comment, d->body));
  put(w, "\n"); /* an empty line before what follows */
  return 0;
}

static int write_class(writer *w, const tn_ClassDoc *d) {
  TN_TRY(write_decorators(w, d->decorators));
  put(w, "class ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->name));
  put(w, ":");
  return write_body_with_doc(w, d->comment, d->body);
}

static int write_comment(writer *w, const tn_str *comment) {
  const char *s = tn_cstr(comment);
  if (!*s) return 0;
  for (;;) {
    size_t n = strcspn(s, "\n");
    put(w, "# ");
    tn_buf_put(&w->out, s, n);
    if (!s[n]) return 0;
    new_line(w);
    s += n + 1;
  }
}

static int write_stmts(writer *w, const tn_arr *stmts) {
  for (int64_t i = 0; i < stmts->len; ++i) {
    if (i) new_line(w);
    TN_TRY(write_stmt(w, item(stmts, i)));
  }
  return 0;
}

static int write_assert(writer *w, const tn_AssertDoc *d) {
  put(w, "assert ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->test));
  if (d->msg) {
    put(w, ", ");
    TN_TRY(write_expr(w, (const tn_Doc *)d->msg));
  }
  return comment_beside(w, d->comment);
}

static int write_while(writer *w, const tn_WhileDoc *d) {
  comment_above(w, d->comment);
  size_t start = w->out.len;
  put(w, "while ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->predicate));
  TN_TRY(end_head(w, d, start));
  return write_block(w, d->body);
}

static int write_return(writer *w, const tn_ReturnDoc *d) {
  put(w, "return ");
  TN_TRY(write_expr(w, (const tn_Doc *)d->value));
  return comment_beside(w, d->comment);
}

static int write_expr_stmt(writer *w, const tn_ExprStmtDoc *d) {
  TN_TRY(write_expr(w, (const tn_Doc *)d->expr));
  return comment_beside(w, d->comment);
}

static int write_bare_stmt(writer *w, const tn_Doc *d) {
  switch (d ? (int)d->hdr.type_index : 0) {
  case TN_TI_StmtBlockDoc: return write_stmts(w, ((const tn_StmtBlockDoc *)d)->stmts);
  case TN_TI_AssignDoc: return write_assign(w, (const tn_AssignDoc *)d);
  case TN_TI_IfDoc: return write_if(w, (const tn_IfDoc *)d);
  case TN_TI_WhileDoc: return write_while(w, (const tn_WhileDoc *)d);
  case TN_TI_ForDoc: return write_for(w, (const tn_ForDoc *)d);
  case TN_TI_ScopeDoc: return write_scope(w, (const tn_ScopeDoc *)d);
  case TN_TI_ExprStmtDoc: return write_expr_stmt(w, (const tn_ExprStmtDoc *)d);
  case TN_TI_AssertDoc: return write_assert(w, (const tn_AssertDoc *)d);
  case TN_TI_ReturnDoc: return write_return(w, (const tn_ReturnDoc *)d);
  case TN_TI_FunctionDoc: return write_function(w, (const tn_FunctionDoc *)d);
  case TN_TI_ClassDoc: return write_class(w, (const tn_ClassDoc *)d);
  case TN_TI_CommentDoc: return write_comment(w, ((const tn_StmtDoc *)d)->comment);
  case TN_TI_DocStringDoc: return write_doc_string(w, ((const tn_StmtDoc *)d)->comment);
  default: return write_bare_expr(w, d);
  }
}

static bool has_head(const tn_Doc *d) {
  return TN_AS(IfDoc, d) || TN_AS(WhileDoc, d) || TN_AS(ForDoc, d) || TN_AS(ScopeDoc, d);
}

static int write_stmt(writer *w, const tn_Doc *d) {
  size_t start = w->out.len;
  TN_CHECK(++w->depth <= DOC_DEPTH_MAX, ValueError, NULL,
           "the document is nested more than %d levels deep", DOC_DEPTH_MAX);
  TN_TRY(write_bare_stmt(w, d));
  w->depth--;
  return has_head(d) ? 0 : mark_span(w, d, start);
}

int doc_write(writer *w, const tn_Doc *doc) { return write_stmt(w, doc); }
