// A client for HTTP requests: libcurl, loaded when the first client is made.
//
// Loaded rather than linked: who sends nothing over HTTP needs neither libcurl nor the twenty libraries that it needs, and a program that
// is linked statically can still use the system's, with its certificates.
#pragma once

#include <stddef.h>

typedef struct clc_client clc_client;

// What came back for a request.
typedef struct clc_answer {
    int status;
    // The field Retry-After, without spaces around it; empty when there is none, or a longer one than any valid one.
    char retry_after[64];
    // The first 64 KiB; for free(). NULL when empty.
    char *body;
    size_t body_bytes;
    // Why there was no answer, in libcurl's words; static. NULL when there was one, or when the reason is unknown.
    const char *failure;
} clc_answer;

// Loads libcurl, once. Returns NULL, or why it cannot be used. Takes the loader's lock.
const char *clc_load(void);

// A client for POST requests to one URL. `headers` are lines (`Name: value`), copied. NULL when libcurl is not loaded or memory is short.
clc_client *clc_client_create(const char *url, const char *const *headers, size_t header_count, long timeout_ms);

// Makes a request and waits for its answer, at most `timeout_ms`; the connection is kept. One thread at a time.
// Returns 0, and -1 when there was no answer, or the client was cancelled.
int clc_client_post(clc_client *client, const void *body, size_t body_bytes, clc_answer *answer);

// Ends the request in progress and all later ones. Any thread.
void clc_client_cancel(clc_client *client);

// No request may be in progress.
void clc_client_destroy(clc_client *client);
