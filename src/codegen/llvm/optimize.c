/* What LLVM does to the code before it chooses instructions.

   Kernels come with their loops ordered, cut, unrolled and vectorised: what is left to do for them
   is a fraction of what LLVM does to code in general, and takes a fifth of the time. Other programs
   get LLVM's own list. */
#include <llvm-c/Error.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

#include "codegen/llvm/cg.h"

/* Blocks of so many instructions are left as they are where the effort would grow with the square
   of their number: in passes over the code, and in choosing and ordering instructions. */
enum { LARGE_BLOCK = 4000, HUGE_BLOCK = 8000 };

/* Parts of kernels where they are called, variables into registers, common expressions once, sums
   of addresses by how their terms change, loops tested at their end, what does not change in front
   of them. (Without the order of sums vectors are spilled for addresses.) */
#define COMBINE "instcombine<no-verify-fixpoint>"
#define TIDY                                                                                       \
  "sroa,early-cse,simplifycfg," COMBINE                                                            \
  ",reassociate,loop-mssa(loop-rotate,licm),early-cse," COMBINE ",simplifycfg"
static const char scheduled[] = "cgscc(inline),function(" TIDY "),globaldce";
/* Loops over scalars beside those that the schedule vectorised: copies, edges. */
static const char with_scalars[] =
    "cgscc(inline),function(" TIDY ",loop(indvars),loop-vectorize," COMBINE
    ",simplifycfg),globaldce";

static int64_t largest_block(LLVMValueRef fn) {
  int64_t most = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
    int64_t n = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) ++n;
    if (n > most) most = n;
  }
  return most;
}

static bool is_vector(LLVMValueRef v) {
  return LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMVectorTypeKind;
}

bool cg_uses_vectors(LLVMBasicBlockRef first) {
  for (LLVMBasicBlockRef b = first; b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      if (is_vector(i) || (LLVMIsAStoreInst(i) && is_vector(LLVMGetOperand(i, 0)))) return true;
  return false;
}

static void leave_as_is(LLVMModuleRef mod, LLVMValueRef fn) {
  static const char *const names[] = {"optnone", "noinline"};
  for (int i = 0; i < TN_COUNT(names); ++i) {
    unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
    LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(LLVMGetModuleContext(mod), kind, 0));
  }
}

static int run_passes(LLVMModuleRef mod, LLVMTargetMachineRef machine, const char *passes,
                      bool slp) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetSLPVectorization(options, slp);
  LLVMErrorRef err = LLVMRunPasses(mod, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!err) return 0;
  char *text = LLVMGetErrorMessage(err);
  TN_RAISE(CodegenError, NULL, "llvm: optimisation failed: %s", text);
  LLVMDisposeErrorMessage(text);
  return -1;
}

/* A kernel with vectors was scheduled: one without may count on LLVM for them. */
static const char *pass_list(const cg_module *m, int level, bool vectors) {
  static const char *const general[] = {"default<O0>", "default<O1>", "default<O2>", "default<O3>"};
  if (!m->part || !vectors || level != 2) return general[level];
  return m->scalar_loops ? with_scalars : scheduled;
}

/* Scalars are not gathered into vectors where the program has its own vectors: its schedule
   knows better. */
int cg_optimize(const cg_module *m, LLVMTargetMachineRef machine, int level) {
  LLVMModuleRef mod = m->mod;
  int64_t largest = 0;
  bool vectors = false;
  for (LLVMValueRef fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn)) {
    int64_t n = largest_block(fn);
    if (n > largest) largest = n;
    vectors |= cg_uses_vectors(LLVMGetFirstBasicBlock(fn));
  }
  if (largest > LARGE_BLOCK && level > 1) level = 1;
  TN_TRY(
      run_passes(mod, machine, pass_list(m, level, vectors), !vectors && largest <= LARGE_BLOCK));
  for (LLVMValueRef fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn))
    if (largest_block(fn) > HUGE_BLOCK) leave_as_is(mod, fn);
  return 0;
}
