/* Where copies of buffers go, and putting them there: parts of cache_read and its kin (cache.c). */
#include <string.h>

#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/cache.h"
#include "tir/schedule/reducer.h"

void sch_cache_fini(sch_cache *c) { tn_vec_fini(&c->consumers); }

/* ---- what is cached ---- */

tn_BufferRegion *sch_nth_region(const sch_step *e, const tn_Block *b, int64_t index, bool write) {
  const tn_arr *regions = write ? b->writes : b->reads;
  if (index >= 0 && index < regions->len) return (tn_BufferRegion *)tn_arr_obj(regions, index);
  const char *kind = write ? "write" : "read";
  sch_fail(e, "The input `buffer_index` is out of range", SCH_PLACES(b),
           "The target block {0} has %lld %s buffers, so `buffer_index` is required to be in "
           "[0, %lld). However, the input `buffer_index` is %lld, which is out of the expected "
           "range",
           (long long)regions->len, kind, (long long)regions->len, (long long)index);
  return NULL;
}

int sch_only_writer(const sch_step *e, const tn_Block *scope, const tn_Buffer *buffer,
                    tn_Block **out) {
  TN_VEC(blocks);
  int n = 0;
  *out = NULL;
  TN_TRY(sch_blocks_below((const tn_obj *)scope->body, &blocks));
  for (int64_t i = 0; i < blocks.len; ++i) {
    tn_Block *b = ((const tn_BlockRealize *)blocks.items[i].v.obj)->block;
    if (!sch_has_buffer(b->writes, buffer)) continue;
    *out = b;
    ++n;
  }
  if (n <= 1) return 0;
  return sch_fail(e, "The buffer is allowed to be written by single block", SCH_PLACES(scope),
                  "The buffer %s is expected to be written by single block in {0}, but got %d "
                  "blocks who write it",
                  tn_cstr(buffer->name), n);
}

int sch_check_memory(const sch_step *e, const char *memory) {
  static const char *const known[] = {"global",  "shared", "local",  "warp", "wmma.",
                                      "texture", "m16n8k", "metal.", "mma_"};
  for (int i = 0; i < TN_COUNT(known); ++i) {
    if (strncmp(memory, known[i], strlen(known[i])) == 0) return 0;
  }
  return sch_fail(e, "The input storage scope is invalid", NULL,
                  "The input storage scope \"%s\" is invalid", memory);
}

typedef struct {
  const tn_Buffer *buffer;
} written_buffer;

static int meet_write(void *ctx, tn_obj *o) {
  const written_buffer *w = ctx;
  const tn_BufferStore *store = TN_AS(BufferStore, o);
  const tn_Block *b = TN_AS(Block, o);
  return (store && store->buffer == w->buffer) || (b && sch_has_buffer(b->writes, w->buffer));
}

/* A block of the scope that gets a copy to write into would not find there what the init of the
 * scope has written. */
static int check_init(const sch_step *e, const sch_cache *c) {
  const written_buffer w = {c->buffer};
  int found = c->scope->init ? tn_post_order(c->scope->init, meet_write, (void *)(uintptr_t)&w) : 0;
  if (found <= 0) return found;
  return sch_fail(e, "The buffer is written by the init of the scope, too",
                  SCH_PLACES(c->scope, c->block),
                  "The init of {0} writes buffer %s, too: block {1} would not find that in a copy. "
                  "Take the copy around {0}, or decompose its reduction first",
                  tn_cstr(c->buffer->name));
}

typedef struct {
  sch_step *e;
  const tn_Buffer *buffer;
  bool met;
} starts;

/* The first block that writes tells, an innermost one. */
static int meet_reduction(void *ctx, tn_obj *o) {
  starts *x = ctx;
  const tn_Block *b = TN_AS(Block, o);
  TN_VEC(loops);
  if (!b || x->met || !sch_has_buffer(b->writes, x->buffer)) return 0;
  x->met = true;
  if (!b->init) return 0;
  TN_TRY(sch_loops_above(x->e, b, &loops));
  return loops.len ? sch_check_start(x->e, sch_realize_of(x->e, b), &loops, 0) : 0;
}

/* A later part of a reduction goes on with what is in the buffer, and would not find it in a copy.
 */
static int check_starts(sch_step *e, const sch_cache *c) {
  starts x = {e, c->buffer, false};
  return tn_post_order(c->block, meet_reduction, &x);
}

