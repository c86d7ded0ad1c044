// The programs in ForeignProbe. Each takes its own arguments, the first of which is its name.
#pragma once

int run_waits(int count, char **arguments);
int run_epoll_loop(int count, char **arguments);
int run_places(int count, char **arguments);
int run_first_stall(int count, char **arguments);
int run_hostile(int count, char **arguments);
// deny ERRNO NUMBER… -- COMMAND…: the command, to which the kernel refuses these system calls.
int run_denied(int count, char **arguments);
// forge KIND: a worker without privileges claims that its master hangs.
int run_forge(int count, char **arguments);
// context HOW [NAMING] [SCHEMA]: publishes OpenTelemetry's contexts.
int run_thread_context(int count, char **arguments);
int run_wrapped(int count, char **arguments);
