/* Relay's text form, version 0.0.5:

     #[version = "0.0.5"]
     def @main(%x: Tensor[(4, 8), float32]) {
       %0 = nn.relu(%x);
       add(%0, 1f)
     }

   Calls get graph temporaries (%0, %1), so sharing survives; what has no notation of its own stands
   in a metadata section (JSON) at the end and is referred to as meta[relay.Constant][0]. What is
   printed with that section reads back to an equal program. */
#ifndef TN_RELAY_TEXT_TEXT_H_
#define TN_RELAY_TEXT_TEXT_H_

#include "relay/relay.h"

/** What stands before the virtual device of a variable or function:
 *  fn (%x {virtual_device_=meta[VirtualDevice][0]}, virtual_device_=meta[VirtualDevice][1]) */
#define RT_DEVICE "virtual_device_"

typedef struct {
  bool version;      /* begin with the version line */
  bool metadata;     /* end with the metadata section */
  tn_func *annotate; /* (expr) -> text put after it instead of its type; may be NULL */
} relay_print_options;

/** The text of an expression, type, function, pattern or module, appended to `out`. 0 or -1. */
TN_API int relay_print(const tn_obj *node, const relay_print_options *opt, tn_buf *out);

/** The module of a text: definitions, or one expression, which becomes @main.
 *  @param name of the text, for messages
 *  @param init module whose definitions are known and kept, or NULL
 *  @param meta map from type key to array of objects, for texts without their metadata section; may
 *  be NULL
 *  @return scope-owned, or NULL: DiagnosticError with all errors, each with its place */
TN_API tn_IRModule *relay_parse(const char *name, const tn_str *text, const tn_IRModule *init,
                                const tn_map *meta);
/** The same for a text that is one expression. */
TN_API relay_expr *relay_parse_expr(const char *name, const tn_str *text, const tn_IRModule *init,
                                    const tn_map *meta);

#endif /* TN_RELAY_TEXT_TEXT_H_ */
