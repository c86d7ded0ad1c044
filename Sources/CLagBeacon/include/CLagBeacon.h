// Data that one thread or process publishes and another reads: one header per topic. Needs only libc.
#include "clb_beacon.h"
#include "clb_context.h"
#include "clb_mirror.h"
#include "clb_loop_table.h"
