/* What a loop with the annotations software_pipeline_stage and software_pipeline_order asks for:
   its parts, whether they may be moved that way, and of which buffers several copies are in use at
   a time. See software_pipeline.c. */
#include "tir/transforms/blocks/software_pipeline.h"

#include "tir/analysis.h"

static const char STAGE[] = "software_pipeline_stage", ORDER[] = "software_pipeline_order";

bool pipe_wanted(const tn_For *loop) {
  return tn_map_find(loop->annotations, STAGE) || tn_map_find(loop->annotations, ORDER);
}

/* ---- parts ---- */

static const tn_BlockRealize *plain_block(const tn_stmt *s) {
  const tn_BlockRealize *r = TN_AS(BlockRealize, s);
  return r && r->iter_values->len == 0 && tir_is_one(r->predicate) ? r : NULL;
}

/* Pointers that are used by themselves count as reads and writes of their whole buffers. */
tn_Block *pipe_regions(tn_Block *b, const tn_map *pointers) {
  tir_block_regions found;
  TN_VEC(reads);
  TN_VEC(writes);
  TN_TRYP(tir_block_access(b, pointers, &found));
  for (int64_t i = 0; i < found.reads->len; ++i)
    TN_TRYP(tn_vec_push(&reads, found.reads->items[i]));
  for (int64_t i = 0; i < found.writes->len; ++i)
    TN_TRYP(tn_vec_push(&writes, found.writes->items[i]));
  for (int64_t i = 0; i < found.opaque->len; ++i) {
    TN_TRYP(tn_vec_push(&reads, found.opaque->items[i]));
    TN_TRYP(tn_vec_push(&writes, found.opaque->items[i]));
  }
  tn_Block copy = *b;
  TN_GETP(copy.reads, tn_arr_from(&reads));
  TN_GETP(copy.writes, tn_arr_from(&writes));
  return tn_node_copy(&tn_type_Block, &copy);
}

tn_Block *pipe_block(tn_stmt *body, const tn_map *pointers) {
  if (!body) return NULL;
  if (plain_block(body)) return plain_block(body)->block;
  tn_arr *none = tn_arr_of(0);
  tn_Block *b = TN_NEW(Block, .iter_vars = none, .reads = none, .writes = none,
                       .name_hint = tn_str_from(""), .alloc_buffers = none, .match_buffers = none,
                       .annotations = tn_scope_own(tn_map_new()), .body = body);
  return b ? pipe_regions(b, pointers) : NULL;
}

static int add_allocs(pipe_plan *p, const tn_Block *b) {
  for (int64_t i = 0; i < b->alloc_buffers->len; ++i)
    TN_TRY(tn_vec_push(&p->allocs, b->alloc_buffers->items[i]));
  return 0;
}

/* The statements of a sequence; a block in it that is a sequence itself, as an inner pipeline is,
   gives its own if `open`. */
static int collect(pipe_plan *p, const tn_SeqStmt *seq, const tn_map *pointers, tn_vec *out,
                   bool open) {
  for (int64_t i = 0; i < seq->seq->len; ++i) {
    tn_stmt *s = (tn_stmt *)tn_arr_obj(seq->seq, i);
    const tn_BlockRealize *r = plain_block(s);
    const tn_SeqStmt *inner = r && open ? TN_AS(SeqStmt, r->block->body) : NULL;
    if (inner && r->block->match_buffers->len == 0) {
      TN_TRY(add_allocs(p, r->block));
      TN_TRY(collect(p, inner, pointers, out, false));
    } else {
      TN_TRY(tn_vec_push_obj(out, pipe_block(s, pointers)));
    }
  }
  return 0;
}

/* Does every statement of the body have a number, blocks taken as one? */
static bool counts_blocks(const tn_For *loop, const tn_SeqStmt *seq) {
  const tn_obj *stages = tn_map_find(loop->annotations, STAGE);
  return stages && stages->type_index == TN_TI_Array &&
         ((const tn_arr *)stages)->len == seq->seq->len;
}

