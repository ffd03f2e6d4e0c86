/* The only expansions of a .def table.

   A layer's table holds, for each type, a field list and a row:

     #define TN_FIELDS_Add(F, S) TN_FIELDS_PrimExpr(F, S) \
       F(S, REF, PrimExpr, a, 0, "left operand")          \
       F(S, REF, PrimExpr, b, 0, "right operand, same dtype as a")
     #define TN_EXPR_NODES(N)                                            \
       N(Add, PrimExpr, "tir.Add", NODE, TREE, tn_no_hooks, "a + b")

   F(S, kind, class, name, flags, doc[, default]) is a field of struct S; N(Name, Base, key, kind,
   role, hooks, doc) a type. The class of a container names its elements too: Array(PrimExpr),
   Map(Var, Range); elements of a node that is made from outside are checked (field_class.c). The
   layer's header then says

     TN_NODES_FORWARD(TN_EXPR_NODES)              typedefs of the structs
     TN_NODES_INDEX(TN_EXPR_NODES, TN_TI_BEGIN_IR, expr)     TN_TI_Add, ... and TN_TI_END_expr
     TN_NODES_DECLARE(TN_EXPR_NODES)              structs and  extern const tn_type tn_type_Add

   and one .c file of the layer  TN_NODES_DEFINE(TN_EXPR_NODES, expr_types)  which defines the field
   tables, the tn_type of each row and the list `expr_types` for tn_type_register_table. */
#ifndef TN_OBJECT_NODE_DECL_H_
#define TN_OBJECT_NODE_DECL_H_

#include <stddef.h>

#include "object/object.h"

/* names of the classes of REF fields that are not nodes of a table */
typedef tn_obj tn_Object;
typedef tn_str tn_String;
typedef tn_arr tn_Array;
typedef tn_map tn_Map;
typedef tn_func tn_Function;
typedef tn_shape tn_ShapeTuple;
/* a container whose elements have a class: Array(Var), Map(Var, Range); field_class.c checks them
 */
#define tn_Array(element)  tn_arr
#define tn_Map(key, value) tn_map

/* C type of a field */
#define TN_CTYPE_REF(cls)    tn_##cls *
#define TN_CTYPE_DTYPE(cls)  tn_dtype
#define TN_CTYPE_I64(cls)    int64_t
#define TN_CTYPE_F64(cls)    double
#define TN_CTYPE_BOOL(cls)   bool
#define TN_CTYPE_ENUM(cls)   int32_t
#define TN_CTYPE_DEVICE(cls) tn_device
#define TN_CTYPE_ANY(cls)    tn_any

#define TN_AS_MEMBER(S, kind, cls, name, flags, ...) TN_CTYPE_##kind(cls) name;
#define TN_AS_FIELD(S, kind, cls, name, flags, ...)                                                \
  {#name, (uint16_t)offsetof(tn_##S, name), TN_F_##kind, flags, #cls, __VA_ARGS__},

#define TN_AS_FORWARD(Name, Base, key, kind, role, hooks, doc) typedef struct tn_##Name tn_##Name;
#define TN_AS_INDEX(Name, Base, key, kind, role, hooks, doc)   TN_TI_##Name,
#define TN_AS_STRUCT(Name, Base, key, kind, role, hooks, doc)                                      \
  struct tn_##Name {                                                                               \
    tn_obj hdr;                                                                                    \
    TN_FIELDS_##Name(TN_AS_MEMBER, Name)                                                           \
  };                                                                                               \
  TN_API extern const tn_type tn_type_##Name;

