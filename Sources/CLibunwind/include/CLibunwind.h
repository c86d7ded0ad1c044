// The C edge of LagMonitor: one header a concern.
#include "clu_beacon.h"
#include "clu_linux.h"
#include "clu_loader.h"
#include "clu_memory.h"
#include "clu_procfs.h"
#include "clu_signal.h"
#include "clu_symbols.h"
#include "clu_unwind.h"
