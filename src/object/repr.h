/* Text of any object for people: [1, 2], {"k": 3}, tir.Add(a=x, b=y). Long and deep objects are cut
   short by "...". Layers above put their own printers in for their types. */
#ifndef TN_OBJECT_REPR_H_
#define TN_OBJECT_REPR_H_

#include "object/containers.h"

typedef struct tn_repr tn_repr;

/** Prints `o` into the text under way with the functions below; 0 or -1. */
typedef int (*tn_repr_fn)(tn_repr *r, const tn_obj *o);
/** Takes over the text of objects of one type (any thread, before they are printed). */
TN_API int tn_repr_set(const tn_type *type, tn_repr_fn fn);
/** What tn_repr_set was last given for the type, or NULL. */
TN_API tn_repr_fn tn_repr_get(const tn_type *type);

/** Where to write. */
TN_API tn_buf *tn_repr_out(tn_repr *r);
/** A value inside the one being printed. */
TN_API int tn_repr_any(tn_repr *r, tn_any value);

/** The text of a value, written to `out`. */
TN_API int tn_repr_print(tn_buf *out, tn_any value);
/** The same with a line of ^^^ below the place that `path` leads to; the line is cut around it. */
TN_API int tn_repr_print_marked(tn_buf *out, tn_any value, const tn_ObjectPath *path);

/** Takes over how tn_assert_equal shows a value with a place marked: writes the text and returns 1,
    or returns 0 for values it does not print, or -1. */
typedef int (*tn_place_printer)(tn_buf *out, tn_any root, const tn_ObjectPath *place);
TN_API void tn_set_place_printer(tn_place_printer print);

int tn_repr_init(void);

#endif /* TN_OBJECT_REPR_H_ */
