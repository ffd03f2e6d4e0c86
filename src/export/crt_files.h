/* The runtime for microcontrollers and the headers of generated C, as files: part of the library,
   so that archives can carry them and hosts can compile archives without an installed tree.

     include/tvm/runtime/c_runtime_api.h, ...   for -I include
     src/micro/graph.c, ...                     for -I src */
#ifndef TN_EXPORT_CRT_FILES_H_
#define TN_EXPORT_CRT_FILES_H_

#include "export/tar.h"

extern const tar_file crt_files[];
extern const int crt_nfile;

#endif /* TN_EXPORT_CRT_FILES_H_ */
