/* Mistakes in a model that do not keep it from being read: each gives a warning and 0, or with
   `strict` a ValueError and -1. */
#ifndef TN_IMPORT_ONNX_SUSPECT_H_
#define TN_IMPORT_ONNX_SUSPECT_H_

#include "import/onnx/import.h"

enum { ONNX_NEWEST_OPSET = 28 };

/** Operator sets newer than this importer. */
int onnx_suspect_opset(int64_t opset, bool strict);
/** Names that nodes, weights or inputs share. */
int onnx_suspect_names(const onnx_graph *g, bool strict);
/** Shapes given for unknown inputs, or with a wrong rank. @param weights by name
 *  @param what the argument that gives them: "shape", "--input" */
int onnx_suspect_shapes(const onnx_graph *g, const tn_map *shapes, const tn_map *weights,
                        const char *what, bool strict);
/** Weights whose type differs from that of the input with their name. */
int onnx_suspect_weights(const onnx_graph *g, const tn_map *weights, bool strict);
/** Outputs whose type differs from the declared one. @param values expressions by name */
int onnx_suspect_outputs(const onnx_graph *g, const tn_map *values, bool strict);

#endif /* TN_IMPORT_ONNX_SUSPECT_H_ */
