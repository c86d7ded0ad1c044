// Descriptors on which a thread of `ForeignProbe first` waits by poll or select: one becomes ready when a line has arrived on stdin.
#pragma once

// poll, ppoll, select or pselect.
extern const char *waited_call;
void wait_for_set(int timeout_ms);

// What it waits on: a pipe, and an event that never comes; one end of a connection, like a client's; a listening socket. The second
// pipe, and later ones, get no line: end_wait makes them ready.
void wait_on_pipe(void);
void wait_on_new_pipe(void);
void wait_on_answer(void);
void wait_on_listener(int backlog);
// A client of the listening socket.
void connect_client(void);

// Makes a pipe or a connection ready.
void end_wait(void);
// Consumes what arrived, so that the next wait finds nothing ready.
void take_line(void);
void close_waited(void);
