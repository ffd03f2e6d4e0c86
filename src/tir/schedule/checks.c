/* What steps ask of the program: kinds of blocks, affine bindings. */
#include "ir/functor.h"
#include "tir/schedule/schedule_impl.h"

static bool writes_buffer(const tn_Block *b, const tn_Buffer *buffer) {
  for (int64_t i = 0; i < b->writes->len; ++i) {
    if (((const tn_BufferRegion *)tn_arr_obj(b->writes, i))->buffer == buffer) return true;
  }
  return false;
}

/* Does another block of the same scope write what this one writes? */
static bool has_other_writer(const sch_step *e, const tn_Block *b) {
  const tn_Block *scope = sch_scope_block(e, sch_parent(e, b));
  TN_VEC(blocks);
  if (!scope) return false;
  if (sch_blocks_below((const tn_obj *)scope->body, &blocks)) return true;
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_Block *other = ((const tn_BlockRealize *)blocks.items[i].v.obj)->block;
    for (int64_t j = 0; other != b && j < b->writes->len; ++j) {
      if (writes_buffer(other, ((const tn_BufferRegion *)tn_arr_obj(b->writes, j))->buffer))
        return true;
    }
  }
  return false;
}

static bool has_only(const tn_Block *b, bool reductions) {
  for (int64_t i = 0; i < b->iter_vars->len; ++i) {
    int type = ((const tn_IterVar *)tn_arr_obj(b->iter_vars, i))->iter_type;
    if (type != IR_ITER_DATA_PAR && !(reductions && type == IR_ITER_COMM_REDUCE)) return false;
  }
  return true;
}

bool sch_is_complete(const sch_step *e, const tn_Block *b, const char **why) {
  *why = NULL;
  if (b->init) *why = "it has an init statement";
  else if (!has_only(b, false)) *why = "one of its iterators is not data parallel";
  else if (has_other_writer(e, b)) *why = "another block writes the same buffer";
  for (int64_t i = 0; !*why && i < b->reads->len; ++i) {
    if (writes_buffer(b, ((const tn_BufferRegion *)tn_arr_obj(b->reads, i))->buffer))
      *why = "it reads a buffer that it writes";
  }
  return !*why;
}

bool sch_is_reduction(const sch_step *e, const tn_Block *b, const char **why) {
  *why = NULL;
  if (!b->init) *why = "it has no init statement";
  else if (!has_only(b, true)) *why = "one of its iterators is neither data parallel nor reduced";
  else if (has_other_writer(e, b)) *why = "another block writes the same buffer";
  for (int64_t i = 0; !*why && i < b->iter_vars->len; ++i) {
    const tn_IterVar *iv = (const tn_IterVar *)tn_arr_obj(b->iter_vars, i);
    for (int64_t j = 0; iv->iter_type == IR_ITER_COMM_REDUCE && j < b->writes->len; ++j) {
      const tn_BufferRegion *r = (const tn_BufferRegion *)tn_arr_obj(b->writes, j);
      if (sch_uses_var(r->region, iv->var)) *why = "a reduced iterator is an index of its result";
    }
  }
  return !*why;
}

/* ---- bindings ---- */

static bool uses_any(const tn_obj *e, const tn_vec *loops) {
  for (int64_t i = 0; i < loops->len; ++i)
    if (sch_uses_var(e, ((const tn_For *)loops->items[i].v.obj)->loop_var)) return true;
  return false;
}

/* Sums, differences, and multiples, quotients and remainders, by what stays the same, of the loops'
   variables. */
static bool is_affine(const tn_obj *e, const tn_vec *loops) {
  const tn_BinaryOp *op = TN_AS_BINARY(e);
  if (!uses_any(e, loops) || TN_IS(Var, e)) return true;
  if (TN_AS(Cast, e)) return is_affine((tn_obj *)TN_AS(Cast, e)->value, loops);
  if (!op || !is_affine((tn_obj *)op->a, loops) || !is_affine((tn_obj *)op->b, loops)) return false;
  switch (e->type_index) {
  case TN_TI_Add:
  case TN_TI_Sub: return true;
  case TN_TI_Mul: return !uses_any((tn_obj *)op->a, loops) || !uses_any((tn_obj *)op->b, loops);
  case TN_TI_FloorDiv:
  case TN_TI_FloorMod: return !uses_any((tn_obj *)op->b, loops);
  default: return false;
  }
}

/* The same variable twice is only fine as quotient and remainder. */
static bool repeats(const tn_arr *values, int64_t i, const tn_vec *loops) {
  const tn_obj *v = tn_arr_obj(values, i);
  for (int64_t j = 0; TN_IS(Var, v) && uses_any(v, loops) && j < values->len; ++j) {
    if (j != i && sch_uses_var(tn_arr_obj(values, j), (const tn_Var *)v)) return true;
  }
  return false;
}

int sch_check_affine(const sch_step *e, const tn_BlockRealize *r, const tn_vec *loops) {
  for (int64_t i = 0; i < r->iter_values->len; ++i) {
    if (!is_affine(tn_arr_obj(r->iter_values, i), loops) || repeats(r->iter_values, i, loops))
      return sch_fail(e, "The block is required to have an affine binding", SCH_PLACES(r->block),
                      "The block {0} is required to have an affine binding");
  }
  return 0;
}

int sch_check_blocks(const sch_step *e, const tn_obj *below, const tn_vec *loops) {
  TN_VEC(blocks);
  TN_TRY(sch_blocks_below(below, &blocks));
  for (int64_t i = 0; i < blocks.len; ++i) {
    const tn_BlockRealize *r = (const tn_BlockRealize *)blocks.items[i].v.obj;
    TN_TRY(sch_check_affine(e, r, loops));
    if (!has_only(r->block, true))
      return sch_fail(e, "The block iterators must be data parallel or reductions",
                      SCH_PLACES(r->block),
                      "The block {0} has an iterator that is neither data parallel nor reduced");
  }
  return 0;
}

int sch_check_own_loops(const sch_step *e, const tn_Block *b) {
  TN_VEC(loops);
  TN_TRY(sch_loops_above(e, b, &loops));
  for (int64_t i = 0; i < loops.len; ++i) {
    const tn_For *f = (const tn_For *)loops.items[i].v.obj;
    if (sch_uses_var(b, f->loop_var))
      return sch_fail(e, "The block uses a loop around it", SCH_PLACES(b, f),
                      "The block {0} uses the variable of the loop {1} itself, not through an "
                      "iterator, and cannot be moved out of it");
  }
  return 0;
}