/* an empty field list still needs an element; nfield leaves the sentinel out */
#define TN_AS_TYPE(Name, Base, key_, kind_, role_, hooks_, doc_)                                   \
  static const tn_field tn_fields_of_##Name[] = {TN_FIELDS_##Name(TN_AS_FIELD, Name){0}};          \
  _Static_assert(offsetof(tn_##Name, hdr) == 0 && sizeof(tn_##Name) < 65536,                       \
                 "header first, small struct");                                                    \
  const tn_type tn_type_##Name = {                                                                 \
      .key = key_,                                                                                 \
      .name = #Name,                                                                               \
      .index = TN_TI_##Name,                                                                       \
      .size = sizeof(tn_##Name),                                                                   \
      .base = &tn_type_##Base,                                                                     \
      .fields = tn_fields_of_##Name,                                                               \
      .nfield = sizeof tn_fields_of_##Name / sizeof(tn_field) - 1,                                 \
      .kind = TN_KIND_##kind_,                                                                     \
      .role = TN_EQ_##role_,                                                                       \
      .doc = doc_,                                                                                 \
      .hooks = &hooks_,                                                                            \
  };
#define TN_AS_ITEM(Name, Base, key, kind, role, hooks, doc) &tn_type_##Name,

/* A type that one file keeps to itself (attributes of an operator): its index is given to it when
   it is registered, so that no table of indices has to know it. */
#define TN_AS_LOCAL(Name, Base, key_, kind_, role_, hooks_, doc_)                                  \
  typedef struct {                                                                                 \
    tn_obj hdr;                                                                                    \
    TN_FIELDS_##Name(TN_AS_MEMBER, Name)                                                           \
  } tn_##Name;                                                                                     \
  static const tn_field tn_fields_of_##Name[] = {TN_FIELDS_##Name(TN_AS_FIELD, Name){0}};          \
  static tn_type tn_type_##Name = {                                                                \
      .key = key_,                                                                                 \
      .name = #Name,                                                                               \
      .size = sizeof(tn_##Name),                                                                   \
      .base = &tn_type_##Base,                                                                     \
      .fields = tn_fields_of_##Name,                                                               \
      .nfield = sizeof tn_fields_of_##Name / sizeof(tn_field) - 1,                                 \
      .kind = TN_KIND_##kind_,                                                                     \
      .role = TN_EQ_##role_,                                                                       \
      .doc = doc_,                                                                                 \
      .hooks = &hooks_,                                                                            \
  };

#define TN_NODES_FORWARD(TABLE) TABLE(TN_AS_FORWARD)
#define TN_NODES_INDEX(TABLE, begin, layer)                                                        \
  enum { TN_TI_BEFORE_##layer = (begin)-1, TABLE(TN_AS_INDEX) TN_TI_END_##layer };
#define TN_NODES_DECLARE(TABLE) TABLE(TN_AS_STRUCT)
#define TN_NODES_LOCAL(TABLE)   TABLE(TN_AS_LOCAL)
#define TN_NODES_DEFINE(TABLE, list)                                                               \
  TABLE(TN_AS_TYPE)                                                                                \
  static const tn_type *const list[] = {TABLE(TN_AS_ITEM)};

/** A node with the given fields, owned by the current scope:  TN_NEW(Add, .dtype = d, .a = a, .b =
 * b) */
#define TN_NEW(T, ...)         ((tn_##T *)tn_node_copy(&tn_type_##T, &(tn_##T){__VA_ARGS__}))
/** The same with fields that a caller outside has given: their classes are checked. */
#define TN_NEW_CHECKED(T, ...) ((tn_##T *)tn_node_checked(&tn_type_##T, &(tn_##T){__VA_ARGS__}))
/** The object as a T, or NULL if it is something else. */
#define TN_AS(T, o)            ((tn_##T *)tn_node_as((o), TN_TI_##T))
static inline void *tn_node_as(const void *o, uint32_t index) {
  return o && ((const tn_obj *)o)->type_index == index ? (void *)(uintptr_t)o : NULL;
}
/** Is the object of T or of a type derived from it (also abstract ones)? */
#define TN_IS(T, o) tn_obj_is((o), &tn_type_##T)

#endif /* TN_OBJECT_NODE_DECL_H_ */
