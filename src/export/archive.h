/* Reading archives in Model Library Format, versions 1 to 7, of this and other compilers: what a
   model is called and made of, and how a host runs it. The bytes are hostile until they have been
   read; to run a model is to trust it, since its code is compiled and called. */
#ifndef TN_EXPORT_ARCHIVE_H_
#define TN_EXPORT_ARCHIVE_H_

#include "base/json.h"
#include "base/vec.h"
#include "export/measure.h"
#include "export/tar.h"
#include "tenon/runtime.h"

typedef struct {
  tar_file *files;
  int64_t nfile;
  tn_json json; /* metadata.json */
  int64_t version;
} mlf_archive;

/** Reads the table of an archive; names are owned by the scope, data stay where they are.
 *  @param out to be ended with mlf_archive_fini, also after an error
 *  @return 0, or -1: ValueError for what is not an archive of a known version, MemoryError */
TN_API int mlf_archive_read(mlf_archive *out, const void *data, size_t size);
TN_API void mlf_archive_fini(mlf_archive *a);

/** A model of an archive; scope-owned but for what lies in the archive. */
typedef struct {
  tn_str *name;
  tn_json_at metadata;                /* its object */
  bool aot, c_interface;              /* else for the graph executor; else packed */
  bool workspace_io;                  /* inputs and outputs lie in pools: map functions tell */
  tn_bytes_view graph, params;        /* empty where there is none */
  tn_arr *inputs, *outputs;           /* of ahead-of-time programs: names */
  tn_arr *input_types, *output_types; /* TensorType */
  tn_arr *pools;                      /* AllocatedPoolInfo: memory that the caller gives */
} mlf_stored;

/** Finds a model. @param name NULL: the only one
 *  @return 0, or -1: ValueError naming what is missing, or the models there are */
TN_API int mlf_archive_model(const mlf_archive *a, const char *name, mlf_stored *out);

/** Does `name` belong to the code of a model: is it one of codegen/host/FOLDER/...ENDING? */
bool mlf_is_code_of(const mlf_archive *a, const mlf_stored *m, const char *folder,
                    const char *ending, const char *name);

/** Compiles the code of a model with $CC, else cc, and makes a factory of executors of it, as a
 *  library that `tenon compile` wrote is one; the model is called "default".
 *  @return scope-owned, or NULL: ValueError with what the compiler says, OSError */
TN_API tn_module *mlf_archive_load(const mlf_archive *a, const mlf_stored *m);

/** What the C of an ahead-of-time model takes when a compiler makes it, from NAME_run on.
 *  @return as c_measure; ValueError for models that are for the graph executor or have no source */
TN_API int mlf_archive_measure(const mlf_archive *a, const mlf_stored *m, const char *compiler,
                               c_measured *out);

/** mlf_archive_load of a file. */
TN_API tn_module *mlf_load(const char *path, const char *model);

/** "export.ModelLibraryFormatLoad"; part of the start of the compiler. */
int mlf_load_init(void);

#endif /* TN_EXPORT_ARCHIVE_H_ */
