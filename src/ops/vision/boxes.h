/* What operators on boxes share. */
#ifndef TN_OPS_VISION_BOXES_H_
#define TN_OPS_VISION_BOXES_H_

#include "ops/ops.h"

/** Where box i begins and ends along an axis (0 or 1); NULL with an error. */
typedef void (*ops_box_side)(const void *ctx, tn_expr *i, int axis, tn_expr **low, tn_expr **high);

/** The area that boxes i and j share, and the one that both cover. 0, or -1 with an error. */
int ops_box_areas(ops_box_side side, const void *ctx, tn_expr *i, tn_expr *j, tn_expr **shared,
                  tn_expr **both);

/** In a relation: an attribute is a list of finite numbers. @param least how many there must be
 * @param most or at most; 0: any number. 0, or RELAY_FAILED */
int ops_box_numbers(const relay_rel *r, const char *what, const tn_arr *list, int64_t least,
                    int64_t most);
/** Number i of such a list. */
double ops_box_number(const tn_arr *list, int64_t i);

#endif /* TN_OPS_VISION_BOXES_H_ */
