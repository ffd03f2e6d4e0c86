/* What only C++ can do with LLVM: go on after it gave up. LLVM ends the process where memory runs
   out, and where it meets what it cannot make code for ("Cannot select ..."). Its handlers for that
   may not return, so they throw, and cg_guard catches.

   LLVM is compiled without exceptions: nothing is cleaned up on the way through it. What it worked
   on (context, module, machine, JIT) is in no known state then, and must not be touched again, not
   even to free it. Functions of this folder are compiled with exceptions, so that their scopes and
   locks are cleaned up (attribute cleanup). */
#ifndef TN_CODEGEN_LLVM_GUARD_H_
#define TN_CODEGEN_LLVM_GUARD_H_

#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  CG_ENDED, /* the work returned */
  CG_NO_MEMORY,
  CG_GAVE_UP /* with a text */
} cg_outcome;

/** Makes LLVM throw instead of ending the process; once. */
void cg_guard_install(void);

/** Calls work(ctx), whose result is stored. */
cg_outcome cg_guard_call(int (*work)(void *ctx), void *ctx, int *result, char *text, size_t size);

/** Calls `each` with the name of every processor that LLVM knows for a triple and that can run its
 *  code, until one call returns true. @return whether one did */
bool cg_each_processor(LLVMTargetRef target, const char *triple,
                       bool (*each)(void *ctx, const char *name), void *ctx);

/** The name that LLVM's table has for a processor: since LLVM 19 "apple-m1" and others are known to
 *  its target parser only, as other names of a row ("apple-a14"). `cpu` itself where it has none.
 */
const char *cg_processor_row(const char *triple, const char *cpu);

#ifdef __cplusplus
}
#endif

#endif /* TN_CODEGEN_LLVM_GUARD_H_ */
