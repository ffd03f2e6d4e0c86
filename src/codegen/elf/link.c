/* Where sections go, and which definition each name has. */
#include <string.h>

#include "base/alloc.h"
#include "codegen/elf/elf.h"

/* ---- sections ---- */

/* Tables for unwinding belong to exceptions, of which generated code has none. */
static elf_region region_of(const elf_object *o, const Elf64_Shdr *s) {
  const char *name = elf_text(o, o->head->e_shstrndx, s->sh_name);
  if (!(s->sh_flags & SHF_ALLOC) || strcmp(name, ".eh_frame") == 0) return ELF_NOWHERE;
  if (s->sh_type == SHT_NOTE) return ELF_NOWHERE;
  if (s->sh_type == SHT_INIT_ARRAY) return ELF_INIT;
  if (s->sh_type == SHT_FINI_ARRAY) return ELF_FINI;
  if (s->sh_flags & SHF_EXECINSTR) return ELF_TEXT;
  if (!(s->sh_flags & SHF_WRITE)) return ELF_RODATA;
  return s->sh_type == SHT_NOBITS ? ELF_BSS : ELF_DATA;
}

static int place_section(elf_link *l, elf_object *o, int i) {
  const Elf64_Shdr *s = &o->sections[i];
  elf_region r = region_of(o, s);
  uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
  o->places[i].region = r;
  if (r == ELF_NOWHERE) return 0;
  uint64_t at = (l->size[r] + align - 1) & ~(align - 1);
  TN_CHECK(s->sh_size < UINT32_MAX / 2 && at < UINT32_MAX / 2, ValueError, NULL,
           "%s: more than 2 GB of code or data: install a linker (gcc)", o->path);
  o->places[i].offset = at;
  l->size[r] = at + s->sh_size;
  if (align > l->align[r]) l->align[r] = align;
  if (r == ELF_BSS) return 0;
  tn_buf_pad(&l->content[r], '\0', at - l->content[r].len);
  TN_CHECK(s->sh_type != SHT_NOBITS, ValueError, NULL,
           "%s: a section of code or constants has no content", o->path);
  tn_buf_put(&l->content[r], o->bytes.data + s->sh_offset, s->sh_size);
  return tn_buf_ok(&l->content[r]);
}

/* ---- symbols ---- */

static elf_symbol *add(elf_link *l, elf_symbol s) {
  if (l->nsymbol == l->cap) {
    int32_t cap = l->cap ? l->cap * 2 : 64;
    elf_symbol *grown;
    TN_GETP(grown, tn_realloc_array(l->symbols, cap, sizeof *grown));
    l->symbols = grown;
    l->cap = cap;
  }
  s.got = s.plt = -1;
  l->symbols[l->nsymbol] = s;
  return &l->symbols[l->nsymbol++];
}

/* The new symbol beside the one there is of its name. */
static int merge(elf_symbol *old, const elf_symbol *s) {
  old->hidden |= s->hidden;
  if (!s->obj) {
    if (!old->obj) old->weak &= s->weak;
    return 0;
  }
  TN_CHECK(!old->obj || old->weak || s->weak, ValueError, NULL, "%s is defined in both %s and %s",
           s->name, old->obj->path, s->obj->path);
  if (old->obj && (s->weak || !old->weak)) return 0;
  old->obj = s->obj;
  old->sym = s->sym;
  old->weak = s->weak;
  return 0;
}

