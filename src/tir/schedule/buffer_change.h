/* Between the steps that put another buffer at the place of one: every access in the function
   follows. */
#ifndef TN_TIR_SCHEDULE_BUFFER_CHANGE_H_
#define TN_TIR_SCHEDULE_BUFFER_CHANGE_H_

#include "tir/index_map.h"
#include "tir/schedule/schedule_impl.h"

/** How accesses to a buffer change. */
typedef struct {
  const tn_Buffer *old;
  tn_Buffer *now;
  const tn_IndexMap *map; /* of the indices; NULL: they stay */
  arith_analyzer arith;   /* knows the ranges of loops and iterators */
  tn_vec matched;         /* buffers that stand for parts of it, and what they become, in turn */
} sch_buffer_change;
/** Every step ends with it. */
void sch_buffer_change_fini(sch_buffer_change *c);

/** The buffer with another shape (PrimExpr) and other axis separators (IntImm). */
tn_Buffer *sch_buffer_shaped(const tn_Buffer *b, tn_arr *shape, tn_arr *separators);
/** The buffer with elements of another type, or in another memory (NULL: the same). */
tn_Buffer *sch_buffer_stored(const tn_Buffer *b, tn_dtype dtype, const char *memory);
/** From now on the step rewrites accesses of c->old to those of c->now (NULL: -1, its error
 * stands). Buffers that blocks match against parts of it take its type, memory and separators. */
int sch_change_buffer(sch_step *e, sch_buffer_change *c);

/** Is it allocated by a block of the function? */
bool sch_is_allocated(const sch_step *e, const tn_Buffer *b);

/** Elements of the new buffer that stand for none of the old one. */
typedef struct {
  sch_buffer_change *change;
  const tn_IndexMap *value; /* over the new indices */
  const tn_IndexMap *back;  /* from the new indices to the old ones */
  tn_expr *condition;       /* over the variables of `back`: they lie there */
} sch_padding;
/** The condition that these new indices lie there, and the value that it is to have. */
tn_expr *sch_in_padding(const sch_padding *p, const tn_arr *at);
tn_expr *sch_padding_value(const sch_padding *p, const tn_arr *at);
/** Has the writer store them where it goes through the whole buffer; *out: does it? */
int sch_widen_writer(sch_step *e, const sch_padding *p, const tn_Block *writer, bool *out);
/** Has them hold their value after the last writer (buffer_padding.c). */
int sch_store_padding(sch_step *e, const sch_padding *p);

#endif /* TN_TIR_SCHEDULE_BUFFER_CHANGE_H_ */
