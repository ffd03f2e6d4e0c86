/* Steps that make two blocks one: compute_inline, reverse_compute_inline.

     B[vi, vj] = A[vi, vj] * 2       compute_inline(B)
     C[vi, vj] = B[vi, vj] + 1             ->            C[vi, vj] = A[vi, vj] * 2 + 1 */
#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/schedule_impl.h"

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

/* The only statement of the block, a store without condition. */
static const tn_BufferStore *plain_store(const sch_step *e, const tn_Block *b) {
  const tn_BufferStore *store = TN_AS(BufferStore, b->body);
  const tn_BlockRealize *r = TN_AS(BlockRealize, sch_parent(e, b));
  if (store && r && tir_is_one(r->predicate)) return store;
  sch_fail(e, store ? "The block has a predicate" : "The body of the block is not one store",
           SCH_PLACES(b),
           store ? "The block {0} has a predicate, it cannot be inlined"
                 : "The body of the block {0} is not one store to a buffer");
  return NULL;
}

static int check_complete(const sch_step *e, const tn_Block *b) {
  const char *why;
  if (sch_is_complete(e, b, &why)) return 0;
  return sch_fail(e, "The block is not a complete block", SCH_PLACES(b),
                  "The block {0} is not a complete block, since %s", why);
}

static bool allocates(const tn_Block *scope, const tn_Buffer *buffer) {
  for (int64_t i = 0; scope && i < scope->alloc_buffers->len; ++i) {
    if (tn_arr_obj(scope->alloc_buffers, i) == (const tn_obj *)buffer) return true;
  }
  return false;
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

typedef struct {
  sch_step *e;
  const tn_Buffer *buffer;
  const tn_Block *except; /* its uses do not count */
  const tn_Block *opaque; /* a block that uses it other than by reading elements */
  const tn_Block *inside; /* the innermost block on the way */
  int readers;            /* blocks with loads of it */
  const tn_Block *reader; /* one of them */
} uses;

static int find_uses(void *ctx, tn_obj *o) {
  uses *u = ctx;
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
  const uses *u = ctx;
  const tn_Block *b = TN_AS(Block, o);
  for (int64_t i = 0; b && i < b->reads->len; ++i) {
    if (((const tn_BufferRegion *)tn_arr_obj(b->reads, i))->buffer == u->buffer)
      TN_TRY(tn_pmap_put_int(&u->e->renewed, b, 1));
  }
  return TN_IS(PrimExpr, o) ? 1 : 0;
}

/* The buffer a block computes for others of its scope; they only read elements of it. */
static int check_intermediate(const sch_step *e, const tn_Block *b, uses *u) {
  const tn_Block *scope = sch_scope_block(e, sch_parent(e, b));
  if (!allocates(scope, u->buffer))
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
  if (!b || check_complete(&e, b)) return -1;
  const tn_BufferStore *store = plain_store(&e, b);
  if (!store) return -1;
  uses u = {.e = &e, .buffer = store->buffer};
  TN_TRY(check_intermediate(&e, b, &u));
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

/* ---- reverse ---- */

/* The one block of the scope that writes something the consumer reads. */
static const tn_Block *single_producer(const sch_step *e, const tn_Block *consumer,
                                       tn_Buffer **buffer) {
  const tn_Block *found = NULL, *scope = sch_scope_block(e, sch_parent(e, consumer));
  TN_VEC(blocks);
  int n = 0;
  if (scope && sch_blocks_below((const tn_obj *)scope->body, &blocks)) return NULL;
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_Block *b = ((const tn_BlockRealize *)blocks.items[i].v.obj)->block;
    for (int64_t j = 0; b != consumer && j < b->writes->len * consumer->reads->len; ++j) {
      tn_Buffer *w = ((tn_BufferRegion *)tn_arr_obj(b->writes, j % b->writes->len))->buffer;
      if (((tn_BufferRegion *)tn_arr_obj(consumer->reads, j / b->writes->len))->buffer != w)
        continue;
      found = b;
      *buffer = w;
      ++n;
    }
  }
  if (n == 1) return found;
  sch_fail(e, "The consumer block does not have a single producer", SCH_PLACES(consumer),
           "The consumer block {0} reads results of %d blocks, expected one", n);
  return NULL;
}

typedef struct {
  const tn_Buffer *buffer;
  const tn_arr *indices; /* of all loads met; NULL before the first */
  bool differ;
} load_shape;

static int same_indices(void *ctx, tn_obj *o) {
  load_shape *l = ctx;
  const tn_BufferLoad *load = TN_AS(BufferLoad, o);
  if (!load || load->buffer != l->buffer) return 0;
  if (l->indices && tn_equal(l->indices, load->indices, 0) != 1) l->differ = true;
  l->indices = load->indices;
  return 0;
}

static bool reads_all(const tn_Block *consumer, const tn_Buffer *buffer, const tn_arr *indices) {
  for (int64_t i = 0; i < indices->len; ++i) {
    const tn_obj *v = tn_arr_obj(indices, i), *extent = tn_arr_obj(buffer->shape, i);
    bool all = !TN_IS(Var, v) && tir_is_one(extent);
    for (int64_t j = 0; j < consumer->iter_vars->len; ++j) {
      const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(consumer->iter_vars, j);
      if ((const tn_obj *)iv->var == v)
        all = tir_is_zero(iv->dom->min) && tn_equal(iv->dom->extent, extent, 0) == 1;
    }
    if (!all) return false;
  }
  return true;
}

/* Puts the producer's indices into e->vars for the consumer's iterators. */
static int match_loads(sch_step *e, const tn_Block *consumer, const tn_BufferStore *out,
                       const tn_BufferStore *in) {
  load_shape l = {.buffer = in->buffer};
  TN_TRY(tn_post_order(out->value, same_indices, &l));
  bool fits = l.indices && !l.differ && covers_iters(consumer, l.indices, &e->vars) &&
              reads_all(consumer, in->buffer, l.indices);
  if (!fits)
    return sch_fail(e, "The consumer does not read each element of the buffer once",
                    SCH_PLACES(consumer),
                    "The block {0} does not read %s at its iterators, each of them once and over "
                    "the whole buffer",
                    tn_cstr(in->buffer->name));
  for (int64_t i = 0; i < l.indices->len; ++i) {
    const tn_obj *v = tn_arr_obj(l.indices, i);
    if (TN_IS(Var, v))
      TN_TRY(sch_put_var(e, (const tn_Var *)v, (tn_expr *)tn_arr_obj(in->indices, i)));
  }
  return 0;
}

int sch_reverse_compute_inline(tn_TirSchedule *s, const tn_BlockRV *block) {
  SCH_STEP(e, s, "reverse-compute-inline");
  tn_Buffer *buffer = NULL;
  TN_VEC(zeros);
  tn_Block *consumer = sch_block_of(&e, block);
  if (!consumer || check_complete(&e, consumer)) return -1;
  const tn_Block *producer = single_producer(&e, consumer, &buffer);
  if (!producer || check_complete(&e, producer)) return -1;
  const tn_BufferStore *out = plain_store(&e, consumer),
                       *in = out ? plain_store(&e, producer) : NULL;
  if (!in) return -1;
  uses u = {.e = &e, .buffer = buffer};
  TN_TRY(check_intermediate(&e, producer, &u));
  if (u.readers != 1)
    return sch_fail(&e, "The producer block has other consumers", SCH_PLACES(producer),
                    "The block {0} has %d consumers, expected one", u.readers);
  TN_TRY(match_loads(&e, consumer, out, in));
  for (int64_t i = 0; i < in->indices->len; ++i) TN_TRY(tn_vec_push_obj(&zeros, tir_i32(0)));
  sch_inline how = {.vars = tn_arr_from(&zeros), .value = in->value};
  if (!how.vars || tn_pmap_put(&e.loads, buffer, &how)) return -1;
  TN_TRY(sch_replace(&e, (const tn_stmt *)in, sch_rewrite(&e, (const tn_stmt *)out)));
  TN_TRY(tn_pmap_put(&e.dropped, buffer, producer));
  TN_TRY(tn_pmap_put_int(&e.renewed, producer, 2));
  TN_TRY(sch_remove_block(&e, consumer));
  return sch_commit(&e);
}
