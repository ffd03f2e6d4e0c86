/* Blocks of scripts: with T.block("name"): iterators, predicate, regions, buffers, init, body. */
#include <string.h>

#include "tir/analysis.h"
#include "tir/script/build_impl.h"

static ir_iter_type axis_type(const char *kind) {
  if (!strcmp(kind, "spatial") || !strcmp(kind, "S")) return IR_ITER_DATA_PAR;
  if (!strcmp(kind, "reduce") || !strcmp(kind, "R")) return IR_ITER_COMM_REDUCE;
  if (!strcmp(kind, "scan")) return IR_ITER_ORDERED;
  return IR_ITER_OPAQUE;
}

static int add_axis(builder *b, const ast *target, tn_Range *dom, tn_expr *value,
                    ir_iter_type type) {
  tn_Var *v;
  if (target->kind == AST_NAME && strcmp(target->text, "_") != 0) {
    for (int64_t i = 0; i < b->block->iter_vars.len; ++i) {
      const tn_IterVar *iv = (const tn_IterVar *)b->block->iter_vars.items[i].v.obj;
      if (tn_str_eq(iv->var->name, target->text))
        return ast_error(b->src, target, "the block has an iterator %s already", target->text);
    }
  }
  TN_TRY(bind_var(b, target, &v, dom->extent->dtype));
  tn_IterVar *iv = tir_iter_var(dom, v, type, "");
  return !iv || tn_vec_push_obj(&b->block->iter_vars, iv) ||
                 tn_vec_push_obj(&b->block->iter_values, value)
             ? -1
             : 0;
}

/* n, or (begin, end) */
static tn_Range *axis_domain(builder *b, const ast *n) {
  val v;
  if (eval(b, n, &v)) return NULL;
  if (v.kind == VAL_PLAIN && v.v.type_index == TN_TI_Range) return (tn_Range *)v.v.v.obj;
  tn_arr *parts = to_exprs(b, n, &v);
  if (!parts || parts->len < 1 || parts->len > 2)
    return parts ? (void)ast_error(b->src, n, "expected an extent or a pair (begin, end)"),
           NULL  : NULL;
  tn_expr *first = (tn_expr *)tn_arr_obj(parts, 0);
  if (parts->len == 1) return tir_range(tir_zero(first->dtype), first);
  return script_range(first, (tn_expr *)tn_arr_obj(parts, 1));
}

/* v0, v1 = T.axis.remap("SR", [i, k]): domains are those of the loops, which are the innermost ones
 * open */
static int build_remap(builder *b, const ast *target, const ast *call) {
  const ast *kinds = arg_of(call, 0, "kinds"), *values = arg_of(call, 1, "bindings");
  const char *text = kinds ? eval_text(b, kinds) : NULL;
  tn_arr *vars = text && values ? eval_exprs(b, values) : NULL;
  if (!vars)
    return tn_error_pending()
               ? -1
               : ast_error(
                     b->src, call,
                     "T.axis.remap: expected a string of S and R, and a list of loop variables");
  int n = target->kind == AST_TUPLE ? target->items.n : 1;
  if ((int64_t)strlen(text) != vars->len || n != vars->len)
    return ast_error(b->src, call,
                     "T.axis.remap: %d names, %lld kinds and %lld variables must be of one number",
                     n, (long long)strlen(text), (long long)vars->len);
  for (int i = 0; i < n; ++i) {
    tn_expr *v = (tn_expr *)tn_arr_obj(vars, i);
    tn_Range *dom = tn_pmap_get(&b->loops, v);
    if (text[i] != 'S' && text[i] != 'R')
      return ast_error(b->src, kinds, "T.axis.remap: expected S or R, got %c", text[i]);
    if (!dom) return ast_error(b->src, values, "T.axis.remap: expected loop variables");
    TN_TRY(add_axis(b, target->kind == AST_TUPLE ? target->items.items[i] : target, dom, v,
                    text[i] == 'S' ? IR_ITER_DATA_PAR : IR_ITER_COMM_REDUCE));
  }
  return 0;
}

int build_axis(builder *b, const ast *target, const ast *call, const char *kind) {
  if (!b->block) return ast_error(b->src, call, "T.axis belongs inside a block");
  if (!strcmp(kind, "remap")) return build_remap(b, target, call);
  if (strcmp(kind, "spatial") && strcmp(kind, "reduce") && strcmp(kind, "scan") &&
      strcmp(kind, "opaque") && strcmp(kind, "S") && strcmp(kind, "R"))
    return ast_error(b->src, call->a, "T.axis.%s: expected spatial, reduce, scan, opaque or remap",
                     kind);
  const ast *dom = arg_of(call, 0, "dom"), *value_of = arg_of(call, 1, "binding");
  tn_Range *range = dom ? axis_domain(b, dom) : NULL;
  if (!range)
    return tn_error_pending() ? -1 : ast_error(b->src, call, "T.axis.%s: expected an extent", kind);
  if (!value_of && b->block->realized)
    return ast_error(b->src, call, "T.axis.%s: expected an extent and the value of the iterator",
                     kind);
  tn_expr *value = value_of ? eval_expr(b, value_of) : tir_zero(range->extent->dtype);
  if (value &&
      (!ir_is_integral(value->dtype) || ir_is_bool(value->dtype) || value->dtype.lanes != 1))
    return ast_error(b->src, value_of ? value_of : dom,
                     "T.axis.%s: expected an integer for the iterator, got %s", kind,
                     TN_DT(value->dtype));
  return value ? add_axis(b, target, range, value, axis_type(kind)) : -1;
}

