/* The check of serialized protobuf messages that comes before unpacking them.

   protobuf-c recurses into nested messages without a limit and says only that it failed; this pass
   is iterative, limits the depth, and says what is wrong where. After it, unpacking fails for want
   of memory only. */
#include <inttypes.h>

#include "base/error.h"
#include "import/onnx/model.h"

typedef struct {
  const ProtobufCMessageDescriptor
      *type; /* NULL: a message of no known type is not entered, so never */
  size_t end;
} frame;

typedef struct {
  const uint8_t *data;
  size_t pos, end; /* of the innermost message */
} cursor;

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, GROUP = 3, GROUP_END = 4, FIXED32 = 5 };

static int read_varint(cursor *c, const char *what, uint64_t *out) {
  uint64_t v = 0;
  size_t start = c->pos;
  for (int shift = 0; shift < 70; shift += 7) {
    TN_CHECK(c->pos < c->end, ValueError, NULL,
             "cannot parse the protobuf data: truncated in %s at byte %zu", what, start);
    uint8_t b = c->data[c->pos++];
    if (shift < 64) v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) {
      *out = v;
      return 0;
    }
  }
  return TN_RAISE(
      ValueError, NULL,
      "cannot parse the protobuf data: a varint of more than 10 bytes in %s at byte %zu", what,
      start);
}

static int skip(cursor *c, uint64_t n, const char *what) {
  TN_CHECK(n <= c->end - c->pos, ValueError, NULL,
           "cannot parse the protobuf data: %s at byte %zu has a length of %" PRIu64
           " bytes, %zu are left (truncated?)",
           what, c->pos, n, c->end - c->pos);
  c->pos += (size_t)n;
  return 0;
}

/* The wire type values of a field are written with. */
static int natural_wire(ProtobufCType t) {
  switch (t) {
  case PROTOBUF_C_TYPE_SFIXED32:
  case PROTOBUF_C_TYPE_FIXED32:
  case PROTOBUF_C_TYPE_FLOAT: return FIXED32;
  case PROTOBUF_C_TYPE_SFIXED64:
  case PROTOBUF_C_TYPE_FIXED64:
  case PROTOBUF_C_TYPE_DOUBLE: return FIXED64;
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_BYTES:
  case PROTOBUF_C_TYPE_MESSAGE: return BYTES;
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_SINT32:
  case PROTOBUF_C_TYPE_INT64:
  case PROTOBUF_C_TYPE_SINT64:
  case PROTOBUF_C_TYPE_UINT32:
  case PROTOBUF_C_TYPE_UINT64:
  case PROTOBUF_C_TYPE_BOOL:
  case PROTOBUF_C_TYPE_ENUM: return VARINT;
  }
  return BYTES;
}

/* Numbers packed into one field: whole ones only. */
static int check_packed(cursor *c, const ProtobufCFieldDescriptor *f, uint64_t n) {
  cursor in = {c->data, c->pos, 0};
  int wire = natural_wire(f->type);
  TN_TRY(skip(c, n, f->name));
  in.end = c->pos;
  size_t item = wire == FIXED32 ? 4 : 8;
  if (wire != VARINT) {
    TN_CHECK(n % item == 0, ValueError, NULL,
             "cannot parse the protobuf data: %s at byte %zu has a length of %" PRIu64
             ", not a multiple of %zu",
             f->name, in.pos, n, item);
    return 0;
  }
  for (uint64_t v; in.pos < in.end;) TN_TRY(read_varint(&in, f->name, &v));
  return 0;
}

static int check_wire_type(const ProtobufCFieldDescriptor *f, int wire, size_t at) {
  TN_CHECK(wire == VARINT || wire == FIXED64 || wire == BYTES || wire == FIXED32, ValueError, NULL,
           "cannot parse the protobuf data: %s of wire type %d at byte %zu",
           f ? f->name : "a field", wire, at);
  if (!f || wire == natural_wire(f->type)) return 0;
  bool packed = wire == BYTES && f->label == PROTOBUF_C_LABEL_REPEATED;
  TN_CHECK(packed, ValueError, NULL,
           "cannot parse the protobuf data: %s at byte %zu has wire type %d, expected %d", f->name,
           at, wire, natural_wire(f->type));
  return 0;
}

/* One field's value. @param enter where a nested message begins, if the field is one */
static int check_value(cursor *c, const ProtobufCFieldDescriptor *f, int wire, bool *enter,
                       uint64_t *length) {
  const char *what = f ? f->name : "a field";
  uint64_t v;
  *enter = false;
  switch (wire) {
  case VARINT: return read_varint(c, what, &v);
  case FIXED64: return skip(c, 8, what);
  case FIXED32: return skip(c, 4, what);
  default: break;
  }
  TN_TRY(read_varint(c, what, length));
  if (!f) return skip(c, *length, what);
  if (natural_wire(f->type) != BYTES) return check_packed(c, f, *length);
  *enter = f->type == PROTOBUF_C_TYPE_MESSAGE;
  if (!*enter) return skip(c, *length, what);
  cursor peek = *c;
  return skip(&peek, *length, what);
}

int onnx_check_wire(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t n) {
  frame stack[ONNX_MAX_DEPTH];
  int depth = 1;
  cursor c = {data, 0, n};
  stack[0] = (frame){type, n};
  while (depth > 0) {
    const frame *top = &stack[depth - 1];
    c.end = top->end;
    if (c.pos == c.end) {
      --depth;
      continue;
    }
    size_t at = c.pos;
    uint64_t key, length = 0;
    bool enter;
    TN_TRY(read_varint(&c, "a field's number", &key));
    TN_CHECK(key >> 3 > 0 && key >> 3 < 1u << 29, ValueError, NULL,
             "cannot parse the protobuf data: field number %" PRIu64 " at byte %zu", key >> 3, at);
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(top->type, (unsigned)(key >> 3));
    TN_TRY(check_wire_type(f, (int)(key & 7), at));
    TN_TRY(check_value(&c, f, (int)(key & 7), &enter, &length));
    if (!enter) continue;
    TN_CHECK(depth < ONNX_MAX_DEPTH, ValueError, NULL,
             "cannot parse the protobuf data: messages nested more than %d deep (%s at byte %zu)",
             ONNX_MAX_DEPTH, f->name, at);
    stack[depth++] = (frame){f->descriptor, c.pos + (size_t)length};
  }
  return 0;
}
