// Stalls in C libraries, each with what an experienced engineer would blame. Compiled as distributions compile C.
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
    // The causes that are right, as the record spells them.
    const char *causes;
    // The function to blame; more than one only for other spellings of the same, or where two answers are equally right.
    const char *culprits;
    // Own functions that call it: right only in the weaker verdict. NULL: handle_event.
    const char *callers;
    // The thread that holds the lock, if memory contains its identity; otherwise NULL.
    const char *owner;
    const char *summary;
    // Makes ready before the loop runs. Returns why this machine cannot do it, or NULL.
    const char *(*prepare)(void);
    // Starts what ends the stall at `end`; part of the stall, and takes microseconds.
    void (*arrange)(moment end);
    // The stall: called by handle_event.
    int (*run)(moment end);
    // Whether it is a stall of its kind only when the thread is off its processor for most of it.
    int must_block;
};

// All scenarios of C; ends with a name of NULL.
const struct stall *library_stall(int index);
// Where the server of the scenario `curl-silent-server` listens on loopback.
int http_port(void);
// Calls the stalling function, as the event handler of a program does.
int handle_event(const struct stall *stall, moment end);

// The calling thread's processor time in nanoseconds, and what else it has used.
moment thread_cpu_time(void);
struct rusage thread_usage(void);
// Has the kernel end this process with its parent.
void die_with_parent(void);
// Ends the processes that scenarios started, and removes their files.
void stop_servers(void);

// Support for the scenarios, of other languages too.
moment moment_now(void);
void rest_until(moment end);
// A thread of this name that does `action` at `end`.
typedef int (*action)(void *);
void act_at(moment end, const char *thread, action act, void *argument);
// Returns when a thread of this name has taken the lock; it gives it back at `end`.
void hold_until(moment end, const char *thread, action take, action give, void *lock);
// Another process that takes a lock now; it gives it back at the moment that release_other_process sets. Returns a reason, or NULL.
const char *take_in_other_process(action take, action give, void *lock);
void release_other_process(moment end);
// A server as a shell script: its first line of output is "ready" and a word, or a reason. It ends when its input does.
const char *start_server(const char *script, char *word, size_t size);
// Has stop_servers remove this file; the text stays the caller's.
void remove_at_end(const char *path);
// "call: words of errno".
const char *failed(const char *call);
// Text of a few letters, which packs as text does; another one for each seed.
void fill_with_text(unsigned char *bytes, size_t count, unsigned seed);
// A new open file of this many bytes in /var/tmp; its name is removed unless `path` (of 64 bytes) is requested. -1 on failure.
int scratch_file(size_t bytes, char *path);
// A TCP socket that listens on loopback with this backlog, and its port.
int loopback_listener(int backlog, int *port);

#ifdef __cplusplus
}
#endif
#endif
