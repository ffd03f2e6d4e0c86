/* Object files for the linker: whatever they are, they are refused with an error or linked. What is
   linked is not loaded: its code is the input's. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/scope.h"
#include "fuzz.h"
#include "object/containers.h"
#include "tenon/compiler.h"
#include "tenon/object.h"

/* A file in memory, by a path that can be opened. */
static int memory_file(char *path, size_t size) {
  int fd = memfd_create("fuzz_elf", 0);
  require(fd >= 0, "memfd_create");
  snprintf(path, size, "/proc/self/fd/%d", fd);
  return fd;
}

static void link_file(const uint8_t *data, size_t n) {
  TN_SCOPE(s);
  char in[64], out[64];
  int from = memory_file(in, sizeof in), to = memory_file(out, sizeof out);
  require(write(from, data, n) == (ssize_t)n, "write");
  tn_func *f = tn_scope_own(tn_func_find("target.LinkSharedLibrary"));
  tn_arr *objects = tn_arr_of(1, tn_str_from(in));
  require(f && objects, "start");
  tn_any args[] = {tn_any_cstr(out), tn_any_obj(objects)}, ret;
  if (tn_func_call(f, args, 2, &ret) == 0) {
    tn_any_release(&ret);
  } else {
    require(tn_error_pending(), "refused without an error");
    tn_error_clear();
  }
  close(from);
  close(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  require(tn_compiler_init() == 0, "start");
  if (n < 1 << 16) link_file(data, n);
  return 0;
}
