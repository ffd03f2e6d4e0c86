/* Reading ONNX models from files and memory. */
#include "import/onnx/model.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/pmap.h"

/* ---- memory of the messages ---- */

enum { LARGE = 1 << 16 }; /* bytes from which on data has a tensor for its memory */

struct onnx_memory {
  tn_pmap tensors; /* data -> tn_tensor of bytes, owned */
  char *file;      /* where the file is mapped; NULL: it is not */
  size_t size;     /* of the file */
  size_t taken;    /* bytes of large data so far: where the file holds it as it is in memory, the
                      file is read at least up to there */
  size_t left;     /* bytes at its beginning that were given back */
};

/* What of the file was copied need not stay in memory beside its copy. Numbers of a byte each may
   become eight bytes: what was taken can be more than the file has. */
static void leave_file(onnx_memory *m) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  size_t upto = (m->taken < m->size ? m->taken : m->size) / page * page;
  if (!m->file || upto <= m->left) return;
  (void)madvise(m->file + m->left, upto - m->left, MADV_DONTNEED);
  m->left = upto;
}

static void *take_large(onnx_memory *m, size_t n) {
  int64_t extent = (int64_t)n;
  if (n > PTRDIFF_MAX) return NULL;
  leave_file(m);
  tn_tensor *t = tn_tensor_new(&extent, 1, (tn_dtype){kDLUInt, 8, 1}, (tn_device){kDLCPU, 0}, NULL);
  if (!t) return NULL;
  void *data = tn_tensor_dl(t)->data;
  if (tn_pmap_put(&m->tensors, data, t)) {
    tn_release(t);
    return NULL;
  }
  m->taken += n;
  return data;
}

/* protobuf-c takes its memory through the hook like everybody else. */
static void *take(void *memory, size_t n) {
  return n < LARGE ? tn_alloc(n ? n : 1) : take_large(memory, n);
}

static void give(void *memory, void *p) {
  onnx_memory *m = memory;
  tn_tensor *t = p ? tn_pmap_get(&m->tensors, p) : NULL;
  if (!t) return tn_free(p);
  tn_pmap_slot_of(&m->tensors, p)->v.ptr = NULL;
  tn_release(t);
}

static ProtobufCAllocator allocator_of(onnx_memory *m) {
  return (ProtobufCAllocator){take, give, m};
}

tn_tensor *onnx_memory_tensor(const onnx_model *m, const void *data) {
  return m->memory && data ? tn_pmap_get(&m->memory->tensors, data) : NULL;
}

/* ---- reading ---- */

static int unpack(onnx_model *m, const uint8_t *data, size_t n) {
  TN_CHECK(n > 0, ValueError, NULL, "%s: cannot parse an empty file as an ONNX model", m->path);
  if (onnx_check_wire(&onnx__model_proto__descriptor, data, n)) {
    (void)tn_error_prefix("%s is not an ONNX model, or is damaged (export or copy it again): ",
                          m->path);
    return tn_trace(__FILE__, __LINE__, __func__), -1;
  }
  ProtobufCAllocator allocator = allocator_of(m->memory);
  m->proto = onnx__model_proto__unpack(&allocator, n, data);
  if (!m->proto && tn_error_pending()) return tn_trace(__FILE__, __LINE__, __func__), -1;
  TN_CHECK(m->proto, ValueError, NULL, "%s: cannot parse the protobuf data", m->path);
  TN_CHECK(m->proto->graph, ValueError, NULL, "%s: the ONNX model has no graph", m->path);
  return 0;
}

static int set_names(onnx_model *m, const char *path) {
  *m = (onnx_model){0};
  m->memory = tn_alloc_zero(1, sizeof *m->memory);
  if (!m->memory) return -1;
  TN_CHECK(m->path = tn_strdup(path ? path : "<memory>"), MemoryError, NULL, "out of memory");
  if (!path) return 0;
  char real[PATH_MAX];
  TN_CHECK(realpath(path, real), OSError, NULL, "cannot open the ONNX model %s: %s", path,
           strerror(errno));
  char *slash = strrchr(real, '/');
  if (slash) slash[slash == real] = '\0';
  m->folder = tn_strdup(real);
  TN_CHECK(m->folder, MemoryError, NULL, "out of memory");
  return 0;
}

int onnx_model_parse(onnx_model *m, const void *data, size_t n) {
  TN_TRY(set_names(m, NULL));
  return unpack(m, data, n);
}

static int map_and_unpack(onnx_model *m, int fd, const char *path) {
  struct stat st;
  TN_CHECK(fstat(fd, &st) == 0, OSError, NULL, "%s: %s", path, strerror(errno));
  TN_CHECK(S_ISREG(st.st_mode), OSError, NULL,
           "%s is not a regular file: an ONNX model was expected", path);
  size_t n = (size_t)st.st_size;
  if (n == 0) return unpack(m, NULL, 0);
  void *p = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
  TN_CHECK(p != MAP_FAILED, OSError, NULL, "%s: %s", path, strerror(errno));
  m->memory->file = p;
  m->memory->size = n;
  int r = unpack(m, p, n);
  m->memory->file = NULL;
  munmap(p, n);
  return r;
}

int onnx_model_read(onnx_model *m, const char *path) {
  TN_TRY(set_names(m, path));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  TN_CHECK(fd >= 0, OSError, NULL, "cannot open the ONNX model %s: %s", path, strerror(errno));
  int r = map_and_unpack(m, fd, path);
  close(fd);
  if (r) tn_trace(__FILE__, __LINE__, __func__);
  return r;
}

void onnx_model_fini(onnx_model *m) {
  ProtobufCAllocator allocator = allocator_of(m->memory);
  if (m->proto) onnx__model_proto__free_unpacked(m->proto, &allocator);
  if (m->memory) tn_pmap_fini(&m->memory->tensors);
  tn_free(m->memory);
  tn_free(m->path);
  tn_free(m->folder);
  *m = (onnx_model){0};
}

int64_t onnx_opset(const onnx_model_proto *p, const char *domain) {
  int64_t version = 0;
  bool main_set = !*domain || strcmp(domain, "ai.onnx") == 0;
  for (size_t i = 0; i < p->n_opset_import; ++i) {
    const Onnx__OperatorSetIdProto *s = p->opset_import[i];
    const char *d = s->domain ? s->domain : "";
    bool same = main_set ? !*d || strcmp(d, "ai.onnx") == 0 : strcmp(d, domain) == 0;
    if (same && s->version > version) version = s->version;
  }
  return version;
}
