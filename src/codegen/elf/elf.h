/* A linker for what code generators emit: ELF object files of x86-64 or aarch64 become a shared
   library, without any other program. It does what such files need and no more: no debug sections,
   no thread-local variables, no common symbols, no archives; whatever else occurs is an error.

     object.c  reading and checking object files     machine.c  relocations of the two processors
     link.c    symbols, what each of them needs      write.c    the library
     merge.c   several objects as one

   Of the symbols of several objects a strong definition wins over weak ones. Defined symbols are
   bound inside the library; those that are nowhere defined are left to the process that loads it.
 */
#ifndef TN_CODEGEN_ELF_ELF_H_
#define TN_CODEGEN_ELF_ELF_H_

#include <elf.h>

#include "base/buf.h"
#include "object/functions.h"

/** Parts of the library; sections of the objects are put behind each other in theirs. */
typedef enum {
  ELF_RODATA,
  ELF_TEXT,
  ELF_INIT, /* pointers to constructors */
  ELF_FINI,
  ELF_DATA,
  ELF_BSS,
  ELF_REGIONS,
  ELF_NOWHERE = ELF_REGIONS
} elf_region;

typedef struct {
  elf_region region;
  uint64_t offset; /* in its region */
} elf_place;

/** An object file. Everything that is kept lies inside `bytes`, and was checked. */
typedef struct {
  const char *path;
  tn_buf bytes;
  const Elf64_Ehdr *head;
  const Elf64_Shdr *sections;
  const Elf64_Sym *symbols;
  int nsection, nsymbol;
  int strings; /* section of the symbols' names */
  elf_place *places;
  int32_t *linked; /* symbol -> index in elf_link.symbols, -1 */
} elf_object;

typedef struct {
  const char *name;      /* "" for a local one */
  const elf_object *obj; /* NULL: defined by the process that loads the library */
  const Elf64_Sym *sym;  /* the definition, or what asks for one */
  bool weak, hidden;     /* hidden: not visible outside */
  int32_t got, plt;      /* number of its slot, -1 */
  int32_t dynamic;       /* number in the library's symbol table, 0 */
} elf_symbol;

typedef struct {
  elf_object *objects;
  int nobject;
  uint16_t machine;
  elf_symbol *symbols;
  int32_t nsymbol, cap;
  tn_map *by_name; /* of global symbols; owned */
  uint64_t size[ELF_REGIONS], align[ELF_REGIONS], address[ELF_REGIONS];
  tn_buf content[ELF_REGIONS];
  int32_t ngot, nplt, nrelative; /* slots, and places that hold addresses of the library itself */
  int32_t nabsolute;             /* places that hold addresses of other symbols */
  uint64_t got_address, plt_address;
  tn_buf relocations; /* Elf64_Rela */
} elf_link;

/* ---- object.c ---- */

/** Reads and checks a file. @return 0, or -1 (OSError, ValueError); elf_object_fini in any case */
int elf_object_read(elf_object *o, const char *path);
/** Checks what lies in memory, which is copied. `path` is what messages call it. */
int elf_object_parse(elf_object *o, const char *path, tn_bytes_view content);
void elf_object_fini(elf_object *o);
/** Text in a section of strings; "" for what lies outside. */
const char *elf_text(const elf_object *o, uint32_t section, uint64_t at);

/* ---- link.c ---- */

/** Puts sections into regions and finds the definition of every symbol. */
int elf_resolve(elf_link *l);
/** Joins the global symbols of an object with those of the ones before. */
int elf_add_globals(elf_link *l, elf_object *o);
void elf_link_fini(elf_link *l);
/** The symbol that a relocation of an object refers to, or NULL (ValueError, MemoryError). */
elf_symbol *elf_symbol_of(elf_link *l, elf_object *o, uint32_t index);
/** Calls fn for every relocation of sections that are kept, until it fails. */
int elf_each_relocation(elf_link *l, int (*fn)(elf_link *l, elf_object *o, elf_place at,
                                               const Elf64_Rela *r, elf_symbol *s));
uint64_t elf_address(const elf_link *l, const elf_symbol *s);

/* ---- machine.c ---- */

/** Notes which slots the symbol of a relocation needs. */
int elf_scan(elf_link *l, elf_object *o, elf_place at, const Elf64_Rela *r, elf_symbol *s);
/** Writes the place of a relocation; all addresses are known. */
int elf_apply(elf_link *l, elf_object *o, elf_place at, const Elf64_Rela *r, elf_symbol *s);
/** Bytes of a stub that jumps to where a slot points, and its code. */
uint64_t elf_stub_size(uint16_t machine);
void elf_put_stub(const elf_link *l, tn_buf *out, uint64_t at, uint64_t slot);
void elf_put_rela(elf_link *l, uint64_t at, uint32_t symbol, bool relative, bool slot,
                  int64_t addend);

/* ---- write.c ---- */

/** Writes the library. */
int elf_write(elf_link *l, const char *path);

/* ---- merge.c ---- */

/** One object file of several of the same processor, appended to `out`.
 *  @return 0, or -1: ValueError for what cannot be merged, and where two define one name */
TN_API int elf_merge(const tn_bytes_view *objects, int n, tn_buf *out);

/** "target.LinkSharedLibrary"; part of codegen_init. */
int elf_init(void);

#endif /* TN_CODEGEN_ELF_ELF_H_ */
