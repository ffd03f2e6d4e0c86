/* Which memory a program needs when: allocations of main and of the functions that it calls, with
   the steps between their first and their last use. What runs is walked in its order; a call is the
   steps of what it calls. Memory from outside of a loop that the loop uses is needed while it runs.
 */
#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/pmap.h"
#include "base/scope.h"
#include "ir/module.h"
#include "object/functions.h"
#include "tir/tir.h"
#include "tir/usmp/algo.h"

enum { DEFAULT_ALIGN = 16, MAX_DEPTH = 512, MAX_BYTES = INT32_MAX };

typedef struct {
  const tn_stmt *stmt;
  tn_arr *pools;
  tn_str *name;
  int64_t bytes, first, last; /* first > last: never used */
} allocation;

typedef struct {
  const tn_IRModule *m;
  allocation *list;
  int64_t n, cap;
  tn_pmap known; /* statement, variable of its memory or of an alias -> number + 1 */
  int64_t step;
  int depth;
} walker;

static int walk(walker *w, const tn_stmt *s);

/* ---- uses ---- */

static void use(walker *w, int64_t i, int64_t step) {
  allocation *a = &w->list[i];
  if (a->first > a->last) a->first = a->last = step;
  if (step < a->first) a->first = step;
  if (step > a->last) a->last = step;
}

static int see(void *ctx, tn_obj *node) {
  walker *w = ctx;
  int64_t i = TN_AS(Var, node) ? tn_pmap_get_int(&w->known, node, 0) : 0;
  if (i) use(w, i - 1, w->step);
  return 0;
}

static int use_all(walker *w, const void *node) { return tn_post_order(node, see, w) < 0 ? -1 : 0; }

/* ---- calls ---- */

/* The function of the module that a call means; NULL: none. */
static const tn_PrimFunc *callee_of(const walker *w, const tn_Call *c) {
  const tn_GlobalVar *v = TN_AS(GlobalVar, c->op);
  const tn_StringImm *text = c->args->len ? TN_AS(StringImm, tn_arr_obj(c->args, 0)) : NULL;
  const char *name = v ? tn_cstr(v->name_hint) : text ? tn_cstr(text->value) : NULL;
  tn_any key, value;
  for (int64_t i = 0; name && tn_map_at(w->m->functions, i, &key, &value); ++i) {
    const tn_PrimFunc *f = TN_AS(PrimFunc, value.v.obj);
    const tn_obj *symbol = f ? tir_func_attr(f, "global_symbol") : NULL;
    bool is =
        tn_str_eq(((const tn_GlobalVar *)key.v.obj)->name_hint, name) ||
        (symbol && symbol->type_index == TN_TI_String && tn_str_eq((const tn_str *)symbol, name));
    if (f && is) return f;
  }
  return NULL;
}

/* Arguments are needed as long as what is called runs. */
static int evaluate(walker *w, const tn_Evaluate *e) {
  const tn_Call *c = TN_AS(Call, e->value);
  const tn_PrimFunc *f = c ? callee_of(w, c) : NULL;
  TN_TRY(use_all(w, e));
  ++w->step;
  if (!f) return 0;
  TN_TRY(walk(w, f->body));
  TN_TRY(use_all(w, e));
  ++w->step;
  return 0;
}

/* ---- allocations ---- */

static int size_of(const tn_Var *v, const tn_arr *extents, tn_dtype t, int64_t *out) {
  int64_t n = 1, extent;
  for (int64_t i = 0; i < extents->len; ++i)
    TN_CHECK(tir_as_int(tn_arr_obj(extents, i), &extent) && extent >= 0 && extent <= MAX_BYTES &&
                 !__builtin_mul_overflow(n, extent, &n) && n <= MAX_BYTES,
             ValueError, NULL, "extract_buffer_info: %s has no size that is known",
             tn_cstr(v->name));
  *out = tn_dtype_bytes(t, n);
  return 0;
}