static const tn_arr *numbers(const tn_For *loop, const char *key, int64_t n) {
  const tn_obj *a = tn_map_find(loop->annotations, key);
  TN_CHECKP(a && a->type_index == TN_TI_Array, ValueError, loop->span,
            "InjectSoftwarePipeline: the loop over %s needs the annotation %s, a list of integers",
            tn_cstr(loop->loop_var->name), key);
  const tn_arr *list = (const tn_arr *)a;
  TN_CHECKP(list->len == n, ValueError, loop->span,
            "InjectSoftwarePipeline: %s of the loop over %s: expected %lld numbers, one for each "
            "statement of its body, got %lld",
            key, tn_cstr(loop->loop_var->name), (long long)n, (long long)list->len);
  return list;
}

enum { MAX_STAGE = 1024 };

static int number_at(const tn_For *loop, const char *key, const tn_arr *list, int64_t i,
                     int64_t *out) {
  bool good = !tn_any_to_int(&list->items[i], out);
  if (!good) tn_error_clear();
  if (!good) good = tir_as_int(tn_arr_obj(list, i), out);
  TN_CHECK(good && *out >= 0 && *out <= MAX_STAGE, ValueError, loop->span,
           "InjectSoftwarePipeline: %s[%lld]: expected an integer from 0 to %d", key, (long long)i,
           MAX_STAGE);
  return 0;
}

static int read_annotations(pipe_plan *p) {
  const tn_arr *stages, *orders;
  TN_GET(stages, numbers(p->loop, STAGE, p->n));
  TN_GET(orders, numbers(p->loop, ORDER, p->n));
  for (int64_t i = 0; i < p->n; ++i) {
    pipe_part *x = &p->parts[i];
    TN_TRY(number_at(p->loop, STAGE, stages, i, &x->stage));
    TN_TRY(number_at(p->loop, ORDER, orders, i, &x->order));
    TN_CHECK(x->order < p->n && !p->in_order[x->order], ValueError, p->loop->span,
             "InjectSoftwarePipeline: %s of the loop over %s: expected each of 0 to %lld once",
             ORDER, tn_cstr(p->loop->loop_var->name), (long long)p->n - 1);
    p->in_order[x->order] = x;
    if (x->stage > p->last) p->last = x->stage;
  }
  return 0;
}

/* ---- what depends on what ---- */

static bool is_own(const pipe_plan *p, const tn_Buffer *b) {
  for (int64_t i = 0; i < p->allocs.len; ++i)
    if (p->allocs.items[i].v.obj == (const tn_obj *)b) return true;
  return false;
}

static const tn_BufferRegion *region_at(const tn_arr *a, int64_t i) {
  return (const tn_BufferRegion *)tn_arr_obj(a, i);
}

/* Is `early`, some iterations later, apart from `late` on some axis? */
static int are_apart(const pipe_plan *p, arith_analyzer *known, const tn_BufferRegion *late,
                     const tn_BufferRegion *early, int64_t distance, bool *apart) {
  const tn_Var *v = p->loop->loop_var;
  tn_Var *ahead;
  TN_PMAP(vars);
  TN_GET(ahead, tir_var("ahead", v->dtype));
  tn_expr *far = tir_const_int(v->dtype, distance);
  TN_TRY(arith_bind_range(known, ahead, tir_range(tir_one(v->dtype), far), true));
  TN_TRY(tn_pmap_put(&vars, v, tir_add((tn_expr *)(uintptr_t)v, (tn_expr *)ahead)));
  *apart = false;
  for (int64_t i = 0; i < late->region->len && !*apart; ++i) {
    const tn_Range *x = (const tn_Range *)tn_arr_obj(late->region, i);
    const tn_Range *y = (const tn_Range *)tn_arr_obj(early->region, i);
    tn_expr *min = tir_substitute_fold(y->min, &vars);
    tn_expr *extent = tir_substitute_fold(y->extent, &vars);
    if (!min || !extent) return -1;
    *apart = arith_prove(known, tir_ge(min, tir_add(x->min, x->extent))) ||
             arith_prove(known, tir_ge(x->min, tir_add(min, extent)));
  }
  arith_unbind(known, ahead);
  return 0;
}

