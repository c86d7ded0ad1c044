// The tables of scenarios, one for each file; the last entry of each has the name NULL.
#ifndef TABLES_H
#define TABLES_H

#include "library_stalls.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct stall postgres_stalls[], sqlite_stalls[], compression_stalls[], openssl_stalls[], document_stalls[],
    network_stalls[], file_stalls[], filesystem_stalls[], thread_lock_stalls[], process_lock_stalls[], process_stalls[],
    memory_stalls[], text_stalls[], callback_stalls[], lua_stalls[], python_stalls[], cxx_stalls[],
    codec_stalls[], number_stalls[], format_stalls[], glib_stalls[], descriptor_stalls[], cxx_layer_stalls[], engine_stalls[];

#ifdef __cplusplus
}
#endif
#endif
