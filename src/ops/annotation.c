/* Marks in programs that passes read: their value is their argument's.

     annotation.compiler_begin(%x, compiler="dnnl")      what follows is for another code generator
     annotation.stop_fusion(%x)                          is not fused with what reads it
     on_device(%x, virtual_device=...)                   is computed on a device
     debug(%x, debug_func="show")                        the interpreter calls a global function with it
     device_copy(%x, src_virtual_device=..., dst_virtual_device=...)   goes to another device

   Those of devices are what PlanDevices reads and makes. */
#include "ops/ops.h"

#define TN_FIELDS_CompilerAttrs(F, S) F(S, REF, String, compiler, 0, "name of the code generator")
#define TN_FIELDS_OnDeviceAttrs(F, S)                                                              \
  F(S, REF, Object, virtual_device, 0, "the device (VirtualDevice)")                               \
  F(S, BOOL, , constrain_result, 0, "is the value of the annotation there, too?", "False")         \
  F(S, BOOL, , constrain_body, 0, "is the argument computed there?", "True")
#define TN_FIELDS_DeviceCopyAttrs(F, S)                                                            \
  F(S, REF, Object, src_virtual_device, 0, "where the argument is (VirtualDevice)")                \
  F(S, REF, Object, dst_virtual_device, 0, "where the result is (VirtualDevice)")
#define TN_FIELDS_DebugAttrs(F, S)                                                                 \
  F(S, REF, String, debug_func, 0, "name of a global function; empty: none", "\"\"")
#define ANNOTATION_ATTRS(N)                                                                        \
  N(CompilerAttrs, Attrs, "relay.attrs.CompilerAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of annotation.compiler_begin and compiler_end")                                    \
  N(DebugAttrs, Attrs, "relay.attrs.DebugAttrs", NODE, TREE, tn_no_hooks, "attributes of debug")   \
  N(OnDeviceAttrs, Attrs, "relay.attrs.OnDeviceAttrs", NODE, TREE, tn_no_hooks,                    \
    "attributes of on_device")                                                                     \
  N(DeviceCopyAttrs, Attrs, "relay.attrs.DeviceCopyAttrs", NODE, TREE, tn_no_hooks,                \
    "attributes of device_copy")
TN_NODES_LOCAL(ANNOTATION_ATTRS)

/* The type of the argument, also of a tuple. */
static int relation(relay_rel *r) {
  if (TN_AS(IncompleteType, r->types[0])) return RELAY_WAIT;
  return relay_rel_result(r, r->types[0]);
}

static tn_expr *same(const relay_op_row *row, const void *attrs, tn_expr *const *args) {
  (void)row, (void)attrs;
  return args[0];
}

#define MARK(name_, attrs_, ...)                                                                   \
  {                                                                                                \
    .name = name_, .inputs = "data", .attrs = attrs_, .level = 10, .pattern = RELAY_OPAQUE,        \
    .flags = RELAY_NON_COMPUTATIONAL, .rel_name = "Annotation", .rel = relation,                   \
    .compute = ops_elementwise, .element = same, .shape = relay_shape_same, .grads = "(%d,)",      \
    .doc = __VA_ARGS__                                                                             \
  }

static const relay_op_row rows[] = {
    MARK("annotation.compiler_begin", &tn_type_CompilerAttrs,
         "what a code generator of its own gets from outside"),
    MARK("annotation.compiler_end", &tn_type_CompilerAttrs,
         "what a code generator of its own computes"),
    MARK("annotation.stop_fusion", NULL, "data, not fused with what reads it",
         .precision = RELAY_FOLLOWS),
    MARK("on_device", &tn_type_OnDeviceAttrs, "data, computed on a device"),
    MARK("device_copy", &tn_type_DeviceCopyAttrs, "data, copied from a device to another"),
    {.name = "debug",
     .inputs = "data",
     .attrs = &tn_type_DebugAttrs,
     .level = 10,
     .pattern = RELAY_OPAQUE,
     .rel_name = "Debug",
     .rel = relation,
     .compute = ops_elementwise,
     .element = same,
     .shape = relay_shape_same,
     .grads = "(%d,)",
     .doc = "data, which the interpreter shows to a function"},
    MARK("annotation.checkpoint", NULL, "data, computed anew for its gradient"),
};

RELAY_FAMILY(annotation, ANNOTATION_ATTRS)
