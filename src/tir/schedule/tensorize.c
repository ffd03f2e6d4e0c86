/* tensorize: a block that computes what an instruction is described to, becomes the instruction.

     with T.block("C_o"):                                 with T.block("C_o"):
       T.writes(C[io * 16 : io * 16 + 16])        ->        C_1 = T.match_buffer(C[io * 16 : ...])
       for i, k: C[io * 16 + i] += A[k] * B[..]             T.evaluate(T.dot(C_1.data, ...))

   The buffers of the instruction's implementation become views of the regions that the block
   touches; its body takes the place of the block's. */
#include "tir/schedule/tensorize.h"

#include "ir/functor.h"
#include "tenon/object.h"
#include "tir/schedule/blockize.h"

static tn_Buffer *param_buffer(const tn_PrimFunc *f, int64_t i) {
  tn_any value;
  bool known = tn_map_get(f->buffer_map, tn_any_obj(tn_arr_obj(f->params, i)), &value);
  return known ? TN_AS(Buffer, value.v.obj) : NULL;
}

static const tn_arr *region_in(const tn_Block *b, const tn_Buffer *buffer) {
  const tn_arr *lists[] = {b->reads, b->writes};
  for (int k = 0; k < 2; ++k) {
    for (int64_t i = 0; i < lists[k]->len; ++i) {
      const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(lists[k], i);
      if (r->buffer == buffer) return r->region;
    }
  }
  return NULL;
}

