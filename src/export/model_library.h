/* Model Library Format: a built model as an archive from which firmware is made. Version 1:

     metadata.json                     what the model is called, its memory and targets
     codegen/host/src/lib0.c, ...      C source, for targets of kind "c"
     codegen/host/lib/lib0.o, ...      object files, for targets of kind "llvm"
     parameters/NAME.params            constants, as tn_params_save writes them
     runtime-config/graph/graph.json   the graph
     relay.txt                         the program as it was given

   With the environment variable SOURCE_DATE_EPOCH (seconds since 1970) equal models give equal
   bytes. */
#ifndef TN_EXPORT_MODEL_LIBRARY_H_
#define TN_EXPORT_MODEL_LIBRARY_H_

#include "base/buf.h"
#include "base/vec.h"
#include "driver/executor.h"
#include "export/files.h"
#include "export/measure.h"
#include "tenon/runtime.h"

typedef struct {
  const tn_str *name;    /* of the model: no slashes */
  const tn_str *graph;   /* JSON */
  tn_module *lib;        /* code: modules of kinds "c" and "llvm" */
  const tn_map *params;  /* name -> NDArray */
  const tn_arr *targets; /* of Target */
  const tn_str *relay;   /* text of the program */

  /* version 7 only */
  const tn_map *functions;               /* name -> FunctionInfo */
  const tn_ExecutorCodegenMetadata *aot; /* NULL: for the graph executor */
  bool crt;                              /* with the runtime for microcontrollers */
  const char *compiler;                  /* NULL, or what the code ahead of time is measured with */
  c_measured measured;                   /* what it takes, once `outside` is there */
} mlf_model;

/** Writes the archive of a model.
 *  @return 0, or -1: UnsupportedInModelLibraryFormatError for code of other kinds, ValueError for a
 *  graph or name that is not well-formed, OSError. No file is written unless all is well. */
TN_API int mlf_export(const mlf_model *m, const char *path);

/** Writes an archive of version 7, which may hold several models:

     metadata.json                          all models by name
     codegen/host/src/NAME_lib0.c, ...      C source
     codegen/host/lib/NAME_lib0.o, ...      object files
     codegen/host/include/tvmgen_NAME.h     the C interface of ahead-of-time programs that have one
     parameters/NAME.params                 constants that are not part of the code
     executor-config/graph/NAME.graph       the graph, where there is one
     src/NAME.relay                         the program as it was given
     runtime/, templates/                   for ahead-of-time programs of microcontrollers: source
                                            of the runtime, files that firmware fills in

 Models that name a compiler are measured with it: metadata.json tells what their code takes.

 *  @return as mlf_export; ValueError for two models of one name, and for code that the compiler
 *  refuses */
TN_API int mlf_export_models(mlf_model *models, int64_t n, const char *path);

/** Adds code and parameters of a model to an archive; `folder` is for files that code generators
 * write. */
int mlf_add_code(tn_module *lib, const char *prefix, const char *folder, mlf_files *l);
int mlf_add_params(const mlf_model *m, mlf_files *l);

/** Writes the code of a module and its imports below a folder, which is made when it is not there:
 *  host/src/PREFIXlibN.c and host/lib/PREFIXlibN.o, N counted for each kind.
 *  @param names the paths below the folder, appended as strings; may be NULL
 *  @return 0, or -1: UnsupportedInModelLibraryFormatError before anything is written, OSError */
TN_API int mlf_write_code(tn_module *lib, const char *folder, const char *prefix, tn_vec *names);

/** The memory of a graph as a JSON list, indented for metadata.json: one entry for each storage in
 *  the order of first use, with storage_id, size_bytes and, for an argument of the graph,
 *  input_binding. As in all archives of version 1, the size is that of the graph's value whose
 * number is the storage's.
 *  @return 0, or -1 (ValueError naming what the graph lacks) */
TN_API int mlf_memory_map(const char *graph, size_t n, tn_buf *out);

/** "export.ModelLibraryFormat" and what else Python calls; part of the start of the compiler. */
TN_API int mlf_init(void);
int mlf_version7_init(void);
int mlf_operator_init(void);

#endif /* TN_EXPORT_MODEL_LIBRARY_H_ */
