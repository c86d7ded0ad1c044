// Stalls in C libraries, each with the culprit that an experienced engineer would name. Compiled as distributions compile C.
#ifndef LIBRARY_STALLS_H
#define LIBRARY_STALLS_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

// CLOCK_MONOTONIC in nanoseconds.
typedef uint64_t moment;

// One scenario. Lists are separated by '|'.
struct stall {
    const char *name;
    // The correct causes, as in records.
    const char *causes;
    // The function to blame; several only for other spellings of the same function, or if two functions are equally correct.
    const char *culprits;
    // Own functions that call it: correct only in the weaker verdict. NULL: handle_event.
    const char *callers;
    // The thread that holds the lock, if memory contains its identity; otherwise NULL.
    const char *owner;
    const char *summary;
    // The setup before the loop runs. Returns the reason why this machine cannot run the scenario, or NULL.
    const char *(*prepare)(void);
    // Starts the thread or process that ends the stall at `end`; part of the stall, and takes microseconds.
    void (*arrange)(moment end);
    // The stall: called by handle_event.
    int (*run)(moment end);
    // Whether the scenario counts only if the thread is off its processor for most of the stall.
    int must_block;
};

// All scenarios in C; the last entry has the name NULL.
const struct stall *library_stall(int index);
// The loopback port on which the server of the scenario `curl-silent-server` listens.
int http_port(void);
// Calls the stalling function, like the event handler of a program.
int handle_event(const struct stall *stall, moment end);

// The calling thread's CPU time in nanoseconds, and its other resource usage.
moment thread_cpu_time(void);
struct rusage thread_usage(void);
// Has the kernel end this process with its parent.
void die_with_parent(void);
// Ends the processes that scenarios started, and removes their files.
void stop_servers(void);

// Helpers for the scenarios, also of other languages.
moment moment_now(void);
void rest_until(moment end);
// Starts a thread of this name that calls `action` at `end`.
typedef int (*action)(void *);
void act_at(moment end, const char *thread, action act, void *argument);
// Starts a thread of this name that takes the lock, and releases it at `end`. Returns when the thread has the lock.
void hold_until(moment end, const char *thread, action take, action give, void *lock);
// Starts another process that takes a lock now, and releases it at the time that release_other_process sets. Returns an error, or NULL.
const char *take_in_other_process(action take, action give, void *lock);
void release_other_process(moment end);
// Starts a server as a shell script. Its first line of output is "ready" and a word, or an error. It exits at the end of its input.
const char *start_server(const char *script, char *word, size_t size);
// Makes stop_servers remove this file; the caller must keep the text.
void remove_at_end(const char *path);
// "call: message of errno".
const char *failed(const char *call);
// Text of a few letters, which compresses like text; different for each seed.
void fill_with_text(unsigned char *bytes, size_t count, unsigned seed);
// Creates and opens a file of this many bytes in /var/tmp. Removes its name unless `path` (of 64 bytes) is given. -1 on failure.
int scratch_file(size_t bytes, char *path);
// A TCP socket that listens on loopback with this backlog, and its port.
int loopback_listener(int backlog, int *port);

#ifdef __cplusplus
}
#endif
#endif
