// What this process's threads are at, for readers outside, as OpenTelemetry has it: the process context (OTEP 4719) and the thread context
// (OTEP 4947).
#pragma once

#include <stddef.h>

#pragma GCC visibility push(hidden)

// Whether readers can find the variable `otel_thread_ctx_v1`: that it is among the dynamic symbols. Takes the loader's lock.
int clo_context_is_exported(void);

// Publishes a process context, once: `payload` is a message of protobuf, and copied. From then on a thread's variable says which synchronous context
// it runs (clb_context.h), whose name is the attribute 0. Returns 0, or an errno; EEXIST: the process has published one.
int clo_context_publish(const void *payload, size_t bytes);

#pragma GCC visibility pop