int sch_cache_find(sch_step *e, sch_cache *c, const tn_BlockRV *rv, int64_t index, bool write,
                   const char *memory, bool pipeline) {
  tn_BufferRegion *r;
  TN_GET(c->block, sch_block_of(e, rv));
  TN_TRY(sch_check_memory(e, memory));
  TN_GET(r, sch_nth_region(e, c->block, index, write));
  c->buffer = r->buffer;
  TN_GET(c->scope, sch_scope_root(e, c->block, pipeline));
  if (write) TN_TRY(check_starts(e, c));
  return write ? check_init(e, c) : 0;
}

static bool uses_loop(const tn_obj *range, const tn_For *loop) {
  const tn_Range *r = (const tn_Range *)range;
  return sch_uses_var(r->min, loop->loop_var) || sch_uses_var(r->extent, loop->loop_var);
}

int sch_leave_loops(const sch_step *e, sch_cache *c, bool write) {
  for (const tn_obj *o = sch_parent(e, c->scope); o; o = sch_parent(e, o)) {
    TN_VEC(region);
    const tn_For *loop = TN_AS(For, o);
    for (int64_t i = 0; loop && i < c->region->len; ++i) {
      const tn_obj *r = tn_arr_obj(c->region, i);
      bool uses = uses_loop(r, loop);
      if (uses && write)
        return sch_fail(e, "The region depends on a loop around the scope",
                        SCH_PLACES(c->scope, loop),
                        "What is written of %s in the scope {0} depends on the loop {1} around it",
                        tn_cstr(c->buffer->name));
      TN_TRY(tn_vec_push_obj(&region, uses ? (const tn_obj *)sch_whole_axis(c->buffer, i) : r));
    }
    if (loop) TN_GET(c->region, tn_arr_from(&region));
  }
  return 0;
}

/* ---- places ---- */

/* What a statement defines for its body: the pointer of an array, or a buffer. */
static const void *defined(const tn_obj *o) {
  switch (o->type_index) {
  case TN_TI_AllocateConst: return ((const tn_AllocateConst *)o)->buffer_var;
  case TN_TI_Allocate: return ((const tn_Allocate *)o)->buffer_var;
  case TN_TI_DeclBuffer: return ((const tn_DeclBuffer *)o)->buffer;
  case TN_TI_LetStmt: return ((const tn_LetStmt *)o)->var;
  default: return NULL;
  }
}

static const tn_obj *body_of(const tn_obj *o) {
  tn_any v = tn_field_get(o, tn_type_field(o->type, "body"));
  return v.v.obj;
}

const tn_obj *sch_within_definitions(const tn_obj *body) {
  while (defined(body)) body = body_of(body);
  return body;
}

sch_place sch_place_first(const sch_step *e, const tn_Block *scope, const tn_Block *reader,
                          const tn_Buffer *buffer) {
  const tn_obj *body = (const tn_obj *)scope->body, *o = sch_parent(e, reader);
  for (; o && o != (const tn_obj *)scope; o = sch_parent(e, o)) {
    const void *what = defined(o);
    if (what && (what == buffer || what == buffer->data)) {
      body = body_of(o);
      break;
    }
  }
  return (sch_place){sch_within_definitions(body), 0};
}

int sch_place_after(const sch_step *e, const tn_Block *scope, const tn_Block *writer,
                    const tn_vec *others, sch_place *out) {
  const tn_obj *body = sch_within_definitions((const tn_obj *)scope->body),
               *below = (const tn_obj *)writer;
  const tn_SeqStmt *seq = TN_AS(SeqStmt, body);
  *out = (sch_place){body, seq ? seq->seq->len : 1};
  for (const tn_obj *o = sch_parent(e, writer); o && o != (const tn_obj *)scope && others->len;
       below = o, o = sch_parent(e, o)) {
    bool found = false;
    seq = TN_AS(SeqStmt, o);
    for (int64_t i = 0; seq && i < others->len; ++i)
      found = found || sch_lies_below(e, others->items[i].v.obj, o);
    for (int64_t i = 0; found && i < seq->seq->len; ++i) {
      if (tn_arr_obj(seq->seq, i) == below) *out = (sch_place){o, i + 1};
    }
    if (found) break;
  }
  return 0;
}

/* ---- the copy ---- */

tn_Buffer *sch_buffer_like(const tn_Buffer *b, tn_arr *shape, const char *suffix,
                           const char *memory) {
  tn_str *name = tn_str_fmt("%s_%s", tn_cstr(b->name), suffix);
  const tn_PointerType *was = TN_AS(PointerType, b->data->type_annotation);
  const tn_PrimType *element = was ? TN_AS(PrimType, was->element_type) : NULL;
  tn_Buffer copy = *b;
  if (!name || !shape) return NULL;
  if (shape != b->shape) copy.strides = tn_arr_of(0);
  copy.name = name;
  copy.shape = shape;
  copy.data = tir_pointer_var(name->data, element ? element->dtype : b->dtype, memory);
  return copy.data && copy.strides ? tn_node_copy(&tn_type_Buffer, &copy) : NULL;
}

