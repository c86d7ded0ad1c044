// Programs that know nothing about a monitor and have no Swift runtime, combined in one: what the preloaded library and lagmond watch from
// outside.
#include "probes.h"
#include <string.h>

int main(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    if (strcmp(name, "waits") == 0) return run_waits(count - 1, arguments + 1);
    if (strcmp(name, "epoll") == 0) return run_epoll_loop(count - 1, arguments + 1);
    if (strcmp(name, "places") == 0) return run_places(count - 1, arguments + 1);
    if (strcmp(name, "first") == 0) return run_first_stall(count - 1, arguments + 1);
    if (strcmp(name, "hostile") == 0) return run_hostile(count - 1, arguments + 1);
    if (strcmp(name, "deny") == 0) return run_denied(count - 1, arguments + 1);
    if (strcmp(name, "forge") == 0) return run_forge(count - 1, arguments + 1);
    if (strcmp(name, "context") == 0) return run_thread_context(count - 1, arguments + 1);
    if (strcmp(name, "sandbox") == 0) return run_sandboxed(count - 1, arguments + 1);
    if (strcmp(name, "plugin") == 0) return run_plugin(count - 1, arguments + 1);
    return run_wrapped(count, arguments);
}
