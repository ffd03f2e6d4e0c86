/* What classes ask of the stages around theirs. */
#include "arith/analyzer.h"
#include "base/error.h"
#include "base/scope.h"
#include "ir/functor.h"
#include "ir/imm.h"
#include "kernels/kernels_impl.h"
#include "object/functions.h"

#include <string.h>

int kernel_try(int r) {
  if (r == 0) return 1;
  if (strcmp(tn_error_class(), "ScheduleError") != 0) return -1;
  tn_error_clear();
  return 0;
}

bool kernel_writes(const tn_Block *b, const tn_Buffer *buffer) {
  for (int64_t i = 0; i < b->writes->len; ++i)
    if (((const tn_BufferRegion *)b->writes->items[i].v.obj)->buffer == buffer) return true;
  return false;
}

/* ---- the one reader ---- */

typedef struct {
  const tn_Block *reader;
  const tn_Buffer *buffer;
  bool plain; /* every read is at the reader's own iterators */
} reads;

static bool is_iterator(const tn_Block *b, int64_t i, const tn_obj *index, const tn_obj *extent) {
  const tn_IterVar *iv = (const tn_IterVar *)b->iter_vars->items[i].v.obj;
  return index == (const tn_obj *)iv->var || (tir_is_one(extent) && tir_is_zero(index));
}

static int look(void *ctx, tn_obj *node) {
  reads *r = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, node);
  if (!load || load->buffer != r->buffer) return 0;
  for (int64_t i = 0; i < load->indices->len; ++i)
    r->plain = r->plain && is_iterator(r->reader, i, load->indices->items[i].v.obj,
                                       r->buffer->shape->items[i].v.obj);
  return 0;
}

/* Elementwise over the same domain, and in the same order? */
static int reads_plainly(const tn_Block *b, const tn_Buffer *buffer, bool *yes) {
  const tn_BufferStore *store = TN_AS(BufferStore, b->body);
  TN_ARITH(a);
  *yes = store && !b->init && b->iter_vars->len == buffer->shape->len &&
         store->indices->len == buffer->shape->len;
  for (int64_t i = 0; i < b->iter_vars->len && *yes; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)b->iter_vars->items[i].v.obj;
    *yes = iv->iter_type == IR_ITER_DATA_PAR &&
           arith_prove_equal(&a, iv->dom->extent, (tn_expr *)buffer->shape->items[i].v.obj) &&
           is_iterator(b, i, store->indices->items[i].v.obj, buffer->shape->items[i].v.obj);
  }
  if (!*yes) return 0;
  reads r = {b, buffer, true};
  TN_TRY(tn_post_order(store->value, look, &r));
  *yes = r.plain;
  return 0;
}

/* Is it memory of the program's own, rather than a result? */
static int is_local(const kernel_stage *st, const tn_Buffer *buffer, bool *yes) {
  tn_BlockRV *rv;
  const tn_Block *root;
  TN_GET(rv, sch_get_block(st->sch, "root", "main"));
  TN_GET(root, (const tn_Block *)sch_get(st->sch, (tn_obj *)rv));
  *yes = false;
  for (int64_t i = 0; i < root->alloc_buffers->len; ++i)
    *yes = *yes || root->alloc_buffers->items[i].v.obj == (const tn_obj *)buffer;
  return 0;
}

int kernel_only_reader(const kernel_stage *st, tn_BlockRV **out) {
  const tn_Buffer *buffer = ((const tn_BufferStore *)st->block->body)->buffer;
  const tn_Block *b;
  tn_arr *readers;
  bool yes;
  *out = NULL;
  TN_GET(readers, sch_get_neighbours(st->sch, st->rv, false));
  if (readers->len != 1) return 0;
  TN_TRY(is_local(st, buffer, &yes));
  if (!yes) return 0;
  TN_GET(b, (const tn_Block *)sch_get(st->sch, readers->items[0].v.obj));
  TN_TRY(reads_plainly(b, buffer, &yes));
  if (!yes) return 0;
  *out = (tn_BlockRV *)readers->items[0].v.obj;
  return 1;
}
