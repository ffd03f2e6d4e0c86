/* Target machines: the processor that code is generated for. Without -mtriple and -mcpu it is the
   one of this machine; its features are asked of the processor itself, since its name (which a
   virtual machine may hide) does not tell them. */
#include <llvm-c/Target.h>
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

tn_map *cg_host_options(void) {
  tn_map *m;
  cg_start();
  TN_GETP(m, tn_map_with(NULL, tn_any_cstr("mtriple"), tn_any_obj(tn_str_from(host_triple))));
  return tn_map_with(m, tn_any_cstr("mcpu"), tn_any_obj(tn_str_from(host_cpu)));
}
