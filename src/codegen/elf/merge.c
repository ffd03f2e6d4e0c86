/* Several object files as one, still relocatable: what a linker does with -r. Every section of
   every object is kept as it is, under its name and behind those of the object before; one symbol
   table holds the local symbols of all, then the global ones, each name once:

     a.o: .text .rela.text .data    b.o: .text .rela.text
   =>
     .text .rela.text .data .text .rela.text .symtab .strtab .shstrtab

   Of several definitions of a weak symbol the first stays; the code of others is there, but nothing
   refers to it. */
#include <string.h>

#include "base/alloc.h"
#include "codegen/elf/elf.h"

typedef struct {
  elf_link link; /* objects, names -> symbols */
  tn_buf locals, globals, names, section_names, headers;
  tn_buf *out;
  int nsection;
} merger;

/* LLVM's list of symbols whose address matters: their old numbers. */
enum { SHT_LLVM_ADDRSIG = 0x6fff4c03 };

/* Sections that the output has its own ones of, or is better without. */
static bool is_dropped(const elf_object *o, int i) {
  const Elf64_Shdr *s = &o->sections[i];
  return i == 0 || s->sh_type == SHT_SYMTAB || s->sh_type == SHT_STRTAB ||
         s->sh_type == SHT_LLVM_ADDRSIG;
}

static int number_sections(merger *m) {
  int n = 1;
  for (int k = 0; k < m->link.nobject; ++k) {
    elf_object *o = &m->link.objects[k];
    for (int i = 0; i < o->nsection; ++i)
      if (!is_dropped(o, i)) o->places[i].offset = (uint64_t)n++; /* its number */
  }
  TN_CHECK(n + 3 < SHN_LORESERVE, ValueError, NULL, "objects to merge: more than %d sections",
           SHN_LORESERVE);
  m->nsection = n;
  return 0;
}

/* ---- symbols ---- */

static uint32_t add_name(tn_buf *names, const char *name) {
  if (!*name) return 0;
  uint32_t at = (uint32_t)names->len;
  tn_buf_put(names, name, strlen(name) + 1);
  return at;
}

static Elf64_Sym moved(merger *m, const elf_object *o, const Elf64_Sym *y) {
  Elf64_Sym s = *y;
  s.st_name = add_name(&m->names, elf_text(o, (uint32_t)o->strings, y->st_name));
  if (y->st_shndx != SHN_UNDEF && y->st_shndx != SHN_ABS)
    s.st_shndx = (uint16_t)o->places[y->st_shndx].offset;
  return s;
}

static int add_locals(merger *m, elf_object *o) {
  for (int i = 1; i < o->nsymbol; ++i) {
    if (ELF64_ST_BIND(o->symbols[i].st_info) != STB_LOCAL) continue;
    Elf64_Sym s = moved(m, o, &o->symbols[i]);
    o->linked[i] = (int32_t)(m->locals.len / sizeof s);
    tn_buf_put(&m->locals, &s, sizeof s);
  }
  return tn_buf_ok(&m->locals);
}

/* The global symbols, as elf_resolve has joined them; `linked` becomes the number in the table. */
static int add_globals(merger *m) {
  int32_t nlocal = (int32_t)(m->locals.len / sizeof(Elf64_Sym));
  for (int32_t i = 0; i < m->link.nsymbol; ++i) {
    const elf_symbol *y = &m->link.symbols[i];
    Elf64_Sym s = *y->sym;
    if (y->obj) s = moved(m, y->obj, y->sym);
    else s.st_name = add_name(&m->names, y->name);
    s.st_info =
        (unsigned char)ELF64_ST_INFO(y->weak ? STB_WEAK : STB_GLOBAL, ELF64_ST_TYPE(s.st_info));
    tn_buf_put(&m->globals, &s, sizeof s);
  }
  for (int k = 0; k < m->link.nobject; ++k) {
    elf_object *o = &m->link.objects[k];
    for (int i = 1; i < o->nsymbol; ++i)
      if (ELF64_ST_BIND(o->symbols[i].st_info) != STB_LOCAL) o->linked[i] += nlocal;
  }
  return tn_buf_ok(&m->globals);
}

/* ---- sections ---- */

static void put_relocations(merger *m, const elf_object *o, const Elf64_Shdr *s) {
  const Elf64_Rela *r = (const Elf64_Rela *)(const void *)(o->bytes.data + s->sh_offset);
  for (uint64_t i = 0; i < s->sh_size / sizeof *r; ++i) {
    Elf64_Rela x = r[i];
    uint32_t symbol = ELF64_R_SYM(x.r_info) ? (uint32_t)o->linked[ELF64_R_SYM(x.r_info)] : 0;
    x.r_info = ELF64_R_INFO((uint64_t)symbol, ELF64_R_TYPE(x.r_info));
    tn_buf_put(m->out, &x, sizeof x);
  }
}

static void put_header(merger *m, Elf64_Shdr h, const char *name) {
  h.sh_name = add_name(&m->section_names, name);
  tn_buf_put(&m->headers, &h, sizeof h);
}

