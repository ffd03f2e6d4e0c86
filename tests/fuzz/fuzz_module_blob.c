/* Module trees as bytes: whatever the bytes, they are refused with an error or give a tree without
   cycles in which every function can be looked up, and nothing is left over afterwards. The kind
   "t" is a module of one text, so that inputs can build trees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/reader.h"
#include "fuzz.h"
#include "object/functions.h"
#include "runtime/module/module.h"
#include "runtime/module/module_blob.h"

static int64_t alive;

static void count_down(tn_module *m) {
  (void)m;
  --alive;
}

static tn_bytes *save_nothing(tn_module *m) {
  (void)m;
  return tn_bytes_new("\0\0\0\0\0\0\0", 8); /* the empty text */
}

static const tn_module_ops text_ops = {
    .type_key = "t", .save_binary = save_nothing, .fini = count_down};
static const tn_module_ops lib_ops = {
    .type_key = "lib", .properties = TN_MODULE_DSO, .fini = count_down};

static tn_module *make(const tn_module_ops *ops) {
  tn_module *m = tn_module_new(ops, NULL);
  require(m, "new module");
  ++alive;
  return m;
}

static int load_text(TN_ARGS) {
  void *reader;
  tn_bytes_view text;
  TN_TRY(tn_any_to_ptr(&args[0], &reader));
  TN_TRY(tn_read_text(reader, &text));
  return tn_ret_owned(ret, make(&text_ops));
}

static int count(void *n, tn_module *m) {
  (void)m;
  ++*(int64_t *)n;
  return 0;
}

/* What was read can be written, and is then read again as a tree of as many modules. */
static void check_tree(tn_module *root) {
  int64_t before = 0, after = 0;
  require(tn_module_walk(root, count, &before) == 0, "walk");
  tn_bytes *b = tn_module_pack(root);
  if (!b) { /* the library would import itself once its parts are one */
    require(tn_error_get_kind() == TN_ValueError, "pack");
    tn_error_clear();
    return;
  }
  tn_module *lib = make(&lib_ops), *again;
  tn_bytes_view v = tn_bytes_get(b);
  require(tn_module_unpack(v.data + 8, v.size - 8, lib, false, &again) == 0, "unpack again");
  require(tn_module_walk(again, count, &after) == 0, "walk again");
  require(before == after, "as many modules");
  tn_release(again);
  tn_release(lib);
  tn_release(b);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc, (void)argv;
  require(tn_runtime_init() == 0, "start");
  require(tn_func_register("runtime.module.loadbinary_t", load_text, NULL, NULL, 0) == 0, "loader");
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  tn_module *lib = make(&lib_ops), *root;
  if (tn_module_unpack(data, n, lib, false, &root) == 0) {
    check_tree(root);
    tn_release(root);
  } else {
    require(tn_error_pending(), "refused with a reason");
    tn_error_clear();
  }
  tn_release(lib);
  require(alive == 0, "modules left over");
  return 0;
}
