/* Dependencies among the blocks of a scope, in the order of the program:

     B[..] = A[..]        block "B"
     C[..] = B[..]        block "C": read after write, from "B"
     B[..] = 0            block "D": write after write from "B", write after read from "C" */
#include <string.h>

#include "base/alloc.h"
#include "tir/schedule/regions.h"

void sch_scope_info_fini(sch_scope_info *info) {
  tn_vec_fini(&info->blocks);
  tn_free(info->deps);
}

bool sch_has_buffer(const tn_arr *regions, const tn_Buffer *b) {
  for (int64_t i = 0; i < regions->len; ++i) {
    if (((const tn_BufferRegion *)tn_arr_obj(regions, i))->buffer == b) return true;
  }
  return false;
}

bool sch_allocates(const tn_Block *scope, const tn_Buffer *b) {
  for (int64_t i = 0; scope && i < scope->alloc_buffers->len; ++i) {
    if (tn_arr_obj(scope->alloc_buffers, i) == (const tn_obj *)b) return true;
  }
  return false;
}

bool sch_is_output(const tn_Block *b, const tn_Block *scope) {
  for (int64_t i = 0; i < b->writes->len; ++i) {
    if (!sch_allocates(scope, ((const tn_BufferRegion *)tn_arr_obj(b->writes, i))->buffer))
      return true;
  }
  return false;
}

static int add_dep(sch_scope_info *info, tn_Block *src, tn_Block *dst, sch_dep_kind kind) {
  if (info->ndeps == info->cap) {
    int64_t cap = info->cap ? 2 * info->cap : 16;
    sch_dep *grown = tn_realloc_array(info->deps, cap, sizeof *grown);
    if (!grown) return -1;
    info->deps = grown;
    info->cap = cap;
  }
  info->deps[info->ndeps++] = (sch_dep){src, dst, kind};
  return 0;
}

/* Earlier blocks that have a buffer of `mine` among the regions they read or write. */
static int add_deps(sch_scope_info *info, tn_Block *dst, const tn_arr *mine, bool written,
                    sch_dep_kind kind) {
  for (int64_t i = 0; i < mine->len; ++i) {
    const tn_Buffer *buffer = ((const tn_BufferRegion *)tn_arr_obj(mine, i))->buffer;
    for (int64_t j = 0; j < info->blocks.len; ++j) {
      tn_Block *src = (tn_Block *)info->blocks.items[j].v.obj;
      if (sch_has_buffer(written ? src->writes : src->reads, buffer))
        TN_TRY(add_dep(info, src, dst, kind));
    }
  }
  return 0;
}

int sch_scope_info_of(const tn_Block *scope, sch_scope_info *out) {
  TN_VEC(realizes);
  TN_TRY(sch_blocks_below((const tn_obj *)scope->body, &realizes));
  for (int64_t i = 0; i < realizes.len; ++i) {
    tn_Block *b = ((const tn_BlockRealize *)realizes.items[i].v.obj)->block;
    TN_TRY(add_deps(out, b, b->reads, true, SCH_RAW));
    TN_TRY(add_deps(out, b, b->writes, true, SCH_WAW));
    TN_TRY(add_deps(out, b, b->writes, false, SCH_WAR));
    TN_TRY(tn_vec_push_obj(&out->blocks, b));
  }
  return 0;
}

static int push_once(tn_vec *out, const tn_Block *b) {
  for (int64_t i = 0; i < out->len; ++i) {
    if (out->items[i].v.obj == (const tn_obj *)b) return 0;
  }
  return tn_vec_push_obj(out, b);
}

static bool hands_on(const sch_dep *d) { return d->kind == SCH_RAW || d->kind == SCH_WAW; }

int sch_producers(const sch_scope_info *info, const tn_Block *b, tn_vec *out) {
  for (int64_t i = 0; i < info->ndeps; ++i) {
    const sch_dep *d = &info->deps[i];
    if (d->dst == b && hands_on(d)) TN_TRY(push_once(out, d->src));
  }
  return 0;
}

int sch_consumers(const sch_scope_info *info, const tn_Block *b, tn_vec *out) {
  for (int64_t i = 0; i < info->ndeps; ++i) {
    const sch_dep *d = &info->deps[i];
    if (d->src == b && hands_on(d)) TN_TRY(push_once(out, d->dst));
  }
  return 0;
}
