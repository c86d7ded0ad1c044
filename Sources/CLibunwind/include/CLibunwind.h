// The C edge of LagMonitor: one header a concern.
#include "clu_beacon.h"
#include "clu_linux.h"
#include "clu_poller.h"
#include "clu_thread.h"
#include "clu_wake.h"