/* One that has pools to choose from; a function that is called twice allocates the same again. */
static int allocate(walker *w, const tn_stmt *s, const tn_Var *v, const tn_arr *extents, tn_dtype t,
                    const tn_map *annotations, const tn_stmt *body) {
  const tn_obj *pools = annotations ? tn_map_find(annotations, "candidate_memory_pools") : NULL;
  bool listed = pools && pools->type_index == TN_TI_Array && ((const tn_arr *)pools)->len;
  if (listed && !tn_pmap_get_int(&w->known, s, 0)) {
    TN_GROW(w->list, w->cap, w->n + 1, return -1);
    w->list[w->n] = (allocation){
        .stmt = s, .pools = (tn_arr *)(uintptr_t)pools, .name = v->name, .first = 0, .last = -1};
    TN_TRY(size_of(v, extents, t, &w->list[w->n].bytes));
    ++w->n;
    TN_TRY(tn_pmap_put_int(&w->known, s, w->n));
    TN_TRY(tn_pmap_put_int(&w->known, v, w->n));
  }
  return walk(w, body);
}

/* Another name of the memory, where the value is an address in it. */
static int bind(walker *w, const tn_LetStmt *s) {
  const tn_Var *v = TN_AS(Var, s->value);
  const tn_Call *c = TN_AS(Call, s->value);
  const tn_BufferLoad *load = c && c->args->len ? TN_AS(BufferLoad, tn_arr_obj(c->args, 0)) : NULL;
  if (c && !v)
    v = load ? load->buffer->data : c->args->len ? TN_AS(Var, tn_arr_obj(c->args, 0)) : NULL;
  int64_t root = v ? tn_pmap_get_int(&w->known, v, 0) : 0;
  if (root && tn_dtype_eq(((const tn_expr *)s->var)->dtype, TN_HANDLE))
    TN_TRY(tn_pmap_put_int(&w->known, s->var, root));
  else TN_TRY(use_all(w, s->value));
  return walk(w, s->body);
}

/* ---- statements ---- */

static int loop(walker *w, const void *head, const tn_stmt *body) {
  int64_t before = w->n, from = w->step;
  TN_TRY(use_all(w, head));
  TN_TRY(walk(w, body));
  int64_t to = w->step++;
  for (int64_t i = 0; i < before; ++i) {
    const allocation *a = &w->list[i];
    if (a->first > a->last || a->last < from) continue;
    use(w, i, from);
    use(w, i, to);
  }
  return 0;
}

static int walk_all(walker *w, const tn_arr *list) {
  for (int64_t i = 0; i < list->len; ++i) TN_TRY(walk(w, (const tn_stmt *)tn_arr_obj(list, i)));
  return 0;
}

static int walk_one(walker *w, const tn_stmt *s) {
  const void *at = s;
  switch (((const tn_obj *)at)->type_index) {
  case TN_TI_SeqStmt: return walk_all(w, ((const tn_SeqStmt *)at)->seq);
  case TN_TI_For: return loop(w, ((const tn_For *)at)->extent, ((const tn_For *)at)->body);
  case TN_TI_While: return loop(w, ((const tn_While *)at)->condition, ((const tn_While *)at)->body);
  case TN_TI_LetStmt: return bind(w, at);
  case TN_TI_Evaluate: return evaluate(w, at);
  case TN_TI_AttrStmt: return walk(w, ((const tn_AttrStmt *)at)->body);
  case TN_TI_DeclBuffer: return walk(w, ((const tn_DeclBuffer *)at)->body);
  case TN_TI_BlockRealize: return walk(w, ((const tn_BlockRealize *)at)->block->body);
  case TN_TI_Allocate: {
    const tn_Allocate *a = at;
    return allocate(w, s, a->buffer_var, a->extents, a->dtype, a->annotations, a->body);
  }
  case TN_TI_AllocateConst: {
    const tn_AllocateConst *a = at;
    return allocate(w, s, a->buffer_var, a->extents, a->dtype, a->annotations, a->body);
  }
  case TN_TI_IfThenElse: {
    const tn_IfThenElse *c = at;
    TN_TRY(use_all(w, c->condition));
    TN_TRY(walk(w, c->then_case));
    return c->else_case ? walk(w, c->else_case) : 0;
  }
  case TN_TI_AssertStmt:
    TN_TRY(use_all(w, ((const tn_AssertStmt *)at)->condition));
    return walk(w, ((const tn_AssertStmt *)at)->body);
  default: /* a store, say */
    TN_TRY(use_all(w, s));
    ++w->step;
    return 0;
  }
}

