/* Walking and rewriting programs. A pass names only the nodes it cares about, in a table by type
   index; the rest is generic and shares what does not change.

   Three ways, from simple to general:

     tn_post_order(root, fn, ctx)     fn sees every node once, operands first. No recursion.
     tn_rewrite(root, cases, n, ctx)  every node once, operands first, replaced by what its case
                                      returns. No recursion: graphs of any depth.
     tn_mut                           a case decides itself whether and when its children are
                                      visited, so it may carry context (scopes, loops). Recursive:
                                      what is too deep for the stack is an error.

     static tn_stmt *no_op_for(tn_mut *m, tn_For *op) {
       tn_For *r = tn_mut_children(m, op);                       rebuilt children, or op itself
       if (!r) return NULL;                                      an error is pending
       return is_no_op(r->body) ? tir_nop(r->span) : (tn_stmt *)r;
     }
     static const tn_mut_case cases[] = {TN_CASE(For, no_op_for), TN_CASE(IfThenElse, no_op_if)};
     ...
     TN_MUT(m, cases, NULL);
     return tn_mut_visit(&m, func);

   All see the objects an expression or statement is made of, containers included. Leaves
   (variables, operators, ...) are seen but not entered; places, types and attributes are not even
   seen, except by a tn_mut with a case for them. */
#ifndef TN_IR_FUNCTOR_H_
#define TN_IR_FUNCTOR_H_

#include "base/pmap.h"
#include "ir/ir.h"

/** Declares that objects of a type and of types derived from it are not entered, and whether they
 * are seen; called at start by the layer that has the type. */
TN_API void tn_functor_leaf(const tn_type *type, bool seen);
/** Declares what becomes of a node of a type whose children a rewriting changed: fn gives its
 * normal form, which may be of another type; NULL with an error. Called at start by the layer that
 * has the type. */
TN_API void tn_functor_normal(const tn_type *type, tn_obj *(*fn)(tn_obj *node));

/** Declares that rewriting keeps the places of nodes of a type and those derived from it, and that
 * an error inside one is at its place. Their `span` is a field of that name. */
TN_API void tn_functor_placed(const tn_type *type);

/* ---- visiting ---- */

/** Calls fn for every node below root and for root, children first, each object once. `fn` returns
 * non-zero to stop; that is returned (-1 for an error). Containers are passed through, not shown.
 */
TN_API int tn_post_order(const void *root, int (*fn)(void *ctx, tn_obj *node), void *ctx);
/** The same with nodes before their children; fn returns 1 to leave a node's children out, 2 to
 * stop.
 * @return 0, 2 when stopped, -1 on error */
TN_API int tn_pre_order(const void *root, int (*fn)(void *ctx, tn_obj *node), void *ctx);

/** The same walks over a part of what is below: a child for which `see` says no is left out with
 * all below it. @param field of the parent that refers to the child, NULL in containers */
typedef bool (*tn_walk_filter)(const tn_obj *parent, const tn_field *field, const tn_obj *child);
TN_API int tn_post_order_if(const void *root, tn_walk_filter see,
                            int (*fn)(void *ctx, tn_obj *node), void *ctx);
TN_API int tn_pre_order_if(const void *root, tn_walk_filter see, int (*fn)(void *ctx, tn_obj *node),
                           void *ctx);

/* ---- rewriting, children first ---- */

/** @param pre  the node before its children were rewritten
 *  @param post the node with new children, `pre` itself if none changed
 *  @return replacement, borrowed, or NULL with an error */
typedef tn_obj *(*tn_rewrite_case)(void *ctx, tn_obj *pre, tn_obj *post);
#define TN_REWRITE(T, fn) [TN_TI_##T] = (tn_rewrite_case)(void (*)(void))(fn)

/** @return the rewritten root, owned by the scope; root itself if nothing changed */
TN_API void *tn_rewrite(const void *root, const tn_rewrite_case *cases, int ncases, void *ctx);
/** The same; objects for which `enters` says no (it is given `ctx`) stay as they are, with all
 * below them. */
TN_API void *tn_rewrite_if(const void *root, bool (*enters)(void *ctx, const tn_obj *o),
                           const tn_rewrite_case *cases, int ncases, void *ctx);

/* ---- rewriting with context ---- */

typedef struct tn_mut tn_mut;
typedef tn_obj *(*tn_mut_case)(tn_mut *m, tn_obj *node);

struct tn_mut {
  const tn_mut_case *cases; /* by type index */
  int ncases;
  bool types;   /* enter types too */
  bool exprs;   /* enter expressions and arrays only: buffers and the like stay the same objects */
  bool pure;    /* results depend on the node alone: one that has several users is visited once */
  void *ctx;    /* the pass's own */
  tn_pmap memo; /* results for nodes whose sharing counts (role DAG), or with `pure` for all that
                   have several users; both sides retained */
};

/* A table may give its functions their node's struct:  tn_stmt *no_op_for(tn_mut *m, tn_For *op) */
#define TN_CASE(T, fn) [TN_TI_##T] = (tn_mut_case)(void (*)(void))(fn)
#define TN_MUT(name, table, context)                                                               \
  __attribute__((cleanup(tn_mut_fini))) tn_mut name = {                                            \
      .cases = (table), .ncases = (int)(sizeof(table) / sizeof *(table)), .ctx = (context)}

/** The node's case, else tn_mut_children. NULL gives NULL without an error. */
TN_API void *tn_mut_visit(tn_mut *m, const void *node);
/** `node` with its children visited: itself when none changed, else a checked copy (TN_MAKE's
 * checks). NULL with an error. */
TN_API void *tn_mut_children(tn_mut *m, const void *node);
/** Forgets the results for shared nodes: before visiting under another context. */
TN_API void tn_mut_forget(tn_mut *m);
TN_API void tn_mut_fini(tn_mut *m);

/** `node` with variables replaced: `vars` maps tn_Var to an expression of the same type (TVMError).
 * Nothing is folded. */
TN_API void *tir_substitute(const void *node, const tn_pmap *vars);

#endif /* TN_IR_FUNCTOR_H_ */
