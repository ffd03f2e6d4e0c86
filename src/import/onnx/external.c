/* External data: weights in files beside the model.

   A model may come from anywhere, so the file it names must lie below the model's own folder after
   every link has been followed, must be a regular file, and must hold what is asked for. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "import/onnx/model.h"

typedef struct {
  const char *location;
  uint64_t offset, length;
  bool has_length;
} place;

static int parse_number(const char *name, const char *key, const char *text, uint64_t *out) {
  char *end;
  errno = 0;
  bool digit = text && *text >= '0' && *text <= '9';
  *out = digit ? strtoull(text, &end, 10) : 0;
  TN_CHECK(digit && errno == 0 && *end == '\0', ValueError, NULL,
           "tensor %s: the external data's %s is not a number: %s", name, key,
           text ? text : "(none)");
  return 0;
}

static int read_place(const onnx_tensor *t, const char *name, place *p) {
  *p = (place){0};
  for (size_t i = 0; i < t->n_external_data; ++i) {
    const char *key = t->external_data[i]->key, *value = t->external_data[i]->value;
    if (!key) continue;
    if (strcmp(key, "location") == 0) p->location = value;
    else if (strcmp(key, "offset") == 0) TN_TRY(parse_number(name, key, value, &p->offset));
    else if (strcmp(key, "length") == 0) {
      TN_TRY(parse_number(name, key, value, &p->length));
      p->has_length = true;
    }
  }
  TN_CHECK(p->location && *p->location, ValueError, NULL,
           "tensor %s: the external data has no location", name);
  return 0;
}

static int open_inside(const onnx_model *m, const char *name, const char *location) {
  TN_CHECK(m->folder, ValueError, NULL,
           "tensor %s is in the external file %s, but the model was given as bytes: pass its path "
           "instead",
           name, location);
  TN_CHECK(location[0] != '/', ValueError, NULL,
           "tensor %s: the external data's location is an absolute path: %s", name, location);
  TN_BUF(full);
  char real[PATH_MAX];
  tn_buf_printf(&full, "%s/%s", m->folder, location);
  TN_TRY(tn_buf_ok(&full));
  TN_CHECK(realpath(tn_buf_cstr(&full), real), ValueError, NULL,
           "tensor %s: cannot open the external file %s: %s", name, location, strerror(errno));
  size_t n = strlen(m->folder);
  bool root = n == 1;
  bool inside = strncmp(real, m->folder, n) == 0 && (root || real[n] == '/');
  int fd = inside ? open(real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
  int why = errno;
  TN_CHECK(inside, ValueError, NULL,
           "tensor %s: the external data's location %s is outside the model's folder", name,
           location);
  TN_CHECK(fd >= 0, ValueError, NULL, "tensor %s: cannot open the external file %s: %s", name,
           location, strerror(why));
  return fd;
}

static int read_all(int fd, uint64_t offset, uint8_t *out, size_t n) {
  while (n > 0) {
    ssize_t got = pread(fd, out, n, (off_t)offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return -1;
    out += got;
    n -= (size_t)got;
    offset += (uint64_t)got;
  }
  return 0;
}

/* Does the file hold `want` bytes there? */
static int check_size(int fd, const place *p, const char *name, uint64_t want) {
  struct stat st;
  TN_CHECK(fstat(fd, &st) == 0 && S_ISREG(st.st_mode), ValueError, NULL,
           "tensor %s: the external file %s is not a regular file", name, p->location);
  uint64_t size = (uint64_t)st.st_size;
  TN_CHECK(!p->has_length || p->length == want, ValueError, NULL,
           "tensor %s: the shape's size is %" PRIu64 " bytes, the external data's length %" PRIu64,
           name, want, p->length);
  TN_CHECK(p->offset <= size && want <= size - p->offset, ValueError, NULL,
           "tensor %s: %" PRIu64 " bytes at offset %" PRIu64
           " are past the end of the external file %s (%" PRIu64 " bytes)",
           name, want, p->offset, p->location, size);
  return 0;
}

int onnx_open_external(const onnx_model *m, const onnx_tensor *t, const char *name, uint64_t want,
                       uint64_t *offset) {
  place p;
  TN_TRY(read_place(t, name, &p));
  int fd = open_inside(m, name, p.location);
  if (fd < 0) return tn_trace(__FILE__, __LINE__, __func__), -1;
  *offset = p.offset;
  if (check_size(fd, &p, name, want) == 0) return fd;
  close(fd);
  return tn_trace(__FILE__, __LINE__, __func__), -1;
}

int onnx_read_external(int fd, uint64_t offset, const char *name, DLTensor *dst) {
  int r = read_all(fd, offset, dst->data, (size_t)tn_tensor_nbytes(dst));
  int why = errno;
  close(fd);
  TN_CHECK(r == 0, ValueError, NULL, "tensor %s: the external file could not be read: %s", name,
           strerror(why));
  return 0;
}
