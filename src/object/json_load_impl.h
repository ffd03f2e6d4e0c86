/* State of a load, shared by json_load.c (the file) and json_node.c (one node of it). */
#ifndef TN_OBJECT_JSON_LOAD_IMPL_H_
#define TN_OBJECT_JSON_LOAD_IMPL_H_

#include "object/json_impl.h"

enum { TN_LOAD_NEW, TN_LOAD_OPEN, TN_LOAD_MADE };                     /* states of a node */
enum { TN_LOAD_OBJECT, TN_LOAD_NONE, TN_LOAD_DTYPE, TN_LOAD_DEVICE }; /* what a node stands for */
enum {
  TN_LOAD_ABSENT = -1, /* in place of a child's number: the file has none for the field, */
  TN_LOAD_TEXT = -2
};                          /* or the text itself */
enum { TN_LOAD_KEY = 128 }; /* longer type keys do not exist */

/* precision and text for "%.*s" in a message */
#define TN_LOAD_SHOWN(view) (int)((view).size < 60 ? (view).size : 60), (const char *)(view).data

typedef struct {
  const tn_type *type; /* of an object */
  int64_t first_ref;   /* children in loader.refs: one for each field, or those of `data` */
  int32_t nref, next;  /* next: the child to be made before this one */
  tn_json_at attrs;
  uint8_t state, form;
  tn_any value; /* owned */
} tn_load_node;

typedef struct {
  tn_json json;
  int version;
  tn_json_at *at; /* position of each node */
  tn_load_node *nodes;
  int64_t n;
  int32_t *refs;
  int64_t nref, ref_cap;
  int32_t *stack; /* nodes whose children are being made */
  int64_t depth, stack_cap;
  tn_json_at *blob_at;
  tn_obj **blobs; /* owned, NULL until asked for */
  int64_t nblob;
} tn_loader;

/** Text of a string, borrowed for the load. */
int tn_load_text(const tn_loader *s, tn_json_at x, tn_bytes_view *out);
/** The attribute of node i for a field, 0 when it is absent. ValueError when it is not a string. */
int tn_load_attr(const tn_loader *s, int64_t i, const tn_field *f, tn_json_at *out);
/** Makes node i, whose children are made. */
int tn_load_make(tn_loader *s, int64_t i);

#endif /* TN_OBJECT_JSON_LOAD_IMPL_H_ */