/* Base and region together: what the implementation touches of the program's buffer. */
static tn_arr *region_of(sch_pattern *p, const tn_arr *bases, const tn_arr *region) {
  int64_t more = bases->len - region->len;
  TN_VEC(out);
  for (int64_t i = 0; i < bases->len; ++i) {
    tn_expr *base = (tn_expr *)tn_arr_obj(bases, i);
    const tn_Range *r = i < more ? NULL : (const tn_Range *)tn_arr_obj(region, i - more);
    tn_expr *min = r ? tir_add(base, tir_cast(base->dtype, r->min, NULL)) : base;
    tn_expr *extent = r ? tir_cast(base->dtype, r->extent, NULL) : tir_one(base->dtype);
    tn_Range *x = min && extent ? tir_range(arith_simplify(&p->e->arith, min), extent) : NULL;
    if (!x || tn_vec_push_obj(&out, x)) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_arr *views(sch_pattern *p, const tn_PrimFunc *desc, const tn_PrimFunc *impl,
                     const tn_Block *body, const tn_Block *block) {
  TN_VEC(out);
  for (int64_t i = 0; i < block->match_buffers->len; ++i)
    TN_TRYP(tn_vec_push_obj(&out, tn_arr_obj(block->match_buffers, i)));
  for (int64_t i = 0; i < impl->params->len; ++i) {
    tn_Buffer *mine = param_buffer(impl, i), *described = param_buffer(desc, i);
    tn_Buffer *theirs = described ? tn_pmap_get(&p->buffers, described) : NULL;
    const tn_arr *region = mine ? region_in(body, mine) : NULL;
    if (!theirs || !region) continue; /* not used */
    tn_arr *at = region_of(p, tn_pmap_get(&p->bases, described), region);
    tn_BufferRegion *source = at ? TN_NEW(BufferRegion, .buffer = theirs, .region = at) : NULL;
    tn_MatchBufferRegion *m =
        source ? TN_NEW(MatchBufferRegion, .buffer = mine, .source = source) : NULL;
    if (!m || tn_vec_push_obj(&out, m)) return NULL;
  }
  return tn_arr_from(&out);
}

static tn_map *joined(tn_map *old, const tn_map *more) {
  for (int64_t i = 0; old && i < more->len; ++i)
    old = tn_map_with(old, more->entries[i].key, more->entries[i].value);
  return old;
}

static int fail_pattern(const sch_pattern *p, const tn_Block *b, const char *name) {
  const tn_TensorIntrin *intrin = sch_intrin_get(name);
  const char *no = "a part that is missing";
  tn_str *ours = p->ours ? tn_str_fmt("%s", tn_obj_key(p->ours)) : tn_str_from(no);
  tn_str *theirs = p->theirs ? tn_str_fmt("%s", tn_obj_key(p->theirs)) : tn_str_from(no);
  if (!intrin || !ours || !theirs) return -1;
  return sch_fail(p->e, "The tensor intrinsic does not match the block", SCH_PLACES(b),
                  "The block {0} does not compute what the tensor intrinsic %s describes: %s there "
                  "does not match %s in the description",
                  name, ours->data, theirs->data);
}

/* Scalar parameters of the implementation become what the program has in their place. */
static const tn_Block *with_scalars(const sch_pattern *p, const tn_PrimFunc *desc,
                                    const tn_PrimFunc *impl, const tn_Block *body,
                                    const tn_Block *at, const char *name) {
  TN_PMAP(vars);
  for (int64_t i = 0; i < impl->params->len; ++i) {
    const tn_Var *mine = (const tn_Var *)tn_arr_obj(impl->params, i);
    const tn_obj *value = tn_pmap_get(&p->vars, tn_arr_obj(desc->params, i));
    if (param_buffer(impl, i)) continue;
    if (!value && sch_uses_var(body, mine))
      return sch_fail(p->e, "A scalar parameter of the tensor intrinsic has no value",
                      SCH_PLACES(at),
                      "The tensor intrinsic %s does not tell what its parameter %s is in the block "
                      "{0}: its description does not use it",
                      name, tn_cstr(mine->name)),
             NULL;
    if (value) TN_TRYP(tn_pmap_put(&vars, mine, value));
  }
  return vars.len ? tir_substitute(body, &vars) : body;
}

/* The block with the implementation inside. */
static tn_Block *tensorized(sch_step *e, const tn_Block *b, const char *name) {
  SCH_PATTERN(p);
  bool fits;
  p.e = e;
  const tn_TensorIntrin *intrin = sch_intrin_get(name);
  TN_CHECKP(intrin, ValueError, NULL, "TensorIntrin '%s' is not registered", name);
  TN_TRYP(sch_match_desc(&p, b, intrin->desc, &fits));
  if (!fits) return fail_pattern(&p, b, name), NULL;
  tn_PrimFunc *impl = tir_renew_defs(intrin->impl);
  const tn_BlockRealize *root = impl ? TN_AS(BlockRealize, impl->body) : NULL;
  TN_CHECKP(!impl || root, ValueError, NULL,
            "TensorIntrin '%s': the body of the implementation must be a block", name);
  if (!root) return NULL;
  tn_Block now = *b;
  const tn_Block *body;
  TN_GETP(body, with_scalars(&p, intrin->desc, impl, root->block, b, name));
  now.match_buffers = views(&p, intrin->desc, impl, body, b);
  now.annotations = joined(now.annotations, body->annotations);
  now.alloc_buffers = body->alloc_buffers;
  now.body = body->body;
  return now.match_buffers && now.annotations ? tn_node_copy(&tn_type_Block, &now) : NULL;
}

int sch_tensorize(tn_TirSchedule *s, const tn_obj *rv, const char *name, bool preserve_unit) {
  SCH_STEP(e, s, "tensorize");
  tn_obj *o;
  TN_GET(o, sch_get(s, rv));
  TN_TRY(sch_begin(&e, o));
  const tn_For *f = TN_AS(For, o);
  const tn_Block *b = TN_AS(Block, o), *was = b;
  const tn_stmt *place = (const tn_stmt *)o;
  TN_CHECK(f || b, TypeError, NULL, "tensorize: expected a block or loop, got %s", tn_obj_key(o));
  tn_BlockRealize *realize = f ? sch_blockize_loop_step(&e, f, preserve_unit) : NULL;
  if (f && !realize) return -1;
  if (f) b = realize->block;
  tn_Block *now;
  TN_GET(now, tensorized(&e, b, name));
  if (was && sch_moved(&e, was, now)) return -1;
  if (f) {
    tn_BlockRealize copy = *realize;
    copy.block = now;
    TN_TRY(sch_replace(&e, place, tn_node_copy(&tn_type_BlockRealize, &copy)));
  } else {
    TN_TRY(sch_replace(&e, place, (tn_stmt *)now));
  }
  return sch_commit(&e);
}
