/* Model Library Format, version 1: a built model as an archive from which firmware is made.

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
#include "tenon/runtime.h"

typedef struct {
  const tn_str *name;    /* of the model: no slashes */
  const tn_str *graph;   /* JSON */
  tn_module *lib;        /* code: modules of kinds "c" and "llvm" */
  const tn_map *params;  /* name -> NDArray */
  const tn_arr *targets; /* of Target */
  const tn_str *relay;   /* text of the program */
} mlf_model;

/** Writes the archive of a model.
 *  @return 0, or -1: UnsupportedInModelLibraryFormatError for code of other kinds, ValueError for a
 *  graph or name that is not well-formed, OSError. No file is written unless all is well. */
TN_API int mlf_export(const mlf_model *m, const char *path);

/** Writes the code of a module and its imports below a folder, which is made when it is not there:
 *  host/src/libN.c and host/lib/libN.o, N counted for each kind.
 *  @param names the paths below the folder, appended as strings; may be NULL
 *  @return 0, or -1: UnsupportedInModelLibraryFormatError before anything is written, OSError */
TN_API int mlf_write_code(tn_module *lib, const char *folder, tn_vec *names);

/** The memory of a graph as a JSON list, indented for metadata.json: one entry for each storage in
 *  the order of first use, with storage_id, size_bytes and, for an argument of the graph,
 *  input_binding. As in all archives of version 1, the size is that of the graph's value whose
 * number is the storage's.
 *  @return 0, or -1 (ValueError naming what the graph lacks) */
TN_API int mlf_memory_map(const char *graph, size_t n, tn_buf *out);

/** "export.ModelLibraryFormat" and what else Python calls; part of the start of the compiler. */
TN_API int mlf_init(void);

#endif /* TN_EXPORT_MODEL_LIBRARY_H_ */
