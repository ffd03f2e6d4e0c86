/* Makes two blocks one, that which uses the result (reverse: inline_reverse.c):

     B[vi, vj] = A[vi, vj] * 2       compute_inline(B)
     C[vi, vj] = B[vi, vj] + 1             ->            C[vi, vj] = A[vi, vj] * 2 + 1 */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/inline.h"

int sch_remove_block(sch_step *e, const tn_Block *b) {
  const tn_obj *top = sch_parent(e, b);
  while (sch_parent(e, top) && sch_parent(e, top)->type_index == TN_TI_For)
    top = sch_parent(e, top);
  const tn_obj *around = sch_parent(e, top);
  if (!around || around->type_index != TN_TI_SeqStmt)
    return sch_fail(e, "Cannot remove the only leaf in the scope", SCH_PLACES(b),
                    "Block {0} is the only leaf in its scope, which cannot be removed; otherwise "
                    "the scope would be empty");
  return sch_replace(e, (const tn_stmt *)top, tir_nop());
}

const tn_BufferStore *sch_only_store(const sch_step *e, const tn_Block *b, bool predicate) {
  const tn_BufferStore *store = TN_AS(BufferStore, b->body);
  const tn_BlockRealize *r = TN_AS(BlockRealize, sch_parent(e, b));
  if (store && r && (predicate || tir_is_one(r->predicate))) return store;
  sch_fail(e, store ? "The block has a predicate" : "The body of the block is not one store",
           SCH_PLACES(b),
           store ? "The block {0} has a predicate, it cannot be inlined"
                 : "The body of the block {0} is not one store to a buffer");
  return NULL;
}

int sch_check_complete(const sch_step *e, const tn_Block *b) {
  const char *why;
  if (sch_is_complete(e, b, &why)) return 0;
  return sch_fail(e, "The block is not a complete block", SCH_PLACES(b),
                  "The block {0} is not a complete block, since %s", why);
}

/* Are the indices distinct iterators of the block (or constants), and do they tell all of those
   that take more than one value? The others are put into `fixed` with their only value. */
static bool covers_iters(const tn_Block *b, const tn_arr *indices, tn_pmap *fixed) {
  TN_PMAP(seen);
  int64_t k;
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_obj *v = tn_arr_obj(indices, i);
    if (tir_as_int(v, &k)) continue;
    if (!TN_IS(Var, v) || tn_pmap_has(&seen, v) || tn_pmap_put(&seen, v, v)) return false;
  }
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    if (tn_pmap_has(&seen, iv->var)) continue;
    if (!tir_is_one(iv->dom->extent) || tn_pmap_put(fixed, iv->var, iv->dom->min)) return false;
  }
  return true;
}

/* ---- who uses a buffer ---- */

static int find_uses(void *ctx, tn_obj *o) {
  sch_uses *u = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  const tn_Block *b = TN_AS(Block, o), *outer = u->inside;
  if (b && b == u->except) return 0;
  if (o->type_index == TN_TI_BufferRegion || o->type_index == TN_TI_Buffer) return 0;
  if ((const void *)o == u->buffer->data ||
      (TN_AS(MatchBufferRegion, o) && ((tn_MatchBufferRegion *)o)->source->buffer == u->buffer))
    u->opaque = u->inside;
  if (load && load->buffer == u->buffer && u->reader != u->inside) {
    u->reader = u->inside;
    u->readers++;
  }
  if (b) u->inside = b;
  int err = tn_visit_children(o, find_uses, ctx);
  u->inside = outer;
  return err;
}

/* Regions of all blocks that read the buffer follow from their new bodies. */
static int renew_readers(void *ctx, tn_obj *o) {
  const sch_uses *u = ctx;
  const tn_Block *b = TN_AS(Block, o);
  for (int64_t i = 0; b && i < b->reads->len; ++i) {
    if (((const tn_BufferRegion *)tn_arr_obj(b->reads, i))->buffer == u->buffer)
      TN_TRY(tn_pmap_put_int(&u->e->renewed, b, 1));
  }
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

int sch_check_intermediate(const sch_step *e, const tn_Block *b, sch_uses *u) {
  const tn_Block *scope = sch_scope_block(e, sch_parent(e, b));
  if (!sch_allocates(scope, u->buffer))
    return sch_fail(e, "Cannot inline an output block", SCH_PLACES(b),
                    "The block {0} writes %s, which is an output of its scope and must stay",
                    tn_cstr(u->buffer->name));
  u->except = b;
  u->inside = scope;
  TN_TRY(find_uses(u, (tn_obj *)scope->body));
  if (u->opaque)
    return sch_fail(e, "The buffer is accessed opaquely", SCH_PLACES(u->opaque),
                    "The block {0} uses buffer %s other than by reading its elements",
                    tn_cstr(u->buffer->name));
  return 0;
}

int sch_compute_inline(tn_TirSchedule *s, const tn_BlockRV *block) {
  SCH_STEP(e, s, "compute-inline");
  TN_PMAP(fixed);
  tn_Block *b = sch_block_of(&e, block);
  if (!b || sch_check_complete(&e, b)) return -1;
  const tn_BufferStore *store = sch_only_store(&e, b, false);
  if (!store) return -1;
  sch_uses u = {.e = &e, .buffer = store->buffer};
  TN_TRY(sch_check_intermediate(&e, b, &u));
  if (!covers_iters(b, store->indices, &fixed))
    return sch_fail(
        &e, "The block cannot be inlined: indices are not its iterators", SCH_PLACES(b),
        "The indices that block {0} writes at are not its iterators, each of them once");
  sch_inline how = {.vars = store->indices, .value = tir_substitute(store->value, &fixed)};
  if (!how.value || tn_pmap_put(&e.loads, store->buffer, &how) ||
      tn_pmap_put(&e.dropped, store->buffer, b))
    return -1;
  TN_TRY(tn_pre_order(e.func->body, renew_readers, &u) < 0);
  TN_TRY(sch_remove_block(&e, b));
  return sch_commit(&e);
}
