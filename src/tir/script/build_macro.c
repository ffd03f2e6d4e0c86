/* Calls of macros: the statements of the macro take the place of the call.

     @T.macro                                  with T.block("B"):
     def scale(A, i, factor):           ->         ...
         A[i] = A[i] * factor                      B[vi] = B[vi] * 2.0     # scale(B, vi, 2.0)

   Parameters are names for what was passed. Other names mean what they meant where the macro was
   defined (hygienic), or what they mean at the call. A macro that is a method is given its object
   first. */
#include <string.h>

#include "tir/script/build_impl.h"

/* What the builder goes back to after a macro. */
typedef struct {
  const ast_source *src;
  const script_options *opt;
  tn_map *newest;
  int bindings;
} context;

/* *args takes the positional arguments that are left */
static int bind_rest(builder *b, const ast *param, const tn_vec *given, int64_t from) {
  TN_VEC(rest);
  for (int64_t i = from; i < given->len; ++i) TN_TRY(tn_vec_push(&rest, given->items[i]));
  tn_arr *all = tn_arr_from(&rest);
  return all ? bind_name(b, param->text, PLAIN_OBJ(all)) : -1;
}

static bool is_param(const ast *def, const char *name) {
  for (int i = 0; i < def->items.n; ++i) {
    const ast *p = def->items.items[i];
    if (!p->flag && strcmp(p->text, name) == 0) return true;
  }
  return false;
}

/* The values of a call, evaluated where it stands. */
typedef struct {
  tn_vec positional;
  tn_map *keywords;
} arguments;

static int eval_keywords(builder *b, const ast *call, arguments *out) {
  if (!(out->keywords = tn_scope_own(tn_map_new()))) return -1;
  for (int i = 0; i < call->items.n; ++i) {
    const ast *a = call->items.items[i];
    val v;
    if (a->kind != AST_KEYWORD) continue;
    if (!a->text) return ast_error(b->src, a, "a macro takes no ** arguments");
    TN_TRY(eval(b, a->a, &v));
    if (v.kind != VAL_PLAIN) return ast_error(b->src, a, "expected a value");
    TN_TRY(tn_map_set(out->keywords, tn_any_cstr(a->text), v.v));
  }
  return 0;
}

static int eval_positional(builder *b, const ast *call, arguments *out) {
  for (int i = 0; i < call->items.n; ++i) {
    const ast *a = call->items.items[i];
    val v;
    if (a->kind == AST_KEYWORD) continue;
    TN_TRY(eval(b, a->kind == AST_STARRED ? a->a : a, &v));
    if (v.kind != VAL_PLAIN) return ast_error(b->src, a, "expected a value");
    const tn_arr *many =
        a->kind == AST_STARRED && v.v.type_index == TN_TI_Array ? (const tn_arr *)v.v.v.obj : NULL;
    if (a->kind == AST_STARRED && !many)
      return ast_error(b->src, a, "expected a list or tuple behind *");
    if (!many) TN_TRY(tn_vec_push(&out->positional, v.v));
    for (int64_t j = 0; many && j < many->len; ++j)
      TN_TRY(tn_vec_push(&out->positional, many->items[j]));
  }
  return 0;
}

/* **kwargs takes the keyword arguments that name no parameter */
static int bind_keywords(builder *b, const ast *def, const ast *param, const tn_map *given) {
  tn_map *rest = tn_scope_own(tn_map_new());
  if (!rest) return -1;
  for (int64_t i = 0; i < given->len; ++i) {
    const tn_map_entry *e = &given->entries[i];
    if (!is_param(def, tn_cstr((const tn_str *)e->key.v.obj)))
      TN_TRY(tn_map_set(rest, e->key, e->value));
  }
  return bind_name(b, param->text, PLAIN_OBJ(rest));
}

