/* See guard.h. */
#include "codegen/llvm/guard.h"

#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/Support/ErrorHandling.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/AArch64TargetParser.h>
#endif

#include <cstdio>
#include <memory>
#include <new>

namespace {

struct gave_up {};

thread_local int depth;
thread_local char *reason;
thread_local size_t reason_size;

/* Outside of a guard LLVM was called by somebody else in this process, and does what it would do.
 */
void on_no_memory(void *, const char *, bool) {
  if (depth) throw std::bad_alloc();
}

void on_fatal(void *, const char *text, bool) {
  if (depth) {
    std::snprintf(reason, reason_size, "%s", text);
    throw gave_up();
  }
  std::fprintf(stderr, "LLVM ERROR: %s\n", text);
}

/* The guard of the thread, and the one around it again when this one ends. */
class entry {
public:
  entry(char *text, size_t size) : before(reason), before_size(reason_size) {
    reason = text;
    reason_size = size;
    ++depth;
  }
  ~entry() {
    reason = before;
    reason_size = before_size;
    --depth;
  }

private:
  char *before;
  size_t before_size;
};

/* The bit of a feature; -1 where the processors of the architecture have none of that name. */
int feature(const llvm::MCSubtargetInfo &info, llvm::StringRef name) {
  for (const auto &row : info.getAllProcessorFeatures())
    if (name == row.Key) return static_cast<int>(row.Value);
  return -1;
}

} // namespace

void cg_guard_install(void) {
  llvm::install_bad_alloc_error_handler(on_no_memory);
  llvm::install_fatal_error_handler(on_fatal);
}

cg_outcome cg_guard_call(int (*work)(void *), void *ctx, int *result, char *text, size_t size) {
  entry inside(text, size);
  try {
    *result = work(ctx);
    return CG_ENDED;
  } catch (const std::bad_alloc &) {
    return CG_NO_MEMORY;
  } catch (const gave_up &) {
    return CG_GAVE_UP;
  }
}

bool cg_each_processor(LLVMTargetRef target, const char *triple, bool (*each)(void *, const char *),
                       void *ctx) {
  const auto *t = reinterpret_cast<const llvm::Target *>(target);
  std::unique_ptr<llvm::MCSubtargetInfo> info(t->createMCSubtargetInfo(triple, "", ""));
  if (!info) return false;
  /* code of 64 bits for a processor that has 32, or the other way round, cannot be made */
  llvm::Triple arch(triple);
  bool two_widths = arch.isX86() || arch.isRISCV();
  int needed = two_widths ? feature(*info, arch.isArch64Bit() ? "64bit" : "32bit") : -1;
  for (const auto &row : info->getAllProcessorDescriptions()) {
    bool fits = needed < 0 || row.Implies.getAsBitset().test(static_cast<unsigned>(needed));
    if (fits && each(ctx, row.Key)) return true;
  }
  return false;
}

const char *cg_processor_row(const char *triple, const char *cpu) {
#if LLVM_VERSION_MAJOR >= 17
  if (llvm::Triple(triple).isAArch64()) return llvm::AArch64::resolveCPUAlias(cpu).data();
#else
  (void)triple;
#endif
  return cpu;
}
