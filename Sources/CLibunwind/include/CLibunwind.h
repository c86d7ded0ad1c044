// libunwind, loaded privately, and the unwinding of a snapshot.
#include "clu_code.h"
#include "clu_loader.h"
#include "clu_unwind.h"