static int add_global(elf_link *l, elf_object *o, int i) {
  const Elf64_Sym *y = &o->symbols[i];
  const char *name = elf_text(o, (uint32_t)o->strings, y->st_name);
  int visibility = ELF64_ST_VISIBILITY(y->st_other);
  elf_symbol s = {.name = name,
                  .obj = y->st_shndx == SHN_UNDEF ? NULL : o,
                  .sym = y,
                  .weak = ELF64_ST_BIND(y->st_info) == STB_WEAK,
                  .hidden = visibility == STV_HIDDEN || visibility == STV_INTERNAL};
  tn_any found;
  if (tn_map_get(l->by_name, tn_any_cstr(name), &found)) {
    o->linked[i] = (int32_t)found.v.i64;
    return merge(&l->symbols[o->linked[i]], &s);
  }
  o->linked[i] = l->nsymbol;
  TN_TRY(tn_map_set(l->by_name, tn_any_cstr(name), tn_any_int(l->nsymbol)));
  return add(l, s) ? 0 : -1;
}

int elf_add_globals(elf_link *l, elf_object *o) {
  for (int i = 1; i < o->nsymbol; ++i)
    if (ELF64_ST_BIND(o->symbols[i].st_info) != STB_LOCAL) TN_TRY(add_global(l, o, i));
  return 0;
}

void elf_link_fini(elf_link *l) {
  for (int i = 0; i < l->nobject; ++i) elf_object_fini(&l->objects[i]);
  for (int i = 0; i < ELF_REGIONS; ++i) tn_buf_fini(&l->content[i]);
  tn_buf_fini(&l->relocations);
  tn_free(l->objects);
  tn_free(l->symbols);
  tn_release(l->by_name);
}

int elf_resolve(elf_link *l) {
  for (int i = 0; i < ELF_REGIONS; ++i) l->align[i] = 16;
  for (int k = 0; k < l->nobject; ++k) {
    elf_object *o = &l->objects[k];
    TN_CHECK(o->head->e_machine == l->machine, ValueError, NULL,
             "%s and %s hold code of different processors", l->objects[0].path, o->path);
    for (int i = 0; i < o->nsection; ++i) TN_TRY(place_section(l, o, i));
    TN_TRY(elf_add_globals(l, o));
  }
  return 0;
}

elf_symbol *elf_symbol_of(elf_link *l, elf_object *o, uint32_t index) {
  const Elf64_Sym *y = &o->symbols[index];
  if (o->linked[index] < 0) { /* a local symbol, which is used for the first time */
    TN_CHECKP(index == 0 || y->st_shndx != SHN_UNDEF, ValueError, NULL,
              "%s: a local symbol is not defined", o->path);
    o->linked[index] = l->nsymbol;
    return add(l, (elf_symbol){.name = "", .obj = o, .sym = y, .hidden = true});
  }
  return &l->symbols[o->linked[index]];
}

uint64_t elf_address(const elf_link *l, const elf_symbol *s) {
  if (!s->obj || s->sym->st_shndx == SHN_UNDEF) return 0;
  if (s->sym->st_shndx == SHN_ABS) return s->sym->st_value;
  elf_place p = s->obj->places[s->sym->st_shndx];
  return p.region == ELF_NOWHERE ? 0 : l->address[p.region] + p.offset + s->sym->st_value;
}

/* ---- relocations ---- */

int elf_each_relocation(elf_link *l, int (*fn)(elf_link *l, elf_object *o, elf_place at,
                                               const Elf64_Rela *r, elf_symbol *s)) {
  for (int k = 0; k < l->nobject; ++k) {
    elf_object *o = &l->objects[k];
    for (int i = 0; i < o->nsection; ++i) {
      const Elf64_Shdr *s = &o->sections[i];
      if (s->sh_type != SHT_RELA || o->places[s->sh_info].region >= ELF_BSS) continue;
      const Elf64_Rela *r = (const Elf64_Rela *)(const void *)(o->bytes.data + s->sh_offset);
      for (uint64_t n = s->sh_size / sizeof *r; n > 0; --n, ++r) {
        elf_symbol *y;
        elf_place at = o->places[s->sh_info];
        at.offset += r->r_offset;
        TN_GET(y, elf_symbol_of(l, o, (uint32_t)ELF64_R_SYM(r->r_info)));
        TN_TRY(fn(l, o, at, r, y));
      }
    }
  }
  return 0;
}