static int put_section(merger *m, const elf_object *o, int i) {
  Elf64_Shdr h = o->sections[i];
  const char *name = elf_text(o, o->head->e_shstrndx, h.sh_name);
  TN_CHECK(h.sh_type != SHT_GROUP && !(h.sh_flags & SHF_GROUP), ValueError, NULL,
           "%s: section %s belongs to a group: such objects cannot be merged", o->path, name);
  uint64_t align = h.sh_addralign > 8 ? h.sh_addralign : 8;
  tn_buf_pad(m->out, '\0', (align - m->out->len % align) % align);
  h.sh_offset = m->out->len;
  if (h.sh_type == SHT_RELA) {
    h.sh_link = (uint32_t)m->nsection;
    TN_CHECK(!is_dropped(o, (int)h.sh_info), ValueError, NULL, "%s: relocations of a table",
             o->path);
    h.sh_info = (uint32_t)o->places[h.sh_info].offset;
    put_relocations(m, o, &o->sections[i]);
  } else {
    bool other = h.sh_link && h.sh_link < (uint32_t)o->nsection;
    if (h.sh_flags & SHF_LINK_ORDER) h.sh_link = other ? (uint32_t)o->places[h.sh_link].offset : 0;
    else
      h.sh_link = other && o->sections[h.sh_link].sh_type == SHT_SYMTAB ? (uint32_t)m->nsection : 0;
    if (h.sh_type != SHT_NOBITS)
      tn_buf_put(m->out, o->bytes.data + o->sections[i].sh_offset, h.sh_size);
  }
  put_header(m, h, name);
  return tn_buf_ok(m->out);
}

/* The symbol table, its names, the names of the sections. */
static void put_tables(merger *m) {
  Elf64_Shdr table = {.sh_type = SHT_SYMTAB,
                      .sh_entsize = sizeof(Elf64_Sym),
                      .sh_addralign = 8,
                      .sh_info = (uint32_t)(m->locals.len / sizeof(Elf64_Sym)),
                      .sh_link = (uint32_t)m->nsection + 1};
  tn_buf_pad(m->out, '\0', (8 - m->out->len % 8) % 8);
  table.sh_offset = m->out->len;
  table.sh_size = m->locals.len + m->globals.len;
  tn_buf_put(m->out, m->locals.data, m->locals.len);
  tn_buf_put(m->out, m->globals.data, m->globals.len);
  put_header(m, table, ".symtab");
  Elf64_Shdr names = {.sh_type = SHT_STRTAB, .sh_addralign = 1, .sh_offset = m->out->len};
  names.sh_size = m->names.len;
  tn_buf_put(m->out, m->names.data, m->names.len);
  put_header(m, names, ".strtab");
  Elf64_Shdr last = {.sh_type = SHT_STRTAB, .sh_addralign = 1, .sh_offset = m->out->len};
  last.sh_size = m->section_names.len + sizeof ".shstrtab";
  put_header(m, last, ".shstrtab");
  tn_buf_put(m->out, m->section_names.data, m->section_names.len);
}

static int put_file(merger *m) {
  Elf64_Shdr none = {0};
  Elf64_Sym first = {0};
  Elf64_Ehdr head = *m->link.objects[0].head;
  tn_buf_putc(&m->names, '\0');
  tn_buf_putc(&m->section_names, '\0');
  tn_buf_put(&m->locals, &first, sizeof first);
  tn_buf_put(&m->headers, &none, sizeof none);
  tn_buf_put(m->out, &head, sizeof head);
  for (int k = 0; k < m->link.nobject; ++k) TN_TRY(add_locals(m, &m->link.objects[k]));
  TN_TRY(add_globals(m));
  for (int k = 0; k < m->link.nobject; ++k) {
    const elf_object *o = &m->link.objects[k];
    for (int i = 0; i < o->nsection; ++i)
      if (!is_dropped(o, i)) TN_TRY(put_section(m, o, i));
  }
  put_tables(m);
  tn_buf_pad(m->out, '\0', (8 - m->out->len % 8) % 8);
  head.e_shoff = m->out->len;
  head.e_shnum = (uint16_t)(m->nsection + 3);
  head.e_shstrndx = (uint16_t)(m->nsection + 2);
  tn_buf_put(m->out, m->headers.data, m->headers.len);
  TN_TRY(tn_buf_ok(&m->names) || tn_buf_ok(&m->section_names) || tn_buf_ok(&m->headers));
  TN_TRY(tn_buf_ok(m->out));
  memcpy(m->out->data, &head, sizeof head);
  return 0;
}

static int merge_all(merger *m, const tn_bytes_view *objects, int n) {
  elf_link *l = &m->link;
  TN_CHECK(n > 0, ValueError, NULL, "expected at least one object file to merge");
  TN_GET(l->objects, tn_alloc_zero((size_t)n, sizeof *l->objects));
  TN_GET(l->by_name, tn_map_new());
  for (int k = 0; k < n; ++k) {
    ++l->nobject;
    TN_TRY(elf_object_parse(&l->objects[k], "compiled code", objects[k]));
    TN_CHECK(l->objects[k].head->e_machine == l->objects[0].head->e_machine, ValueError, NULL,
             "objects to merge hold code of different processors");
    TN_TRY(elf_add_globals(l, &l->objects[k]));
  }
  TN_TRY(number_sections(m));
  return put_file(m);
}

int elf_merge(const tn_bytes_view *objects, int n, tn_buf *out) {
  merger m = {.out = out};
  int err = merge_all(&m, objects, n);
  tn_buf *buffers[] = {&m.locals, &m.globals, &m.names, &m.section_names, &m.headers};
  for (int i = 0; i < TN_COUNT(buffers); ++i) tn_buf_fini(buffers[i]);
  elf_link_fini(&m.link);
  return err;
}
