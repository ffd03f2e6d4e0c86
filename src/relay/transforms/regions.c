/* Finding regions, see regions.h. */
#include "relay/transforms/regions.h"

#include "base/alloc.h"
#include "base/error.h"
#include "ir/functor.h"
#include "object/functions.h"

const tn_RelayCall *region_begin(const void *e) {
  return relay_as_call(e, "annotation.compiler_begin");
}

const tn_RelayCall *region_end(const void *e) {
  return relay_as_call(e, "annotation.compiler_end");
}

void regions_fini(regions *r) {
  for (int64_t i = 0; i < r->len; ++i) {
    tn_vec_fini(&r->items[i].begins);
    tn_vec_fini(&r->items[i].ends);
  }
  tn_free(r->items);
  tn_pmap_fini(&r->of);
}

region *regions_of(const regions *r, const void *e) {
  int64_t i = tn_pmap_get_int(&r->of, e, 0) - 1;
  while (i >= 0 && r->items[i].into >= 0) i = r->items[i].into;
  return i < 0 ? NULL : &r->items[i];
}

int regions_join(regions *r, region *a, region *b) {
  if (a == b) return 0;
  for (int64_t i = 0; i < b->begins.len; ++i) TN_TRY(tn_vec_push(&a->begins, b->begins.items[i]));
  for (int64_t i = 0; i < b->ends.len; ++i) TN_TRY(tn_vec_push(&a->ends, b->ends.items[i]));
  b->into = a - r->items;
  return 0;
}

/* Not part of a region, whoever reads it. */
static bool is_outside(const void *e) {
  return TN_AS(Op, e) || TN_AS(GlobalVar, e) || TN_AS(RelayFunction, e) || TN_AS(RelayVar, e) ||
         TN_AS(Constant, e);
}

/* Operands from the last to the first, so that the first is popped first. */
static int push_operands(tn_vec *stack, const tn_obj *e) {
  int64_t n = 0;
  while (relay_operand(e, n)) ++n;
  for (int64_t i = n - 1; i >= 0; --i)
    if (!is_outside(relay_operand(e, i))) TN_TRY(tn_vec_push_obj(stack, relay_operand(e, i)));
  return 0;
}

/* What is between the end and the begins below it becomes the end's region; where that meets
 * another region both are one. */
static int walk_down(regions *r, const tn_RelayCall *end, int64_t number) {
  TN_VEC(stack);
  TN_TRY(tn_pmap_put_int(&r->of, end, number));
  TN_TRY(tn_vec_push_obj(&r->items[number - 1].ends, end));
  TN_TRY(tn_vec_push_obj(&stack, relay_arg(end, 0)));
  while (stack.len > 0) {
    tn_obj *e = stack.items[--stack.len].v.obj;
    region *own = regions_of(r, end), *other = regions_of(r, e);
    if (other) {
      TN_TRY(regions_join(r, other, own));
      continue;
    }
    TN_TRY(tn_pmap_put_int(&r->of, e, number));
    if (region_begin(e)) TN_TRY(tn_vec_push_obj(&own->begins, e));
    else TN_TRY(push_operands(&stack, e));
  }
  return 0;
}

static int add_end(void *ctx, tn_obj *node) {
  regions *r = ctx;
  const tn_RelayCall *end = region_end(node);
  if (!end) return 0;
  TN_GROW(r->items, r->cap, r->len + 1, return -1);
  r->items[r->len++] = (region){.compiler = relay_attr_str(end->attrs, "compiler"), .into = -1};
  return walk_down(r, end, r->len);
}

int regions_find(regions *r, const tn_RelayFunction *f) { return tn_post_order(f, add_end, r); }