static int bind_param(builder *b, const ast *call, const ast *param, const arguments *given,
                      int64_t *next, bool keyword_only, const context *outside) {
  tn_any v;
  if (!keyword_only && *next < given->positional.len)
    return bind_name(b, param->text, PLAIN(given->positional.items[(*next)++]));
  if (tn_map_get(given->keywords, tn_any_cstr(param->text), &v))
    return bind_name(b, param->text, PLAIN(v));
  if (!param->b) {
    b->src = outside->src;
    return ast_error(b->src, call, "the macro's parameter %s is not given", param->text);
  }
  val other;
  TN_TRY(eval(b, param->b, &other));
  return bind_name(b, param->text, other);
}

static int bind_params(builder *b, const ast *call, const ast *def, const arguments *given,
                       const context *outside) {
  int64_t next = 0;
  bool starred = false;
  for (int i = 0; i < def->items.n; ++i) {
    const ast *p = def->items.items[i];
    if (p->flag == 2) TN_TRY(bind_keywords(b, def, p, given->keywords));
    else if (p->flag == 1 && p->text) TN_TRY(bind_rest(b, p, &given->positional, next));
    else if (p->flag == 0) TN_TRY(bind_param(b, call, p, given, &next, starred, outside));
    if (p->flag == 1 && p->text) next = given->positional.len;
    starred |= p->flag == 1;
  }
  if (next == given->positional.len) return 0;
  b->src = outside->src;
  return ast_error(b->src, call, "the macro takes %lld positional arguments, got %lld",
                   (long long)next, (long long)given->positional.len);
}

static const ast *definition(const ast_list *stmts) {
  for (int i = 0; i < stmts->n; ++i) {
    if (stmts->items[i]->kind == AST_DEF) return stmts->items[i];
  }
  return NULL;
}

/* Only the names of the script modules are known inside of a hygienic macro. */
static int enter_macro(builder *b, const tn_ScriptMacro *m, const script_options *opt) {
  if (!m->hygienic) return 0;
  b->opt = opt;
  if (!(b->newest = tn_scope_own(tn_map_new()))) return -1;
  return bind_script_modules(b);
}

static int expand(builder *b, const ast *call, const tn_ScriptMacro *m, const arguments *given) {
  const context outside = {b->src, b->opt, b->newest, b->nbindings};
  ast_source *src = tn_arena_alloc(&b->arena, sizeof *src);
  script_options opt = *b->opt;
  ast_list stmts = {0};
  if (!src) return -1;
  *src = (ast_source){tn_cstr(m->file),   m->source->data,   (int)m->source->len,
                      (int)m->first_line, (int)m->first_col, b->src->wrong};
  opt.host = m->host && m->host->type_index == TN_TI_Function ? (tn_func *)m->host : NULL;
  if (ast_parse(src, &b->arena, &stmts)) return -1;
  const ast *def = definition(&stmts);
  if (!def) return ast_error(b->src, call, "the macro's text holds no function");
  b->src = src;
  int err = enter_macro(b, m, &opt) || bind_params(b, call, def, given, &outside) ||
            build_stmts(b, def->body) || args_are_seen(b, def->body);
  if (!err && !m->hygienic) err = forget_bindings(b, outside.bindings);
  b->src = outside.src, b->opt = outside.opt, b->newest = outside.newest;
  b->nbindings = outside.bindings;
  return err ? -1 : 0;
}

int build_macro(builder *b, const ast *call) {
  val f;
  arguments given = {0};
  if (call->a->kind != AST_NAME && call->a->kind != AST_ATTR) return 1;
  if (eval(b, call->a, &f)) return tn_error_clear(), 1; /* the call itself will say why */
  const tn_ScriptMacro *m = TN_AS(ScriptMacro, val_obj(&f));
  if (!m) return 1;
  if (++b->depth > BUILD_DEPTH_MAX) return ast_error(b->src, call, "macros are nested too deeply");
  int err = (m->receiver && tn_vec_push_obj(&given.positional, m->receiver)) ||
            eval_positional(b, call, &given) || eval_keywords(b, call, &given) ||
            expand(b, call, m, &given);
  tn_vec_fini(&given.positional);
  b->depth--;
  return err ? -1 : 0;
}