/* Two accesses of one buffer, at least one of them a write: `a` stands before `b` in the program.
 */
static int check_pair(const pipe_plan *p, arith_analyzer *known, const pipe_part *a,
                      const tn_BufferRegion *x, const pipe_part *b, const tn_BufferRegion *y) {
  TN_CHECK(a->stage < b->stage || (a->stage == b->stage && a->order < b->order), ValueError,
           p->loop->span,
           "InjectSoftwarePipeline: the loop over %s: the statement %lld uses %s after the "
           "statement %lld, but its stage and order (%lld, %lld) come before those of the latter "
           "(%lld, %lld)",
           tn_cstr(p->loop->loop_var->name), (long long)(b - p->parts), tn_cstr(x->buffer->name),
           (long long)(a - p->parts), (long long)b->stage, (long long)b->order, (long long)a->stage,
           (long long)a->order);
  if (a->stage == b->stage || is_own(p, x->buffer)) return 0;
  bool apart;
  TN_TRY(are_apart(p, known, y, x, b->stage - a->stage, &apart));
  TN_CHECK(
      apart, ValueError, p->loop->span,
      "InjectSoftwarePipeline: the loop over %s: %s is shared by statements in the stages %lld "
      "and %lld, whose iterations may meet the same elements; allocate it in the block that "
      "is the loop's body",
      tn_cstr(p->loop->loop_var->name), tn_cstr(x->buffer->name), (long long)a->stage,
      (long long)b->stage);
  return 0;
}

static int check_regions(const pipe_plan *p, arith_analyzer *known, const pipe_part *a,
                         const tn_arr *of_a, const pipe_part *b, const tn_arr *of_b) {
  for (int64_t i = 0; i < of_a->len; ++i)
    for (int64_t k = 0; k < of_b->len; ++k)
      if (region_at(of_a, i)->buffer == region_at(of_b, k)->buffer)
        TN_TRY(check_pair(p, known, a, region_at(of_a, i), b, region_at(of_b, k)));
  return 0;
}

static int check_order(const pipe_plan *p, arith_analyzer *known) {
  for (int64_t j = 1; j < p->n; ++j) {
    for (int64_t i = 0; i < j; ++i) {
      TN_SCOPE(s);
      const pipe_part *a = &p->parts[i], *b = &p->parts[j];
      TN_TRY(check_regions(p, known, a, a->block->writes, b, b->block->reads));
      TN_TRY(check_regions(p, known, a, a->block->writes, b, b->block->writes));
      TN_TRY(check_regions(p, known, a, a->block->reads, b, b->block->writes));
    }
  }
  return 0;
}

/* ---- copies of buffers ---- */

static bool has_buffer(const tn_arr *regions, const tn_Buffer *b) {
  for (int64_t i = 0; i < regions->len; ++i)
    if (region_at(regions, i)->buffer == b) return true;
  return false;
}

/* Is a part that writes the buffer done in a turn before a part that uses what it wrote for an
   earlier iteration? */
static bool overtakes(const pipe_plan *p, const tn_Buffer *b) {
  for (int64_t i = 0; i < p->n; ++i) {
    for (int64_t j = 0; j < p->n; ++j) {
      const pipe_part *w = &p->parts[i], *r = &p->parts[j];
      if (has_buffer(w->block->writes, b) && w->stage < r->stage && w->order < r->order &&
          (has_buffer(r->block->reads, b) || has_buffer(r->block->writes, b)))
        return true;
    }
  }
  return false;
}

