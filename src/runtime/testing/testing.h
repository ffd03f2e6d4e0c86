/* Probes for test suites: global functions "testing.*". */
#ifndef TN_RUNTIME_TESTING_TESTING_H_
#define TN_RUNTIME_TESTING_TESTING_H_

/** Registers the functions; part of tn_runtime_init. */
int tn_testing_init(void);
/** The module kind behind "testing.FrontendTestModule"; called by tn_testing_init. */
int tn_testing_module_init(void);

#endif /* TN_RUNTIME_TESTING_TESTING_H_ */
