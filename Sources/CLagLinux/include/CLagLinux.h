// Linux calls that Swift's Glibc lacks: one header per topic.
// First, so that sigset_t comes from the C library for code that imports both.
#include <signal.h>

#include "cll_breakpoint.h"
#include "cll_epoll_wait.h"
#include "cll_instruction.h"
#include "cll_jobs.h"
#include "cll_linux.h"
#include "cll_memory.h"
#include "cll_message.h"
#include "cll_perf_sample.h"
#include "cll_poller.h"
#include "cll_pool.h"
#include "cll_procfs.h"
#include "cll_procfs_text.h"
#include "cll_signal.h"
#include "cll_snapshot.h"
#include "cll_spare.h"
#include "cll_symbols.h"
#include "cll_task.h"
#include "cll_thread.h"
#include "cll_waiting.h"
#include "cll_wake.h"