static int walk(walker *w, const tn_stmt *s) {
  TN_CHECK(w->depth < MAX_DEPTH, ValueError, NULL,
           "extract_buffer_info: statements and calls are nested more than %d deep", MAX_DEPTH);
  ++w->depth;
  int err = walk_one(w, s);
  --w->depth;
  return err;
}

/* ---- what comes out ---- */

static tn_BufferInfoAnalysis *result(const walker *w) {
  tn_map *map;
  size_t n = (size_t)w->n;
  TN_AUTOFREE pack_buffer *lives = tn_alloc_zero(n + 1, sizeof *lives);
  TN_AUTOFREE tn_BufferInfo **infos = tn_alloc_zero(n + 1, sizeof *infos);
  TN_AUTOFREE uint8_t *conflicts = tn_alloc_zero(n + 1, n);
  if (!lives || !infos || !conflicts) return NULL;
  TN_GETP(map, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < w->n; ++i) {
    const allocation *a = &w->list[i];
    bool used = a->first <= a->last;
    lives[i] = (pack_buffer){.bytes = used ? a->bytes : 0, .first = a->first, .last = a->last};
    if (!used) lives[i].last = lives[i].first;
    TN_GETP(infos[i],
            TN_NEW(BufferInfo, .name_hint = a->name, .size_bytes = (tn_IntImm *)tir_i64(a->bytes),
                   .pool_candidates = a->pools, .alignment = (tn_IntImm *)tir_i64(DEFAULT_ALIGN)));
    TN_TRYP(tn_map_set(map, tn_any_obj(infos[i]), tn_any_obj(a->stmt)));
    for (int64_t j = 0; j < i; ++j) {
      const allocation *b = &w->list[j];
      bool both = used && b->first <= b->last && a->first <= b->last && b->first <= a->last;
      conflicts[i * w->n + j] = conflicts[j * w->n + i] = both;
    }
  }
  int64_t pressure = pack_lower_bound(lives, w->n, 1);
  if (pressure < 0) return NULL;
  tn_BufferInfoAnalysis *all = TN_NEW(BufferInfoAnalysis, .buffer_info_stmts = map,
                                      .memory_pressure = (tn_IntImm *)tir_i64(pressure));
  return all && usmp_set_conflicts(infos, w->n, conflicts) == 0 ? all : NULL;
}

/* (main, module) -> BufferInfoAnalysis */
static int extract(TN_ARGS) {
  TN_NARGS("tir.usmp.analysis.extract_buffer_info", 2);
  TN_ARG_OBJ(PrimFunc, f, 0);
  TN_ARG_OBJ(IRModule, m, 1);
  walker w = {.m = m};
  int err = walk(&w, f->body);
  TN_CHECK(err || w.n <= 8192, ValueError, NULL, "extract_buffer_info: more than 8192 allocations");
  if (!err) err = tn_ret_obj(ret, result(&w));
  tn_free(w.list);
  tn_pmap_fini(&w.known);
  return err;
}

/* Map of BufferInfo to statement -> Array of BufferInfo */
static int create_array(TN_ARGS) {
  TN_NARGS("tir.usmp.CreateArrayBufferInfo", 1);
  TN_ARG_OBJ(Map, map, 0);
  tn_arr *list;
  TN_VEC(v);
  for (int64_t i = 0; i < map->len; ++i) TN_TRY(tn_vec_push(&v, map->entries[i].key));
  TN_GET(list, tn_arr_from(&v));
  return tn_ret_obj(ret, list);
}

/* (Map of BufferInfo to statement, Map of BufferInfo to PoolAllocation) -> Map of statement to
   PoolAllocation */
static int assign(TN_ARGS) {
  TN_NARGS("tir.usmp.AssignStmtPoolAllocations", 2);
  TN_ARG_OBJ(Map, stmts, 0);
  TN_ARG_OBJ(Map, places, 1);
  tn_map *out;
  TN_GET(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < places->len; ++i) {
    tn_any stmt;
    if (tn_map_get(stmts, places->entries[i].key, &stmt))
      TN_TRY(tn_map_set(out, stmt, places->entries[i].value));
  }
  return tn_ret_obj(ret, out);
}

static const tn_func_row rows[] = {
    {"tir.usmp.analysis.extract_buffer_info", extract},
    {"tir.usmp.CreateArrayBufferInfo", create_array},
    {"tir.usmp.AssignStmtPoolAllocations", assign},
};

int usmp_extract_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