/* A block may ask for two copies of what it writes with double_buffer_scope, the number of one of
   its regions. */
static bool asks_for_two(const pipe_plan *p, const tn_Buffer *b) {
  for (int64_t i = 0; i < p->n; ++i) {
    const tn_Block *block = p->parts[i].block;
    int64_t at;
    if (tir_as_int(tn_map_find(block->annotations, "double_buffer_scope"), &at) && at >= 0 &&
        at < block->writes->len && region_at(block->writes, at)->buffer == b)
      return true;
  }
  return false;
}

static int64_t count_copies(const pipe_plan *p, const tn_Buffer *b) {
  int64_t first = INT64_MAX, last = -1;
  for (int64_t i = 0; i < p->n; ++i) {
    const pipe_part *x = &p->parts[i];
    bool writes = has_buffer(x->block->writes, b);
    if (writes && x->stage < first) first = x->stage;
    if ((writes || has_buffer(x->block->reads, b)) && x->stage > last) last = x->stage;
  }
  int64_t copies = first <= last ? last - first + 1 : 1;
  if (copies == 2 && !overtakes(p, b)) copies = 1;
  return copies == 1 && asks_for_two(p, b) ? 2 : copies;
}

/* Iterations of a pipeline follow each other; copies of buffers are not shared by iterations that
   run at once. */
static int check_kind(const tn_For *loop) {
  static const char *const names[] = {"serial", "parallel", "vectorized", "unrolled",
                                      "bound to a thread axis"};
  TN_CHECK(loop->kind == TIR_FOR_SERIAL || loop->kind == TIR_FOR_UNROLLED, ValueError, loop->span,
           "InjectSoftwarePipeline: the loop over %s is %s: expected a serial loop; take the "
           "annotations %s and %s or the kind of the loop away",
           tn_cstr(loop->loop_var->name), names[loop->kind], STAGE, ORDER);
  return 0;
}

int pipe_plan_of(const tn_For *loop, const tn_map *pointers, arith_analyzer *known,
                 pipe_plan *out) {
  TN_VEC(blocks);
  const tn_BlockRealize *r = TN_AS(BlockRealize, loop->body);
  out->loop = loop;
  TN_TRY(check_kind(loop));
  TN_CHECK(!r || plain_block(loop->body), ValueError, loop->span,
           "InjectSoftwarePipeline: the block in the loop over %s must have no iterators and no "
           "condition",
           tn_cstr(loop->loop_var->name));
  const tn_SeqStmt *seq = TN_AS(SeqStmt, r ? r->block->body : loop->body);
  TN_CHECK(seq, ValueError, loop->span,
           "InjectSoftwarePipeline: the body of the loop over %s must be a sequence of statements",
           tn_cstr(loop->loop_var->name));
  if (r) TN_TRY(add_allocs(out, r->block));
  TN_TRY(collect(out, seq, pointers, &blocks, !counts_blocks(loop, seq)));
  out->n = blocks.len;
  TN_GET(out->parts, (pipe_part *)tn_arena_array(out->arena, out->n, sizeof *out->parts));
  TN_GET(out->in_order, (pipe_part **)tn_arena_array(out->arena, out->n, sizeof *out->in_order));
  for (int64_t i = 0; i < out->n; ++i) out->parts[i].block = (tn_Block *)blocks.items[i].v.obj;
  TN_TRY(read_annotations(out));
  TN_TRY(check_order(out, known));
  for (int64_t i = 0; i < out->allocs.len; ++i) {
    const tn_Buffer *b = (const tn_Buffer *)out->allocs.items[i].v.obj;
    int64_t copies = count_copies(out, b);
    if (copies > 1) TN_TRY(tn_pmap_put_int(&out->copies, b, copies));
  }
  return 0;
}

void pipe_plan_fini(pipe_plan *p) {
  tn_vec_fini(&p->allocs);
  tn_pmap_fini(&p->copies);
}
