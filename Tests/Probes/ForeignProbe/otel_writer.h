// Publishes OpenTelemetry's process context (OTEP 4719) and thread context (OTEP 4947): written only from the text of the standard.
#pragma once

#include <stddef.h>
#include <stdint.h>

// The name of the mapping: the three variants of the standard.
enum { WRITER_MEMFD_NAMED, WRITER_ANONYMOUS, WRITER_MEMFD };

// Publishes the schema and the attributes' names, or given ones instead. 0, or -1.
int writer_publish(int naming, const char *schema, const char *const *keys, size_t count);

// A record for the calling thread: attributes are pairs of index and value. Zeros for no trace.
void writer_attach(const uint8_t trace[16], const uint8_t span[8], const uint8_t *attributes, uint16_t count);
void writer_detach(void);
