#include "tables.h"

#include <stddef.h>

static const struct stall *const tables[] = {
    postgres_stalls, sqlite_stalls, compression_stalls, openssl_stalls, document_stalls, network_stalls, file_stalls,
    filesystem_stalls, thread_lock_stalls, process_lock_stalls, process_stalls, memory_stalls, text_stalls, callback_stalls,
    lua_stalls, python_stalls, cxx_stalls, codec_stalls, number_stalls, format_stalls, glib_stalls, descriptor_stalls, cxx_layer_stalls,
    engine_stalls,
};

const struct stall *library_stall(int index) {
    for (size_t table = 0; table < sizeof tables / sizeof *tables; table++) {
        for (const struct stall *stall = tables[table]; stall->name; stall++) {
            if (index-- == 0) return stall;
        }
    }
    return NULL;
}

// Never read. The work after the call prevents a tail call, which would remove this function's frame.
static volatile int handled_events;

int handle_event(const struct stall *stall, moment end) {
    int code = stall->run(end);
    handled_events++;
    return code;
}
