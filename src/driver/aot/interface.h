/* The C interface of an ahead-of-time program: a struct with a pointer for each input, one for each
   output, one for each pool of memory that the caller gives, and the function tvmgen_NAME_run. */
#ifndef TN_DRIVER_AOT_INTERFACE_H_
#define TN_DRIVER_AOT_INTERFACE_H_

#include "base/buf.h"
#include "tenon/runtime.h"

/** What the header says. Arrays are of String, sizes of int (bytes) beside them. */
typedef struct {
  const char *name; /* of the model */
  const tn_arr *inputs, *input_sizes, *outputs, *output_sizes;
  const tn_arr *pools;   /* of AllocatedPoolInfo; those that are internal are not shown */
  const tn_arr *devices; /* names */
  int64_t workspace;     /* bytes that TVMBackendAllocWorkspace must be able to give */
  const tn_map *places;  /* name of an input or output -> PoolAllocation; NULL or empty: they are
                            the caller's */
  bool maps_io;          /* they lie in pools, though it is not known where */
} aot_interface;

/** Appends a name as an identifier of C: underscores for what one cannot have, one in front of a
 * digit, one behind a word of the language. */
TN_API void aot_put_identifier(tn_buf *out, const char *name);

/** Appends the structs, each with the indentation of C code. ValueError for two names that are one
 * as identifiers. */
int aot_put_structs(const aot_interface *x, tn_buf *out);
/** Appends the head of tvmgen_NAME_run, without what ends it. */
void aot_put_run_head(const aot_interface *x, tn_buf *out);
/** Appends the text of tvmgen_NAME.h. */
TN_API int aot_put_header(const aot_interface *x, tn_buf *out);

/** Do inputs and outputs lie in pools? Then run takes none of them, and NAME_map_inputs and
 * NAME_map_outputs tell where they are. */
bool aot_maps_io(const aot_interface *x);
/** Appends the head of tvmgen_NAME_map_inputs, or ..._outputs, without what ends it. */
void aot_put_map_head(const aot_interface *x, const char *which, tn_buf *out);

/** Has the caller to give memory? */
bool aot_has_pools(const aot_interface *x);

#endif /* TN_DRIVER_AOT_INTERFACE_H_ */
