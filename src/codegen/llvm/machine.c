/* Target machines: the processor that code is generated for. Without -mtriple and -mcpu it is the
   one of this machine; its features are asked of the processor itself, since its name (which a
   virtual machine may hide) does not tell them. */
#include <llvm-c/Error.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <string.h>

#include "codegen/llvm/cg.h"
#include "codegen/llvm/guard.h"

int cg_raise(const char *what, char *message) {
  TN_RAISE(CodegenError, NULL, "llvm: %s: %s", what, message ? message : "unknown reason");
  if (message) LLVMDisposeMessage(message);
  return -1;
}

/* What LLVM says of this machine: asking the processor again takes longer than the rest of a small
   module. Never freed. */
static char *host_triple, *host_cpu, *host_features;

static void initialize(void) {
  cg_guard_install();
  host_triple = LLVMGetDefaultTargetTriple();
  host_cpu = LLVMGetHostCPUName();
  host_features = LLVMGetHostCPUFeatures();
  LLVMInitializeAllTargetInfos();
  LLVMInitializeAllTargets();
  LLVMInitializeAllTargetMCs();
  LLVMInitializeAllAsmPrinters();
  LLVMInitializeAllAsmParsers();
}

void cg_start(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, initialize);
}

static LLVMCodeGenOptLevel codegen_level(int level) {
  return level <= 0   ? LLVMCodeGenLevelNone
         : level == 1 ? LLVMCodeGenLevelLess
         : level == 2 ? LLVMCodeGenLevelDefault
                      : LLVMCodeGenLevelAggressive;
}

int cg_opt_level(const tn_target *t) {
  int64_t level = target_int(t, "opt-level", 2);
  return level < 0 ? 0 : level > 3 ? 3 : (int)level;
}

/* "+a,-b" of the option mattr. */
static tn_str *feature_text(const tn_target *t) {
  TN_BUF(out);
  const tn_arr *a = target_list(t, "mattr");
  for (int64_t i = 0; a && i < a->len; ++i) {
    if (i) tn_buf_putc(&out, ',');
    tn_buf_puts(&out, tn_cstr((const tn_str *)tn_arr_obj(a, i)));
  }
  return tn_scope_own(tn_buf_str(&out));
}

int cg_triple(const tn_target *t, const char **triple, LLVMTargetRef *out) {
  char *message = NULL;
  cg_start();
  *triple = target_str(t, "mtriple", host_triple);
  return LLVMGetTargetFromTriple(*triple, out, &message) ? cg_raise(*triple, message) : 0;
}

LLVMTargetMachineRef cg_machine(const tn_target *t) {
  const char *triple, *cpu = target_str(t, "mcpu", NULL);
  if (cpu && strcmp(cpu, "native") == 0) cpu = NULL;
  const tn_str *given;
  LLVMTargetRef target;
  TN_TRYP(cg_triple(t, &triple, &target));
  TN_GETP(given, feature_text(t));
  const char *features = tn_cstr(given);
  if (cpu) {
    cpu = cg_processor_row(triple, cpu);
    TN_TRYP(cg_check_processor(target, triple, cpu));
  } else if (triple == host_triple) {
    cpu = host_cpu;
    if (!*features) features = host_features;
  }
  LLVMTargetMachineRef machine =
      LLVMCreateTargetMachine(target, triple, cpu ? cpu : "generic", features,
                              codegen_level(cg_opt_level(t)), LLVMRelocPIC, LLVMCodeModelDefault);
  TN_CHECKP(machine, CodegenError, NULL, "llvm: no machine for %s", triple);
  return machine;
}

bool cg_runs_here(LLVMTargetMachineRef machine) {
  char *triple = LLVMGetTargetMachineTriple(machine), *host = LLVMGetDefaultTargetTriple();
  size_t n = strcspn(host, "-");
  bool same = strncmp(triple, host, n) == 0 && (triple[n] == '-' || !triple[n]);
  LLVMDisposeMessage(triple);
  LLVMDisposeMessage(host);
  return same;
}

/* ---- optimisation ---- */

/* Blocks of so many instructions are left as they are where the effort would grow with the square
   of their number: in passes over the code, and in choosing and ordering instructions. */
enum { LARGE_BLOCK = 4000, HUGE_BLOCK = 8000 };

static int64_t largest_block(LLVMValueRef fn) {
  int64_t most = 0;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
    int64_t n = 0;
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i)) ++n;
    if (n > most) most = n;
  }
  return most;
}

static bool uses_vectors(LLVMValueRef fn) {
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b))
    for (LLVMValueRef i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
      if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMVectorTypeKind) return true;
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

static int run_passes(LLVMModuleRef mod, LLVMTargetMachineRef machine, int level, bool slp) {
  static const char *const passes[] = {"default<O0>", "default<O1>", "default<O2>", "default<O3>"};
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetSLPVectorization(options, slp);
  LLVMErrorRef err = LLVMRunPasses(mod, passes[level], machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!err) return 0;
  char *text = LLVMGetErrorMessage(err);
  TN_RAISE(CodegenError, NULL, "llvm: optimisation failed: %s", text);
  LLVMDisposeErrorMessage(text);
  return -1;
}

/* Scalars are not gathered into vectors where the program has its own vectors: its schedule
   knows better. */
int cg_optimize(LLVMModuleRef mod, LLVMTargetMachineRef machine, int level) {
  int64_t largest = 0;
  bool vectors = false;
  for (LLVMValueRef fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn)) {
    int64_t n = largest_block(fn);
    if (n > largest) largest = n;
    vectors |= uses_vectors(fn);
  }
  if (largest > LARGE_BLOCK && level > 1) level = 1;
  TN_TRY(run_passes(mod, machine, level, !vectors && largest <= LARGE_BLOCK));
  for (LLVMValueRef fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn))
    if (largest_block(fn) > HUGE_BLOCK) leave_as_is(mod, fn);
  return 0;
}

tn_map *cg_host_options(void) {
  tn_map *m;
  cg_start();
  TN_GETP(m, tn_map_with(NULL, tn_any_cstr("mtriple"), tn_any_obj(tn_str_from(host_triple))));
  return tn_map_with(m, tn_any_cstr("mcpu"), tn_any_obj(tn_str_from(host_cpu)));
}
