/* The dataflow pattern language: patterns of expressions, matching, rewriting, partitioning.

     is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), is_constant()))

   A pattern object that occurs twice stands for one expression. Compiler code: what is returned
   belongs to the current scope. */
#ifndef TN_RELAY_DATAFLOW_PATTERN_H_
#define TN_RELAY_DATAFLOW_PATTERN_H_

#include "base/pmap.h"
#include "relay/dataflow/pattern.def"
#include "relay/relay.h"

/* the upper end of Relay's block */
TN_NODES_FORWARD(TN_DATAFLOW_NODES)
TN_NODES_INDEX(TN_DATAFLOW_NODES, TN_TI_BEGIN_DRIVER - 20, dataflow)
TN_NODES_DECLARE(TN_DATAFLOW_NODES)
_Static_assert((int)TN_TI_END_dataflow <= (int)TN_TI_BEGIN_DRIVER &&
                   (int)TN_TI_END_relay <= (int)TN_TI_BEFORE_dataflow,
               "the block of type indices is full");

/** What matched: patterns in the order in which they did, and their expressions (several for the
 * path of a dominator pattern). Borrowed from pattern and expression. */
typedef struct {
  tn_vec patterns, exprs; /* pairs */
  tn_pmap known;          /* pattern -> its first expression */
  tn_IRModule *mod;       /* for types, may be NULL */
} df_matched;
void df_matched_fini(df_matched *m);
#define DF_MATCHED(name) __attribute__((cleanup(df_matched_fini))) df_matched name = {0}

/** Does the expression match? 1, 0, -1 with an error. *m must be empty, or hold what is known
 * already. */
TN_API int df_match(df_matched *m, const tn_DFPattern *pattern, const void *expr);
/** Map from pattern to Array of expressions; `now` (may be NULL) maps expressions to what they have
 * become. */
tn_map *df_node_map(const df_matched *m, const tn_pmap *now);
/** Is an expression that the pattern matched outside of what was looked for (a wildcard, ...)? */
bool df_is_leaf(const tn_DFPattern *pattern);

/** Callbacks applied until nothing changes. @param callbacks array of DFPatternCallback @param mod
 * may be NULL */
TN_API relay_expr *df_rewrite(const tn_arr *callbacks, relay_expr *expr, tn_IRModule *mod);
/** Every match becomes a call of a function with the match for its body, and the given attributes.
 * @param attrs map, may be NULL @param check (expression) -> bool, or NULL: always */
TN_API relay_expr *df_partition(const tn_DFPattern *pattern, relay_expr *expr, const tn_map *attrs,
                                tn_func *check);

/** Part of relay_init. */
int df_init(void);

#endif /* TN_RELAY_DATAFLOW_PATTERN_H_ */
