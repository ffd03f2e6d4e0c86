/* What the host language needs of files and temporary folders, so that it writes as the library
   does (base/file.h). */
#include "base/file.h"

#include "base/folder.h"
#include "object/functions.h"
#include "runtime/files.h"

/* runtime.WriteFile(path, text or bytes, flags): TN_FILE_PROGRAM ... of base/file.h */
static int write_file(TN_ARGS) {
  const char *path;
  tn_bytes_view data;
  int64_t flags;
  TN_NARGS("runtime.WriteFile", 3);
  TN_TRY(tn_any_to_cstr(&args[0], &path));
  TN_TRY(tn_any_to_bytes(&args[1], &data));
  TN_TRY(tn_any_to_int(&args[2], &flags));
  return tn_file_write_as(path, data.data, data.size, (int)flags);
}

/* runtime.MakeTempFolder() -> path. The caller removes it; if the process is killed before that, a
   later one does. Its lock lasts as long as the process. */
static int make_temp_folder(TN_ARGS) {
  tn_temp_folder f = {.lock = -1};
  TN_NARGS("runtime.MakeTempFolder", 0);
  (void)args;
  TN_TRY(tn_temp_folder_make(&f));
  tn_str *path = tn_buf_str(&f.path);
  if (!path) tn_temp_folder_fini(&f);
  tn_buf_fini(&f.path);
  return tn_ret_owned(ret, path);
}

static const tn_func_row rows[] = {
    {"runtime.WriteFile", write_file},
    {"runtime.MakeTempFolder", make_temp_folder},
};

int tn_files_init(void) { return tn_func_register_rows(rows, TN_COUNT(rows)); }
