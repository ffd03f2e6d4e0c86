/* Algorithms of memory plans behind global functions: ours for buffers that a tool describes, the
   caller's for buffers that we describe. */
#include "tir/usmp/algo.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/scope.h"
#include "object/functions.h"
#include "tir/tir.h"

enum { MAX_BUFFERS = 8192 }; /* pairs are looked at */

static int64_t int_of(const void *imm) {
  int64_t v = -1;
  tir_as_int(imm, &v);
  return v;
}

/* ---- types ---- */

/* Buffers that conflict name each other: while they are planned there is a cycle of references.
   What made them ends it. */
static void forget_conflicts(tn_obj *self) {
  const tn_BufferInfoAnalysis *a = (const tn_BufferInfoAnalysis *)self;
  for (int64_t i = 0; a->buffer_info_stmts && i < a->buffer_info_stmts->len; ++i) {
    const tn_any *key = &a->buffer_info_stmts->entries[i].key;
    tn_BufferInfo *b = tn_any_is_obj(key) ? (tn_BufferInfo *)TN_AS(BufferInfo, key->v.obj) : NULL;
    tn_arr *conflicts = b ? b->conflicts : NULL;
    if (b) b->conflicts = NULL;
    tn_release(conflicts);
  }
}

static int check_buffer_info(tn_obj *self) {
  const tn_BufferInfo *b = (const tn_BufferInfo *)self;
  int64_t align = int_of(b->alignment);
  TN_CHECK(int_of(b->size_bytes) >= 0, ValueError, NULL,
           "BufferInfo %s: expected a size of 0 bytes or more", tn_cstr(b->name_hint));
  TN_CHECK(align > 0 && align <= 1 << 20, ValueError, NULL,
           "BufferInfo %s: expected an alignment of 1 to 2**20 bytes", tn_cstr(b->name_hint));
  for (int64_t i = 0; i < b->pool_candidates->len; ++i)
    TN_CHECK(tn_obj_is(tn_arr_obj(b->pool_candidates, i), &tn_type_PoolInfo), TypeError, NULL,
             "BufferInfo %s: expected pools (PoolInfo) as candidates", tn_cstr(b->name_hint));
  return 0;
}

static const tn_type_hooks buffer_info_hooks = {.init = check_buffer_info};
static const tn_type_hooks analysis_hooks = {.fini = forget_conflicts};

TN_NODES_DEFINE(TN_USMP_NODES, usmp_types)

int usmp_algorithm(const char *name, pack_algorithm *out) {
  static const struct {
    const char *name;
    pack_algorithm algorithm;
  } known[] = {{"greedy_by_size", PACK_BY_SIZE},
               {"greedy_by_conflicts", PACK_BY_CONFLICTS},
               {"hill_climb", PACK_HILL_CLIMB}};
  *out = PACK_BEST;
  for (int i = 0; name && i < TN_COUNT(known); ++i)
    if (strcmp(known[i].name, name) == 0) *out = known[i].algorithm;
  TN_CHECK(!name || *out != PACK_BEST, ValueError, NULL,
           "tir.usmp.algorithm: expected greedy_by_size, greedy_by_conflicts or hill_climb, got %s",
           name);
  return 0;
}

int64_t usmp_pool_limit(const tn_PoolInfo *p) { return int_of(p->size_hint_bytes); }

int usmp_set_conflicts(tn_BufferInfo *const *infos, int64_t n, const uint8_t *conflicts) {
  for (int64_t i = 0; i < n; ++i) {
    TN_VEC(list);
    tn_arr *all;
    for (int64_t j = 0; j < n; ++j)
      if (j != i && conflicts[i * n + j]) TN_TRY(tn_vec_push_obj(&list, infos[j]));
    TN_GET(all, tn_arr_from(&list));
    tn_retain(all);
    tn_release(infos[i]->conflicts);
    infos[i]->conflicts = all;
  }
  return 0;
}

/* ---- buffers that a tool describes ---- */

typedef struct {
  const tn_arr *infos; /* BufferInfo */
  int64_t n;
  pack_buffer *buffers;
  uint8_t *conflicts;
  int32_t *may; /* pools of all buffers, one after the other */
  pack_pool *pools;
  tn_vec pool_infos;
  tn_map *numbers; /* PoolInfo, BufferInfo -> number */
} problem;

static int number_of(const problem *p, const tn_obj *o, int64_t *out) {
  tn_any found;
  if (!tn_map_get(p->numbers, tn_any_obj(o), &found)) return 0;
  *out = found.v.i64;
  return 1;
}

