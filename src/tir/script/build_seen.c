/* Arguments that no builder asked for: a third one of T.serial, a keyword that a function has not.

   Builders take arguments by position and name, each where it needs one. What they take is noted in
   the tree, so that what is left over is found in one place, whatever the function. */
#include "tir/script/build_impl.h"

/* Chains (x.a.b, x + y + z) are as deep as they are long: what they begin with is walked. */
void see_all(const ast *n) {
  for (; n; n = n->a) {
    see(n);
    see_all(n->b), see_all(n->c);
    for (int i = 0; i < n->items.n; ++i) see_all(n->items.items[i]);
  }
}

static bool is_seen(const ast *arg) {
  return arg->seen ||
         (arg->a && (arg->kind == AST_KEYWORD || arg->kind == AST_STARRED) && arg->a->seen);
}

static int left_over(builder *b, const ast *call, const ast *arg, int position) {
  const char *text = b->src->text + call->a->start;
  int n = call->a->end - call->a->start;
  if (arg->kind == AST_KEYWORD)
    return ast_error(b->src, arg, "%.*s: unexpected argument '%s'", n, text,
                     arg->text ? arg->text : "**");
  return ast_error(b->src, arg, "%.*s: argument %d is one too many", n, text, position + 1);
}

static int check_call(builder *b, const ast *call) {
  bool built = call->seen;
  for (int i = 0; i < call->items.n; ++i) built = built || is_seen(call->items.items[i]);
  for (int i = 0; built && i < call->items.n; ++i) {
    const ast *arg = call->items.items[i];
    if (!is_seen(arg)) return left_over(b, call, arg, i);
  }
  return 0;
}

static int check(builder *b, const ast *n) {
  for (; n; n = n->a) {
    if (n->kind == AST_CALL) TN_TRY(check_call(b, n));
    TN_TRY(check(b, n->b));
    TN_TRY(check(b, n->c));
    TN_TRY(args_are_seen(b, n->items));
    TN_TRY(args_are_seen(b, n->body));
    TN_TRY(args_are_seen(b, n->orelse));
  }
  return 0;
}

int args_are_seen(builder *b, ast_list stmts) {
  for (int i = 0; i < stmts.n; ++i) TN_TRY(check(b, stmts.items[i]));
  return 0;
}
