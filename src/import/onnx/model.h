/* ONNX models as read from a file or from memory: the protobuf messages, checked before they are
   unpacked, and the tensors in them. Nothing here knows operators.

   The bytes are hostile until proven otherwise: nesting is limited, every length is compared with
   what is left, a tensor's size is compared with its data before memory is taken, and external data
   is read from regular files below the model's own folder only. */
#ifndef TN_IMPORT_ONNX_MODEL_H_
#define TN_IMPORT_ONNX_MODEL_H_

#include <onnx.pb-c.h> /* generated from onnx.proto */

#include "tenon/runtime.h"

typedef Onnx__ModelProto onnx_model_proto;
typedef Onnx__GraphProto onnx_graph;
typedef Onnx__NodeProto onnx_node;
typedef Onnx__AttributeProto onnx_attr;
typedef Onnx__TensorProto onnx_tensor;
typedef Onnx__SparseTensorProto onnx_sparse;
typedef Onnx__TypeProto onnx_type;
typedef Onnx__ValueInfoProto onnx_value;
typedef Onnx__FunctionProto onnx_function;

/** Memory of a model's messages. Large data in it is that of tensors, which may outlive the model. */
typedef struct onnx_memory onnx_memory;

typedef struct {
  onnx_model_proto *proto; /* owned */
  onnx_memory *memory;     /* owned */
  char *path;              /* owned; "<memory>" when the model was not read from a file */
  char *folder; /* owned, absolute and without links; NULL: no external data can be read */
} onnx_model;

/** Reads a model file. The caller ends it with onnx_model_fini, also after an error.
 *  OSError when it cannot be read, ValueError when it is not an ONNX model, MemoryError. */
TN_API int onnx_model_read(onnx_model *m, const char *path);
/** The same from `n` bytes in memory, which are not needed afterwards. */
TN_API int onnx_model_parse(onnx_model *m, const void *data, size_t n);
TN_API void onnx_model_fini(onnx_model *m);

/** Version of the operator set of `domain` ("" is ai.onnx) that the model was written for; 0 when
 * it names none. */
TN_API int64_t onnx_opset(const onnx_model_proto *p, const char *domain);

/** Goes once over a serialized message without unpacking it: ValueError naming the field and the
 * byte offset when a length, a varint or a wire type is wrong, or messages are nested deeper than
 * ONNX_MAX_DEPTH. */
TN_API int onnx_check_wire(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t n);
enum { ONNX_MAX_DEPTH = 200 };

/* ---- tensors ---- */

/** Element type of an ONNX number (TensorProto.DataType). ValueError naming `what` for types that
 * are undefined, not numbers (string, complex), or unknown. */
TN_API int onnx_dtype(int32_t type, const char *what, tn_dtype *out);
/** The ONNX number of an element type, 0 when there is none. */
TN_API int32_t onnx_dtype_number(tn_dtype t);
/** A tensor's content on the CPU, wherever the model keeps it. Scope-owned. ValueError naming the
 * tensor. */
TN_API tn_tensor *onnx_read_tensor(const onnx_model *m, const onnx_tensor *t);
/** The tensor of bytes whose memory `data` of a message is; NULL for what is not large. Borrowed. */
tn_tensor *onnx_memory_tensor(const onnx_model *m, const void *data);
/** A sparse tensor made dense. */
TN_API tn_tensor *onnx_read_sparse(const onnx_model *m, const onnx_sparse *t);
/** Opens the file of external data that `t` names and sees that it holds `want` bytes there: a file
 * descriptor and where the bytes begin, or -1. */
TN_API int onnx_open_external(const onnx_model *m, const onnx_tensor *t, const char *name,
                              uint64_t want, uint64_t *offset);
/** Fills `dst` from such a file and closes it, whatever happens. */
TN_API int onnx_read_external(int fd, uint64_t offset, const char *name, DLTensor *dst);

#endif /* TN_IMPORT_ONNX_MODEL_H_ */
