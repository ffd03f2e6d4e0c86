/* Where a pattern matches in a program: groups of expressions without overlap. */
#ifndef TN_RELAY_DATAFLOW_GROUPS_H_
#define TN_RELAY_DATAFLOW_GROUPS_H_

#include "relay/dataflow/pattern.h"

typedef struct {
  relay_expr *root;
  df_matched matched;
} df_group;

typedef struct {
  df_group *items;
  int64_t len, cap;
  tn_pmap of;     /* root -> 1 + number of its group */
  tn_pmap inside; /* expression that a group computes -> 1 + number of the group */
} df_groups;

/** Groups from the results down: the largest match first. An expression that others read too is
 * part of a group only as its result. @param check (expression) -> bool, may be NULL */
int df_find_groups(df_groups *g, const tn_DFPattern *pattern, const relay_expr *expr,
                   tn_IRModule *mod, tn_func *check);
void df_groups_fini(df_groups *g);
/** The group whose result the expression is, or NULL. */
const df_group *df_group_of(const df_groups *g, const void *root);

/** Calls `make` for each expression in order of operands; for results of groups `group` is given.
 *  @param make (ctx, group or NULL, before, after, now: before -> after) -> replacement */
typedef relay_expr *(*df_make)(void *ctx, const df_group *group, relay_expr *pre, relay_expr *post,
                               const tn_pmap *now);
relay_expr *df_rewrite_groups(const df_groups *g, relay_expr *expr, df_make make, void *ctx);

#endif /* TN_RELAY_DATAFLOW_GROUPS_H_ */
