/* Files of shared libraries, see library_file.h. */
#include "runtime/library/library_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "object/functions.h"

static const char failed[] = "Failed to load dynamic shared library";

/* ---- what a file is ---- */

static const char *machine_name(unsigned machine, char out[24]) {
  static const struct {
    unsigned machine;
    const char *name;
  } names[] = {{EM_X86_64, "x86_64"}, {EM_386, "i386"},    {EM_AARCH64, "aarch64"},
               {EM_ARM, "arm"},       {EM_RISCV, "riscv"}, {EM_PPC64, "ppc64"},
               {EM_S390, "s390"},     {164, "hexagon"}};
  for (int i = 0; i < TN_COUNT(names); ++i)
    if (names[i].machine == machine) return names[i].name;
  snprintf(out, 24, "machine %u", machine);
  return out;
}

/* The header of this library, which is for the machine that the process runs on. */
static const ElfW(Ehdr) * own_header(void) {
  Dl_info self;
  return dladdr((const void *)(uintptr_t)tn_library_open, &self) ? self.dli_fbase : NULL;
}

static int check_kind(const char *path, const ElfW(Ehdr) * h) {
  char theirs[24], ours[24];
  const ElfW(Ehdr) *own = own_header();
  TN_CHECK(!own ||
               (h->e_machine == own->e_machine && h->e_ident[EI_CLASS] == own->e_ident[EI_CLASS]),
           TenonError, NULL,
           "%s %s: it is for %s (%d bits), this process runs on %s (%d bits): compile it for this "
           "machine, or load it on one that it is for",
           failed, path, machine_name(h->e_machine, theirs),
           h->e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64, machine_name(own->e_machine, ours),
           own->e_ident[EI_CLASS] == ELFCLASS32 ? 32 : 64);
  TN_CHECK(h->e_type != ET_REL, TenonError, NULL,
           "%s %s: it is an object file, not yet a library: link it (cc -shared)", failed, path);
  TN_CHECK(h->e_type == ET_DYN, TenonError, NULL, "%s %s: it is a program, not a library", failed,
           path);
  return 0;
}

/* Bytes that the segments take of the file; a program's interpreter is one of them. */
static int check_segments(const char *path, int file, const ElfW(Ehdr) * h, uint64_t size) {
  uint64_t need = 0;
  bool program = false;
  for (int i = 0; i < h->e_phnum; ++i) {
    ElfW(Phdr) p;
    uint64_t at = h->e_phoff + (uint64_t)i * sizeof p, end = UINT64_MAX;
    bool there = at >= h->e_phoff && at <= INT64_MAX - sizeof p &&
                 pread(file, &p, sizeof p, (off_t)at) == sizeof p;
    if (!there) need = at >= h->e_phoff ? at + sizeof p : UINT64_MAX;
    if (!there) break;
    if (__builtin_add_overflow(p.p_offset, p.p_filesz, &end)) end = UINT64_MAX;
    if (p.p_type == PT_LOAD && end > need) need = end;
    program |= p.p_type == PT_INTERP;
  }
  /* the process would die on first use of what is beyond the end */
  TN_CHECK(need <= size, TenonError, NULL,
           "%s %s: the file is cut off: it has %llu bytes of at least %llu", failed, path,
           (unsigned long long)size, (unsigned long long)need);
  return program;
}

/* @return 1 for a file with an interpreter: a program, or one of the few libraries that can be run
 */
static int check_file(const char *path, int file, uint64_t size) {
  ElfW(Ehdr) h;
  ssize_t n = pread(file, &h, sizeof h, 0);
  TN_CHECK(n >= SELFMAG && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0, TenonError, NULL,
           "%s %s: it is not a shared library (file too short, or of another format)", failed,
           path);
  if (n == sizeof h) TN_TRY(check_kind(path, &h));
  TN_CHECK(n == sizeof h && h.e_phentsize == sizeof(ElfW(Phdr)), TenonError, NULL,
           "%s %s: the file is cut off: it has %llu bytes of at least %zu", failed, path,
           (unsigned long long)size, sizeof h);
  return check_segments(path, file, &h, size);
}

/* The clock of file times moves in ticks: content may change within one. */
static bool is_fresh(const struct stat *s) {
  struct timespec now;
  enum { TICKS = 50 * 1000 * 1000 }; /* nanoseconds */
  if (clock_gettime(CLOCK_REALTIME, &now)) return true;
  int64_t age = (int64_t)(now.tv_sec - s->st_ctim.tv_sec);
  if (age < -1 || age > 1) return age < 0;
  return age * 1000000000 + now.tv_nsec - s->st_ctim.tv_nsec < TICKS;
}

int tn_library_open(const char *path, tn_library_id *id) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  TN_CHECK(file >= 0, TenonError, NULL, "%s %s: %s", failed, path, strerror(errno));
  if (fstat(file, &id->at)) {
    int err = errno;
    close(file);
    return TN_RAISE(TenonError, NULL, "%s %s: %s", failed, path, strerror(err));
  }
  id->fresh = is_fresh(&id->at);
  int kind = check_file(path, file, (uint64_t)id->at.st_size);
  if (kind >= 0) {
    id->program = kind;
    return file;
  }
  close(file);
  return -1;
}

/* ---- comparing ---- */

bool tn_library_same_place(const tn_library_id *a, const tn_library_id *b) {
  return a->at.st_dev == b->at.st_dev && a->at.st_ino == b->at.st_ino;
}

static bool same_time(struct timespec a, struct timespec b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same_content(int a, int b) {
  char x[4096], y[4096];
  for (off_t at = 0;;) {
    ssize_t n = pread(a, x, sizeof x, at);
    if (n < 0 || pread(b, y, sizeof y, at) != n || memcmp(x, y, (size_t)n) != 0) return false;
    if (n == 0) return true;
    at += n;
  }
}

bool tn_library_same(const tn_library_id *old, int copy, const tn_library_id *now, int file) {
  const struct stat *a = &old->at, *b = &now->at;
  bool same = tn_library_same_place(old, now) && a->st_size == b->st_size &&
              same_time(a->st_mtim, b->st_mtim) && same_time(a->st_ctim, b->st_ctim);
  if (!same || !old->fresh || copy < 0) return same;
  return same_content(copy, file);
}

/* ---- copies ---- */

int tn_library_copy(int file, const char *path) {
  const char *name = strrchr(path, '/');
  struct stat s;
  off_t at = 0;
  int copy = memfd_create(name ? name + 1 : path, MFD_CLOEXEC);
  if (copy < 0) return -1;
  bool ok = fstat(file, &s) == 0;
  while (ok && at < s.st_size) ok = sendfile(copy, file, &at, (size_t)(s.st_size - at)) > 0;
  if (ok) return copy;
  close(copy);
  return -1;
}

const char *tn_library_fd_name(int file, char out[TN_LIBRARY_NAME]) {
  snprintf(out, TN_LIBRARY_NAME, "/proc/self/fd/%d", file);
  return out;
}
