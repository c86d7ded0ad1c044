#define _GNU_SOURCE
#include "clc_client.h"
#include "libcurl.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { maximum_body_bytes = 64 * 1024, poll_ms = 1000 };

struct clc_client {
    const libcurl_calls *curl;
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    atomic_bool is_cancelled;
};

// Bytes beyond the limit are read and dropped: what says how a request ended is at the beginning, and the sender may be anyone.
static size_t clc_take_body(char *bytes, size_t size, size_t count, void *context) {
    clc_answer *answer = context;
    size_t taken = count;
    if (taken > maximum_body_bytes - answer->body_bytes) taken = maximum_body_bytes - answer->body_bytes;
    if (answer->body == NULL && taken > 0) answer->body = malloc(maximum_body_bytes);
    if (answer->body != NULL) {
        memcpy(answer->body + answer->body_bytes, bytes, taken);
        answer->body_bytes += taken;
    }
    return size * count;
}

// A line of the head, without a NUL. Interim answers (100) have heads, too, each with a status line.
static size_t clc_take_header(char *bytes, size_t size, size_t count, void *context) {
    static const char name[] = "retry-after:";
    clc_answer *answer = context;
    size_t length = size * count;
    if (length > 5 && memcmp(bytes, "HTTP/", 5) == 0) answer->retry_after[0] = 0;
    if (length < sizeof(name) || strncasecmp(bytes, name, sizeof(name) - 1) != 0) return length;
    const char *start = bytes + sizeof(name) - 1, *end = bytes + length;
    while (start < end && (*start == ' ' || *start == '\t')) start++;
    while (end > start && strchr(" \t\r\n", end[-1]) != NULL) end--;
    if ((size_t)(end - start) < sizeof(answer->retry_after)) {
        memcpy(answer->retry_after, start, (size_t)(end - start));
        answer->retry_after[end - start] = 0;
    }
    return length;
}

// A program that the process starts does not get the connection.
static int clc_close_on_exec(void *context, int descriptor, int purpose) {
    (void)context, (void)purpose;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return CURL_SOCKOPT_OK;
}

clc_client *clc_client_create(const char *url, const char *const *headers, size_t header_count, long timeout_ms) {
    const libcurl_calls *curl = clc_libcurl();
    clc_client *client = curl != NULL ? calloc(1, sizeof(*client)) : NULL;
    if (client == NULL) return NULL;
    client->curl = curl;
    client->easy = curl->easy_init();
    client->multi = curl->multi_init();
    int isWhole = client->easy != NULL && client->multi != NULL;
    for (size_t index = 0; isWhole && index < header_count; index++) {
        struct curl_slist *longer = curl->slist_append(client->headers, headers[index]);
        if (longer == NULL) isWhole = 0;
        else client->headers = longer;
    }
    isWhole = isWhole && curl->easy_setopt(client->easy, CURLOPT_URL, url) == CURLE_OK;
    if (!isWhole) {
        clc_client_destroy(client);
        return NULL;
    }
    curl->easy_setopt(client->easy, CURLOPT_PROTOCOLS, (long)CURLPROTO_HTTP_AND_HTTPS);
    curl->easy_setopt(client->easy, CURLOPT_HTTPHEADER, client->headers);
    curl->easy_setopt(client->easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl->easy_setopt(client->easy, CURLOPT_POST, 1L);
    // No SIGALRM for a time-out: the process is not ours.
    curl->easy_setopt(client->easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(client->easy, CURLOPT_SOCKOPTFUNCTION, clc_close_on_exec);
    curl->easy_setopt(client->easy, CURLOPT_WRITEFUNCTION, clc_take_body);
    curl->easy_setopt(client->easy, CURLOPT_HEADERFUNCTION, clc_take_header);
    return client;
}

// Until it is done. Returns libcurl's result, -1 when it was cancelled.
static int clc_perform(clc_client *client) {
    while (!atomic_load(&client->is_cancelled)) {
        int running = 0, left = 0;
        if (client->curl->multi_perform(client->multi, &running) != CURLM_OK) return -1;
        for (CURLMsg *message; (message = client->curl->multi_info_read(client->multi, &left)) != NULL;)
            if (message->msg == CURLMSG_DONE) return message->data.result;
        if (running == 0 || client->curl->multi_poll(client->multi, NULL, 0, poll_ms, NULL) != CURLM_OK) return -1;
    }
    return -1;
}

// TLS libraries write to sockets without MSG_NOSIGNAL: the signal of a connection that is gone must not reach the process.
static int clc_perform_without_sigpipe(clc_client *client) {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    int result = clc_perform(client);
    struct timespec now = {0};
    // One that was pending before is somebody else's.
    if (!sigismember(&pending, SIGPIPE)) sigtimedwait(&pipe, NULL, &now);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

int clc_client_post(clc_client *client, const void *body, size_t body_bytes, clc_answer *answer) {
    const libcurl_calls *curl = client->curl;
    memset(answer, 0, sizeof(*answer));
    curl->easy_setopt(client->easy, CURLOPT_POSTFIELDS, body);
    curl->easy_setopt(client->easy, CURLOPT_POSTFIELDSIZE_LARGE, (long long)body_bytes);
    curl->easy_setopt(client->easy, CURLOPT_WRITEDATA, answer);
    curl->easy_setopt(client->easy, CURLOPT_HEADERDATA, answer);
    int result = -1;
    if (curl->multi_add_handle(client->multi, client->easy) == CURLM_OK) {
        result = clc_perform_without_sigpipe(client);
        curl->multi_remove_handle(client->multi, client->easy);
    }
    long status = 0;
    // The head of the last answer says what became of the request, whether its body came to an end or not.
    if (result >= CURLE_OK) curl->easy_getinfo(client->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200) status = 0;
    answer->status = (int)status;
    if (status != 0) return 0;
    answer->failure = result > CURLE_OK ? curl->easy_strerror(result) : NULL;
    free(answer->body);
    answer->body = NULL;
    return -1;
}

void clc_client_cancel(clc_client *client) {
    atomic_store(&client->is_cancelled, 1);
    client->curl->multi_wakeup(client->multi);
}

void clc_client_destroy(clc_client *client) {
    if (client->easy != NULL) client->curl->easy_cleanup(client->easy);
    if (client->multi != NULL) client->curl->multi_cleanup(client->multi);
    client->curl->slist_free_all(client->headers);
    free(client);
}
