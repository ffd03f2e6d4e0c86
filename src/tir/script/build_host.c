/* What scripts leave to the host language: expressions over captured values, f-strings,
   comprehensions, calls of functions. See build.h. */
#include <string.h>

#include "tir/script/build_impl.h"

static int add_locals(builder *b, const ast *n, tn_map *locals);
static int add_list(builder *b, ast_list l, tn_map *locals) {
  for (int i = 0; i < l.n; ++i) TN_TRY(add_locals(b, l.items[i], locals));
  return 0;
}

/* The script's names that occur in n. What a chain like x.a.b or x + y + z begins with may be as
   deep as the text is long: it is walked. */
static int add_locals(builder *b, const ast *n, tn_map *locals) {
  val v;
  for (; n; n = n->a) {
    if (n->kind == AST_NAME && find_name(b, n->text, &v) && v.kind == VAL_PLAIN)
      TN_TRY(tn_map_set(locals, tn_any_cstr(n->text), v.v));
    TN_TRY(add_locals(b, n->b, locals));
    TN_TRY(add_locals(b, n->c, locals));
    TN_TRY(add_list(b, n->items, locals));
  }
  return 0;
}

/* Comprehensions and f-strings have no tree: all names are handed over. */
static int add_all_locals(builder *b, tn_map *locals) {
  for (int i = 0; i < b->nbindings; ++i) {
    if (b->bindings[i].value.kind == VAL_PLAIN)
      TN_TRY(tn_map_set(locals, tn_any_cstr(b->bindings[i].name), b->bindings[i].value.v));
  }
  return 0;
}

static int undefined(builder *b, const ast *n, const char *text) {
  if (strncmp(text, "metadata", 8) == 0)
    return ast_error(b->src, n,
                     "undefined: metadata; print the program with script(show_meta=True), which "
                     "adds it to the text");
  return ast_error(b->src, n, "undefined: %s", text);
}

/* The host answers with marked texts where it means no value: its T and I modules, and names it
   does not know.
   @return 1 for a module, 0 for a value, -1 when undefined */
static int read_marker(builder *b, const ast *n, val *out) {
  const char *marker;
  if (out->v.type_index != TN_TI_String || tn_any_to_cstr(&out->v, &marker) || *marker != '\x01')
    return 0;
  if (strncmp(marker, "\x01script.", 8) != 0) {
    const char *text =
        tn_arena_strndup(&b->arena, b->src->text + n->start, (size_t)(n->end - n->start));
    return undefined(b, n, text ? text : "?");
  }
  *out = (val){.kind = marker[8] == 'T' ? VAL_T : VAL_I, .name = marker[9] ? marker + 10 : ""};
  return 1;
}

/* ---- buffers that functions of the host allocate ---- */

static _Thread_local tn_vec *host_allocs; /* while the host evaluates something; owned */

int script_host_alloc(tn_obj *buffer) {
  if (!host_allocs) return 0;
  if (tn_vec_push_obj(host_allocs, buffer)) return -1;
  tn_retain(buffer);
  return 1;
}

/* They belong to the block whose body calls the function. */
static int take_allocs(builder *b, const ast *n, const tn_vec *allocs) {
  tn_vec *into = b->block ? &b->block->alloc_buffers : b->func ? &b->func->root_alloc : NULL;
  int err = 0;
  for (int64_t i = 0; i < allocs->len; ++i) {
    const tn_obj *buffer = tn_scope_own(allocs->items[i].v.obj);
    if (!err) err = into ? tn_vec_push_obj(into, buffer) : 0;
  }
  if (err || into || !allocs->len) return err;
  return ast_error(b->src, n, "T.alloc_buffer belongs inside a function");
}

static int call_host(builder *b, const ast *n, const tn_any *args, tn_any *ret) {
  TN_VEC(allocs);
  tn_vec *outside = host_allocs;
  host_allocs = &allocs;
  int err = tn_func_call(b->opt->host, args, 2, ret);
  host_allocs = outside;
  if (!err && tn_any_is_obj(ret) && !tn_scope_own(ret->v.obj)) err = -1;
  int taken = take_allocs(b, n, &allocs);
  return err ? place_error(b, n) : taken;
}

/* ---- expressions and names ---- */

int host_eval(builder *b, const ast *n, val *out) {
  bool opaque = n->kind == AST_COMP || n->kind == AST_FSTR || n->kind == AST_LAMBDA;
  tn_map *locals = tn_scope_own(tn_map_new());
  const char *text =
      tn_arena_strndup(&b->arena, b->src->text + n->start, (size_t)(n->end - n->start));
  if (!locals || !text) return -1;
  if (!b->opt->host) return undefined(b, n, text);
  see_all(n);
  TN_TRY(opaque ? add_all_locals(b, locals) : add_locals(b, n, locals));
  tn_any ret, args[] = {tn_any_cstr(text), tn_any_obj(locals)};
  TN_TRY(call_host(b, n, args, &ret));
  *out = PLAIN(ret);
  return read_marker(b, n, out) < 0 ? -1 : 0;
}

int ask_host(builder *b, const ast *name, val *out) {
  tn_map *none = tn_scope_own(tn_map_new());
  tn_str *query = tn_str_fmt("?%s", name->text);
  if (!none || !query) return -1;
  if (!b->opt->host) return undefined(b, name, name->text);
  tn_any ret, args[] = {tn_any_obj(query), tn_any_obj(none)};
  if (tn_func_call(b->opt->host, args, 2, &ret)) return place_error(b, name);
  if (tn_any_is_obj(&ret) && !tn_scope_own(ret.v.obj)) return -1;
  *out = PLAIN(ret);
  int marked = read_marker(b, name, out);
  if (marked <= 0) return marked < 0 ? -1 : 1;
  return bind_name(b, name->text, *out);
}
