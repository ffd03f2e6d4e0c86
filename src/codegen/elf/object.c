/* Object files: every offset, size and index in them is checked before it is used. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "codegen/elf/elf.h"

static int bad(const elf_object *o, const char *what) {
  return TN_RAISE(ValueError, NULL, "%s: not an object file that can be linked: %s", o->path, what);
}

static bool fits(const elf_object *o, uint64_t offset, uint64_t size) {
  return offset <= o->bytes.len && size <= o->bytes.len - offset;
}

static int check_head(elf_object *o) {
  if (o->bytes.len < sizeof(Elf64_Ehdr)) return bad(o, "it is too short");
  const Elf64_Ehdr *h = o->head = (const Elf64_Ehdr *)(const void *)o->bytes.data;
  if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0) return bad(o, "it is not an ELF file");
  if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
    return bad(o, "expected 64 bits, least significant byte first");
  if (h->e_type != ET_REL) return bad(o, "it is linked already");
  if (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64)
    return bad(o, "expected code of x86-64 or aarch64; for others install a linker (gcc)");
  if (h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff % 8 ||
      !fits(o, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr)))
    return bad(o, "its section table is broken");
  o->sections = (const Elf64_Shdr *)(const void *)(o->bytes.data + h->e_shoff);
  o->nsection = h->e_shnum;
  return 0;
}

static int check_symbols(elf_object *o, int section) {
  const Elf64_Shdr *s = &o->sections[section];
  if (s->sh_entsize != sizeof(Elf64_Sym) || s->sh_offset % 8 || s->sh_link >= (uint32_t)o->nsection)
    return bad(o, "its symbol table is broken");
  o->symbols = (const Elf64_Sym *)(const void *)(o->bytes.data + s->sh_offset);
  o->nsymbol = (int)(s->sh_size / sizeof(Elf64_Sym));
  o->strings = (int)s->sh_link;
  for (int i = 0; i < o->nsymbol; ++i) {
    const Elf64_Sym *y = &o->symbols[i];
    bool special = y->st_shndx == SHN_UNDEF || y->st_shndx == SHN_ABS;
    if (y->st_shndx == SHN_COMMON) return bad(o, "it has common symbols (compile -fno-common)");
    if (!special && y->st_shndx >= o->nsection) return bad(o, "a symbol has no section");
    if (!special && y->st_value > o->sections[y->st_shndx].sh_size)
      return bad(o, "a symbol lies outside of its section");
    if (ELF64_ST_TYPE(y->st_info) == STT_TLS) return bad(o, "it has thread-local variables");
  }
  return 0;
}

static int check_relocations(const elf_object *o, const Elf64_Shdr *s) {
  if (s->sh_type == SHT_REL) return bad(o, "it has relocations without addend");
  if (s->sh_entsize != sizeof(Elf64_Rela) || s->sh_offset % 8 ||
      s->sh_info >= (uint32_t)o->nsection)
    return bad(o, "its relocations are broken");
  const Elf64_Rela *r = (const Elf64_Rela *)(const void *)(o->bytes.data + s->sh_offset);
  uint64_t size = o->sections[s->sh_info].sh_size;
  for (uint64_t i = 0; i < s->sh_size / sizeof *r; ++i) {
    if (r[i].r_offset > size || size - r[i].r_offset < 4) return bad(o, "a relocation is outside");
    if (ELF64_R_SYM(r[i].r_info) >= (uint32_t)o->nsymbol)
      return bad(o, "a relocation has no symbol");
  }
  return 0;
}

static int check_sections(elf_object *o) {
  for (int i = 0; i < o->nsection; ++i) {
    const Elf64_Shdr *s = &o->sections[i];
    uint64_t align = s->sh_addralign;
    if (s->sh_type != SHT_NOBITS && !fits(o, s->sh_offset, s->sh_size))
      return bad(o, "a section lies outside of the file");
    if ((align & (align - 1)) || align > 4096) return bad(o, "a section has an odd alignment");
    if (s->sh_type == SHT_SYMTAB) TN_TRY(check_symbols(o, i));
  }
  for (int i = 0; i < o->nsection; ++i) {
    const Elf64_Shdr *s = &o->sections[i];
    if (s->sh_type == SHT_RELA || s->sh_type == SHT_REL) TN_TRY(check_relocations(o, s));
  }
  return 0;
}

static int check(elf_object *o) {
  TN_TRY(check_head(o));
  TN_TRY(check_sections(o));
  TN_GET(o->places, tn_alloc_zero((size_t)o->nsection + 1, sizeof *o->places));
  TN_GET(o->linked, tn_alloc_zero((size_t)o->nsymbol + 1, sizeof *o->linked));
  for (int i = 0; i < o->nsymbol; ++i) o->linked[i] = -1;
  return 0;
}

int elf_object_read(elf_object *o, const char *path) {
  o->path = path;
  TN_TRY(tn_file_read(path, &o->bytes));
  return check(o);
}

int elf_object_parse(elf_object *o, const char *path, tn_bytes_view content) {
  o->path = path;
  tn_buf_put(&o->bytes, content.data, content.size);
  TN_TRY(tn_buf_ok(&o->bytes));
  return check(o);
}

void elf_object_fini(elf_object *o) {
  tn_buf_fini(&o->bytes);
  tn_free(o->places);
  tn_free(o->linked);
}

const char *elf_text(const elf_object *o, uint32_t section, uint64_t at) {
  if (section >= (uint32_t)o->nsection) return "";
  const Elf64_Shdr *s = &o->sections[section];
  if (s->sh_type == SHT_NOBITS || at >= s->sh_size) return "";
  const char *text = o->bytes.data + s->sh_offset;
  return memchr(text + at, '\0', s->sh_size - at) ? text + at : "";
}
