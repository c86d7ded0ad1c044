// The C edge of LagMonitor: one header a concern.
#include "clu_beacon.h"
#include "clu_linux.h"
#include "clu_symbols.h"