void sch_nest_fini(sch_nest *n) {
  tn_vec *all[] = {&n->loops, &n->iters, &n->values, &n->extents, &n->indices};
  for (int i = 0; i < TN_COUNT(all); ++i) tn_vec_fini(all[i]);
}

int sch_nest_add(sch_nest *n, tn_expr *extent, tn_expr *min, tn_Range *dom) {
  tn_str *loop_name = tn_str_fmt("ax%lld", (long long)n->loops.len),
         *name = tn_str_fmt("v%lld", (long long)n->loops.len);
  tn_Var *loop = loop_name ? tir_var(loop_name->data, extent->dtype) : NULL,
         *v = name ? tir_var(name->data, extent->dtype) : NULL;
  tn_IterVar *iv = v && dom ? tir_iter_var(dom, v, IR_ITER_DATA_PAR, "") : NULL;
  tn_expr *value = loop && min ? tir_add(min, (tn_expr *)loop) : (tn_expr *)loop;
  if (!loop || !iv || !value) return -1;
  return tn_vec_push_obj(&n->loops, loop) || tn_vec_push_obj(&n->iters, iv) ||
                 tn_vec_push_obj(&n->values, value) || tn_vec_push_obj(&n->extents, extent) ||
                 tn_vec_push_obj(&n->indices, v)
             ? -1
             : 0;
}

static int limit(sch_step *e, sch_nest *n, tn_expr *everywhere, tn_expr *here) {
  if (!everywhere || !here) return -1;
  if (arith_prove(&e->arith, everywhere)) return 0;
  TN_GET(n->predicate, n->predicate ? tir_and(n->predicate, here) : here);
  return 0;
}

int sch_nest_bound(sch_step *e, sch_nest *n, tn_expr *min, tn_expr *size) {
  int64_t last = n->loops.len - 1;
  tn_expr *extent = (tn_expr *)n->extents.items[last].v.obj, *end, *at;
  TN_GET(end, tir_add(min, extent));
  TN_GET(at, tir_is_zero(min) ? (tn_expr *)n->loops.items[last].v.obj
                              : tir_add(min, (tn_expr *)n->loops.items[last].v.obj));
  TN_TRY(limit(e, n, tir_ge(min, tir_zero(min->dtype)), tir_ge(at, tir_zero(at->dtype))));
  return limit(e, n, tir_le(end, size), tir_lt(at, size));
}

tn_stmt *sch_nest_make(const sch_nest *n, tn_str *name, tn_stmt *store, tn_Block **block) {
  tn_arr *none = tn_arr_of(0);
  tn_map *hints = tn_scope_own(tn_map_new());
  if (!store || !name || !none || !hints) return NULL;
  tn_Block *b = TN_NEW(Block, .iter_vars = tn_arr_from(&n->iters), .reads = none, .writes = none,
                       .name_hint = name, .alloc_buffers = none, .match_buffers = none,
                       .annotations = hints, .body = store);
  *block = b ? tir_block_with_regions(b, true, true) : NULL;
  tn_stmt *s = *block
                   ? (tn_stmt *)TN_MAKE(BlockRealize, .iter_values = tn_arr_from(&n->values),
                                        .predicate = n->predicate ? n->predicate : tir_bool(true),
                                        .block = *block)
                   : NULL;
  for (int64_t i = n->loops.len; i-- > 0 && s;) {
    tn_expr *extent = (tn_expr *)n->extents.items[i].v.obj;
    s = (tn_stmt *)TN_MAKE(For, .loop_var = (tn_Var *)n->loops.items[i].v.obj,
                           .min = tir_zero(extent->dtype), .extent = extent, .kind = TIR_FOR_SERIAL,
                           .body = s, .annotations = hints);
  }
  return s;
}

/* ---- users of the copy ---- */

typedef struct {
  const tn_Buffer *to;
  const tn_arr *offset;
} shift;

