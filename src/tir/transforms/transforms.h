/* Passes over tensor programs: the rows of passes.def, each one file. What several of them need is
   in tir/rewrite.h, for programs of devices in tir/device.h.

   Compiler code: what is returned belongs to the current scope, see base/scope.h. */
#ifndef TN_TIR_TRANSFORMS_TRANSFORMS_H_
#define TN_TIR_TRANSFORMS_TRANSFORMS_H_

#include "arith/analyzer.h"
#include "ir/expr.h"
#include "ir/functor.h"
#include "ir/pass.h"
#include "object/functions.h"
#include "tenon/object.h"
#include "tir/script/build.h"
#include "tir/rewrite.h"
#include "tir/tir.h"
#include "tir/transforms/config.def"
#include "tir/transforms/passes.def"

TN_NODES_FORWARD(TIR_CONFIG_NODES)
TN_NODES_INDEX(TIR_CONFIG_NODES, TN_TI_END_script, tir_config)
TN_NODES_DECLARE(TIR_CONFIG_NODES)

#define TIR_DECLARE_PRIMFUNC(fn)                        tn_PrimFunc *fn(tn_PrimFunc *f, const tn_pass_ctx *c);
#define TIR_DECLARE_MODULE(fn)                          tn_IRModule *fn(tn_IRModule *m, const tn_pass_ctx *c);
#define TIR_DECLARE(fn, name, KIND, level, config, doc) TIR_DECLARE_##KIND(fn)
TIR_PASSES(TIR_DECLARE)
#undef TIR_DECLARE

/** tir.ConvertSSA of one function. */
tn_PrimFunc *tir_convert_ssa(tn_PrimFunc *f, const tn_pass_ctx *c);

enum { TIR_STACK_BYTES = 1024 }; /**< allocations from this size on are not placed on the stack */

/** The function with all indices, extents and loops in a type; scalar parameters that are part of
 * them get it too, values and elements of buffers keep theirs. ValueError unless a signed integer.
 */
TN_API tn_PrimFunc *tir_with_index_type(tn_PrimFunc *f, tn_dtype t);
/** tir.Simplify of a statement with what is known already, and tir.RemoveNoOp of one. NULL passes
 * through the second. */
tn_stmt *tir_simplify_stmt(arith_analyzer *known, tn_stmt *s);
tn_stmt *tir_remove_no_op_stmt(tn_stmt *s);

/** Names an expression that reads memory: *e becomes a variable; it and its value are added to the
 * lists, which tir_bind_read binds around a body. Others stay. */
int tir_read_once(tn_vec *vars, tn_vec *values, const char *name, tn_expr **e);
tn_stmt *tir_bind_read(const tn_vec *vars, const tn_vec *values, tn_stmt *body);

/** Around a pass over a function: analyzers know which of its variables hold data. */
void *tir_data_begin(const tn_BaseFunc *f);
void tir_data_end(void *state);

/** What is realized is allocated and declared, as large as its region. */
tn_PrimFunc *tir_allocate_realized(tn_PrimFunc *f);
/** As FlattenBuffer; declarations of buffers stay, of flat ones. */
tn_PrimFunc *tir_flatten_declared(tn_PrimFunc *f);

#endif /* TN_TIR_TRANSFORMS_TRANSFORMS_H_ */