static int add_pools(problem *p, int64_t *total) {
  *total = 0;
  for (int64_t i = 0; i < p->n; ++i) {
    const tn_BufferInfo *b = TN_AS(BufferInfo, tn_arr_obj(p->infos, i));
    int64_t known;
    TN_CHECK(b, TypeError, NULL, "memory plan: expected BufferInfo at %" PRId64, i);
    TN_CHECK(!number_of(p, (const tn_obj *)b, &known), ValueError, NULL,
             "memory plan: %s is there twice", tn_cstr(b->name_hint));
    TN_TRY(tn_map_set(p->numbers, tn_any_obj(b), tn_any_int(i)));
    *total += b->pool_candidates->len;
    for (int64_t k = 0; k < b->pool_candidates->len; ++k) {
      const tn_obj *pool = tn_arr_obj(b->pool_candidates, k);
      if (number_of(p, pool, &known)) continue;
      TN_TRY(tn_map_set(p->numbers, tn_any_obj(pool), tn_any_int(p->pool_infos.len)));
      TN_TRY(tn_vec_push_obj(&p->pool_infos, pool));
    }
  }
  return 0;
}

/* Conflicts are symmetric whoever tells them. */
static int add_buffers(problem *p) {
  int32_t *may = p->may;
  for (int64_t i = 0; i < p->n; ++i) {
    const tn_BufferInfo *b = (const tn_BufferInfo *)tn_arr_obj(p->infos, i);
    int64_t k, n = b->pool_candidates->len;
    TN_CHECK(n > 0, ValueError, NULL, "memory plan: %s may lie in no pool", tn_cstr(b->name_hint));
    p->buffers[i] = (pack_buffer){.name = tn_cstr(b->name_hint),
                                  .bytes = int_of(b->size_bytes),
                                  .align = int_of(b->alignment),
                                  .may = may,
                                  .nmay = (int32_t)n};
    for (int64_t c = 0; c < n; ++c, ++may)
      *may = number_of(p, tn_arr_obj(b->pool_candidates, c), &k) ? (int32_t)k : 0;
    p->conflicts[i * p->n + i] = 1;
    for (int64_t c = 0; b->conflicts && c < b->conflicts->len; ++c)
      if (number_of(p, tn_arr_obj(b->conflicts, c), &k) && k < p->n)
        p->conflicts[i * p->n + k] = p->conflicts[k * p->n + i] = 1;
  }
  return 0;
}

static tn_map *allocations(const problem *p) {
  tn_map *out;
  TN_GETP(out, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < p->n; ++i) {
    const pack_buffer *b = &p->buffers[i];
    tn_PoolInfo *pool = (tn_PoolInfo *)p->pool_infos.items[b->pool].v.obj;
    tn_obj *place = (tn_obj *)TN_NEW(PoolAllocation, .pool_info = pool,
                                     .byte_offset = (tn_IntImm *)tir_i64(b->offset));
    if (!place || tn_map_set(out, p->infos->items[i], tn_any_obj(place))) return NULL;
  }
  return out;
}

static tn_map *solve(problem *p, int64_t pressure, pack_algorithm algorithm) {
  int64_t total;
  TN_CHECKP(p->n <= MAX_BUFFERS, ValueError, NULL, "memory plan: more than %d buffers",
            MAX_BUFFERS);
  TN_GETP(p->numbers, tn_scope_own(tn_map_new()));
  TN_TRYP(add_pools(p, &total));
  size_t n = (size_t)p->n;
  TN_GETP(p->buffers, tn_alloc_zero(n + 1, sizeof *p->buffers));
  TN_GETP(p->conflicts, tn_alloc_zero(n + 1, n));
  TN_GETP(p->may, tn_alloc_zero((size_t)total + 1, sizeof *p->may));
  TN_GETP(p->pools, tn_alloc_zero((size_t)p->pool_infos.len + 1, sizeof *p->pools));
  TN_TRYP(add_buffers(p));
  for (int64_t k = 0; k < p->pool_infos.len; ++k) {
    const tn_PoolInfo *info = (const tn_PoolInfo *)p->pool_infos.items[k].v.obj;
    p->pools[k] = (pack_pool){.name = tn_cstr(info->pool_name), .limit = usmp_pool_limit(info)};
  }
  if (p->n)
    TN_TRYP(pack_plan_conflicts(p->buffers, p->n, p->conflicts, pressure, p->pools,
                                (int32_t)p->pool_infos.len, 1, algorithm));
  return allocations(p);
}

