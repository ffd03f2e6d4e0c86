/* Weights of ONNX models in files beside them: whatever a tensor says of its file, it is refused
   with an error, or has the bytes that a file below the model's folder holds there.

   An input: the element type, the number of dimensions (modulo 5), a signed byte for each, and
   lines "key=value" of external_data. The folder holds `data` of 200 bytes, 0 to 199, `below/data`,
   a link to the one, a link to a file outside, a pipe and an empty file. */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/scope.h"
#include "fuzz.h"
#include "import/onnx/model.h"

enum { BYTES = 200, MAX_LINES = 8, MAX_INPUT_SIZE = 4096 };

static tn_temp_folder top = {.lock = -1};
static char folder[PATH_MAX]; /* the model's, as onnx_model has it */

static void write_file(const char *path, int size, int first) {
  uint8_t bytes[BYTES];
  for (int i = 0; i < size; ++i) bytes[i] = (uint8_t)(first + i);
  int fd = open(path, O_WRONLY | O_CREAT, 0600);
  require(fd >= 0 && write(fd, bytes, (size_t)size) == size && close(fd) == 0, "a file");
}

static void clean(void) { tn_temp_folder_fini(&top); }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  char here[PATH_MAX], outside[PATH_MAX];
  (void)argc, (void)argv;
  require(tn_runtime_init() == 0 && tn_temp_folder_make(&top) == 0, "start");
  const char *path = tn_buf_cstr(&top.path);
  require(getcwd(here, sizeof here) && chdir(path) == 0 && mkdir("model", 0700) == 0 &&
              mkdir("model/below", 0700) == 0,
          "folder");
  write_file("data", BYTES, 55);
  write_file("model/data", BYTES, 0);
  write_file("model/below/data", BYTES, 0);
  write_file("model/empty", 0, 0);
  require(realpath("data", outside), "a path");
  require(symlink("below/data", "model/link") == 0 && symlink(outside, "model/out") == 0, "links");
  require(mkfifo("model/pipe", 0600) == 0 && realpath("model", folder) && chdir(here) == 0, "pipe");
  atexit(clean);
  return 0;
}

/* Cuts the text at its lines and fills the entries. */
static size_t read_lines(char *text, Onnx__StringStringEntryProto *entries) {
  size_t n = 0;
  for (char *line = strtok(text, "\n"); line && n < MAX_LINES; line = strtok(NULL, "\n"), ++n) {
    char *value = strchr(line, '=');
    onnx__string_string_entry_proto__init(&entries[n]);
    if (value) *value++ = '\0';
    entries[n].key = line;
    entries[n].value = value;
  }
  return n;
}

/* The bytes of a file count up by one. */
static void check(const tn_tensor *t) {
  const DLTensor *dl = tn_tensor_dl((tn_tensor *)(uintptr_t)t);
  const uint8_t *bytes = dl->data;
  for (int64_t i = 0; i < tn_tensor_nbytes(dl); ++i)
    require(bytes[i] < BYTES && (i == 0 || bytes[i] == bytes[i - 1] + 1), "the file's bytes");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n < 2 || n > MAX_INPUT_SIZE || n < 2 + (size_t)(data[1] % 5)) return 0;
  TN_SCOPE(s);
  int64_t dims[4];
  char text[MAX_INPUT_SIZE + 1];
  Onnx__StringStringEntryProto entries[MAX_LINES], *list[MAX_LINES];
  onnx_tensor t = ONNX__TENSOR_PROTO__INIT;
  onnx_model m = {.path = (char[]){"model"}, .folder = folder};
  t.dims = dims, t.n_dims = data[1] % 5;
  t.data_type = data[0];
  for (size_t i = 0; i < t.n_dims; ++i) dims[i] = (int8_t)data[2 + i];
  size_t rest = n - 2 - t.n_dims;
  memcpy(text, data + 2 + t.n_dims, rest);
  text[rest] = '\0';
  t.n_external_data = read_lines(text, entries);
  for (size_t i = 0; i < t.n_external_data; ++i) list[i] = &entries[i];
  t.external_data = list;
  t.data_location = 1; /* EXTERNAL */
  const tn_tensor *r = onnx_read_tensor(&m, &t);
  if (r) check(r);
  else require(tn_error_pending(), "refused with a reason");
  tn_error_clear();
  return 0;
}
