/* Passes over Relay programs, and what several of them need. The passes are the rows of passes.def;
   each is one file.

   Compiler code: what is returned belongs to the current scope, see base/scope.h. */
#ifndef TN_RELAY_TRANSFORMS_TRANSFORMS_H_
#define TN_RELAY_TRANSFORMS_TRANSFORMS_H_

#include <string.h>

#include "ir/functor.h"
#include "ir/pass.h"
#include "object/functions.h"
#include "relay/op.h"
#include "relay/transforms/passes.def"

#define RELAY_DECLARE_RELAYFUNC(fn)                       tn_RelayFunction *fn(tn_RelayFunction *f, const tn_pass_ctx *c);
#define RELAY_DECLARE_MODULE(fn)                          tn_IRModule *fn(tn_IRModule *m, const tn_pass_ctx *c);
#define RELAY_DECLARE_RELAYMODULE(fn)                     RELAY_DECLARE_MODULE(fn)
#define RELAY_DECLARE(fn, name, KIND, level, config, doc) RELAY_DECLARE_##KIND(fn)
RELAY_PASSES(RELAY_DECLARE)
#undef RELAY_DECLARE

/** Runs a pass without arguments, whatever its level. NULL with its error. */
tn_IRModule *relay_run_pass(const char *name, tn_IRModule *m, tn_PassContext *ctx);
/** How FoldConstant folds. */
enum {
  RELAY_FOLD_QNN = 1,       /* quantized operators too */
  RELAY_FOLD_KEEP_MOVES = 2 /* not transposes of large weights, which a later run makes with the
                               layout that they get until then */
};
/** FoldConstant of an expression without a module; its types are inferred first. */
TN_API relay_expr *relay_fold_expr(relay_expr *e);

/** Calls fn for each attention that FuseAttention would make a function of in `f`, whose types are
 * known, with what its query, key and value are made of, without calls that only move or scale
 * these and that nobody else reads. @param cache bytes, see there @return 0, or what fn gave
 * otherwise, -1 with an error */
int relay_each_attention(const tn_RelayFunction *f, const tn_pmap *readers, int64_t cache,
                         int (*fn)(void *ctx, const void *const operands[3]), void *ctx);

/** Is what several scopes use bound to a variable, as after ToBasicBlockNormalForm? 0 or -1. */
TN_API int relay_in_basic_blocks(const tn_RelayFunction *f, bool *out);

#endif /* TN_RELAY_TRANSFORMS_TRANSFORMS_H_ */