static tn_arr *shift_indices(sch_step *e, const shift *how, const tn_arr *indices) {
  TN_VEC(out);
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(how->offset, i);
    tn_expr *x = (tn_expr *)tn_arr_obj(indices, i);
    if (!tir_is_zero(r->min)) x = arith_simplify(&e->arith, tir_sub(x, r->min));
    if (!x || tn_vec_push_obj(&out, x)) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_arr *shift_region(sch_step *e, const shift *how, const tn_arr *region) {
  TN_VEC(out);
  for (int64_t i = 0; i < region->len; ++i) {
    const tn_Range *r = (const tn_Range *)tn_arr_obj(how->offset, i);
    tn_Range *x = (tn_Range *)tn_arr_obj(region, i);
    if (!tir_is_zero(r->min))
      x = tir_range(arith_simplify(&e->arith, tir_sub(x->min, r->min)), x->extent);
    if (!x || tn_vec_push_obj(&out, x)) return NULL;
  }
  return tn_arr_from(&out);
}

/* The buffer has been exchanged already; indices of the new one are moved. */
static tn_obj *shift_node(sch_step *e, const tn_obj *was, tn_obj *now) {
  const shift *how = e->after_ctx;
  (void)was;
  tn_BufferLoad *load = TN_AS(BufferLoad, now);
  tn_BufferStore *store = TN_AS(BufferStore, now);
  tn_BufferRegion *region = TN_AS(BufferRegion, now);
  if (load && load->buffer == how->to) {
    tn_arr *at = shift_indices(e, how, load->indices);
    return at ? (tn_obj *)tir_load(load->buffer, at) : NULL;
  }
  if (store && store->buffer == how->to) {
    tn_arr *at = shift_indices(e, how, store->indices);
    return at ? (tn_obj *)tir_store(store->buffer, store->value, at) : NULL;
  }
  if (region && region->buffer == how->to) {
    tn_arr *at = shift_region(e, how, region->region);
    return at ? (tn_obj *)TN_NEW(BufferRegion, .buffer = region->buffer, .region = at) : NULL;
  }
  return now;
}

int sch_redirect(sch_step *e, const tn_Block *b, const tn_Buffer *from, const tn_Buffer *to,
                 const tn_arr *offset) {
  const shift how = {to, offset};
  TN_TRY(tn_pmap_put(&e->vars, from, to));
  TN_TRY(tn_pmap_put(&e->vars, from->data, to->data));
  e->after = offset ? shift_node : NULL;
  e->after_ctx = &how;
  tn_stmt *now = sch_rewrite(e, (const tn_stmt *)b);
  e->after = NULL;
  e->after_ctx = NULL;
  /* other blocks do not see the copy */
  tn_pmap_fini(&e->vars);
  e->vars = (tn_pmap){0};
  if (!now) return -1;
  return now == (const tn_stmt *)b ? 0 : sch_replace(e, (const tn_stmt *)b, now);
}

static tn_stmt *inserted(sch_step *e, const sch_place *place, tn_stmt *stmt) {
  const tn_SeqStmt *seq = TN_AS(SeqStmt, place->site);
  int64_t n = seq ? seq->seq->len : 1;
  TN_VEC(stmts);
  for (int64_t i = 0; i <= n; ++i) {
    if (i == place->at) TN_TRYP(tn_vec_push_obj(&stmts, stmt));
    if (i == n) break;
    const tn_obj *child = seq ? tn_arr_obj(seq->seq, i) : place->site;
    tn_stmt *now = sch_rewrite(e, (const tn_stmt *)child);
    if (!now || tn_vec_push_obj(&stmts, now)) return NULL;
  }
  return tir_seq(&stmts);
}

int sch_add_buffers(sch_step *e, tn_Block *scope, int n, tn_Buffer *const *buffers) {
  TN_VEC(allocs);
  for (int64_t i = 0; i < scope->alloc_buffers->len; ++i)
    TN_TRY(tn_vec_push_obj(&allocs, tn_arr_obj(scope->alloc_buffers, i)));
  for (int i = 0; i < n; ++i) {
    if (buffers[i]) TN_TRY(tn_vec_push_obj(&allocs, buffers[i]));
  }
  tn_Block now = *scope;
  now.alloc_buffers = tn_arr_from(&allocs);
  now.body = sch_rewrite(e, scope->body);
  tn_Block *block = now.alloc_buffers && now.body ? tn_node_copy(&tn_type_Block, &now) : NULL;
  if (!block || sch_moved(e, scope, block)) return -1;
  return sch_replace(e, (const tn_stmt *)scope, (tn_stmt *)block);
}

int sch_insert(sch_step *e, tn_Block *scope, const sch_place *place, tn_stmt *stmt,
               tn_Buffer *alloc) {
  if (!stmt) return -1;
  TN_TRY(sch_replace(e, (const tn_stmt *)place->site, inserted(e, place, stmt)));
  return sch_add_buffers(e, scope, 1, &alloc);
}