/* (Array of BufferInfo, memory pressure in bytes) -> Map of BufferInfo to PoolAllocation */
static int run(const tn_any *args, int32_t n, tn_any *ret, const char *algorithm) {
  int64_t pressure;
  TN_CHECK(n == 2, TypeError, NULL, "tir.usmp.algo.%s: expected 2 arguments, got %d", algorithm, n);
  TN_ARG_ITEMS(Array(BufferInfo), infos, 0);
  TN_CHECK(tn_any_is_obj(&args[1]) ? tir_as_int(args[1].v.obj, &pressure)
                                   : !tn_any_to_int(&args[1], &pressure),
           TypeError, NULL, "tir.usmp.algo.%s: expected the memory pressure as an int", algorithm);
  problem p = {.infos = infos, .n = infos->len};
  pack_algorithm how;
  TN_TRY(usmp_algorithm(algorithm, &how));
  int err = tn_ret_obj(ret, solve(&p, pressure, how));
  void *memory[] = {p.buffers, p.conflicts, p.may, p.pools};
  for (int i = 0; i < TN_COUNT(memory); ++i) tn_free(memory[i]);
  tn_vec_fini(&p.pool_infos);
  return err;
}

static int by_size(TN_ARGS) { return run(args, n, ret, "greedy_by_size"); }
static int by_conflicts(TN_ARGS) { return run(args, n, ret, "greedy_by_conflicts"); }
static int hill_climb(TN_ARGS) { return run(args, n, ret, "hill_climb"); }

/* ---- buffers that we describe ---- */

typedef struct {
  const char *name;
  pack_buffer *b;
  int64_t n;
  pack_pool *pools;
  const tn_arr *pool_infos;
  int64_t align;
  tn_BufferInfo **infos;
  uint8_t *conflicts;
  tn_BufferInfoAnalysis *all; /* ends the conflicts */
} request;

static int describe(request *r) {
  tn_map *map;
  TN_GET(map, tn_scope_own(tn_map_new()));
  for (int64_t i = 0; i < r->n; ++i) {
    pack_buffer *b = &r->b[i];
    TN_GET(r->infos[i], TN_NEW(BufferInfo, .name_hint = tn_str_from(b->name),
                               .size_bytes = (tn_IntImm *)tir_i64(b->bytes),
                               .pool_candidates = (tn_arr *)(uintptr_t)r->pool_infos,
                               .alignment = (tn_IntImm *)tir_i64(b->align ? b->align : r->align)));
    TN_TRY(tn_map_set(map, tn_any_obj(r->infos[i]), tn_any_none()));
    for (int64_t j = 0; j < r->n; ++j)
      r->conflicts[i * r->n + j] = b->first <= r->b[j].last && r->b[j].first <= b->last;
  }
  int64_t pressure = pack_lower_bound(r->b, r->n, r->align);
  if (pressure < 0) return -1;
  TN_GET(r->all, TN_NEW(BufferInfoAnalysis, .buffer_info_stmts = map,
                        .memory_pressure = (tn_IntImm *)tir_i64(pressure)));
  return usmp_set_conflicts(r->infos, r->n, r->conflicts);
}

/* Into which pool, and where. */
static int take_place(request *r, int64_t i, const tn_PoolAllocation *a) {
  pack_buffer *b = &r->b[i];
  int64_t align = b->align ? b->align : r->align;
  int32_t k = 0;
  while (k < r->pool_infos->len && tn_arr_obj(r->pool_infos, k) != (tn_obj *)a->pool_info) ++k;
  TN_CHECK(k < r->pool_infos->len, ValueError, NULL,
           "tir.usmp.algo.%s: %s was put into a pool that is not a candidate of its: %s", r->name,
           b->name, tn_cstr(a->pool_info->pool_name));
  pack_pool *pool = &r->pools[k];
  b->pool = k;
  b->offset = int_of(a->byte_offset);
  TN_CHECK(b->offset >= 0 && b->offset % align == 0, ValueError, NULL,
           "tir.usmp.algo.%s: %s lies at %" PRId64 " of %s: expected a multiple of %" PRId64,
           r->name, b->name, b->offset, pool->name, align);
  TN_CHECK(b->offset <= INT64_MAX / 4, ValueError, NULL, "tir.usmp.algo.%s: %s lies too far out",
           r->name, b->name);
  int64_t end = b->offset + b->bytes;
  TN_CHECK(pool->limit < 0 || end <= pool->limit, ValueError, NULL,
           "tir.usmp.algo.%s: %s ends at %" PRId64 " of %s, which has %" PRId64 " bytes: %" PRId64
           " are missing",
           r->name, b->name, end, pool->name, pool->limit, end - pool->limit);
  if (end > pool->used) pool->used = end;
  return 0;
}