static void free_block(block_info *i) {
  tn_vec *all[] = {&i->iter_vars, &i->iter_values,   &i->reads,
                   &i->writes,    &i->alloc_buffers, &i->match_buffers};
  for (int j = 0; j < TN_COUNT(all); ++j) tn_vec_fini(all[j]);
}

static int add_pointer(tn_map *pointers, const tn_Buffer *b) {
  return TN_IS(Var, b->data) ? tn_map_set(pointers, tn_any_obj(b->data), tn_any_obj(b)) : 0;
}

/* The buffers that a block sees, by their pointers. */
static tn_map *visible_pointers(const builder *b, const block_info *i) {
  const func_info *f = b->func;
  tn_map *out = tn_scope_own(tn_map_new());
  for (int64_t j = 0; out && f && f->buffer_map && j < f->buffer_map->len; ++j)
    TN_TRYP(add_pointer(out, (tn_Buffer *)f->buffer_map->entries[j].value.v.obj));
  for (int64_t j = 0; out && f && j < f->root_alloc.len; ++j)
    TN_TRYP(add_pointer(out, (tn_Buffer *)f->root_alloc.items[j].v.obj));
  for (i = i->up; out && i; i = i->up) {
    for (int64_t j = 0; j < i->alloc_buffers.len; ++j)
      TN_TRYP(add_pointer(out, (tn_Buffer *)i->alloc_buffers.items[j].v.obj));
    for (int64_t j = 0; j < i->match_buffers.len; ++j)
      TN_TRYP(add_pointer(out, ((tn_MatchBufferRegion *)i->match_buffers.items[j].v.obj)->buffer));
  }
  return out;
}

/* Fills in what the block accesses where it does not say so itself. */
static tn_Block *with_regions(builder *b, const block_info *i, const ast *call, tn_Block *block) {
  tir_block_regions found;
  const tn_map *pointers = visible_pointers(b, i);
  if (!pointers || tir_block_access(block, pointers, &found)) return NULL;
  if (found.opaque->len) {
    const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(found.opaque, 0);
    return (void)ast_error(b->src, call,
                           "the block uses the pointer of %s, so that what it accesses cannot be "
                           "known: write T.reads(...) and T.writes(...)",
                           tn_cstr(r->buffer->name)),
           NULL;
  }
  tn_Block copy = *block;
  if (!i->has_reads) copy.reads = found.reads;
  if (!i->has_writes) copy.writes = found.writes;
  return tn_node_copy(&tn_type_Block, &copy);
}

static tn_stmt *finish_block(builder *b, block_info *i, const ast *call, const char *name,
                             tn_stmt *inner) {
  tn_map *ann = i->annotations ? i->annotations : tn_scope_own(tn_map_new());
  if (!inner || !ann) return NULL;
  tn_arr *iters = tn_arr_from(&i->iter_vars), *reads = tn_arr_from(&i->reads),
         *writes = tn_arr_from(&i->writes);
  tn_arr *allocs = tn_arr_from(&i->alloc_buffers), *matches = tn_arr_from(&i->match_buffers),
         *values = tn_arr_from(&i->iter_values);
  tn_Block *block =
      TN_MAKE(Block, .iter_vars = iters, .reads = reads, .writes = writes,
              .name_hint = tn_str_from(name), .alloc_buffers = allocs, .match_buffers = matches,
              .annotations = ann, .init = i->init, .body = inner);
  bool untold = !i->has_reads && !i->has_writes;
  if (block && (!i->has_reads || !i->has_writes)) block = with_regions(b, i, call, block);
  if (b->func && untold) b->func->untold = block;
  if (!block || !i->realized) return (tn_stmt *)block;
  return (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = values,
                            .predicate = i->predicate ? i->predicate : tir_bool(true),
                            .block = block);
}

int build_block(builder *b, const ast *with, const ast *call) {
  const ast *name = arg_of(call, 0, "name"), *flag = arg_of(call, 1, "no_realize");
  const char *text = name ? eval_text(b, name) : "";
  val no_realize = PLAIN(tn_any_bool(false));
  if (!text || (flag && eval(b, flag, &no_realize))) return -1;
  if (with->items.items[0]->b)
    return ast_error(b->src, with->items.items[0]->b,
                     "T.block binds no name: write its iterators as vi = T.axis.spatial(8, i)");
  block_info *info = tn_arena_alloc(&b->arena, sizeof *info);
  if (!info || !open_body(b)) return -1;
  info->up = b->block;
  info->realized = !no_realize.v.v.i64;
  b->block = info;
  if (build_stmts(b, with->body)) return -1;
  tn_stmt *inner = close_body(b);
  tn_stmt *s = inner ? finish_block(b, info, call, text, inner) : NULL;
  b->block = info->up;
  free_block(info);
  return s ? add_stmt(b, s) : place_error(b, call);
}
