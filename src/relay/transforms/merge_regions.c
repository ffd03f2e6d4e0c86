/* MergeCompilerRegions: neighbouring regions of one code generator become one.

     compiler_end(b(compiler_begin(compiler_end(a(...)))))  ->  compiler_end(b(a(...)))

   Not where something outside lies between them: it would have to run in the middle of a kernel. */
#include "base/error.h"
#include "base/scope.h"
#include "relay/infer.h"
#include "relay/transforms/regions.h"
#include "relay/transforms/transforms.h"

/* Does a way lead from `to` back to `from` over something that is part of neither? */
static int way_around(const regions *r, const region *from, const region *to, bool *found) {
  TN_VEC(stack);
  TN_PMAP(seen);
  const relay_expr *operand;
  *found = false;
  for (int64_t i = 0; i < to->begins.len; ++i) {
    const void *arg = relay_arg((const tn_RelayCall *)to->begins.items[i].v.obj, 0);
    if (regions_of(r, arg) != from) TN_TRY(tn_vec_push_obj(&stack, arg));
  }
  while (stack.len > 0 && !*found) {
    const tn_obj *e = stack.items[--stack.len].v.obj;
    if (tn_pmap_has(&seen, e)) continue;
    TN_TRY(tn_pmap_put_int(&seen, e, 1));
    *found = regions_of(r, e) == from;
    for (int64_t i = 0; (operand = relay_operand(e, i)) != NULL; ++i)
      if (!TN_AS(RelayFunction, operand)) TN_TRY(tn_vec_push_obj(&stack, operand));
  }
  return 0;
}

/* The region that is read through a begin, when it may be joined. */
static int try_join(void *ctx, tn_obj *node) {
  regions *r = ctx;
  const tn_RelayCall *begin = region_begin(node);
  const tn_RelayCall *end = begin ? region_end(relay_arg(begin, 0)) : NULL;
  region *reader = begin ? regions_of(r, begin) : NULL, *read = end ? regions_of(r, end) : NULL;
  bool around;
  if (!reader || !read || reader == read || strcmp(reader->compiler, read->compiler) != 0) return 0;
  TN_TRY(way_around(r, read, reader, &around));
  return around ? 0 : regions_join(r, read, reader);
}

/* Inside of a region there are no marks. */
static tn_obj *drop_marks(void *ctx, tn_obj *pre, tn_obj *post) {
  const tn_RelayCall *before = region_begin(pre);
  const tn_RelayCall *end = before ? region_end(relay_arg(before, 0)) : NULL;
  if (!end || regions_of(ctx, before) != regions_of(ctx, end)) return post;
  const tn_RelayCall *now = region_end(relay_arg((const tn_RelayCall *)post, 0));
  return now ? relay_arg(now, 0) : post;
}

static tn_RelayFunction *merge(regions *r, tn_RelayFunction *f) {
  static const tn_rewrite_case cases[] = {TN_REWRITE(RelayCall, drop_marks)};
  TN_TRYP(regions_find(r, f));
  TN_TRYP(tn_post_order(f, try_join, r));
  return tn_rewrite(f, cases, TN_COUNT(cases), r);
}

tn_RelayFunction *relay_merge_regions(tn_RelayFunction *f, const tn_pass_ctx *c) {
  __attribute__((cleanup(regions_fini))) regions r = {0};
  TN_GETP(f, relay_infer_expr(f, c->mod));
  return merge(&r, f);
}