static int check_overlaps(const request *r) {
  for (int64_t i = 0; i < r->n; ++i)
    for (int64_t j = 0; j < i; ++j) {
      const pack_buffer *a = &r->b[i], *b = &r->b[j];
      bool apart = a->pool != b->pool || a->offset + a->bytes <= b->offset ||
                   b->offset + b->bytes <= a->offset || !a->bytes || !b->bytes;
      TN_CHECK(apart || !r->conflicts[i * r->n + j], ValueError, NULL,
               "tir.usmp.algo.%s: %s and %s overlap in %s and are needed at the same time", r->name,
               a->name, b->name, r->pools[a->pool].name);
    }
  return 0;
}

static int take(request *r, const tn_map *found) {
  for (int64_t i = 0; i < r->n; ++i) {
    tn_any place;
    bool known = tn_map_get(found, tn_any_obj(r->infos[i]), &place) && tn_any_is_obj(&place);
    const tn_PoolAllocation *a = known ? TN_AS(PoolAllocation, place.v.obj) : NULL;
    TN_CHECK(a, ValueError, NULL, "tir.usmp.algo.%s: expected a PoolAllocation of %s", r->name,
             r->b[i].name);
    TN_TRY(take_place(r, i, a));
  }
  return check_overlaps(r);
}

static int ask(request *r, tn_func *f) {
  tn_arr *list;
  tn_any ret;
  TN_VEC(v);
  TN_GET(r->infos, tn_alloc_zero((size_t)r->n + 1, sizeof *r->infos));
  TN_GET(r->conflicts, tn_alloc_zero((size_t)r->n + 1, (size_t)r->n));
  TN_TRY(describe(r));
  for (int64_t i = 0; i < r->n; ++i) TN_TRY(tn_vec_push_obj(&v, r->infos[i]));
  TN_GET(list, tn_arr_from(&v));
  tn_any args[] = {tn_any_obj(list), tn_any_int(int_of(r->all->memory_pressure))};
  TN_TRY(tn_func_call(f, args, 2, &ret));
  const tn_map *found =
      tn_any_is_obj(&ret) && ret.v.obj->type_index == TN_TI_Map ? (tn_map *)ret.v.obj : NULL;
  if (found) tn_scope_own(ret.v.obj);
  else tn_any_release(&ret);
  TN_CHECK(found, TypeError, NULL,
           "tir.usmp.algo.%s: expected a map from BufferInfo to PoolAllocation", r->name);
  return take(r, found);
}

int usmp_plan_by(const char *name, pack_buffer *buffers, int64_t n, pack_pool *pools,
                 const tn_arr *infos, int64_t align) {
  TN_SCOPE(scope);
  request r = {
      .name = name, .b = buffers, .n = n, .pools = pools, .pool_infos = infos, .align = align};
  tn_str *global;
  TN_CHECK(n <= MAX_BUFFERS, ValueError, NULL, "memory plan: more than %d buffers", MAX_BUFFERS);
  TN_GET(global, tn_str_fmt("tir.usmp.algo.%s", name));
  tn_func *f = tn_func_find(tn_cstr(global));
  TN_CHECK(f, ValueError, NULL,
           "tir.usmp.custom_algorithm: %s is not registered: register a function of that name",
           tn_cstr(global));
  for (int64_t k = 0; k < infos->len; ++k) pools[k].used = 0;
  int err = ask(&r, f);
  tn_release(f);
  tn_free(r.infos);
  tn_free(r.conflicts);
  return err;
}

/* (BufferInfo, Array of BufferInfo): those that must not overlap it. The caller ends a cycle with
   an empty list. */
static int set_conflicts(TN_ARGS) {
  TN_NARGS("tir.usmp.BufferInfoSetConflicts", 2);
  TN_ARG_OBJ(BufferInfo, b, 0);
  TN_ARG_ITEMS(Array(BufferInfo), list, 1);
  for (int64_t i = 0; i < list->len; ++i)
    TN_CHECK(TN_IS(BufferInfo, tn_arr_obj(list, i)), TypeError, NULL,
             "tir.usmp.BufferInfoSetConflicts: expected BufferInfo at %" PRId64, i);
  tn_arr *before = b->conflicts;
  tn_retain(list);
  b->conflicts = list;
  tn_release(before);
  return 0;
}

static const tn_func_row rows[] = {
    {"tir.usmp.algo.greedy_by_size", by_size},
    {"tir.usmp.algo.greedy_by_conflicts", by_conflicts},
    {"tir.usmp.algo.hill_climb", hill_climb},
    {"tir.usmp.BufferInfoSetConflicts", set_conflicts},
};

int usmp_algo_init(void) {
  TN_TRY(tn_type_register_table(usmp_types, TN_COUNT(usmp_types)));
  TN_TRY(usmp_extract_init());
  return tn_func_register_rows(rows, TN_COUNT(rows));
}
