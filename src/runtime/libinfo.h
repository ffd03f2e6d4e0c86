/* What the library was built with: the global function "support.GetLibInfo". */
#ifndef TN_RUNTIME_LIBINFO_H_
#define TN_RUNTIME_LIBINFO_H_

/** Registers the function; part of tn_runtime_init. */
int tn_libinfo_init(void);

#endif /* TN_RUNTIME_LIBINFO_H_ */
