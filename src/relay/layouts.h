/* Layouts of the arguments and results of a call, by which passes carry a layout through a graph.

   An operator answers one question (relay_op_row.layouts, or the attribute FInferCorrectLayout):
   given the layouts that its arguments come in, in which ones does it take them, in which ones does
   it give its results, and which attributes does it need for that?

     nn.max_pool2d(%x, layout="NCHW"), %x given as NCHW16c
       ->  in NCHW16c, out NCHW16c, attributes with layout="NCHW16c"
     mean(%x, axis=[1]), %x given as NCHW16c instead of NCHW
       ->  in NCHW16c, out NHW, attributes with axis=[1, 4]

   It is asked twice: with nothing given, which layouts it has as it stands, then with those that
   the arguments come in. */
#ifndef TN_RELAY_LAYOUTS_H_
#define TN_RELAY_LAYOUTS_H_

#include "relay/op.h"
#include "tir/layout.h"

/** The question and the answer. Arrays have a Layout, or None where it is not known, for each
 * tensor among the arguments (the fields of tuples one after another). */
struct relay_layouts {
  const tn_Op *op;
  const relay_op_row *row; /**< NULL for operators that are not of the library */
  void *attrs;             /**< of the call; the answer may be other ones */
  tn_arr *types;           /**< TensorType for each, as they were before any layout changed */
  tn_TensorType *out_type; /**< as it was before; NULL when there are several results */
  tn_arr *before;          /**< layouts they had then, as far as anybody knows */
  tn_arr *given;           /**< those they come in; NULL: none of them is in another one */
  tn_arr *in;              /**< answer: those the call takes; None: the argument stays as it was */
  tn_arr *out;             /**< answer: those of the results; fewer than there are: the last one
                                holds for the rest */
};

/** Asks an operator. @return 1 answered; 0 it has no layouts, or works only on its arguments as
 * they were; -1 error */
TN_API int relay_op_layouts(relay_layouts *q);

/** Layout i of an array, NULL when it is not known. */
static inline tn_Layout *relay_layout_at(const tn_arr *layouts, int64_t i) {
  return layouts && i < layouts->len ? (tn_Layout *)tn_arr_obj(layouts, i) : NULL;
}
/** The type of argument i before. */
static inline tn_TensorType *relay_layouts_type(const relay_layouts *q, int64_t i) {
  return (tn_TensorType *)tn_arr_obj(q->types, i);
}
/** The layout that argument i comes in: the given one, else that of before; may be NULL. */
static inline tn_Layout *relay_layout_now(const relay_layouts *q, int64_t i) {
  tn_Layout *given = relay_layout_at(q->given, i);
  return given ? given : relay_layout_at(q->before, i);
}
/** Are they the same? NULL is the same as NULL only. */
TN_API bool relay_layout_equal(const tn_Layout *a, const tn_Layout *b);
/** Do both have the same axes, however ordered and blocked? */
TN_API bool relay_layout_matches(const tn_Layout *a, const tn_Layout *b);
/** Answers: one layout for all arguments and one for the result. @return 1 or -1 */
TN_API int relay_layouts_answer(relay_layouts *q, tn_Layout *in, tn_Layout *out);

/* ---- rules that operators share ---- */

/** All arguments and results in one layout: that of the first argument that has one. */
TN_API int relay_layouts_elementwise(relay_layouts *q);
/** Arguments that broadcast as numpy does: those of fewer axes take the last axes of the layout. */
TN_API int relay_layouts_broadcast(relay_layouts *q);
/** The argument and the result in the layout that the text attribute `layout` names; any layout
 * whose axes H, W, D are whole will do. */
TN_API int relay_layouts_by_attr(relay_layouts *q);
/** The place of axis `axis` of layout `from` (counted from the end when negative) in layout `to`,
 * -1 when it is blocked there or in `from`. */
TN_API int64_t relay_layout_axis_in(const tn_Layout *from, int64_t axis, const tn_Layout *to);

/* ---- carrying layouts through a function ---- */

/** What a hook that replaces a call is given. */
struct relay_replace {
  const relay_op_row *row;  /**< NULL for operators that are not of the library */
  const tn_RelayCall *call; /**< with the arguments it has now */
  tn_arr *types;            /**< type of each argument */
  tn_Type *out_type;
  const tn_arr *desired; /**< ConvertLayout: layouts (String) that are wanted; else NULL */
  bool keeps;  /**< set by who chooses: the call works in its own layout, whatever it is given */
  bool narrow; /**< `relax`: the operands are of bfloat16 in the program, nothing becomes less exact
                */
};

/** The answer of a hook that leaves the call alone. */
static inline void *relay_leave(const relay_replace *r) { return (void *)(uintptr_t)r->call; }

/** Chooses what takes the place of a call (whose arguments, as all hooks see them, are in the
 * layouts they had before): another call, the same one, or NULL with an error.
 *  @param ctx what relay_carry_layouts was given */
typedef tn_obj *(*relay_choose_fn)(void *ctx, relay_replace *r);

/** Rewrites a function whose types are known: calls are replaced, their arguments brought to the
 * layouts that the new calls take, and results stay in these as long as operators can work on them.
 * What is between two such calls has no layout_transform; what cannot follow gets its arguments in
 * the layouts of before. */
TN_API tn_RelayFunction *relay_carry_layouts(tn_RelayFunction *f, relay_choose_fn choose,
                                             void *ctx);

/** Calls the hook of an operator: the function in attribute `key` where the program has set one
 * (given the call's attributes, arguments, types and `last`; it returns an expression or None),
 * else `row_hook` of its row. @return expression, `r->call` itself to leave it, NULL with an error
 */
TN_API tn_obj *relay_call_hook(const relay_replace *r, const char *key, relay_replace_fn row_hook,
                               tn_any last);

#endif /* TN_RELAY_LAYOUTS_H_ */
