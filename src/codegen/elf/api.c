/* "target.LinkSharedLibrary"(path, objects): the whole of linking. */
#include "base/alloc.h"
#include "codegen/elf/elf.h"

static int link_all(elf_link *l, const tn_arr *paths, const char *out) {
  TN_GET(l->objects, tn_alloc_zero((size_t)paths->len + 1, sizeof *l->objects));
  TN_GET(l->by_name, tn_map_new());
  for (int64_t i = 0; i < paths->len; ++i) {
    const char *path;
    TN_TRY(tn_any_to_cstr(&paths->items[i], &path));
    ++l->nobject;
    TN_TRY(elf_object_read(&l->objects[i], path));
  }
  l->machine = l->objects[0].head->e_machine;
  TN_TRY(elf_resolve(l));
  TN_TRY(elf_each_relocation(l, elf_scan));
  return elf_write(l, out);
}

static int link_shared(TN_ARGS) {
  const char *out;
  TN_NARGS("target.LinkSharedLibrary", 2);
  TN_TRY(tn_any_to_cstr(&args[0], &out));
  TN_ARG_ITEMS(Array(String), paths, 1);
  TN_CHECK(paths && paths->len, ValueError, NULL, "%s: expected at least one object file to link",
           out);
  elf_link l = {0};
  int err = link_all(&l, paths, out);
  elf_link_fini(&l);
  return err;
}

static const tn_func_row rows[] = {{"target.LinkSharedLibrary", link_shared}};

int elf_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
