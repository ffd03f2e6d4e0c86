/** DLPack's structures under their usual include path. */
#include "tenon/dlpack.h"
