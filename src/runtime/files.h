/* Files for the host language: global functions. */
#ifndef TN_RUNTIME_FILES_H_
#define TN_RUNTIME_FILES_H_

/** Registers the functions; part of tn_runtime_init. */
int tn_files_init(void);

#endif /* TN_RUNTIME_FILES_H_ */
