/* What programs say about the memory of values.

     memory.kill(%x)     %x is not needed any more */
#include "ops/ops.h"

/* Of whatever it is, nothing is left. */
static int kill_relation(relay_rel *r) {
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  return relay_rel_result(r, relay_tuple_type(tn_arr_of(0)));
}

static const relay_op_row rows[] = {
    {.name = "memory.kill",
     .inputs = "data",
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .flags = RELAY_STATEFUL | RELAY_NON_COMPUTATIONAL,
     .rel_name = "Kill",
     .rel = kill_relation,
     .doc = "the end of a value's life; the empty tuple"},
};

RELAY_FAMILY_PLAIN(memory)
