/* State of a print, shared by printer*.c.

   Documents are built top down in frames. A frame collects the statements of one indented body and
   remembers which objects (variables, buffers) got a name in it; they lose it when the frame is
   left. */
#ifndef TN_TIR_SCRIPT_PRINTER_IMPL_H_
#define TN_TIR_SCRIPT_PRINTER_IMPL_H_

#include "base/arena.h"
#include "base/pmap.h"
#include "object/functions.h"
#include "tir/script/printer.h"

typedef struct frame frame;
struct frame {
  frame *up;
  const tn_obj *node;         /* the program node whose body this is */
  const tn_For *const *loops; /* the loops whose body this is, where one line stands for several */
  int nloops;
  bool concise;   /* the statement that is being printed is the last of its body: bindings need no
                     `with` */
  tn_vec stmts;   /* StmtDoc */
  tn_vec defined; /* objects named here */
};

typedef struct {
  const tn_PrinterConfig *cfg;
  tn_arena arena;
  frame *top;
  tn_pmap docs;              /* object -> ExprDoc that names it */
  tn_map *names;             /* name -> number of times taken; scope-owned */
  tn_pmap lowest;            /* free variable or buffer -> node whose frame encloses all its uses */
  tn_pmap declared;          /* variable or buffer that has a name before a statement binds it */
  tn_pmap binders;           /* variable or buffer -> how many statements of its function bind it */
  tn_pmap loops;             /* loop variable -> For around the current statement */
  tn_map *meta;              /* type key -> array of objects printed as metadata, NULL when none */
  tn_pmap marks;             /* object -> comment (annotate) */
  tn_pmap underlined;        /* objects to underline */
  size_t head;               /* bytes of the text in front of the document */
  const tn_IRModule *module; /* that is printed, NULL: none */
  bool uses_ir, uses_tir, uses_module;
  bool
      fragment; /* a part of a program is printed: it is not read back, and says only what counts */
  int depth;
} printer;

enum { PRINT_DEPTH_MAX = 2000 };

/** A document without places. */
#define TN_DOC(T, ...) TN_NEW(T, .source_paths = no_paths(), __VA_ARGS__)
/** The empty array; one object for all documents of a print, owned by its scope. */
tn_arr *no_paths(void);

/* ---- frames and names (printer.c) ---- */
/** NULL with MemoryError. Frames live in the printer's arena: an error may leave them open. */
frame *open_frame(printer *p, const tn_obj *node);
void close_frame(printer *p, frame *f);
int emit(printer *p, const void *stmt_doc);
tn_arr *frame_stmts(frame *f);
/** Gives obj a unique name in frame f and returns it. */
tn_ExprDoc *define_name(printer *p, frame *f, const void *obj, const char *hint);
/** The name under which a statement in frame f binds obj: its own when it has been declared,
 * because it is used above the statement or bound by several; else a new one. */
tn_ExprDoc *bound_name(printer *p, frame *f, const void *obj, const char *hint);
/** Remembers that obj was declared by its own statement. */
int note_declared(printer *p, const void *obj);
/** How many statements bind obj; 2 stands for more. */
int64_t count_binders(const printer *p, const void *obj);
/** Makes `doc` what obj prints as until f is left. */
int define_doc(printer *p, frame *f, const void *obj, const tn_ExprDoc *doc);
bool is_defined(const printer *p, const void *obj);
/** The frame where a free object is to be declared: the lowest around all its uses. */
frame *frame_for(printer *p, const void *obj);
/** Finds for every object used without a definition the lowest node around its uses. */
int find_free(printer *p, const tn_obj *root);

/* ---- documents (printer.c) ---- */
tn_ExprDoc *id_doc(const char *name);
tn_ExprDoc *attr_doc(tn_ExprDoc *value, const char *name);
tn_ExprDoc *call_doc(tn_ExprDoc *callee, const tn_vec *args);
tn_ExprDoc *call_kw_doc(tn_ExprDoc *callee, const tn_vec *args, const tn_vec *keys,
                        const tn_vec *values);
tn_ExprDoc *call1_doc(tn_ExprDoc *callee, const void *arg);
tn_ExprDoc *str_doc(const char *text);
tn_ExprDoc *int_doc(int64_t value);
tn_ExprDoc *bool_doc(bool value);
tn_ExprDoc *dtype_doc(tn_dtype t);
tn_ExprDoc *tuple_doc(const tn_vec *elements);
tn_ExprDoc *list_doc(const tn_vec *elements);
/** T.name */
tn_ExprDoc *tir_doc(printer *p, const char *name);
/** The place of `obj` in the text is marked when the settings ask for it. Passes NULL and doc
 * through. */
tn_Doc *noted(printer *p, const void *obj, const void *doc);

/* ---- expressions (print_expr.c) ---- */
tn_ExprDoc *print_expr(printer *p, const void *obj);
tn_ExprDoc *print_value(printer *p, const tn_any *value);
tn_ExprDoc *print_type(printer *p, const tn_obj *type);
tn_ExprDoc *var_creation(printer *p, const tn_Var *v);
/** The name of a variable; one that has none is declared first, where all its uses see it. */
tn_ExprDoc *print_var(printer *p, const tn_Var *v);
int print_exprs(printer *p, const tn_arr *items, tn_vec *out);
/** All elements of a tensor in order as a list of numbers. */
tn_ExprDoc *print_elements(printer *p, const tn_NDArray *data);
tn_ExprDoc *print_array(printer *p, const tn_arr *items, bool as_tuple);

/* ---- buffers (print_buffer.c) ---- */
bool is_simple_buffer(const tn_Buffer *b);
/** `head`(args..., shape, dtype, strides=...): the declaration of b. Variables it brings are named
 * in f. */
tn_ExprDoc *buffer_decl(printer *p, frame *f, const tn_Buffer *b, const char *method,
                        const void *first_arg);
/** Are the pointer of b and its type told by b alone? */
bool owns_data(const tn_Buffer *b);
/** T.decl_buffer(shape, dtype) without data, which allocates all of b too. */
tn_ExprDoc *whole_buffer_decl(printer *p, frame *f, const tn_Buffer *b);
tn_ExprDoc *buffer_annotation(printer *p, frame *f, const tn_Buffer *b);
tn_ExprDoc *define_buffer(printer *p, frame *f, const tn_Buffer *b);
/** The name under which a statement in frame f declares or allocates b; see bound_name. */
tn_ExprDoc *bound_buffer(printer *p, frame *f, const tn_Buffer *b);
tn_ExprDoc *print_buffer(printer *p, const tn_Buffer *b);
tn_ExprDoc *print_indexed(printer *p, const tn_Buffer *b, const tn_arr *indices);
tn_ExprDoc *print_region(printer *p, const tn_BufferRegion *r);

/* ---- statements (print_stmt.c, print_block.c) ---- */
int print_body(printer *p, frame *f, const tn_obj *stmt);
int print_stmt(printer *p, const tn_obj *stmt);
int print_block_realize(printer *p, const tn_BlockRealize *r);
/** `B = T.match_buffer(A[0:8], ...)` */
int print_match(printer *p, frame *f, const tn_MatchBufferRegion *m);
int print_block(printer *p, const tn_Block *b, const tn_BlockRealize *realize);

/* ---- functions (print_func.c) ---- */
tn_Doc *print_prim_func(printer *p, const tn_PrimFunc *f, const char *name);
tn_Doc *print_module(printer *p, const tn_IRModule *m);

#endif /* TN_TIR_SCRIPT_PRINTER_IMPL_H_ */
