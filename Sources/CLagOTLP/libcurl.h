// The part of libcurl's interface that is used (curl.h, multi.h), so that its headers are not needed. The numbers are libcurl's ABI, which has been
// the same since its library is libcurl.so.4 (2006).
#pragma once

#include <stddef.h>

typedef void CURL;
typedef void CURLM;
struct curl_slist;

enum {
    CURL_GLOBAL_DEFAULT = 3,
    CURLM_OK = 0,
    CURLMSG_DONE = 1,
    CURLE_OK = 0,
    CURL_SOCKOPT_OK = 0,
    CURLPROTO_HTTP_AND_HTTPS = 1 | 2,
    CURLINFO_RESPONSE_CODE = 0x200000 + 2,
};

enum {
    CURLOPT_POST = 47,
    CURLOPT_NOSIGNAL = 99,
    CURLOPT_TIMEOUT_MS = 155,
    CURLOPT_PROTOCOLS = 181,
    CURLOPT_WRITEDATA = 10001,
    CURLOPT_URL = 10002,
    CURLOPT_POSTFIELDS = 10015,
    CURLOPT_USERAGENT = 10018,
    CURLOPT_HTTPHEADER = 10023,
    CURLOPT_HEADERDATA = 10029,
    CURLOPT_WRITEFUNCTION = 20011,
    CURLOPT_HEADERFUNCTION = 20079,
    CURLOPT_SOCKOPTFUNCTION = 20148,
    CURLOPT_POSTFIELDSIZE_LARGE = 30120,
};

typedef struct CURLMsg {
    int msg;
    CURL *easy_handle;
    union {
        void *whatever;
        int result;
    } data;
} CURLMsg;

typedef struct libcurl_calls {
    int (*global_init)(long flags);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *easy);
    int (*easy_setopt)(CURL *easy, int option, ...);
    int (*easy_getinfo)(CURL *easy, int info, ...);
    const char *(*easy_strerror)(int result);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *line);
    void (*slist_free_all)(struct curl_slist *list);
    CURLM *(*multi_init)(void);
    int (*multi_cleanup)(CURLM *multi);
    int (*multi_add_handle)(CURLM *multi, CURL *easy);
    int (*multi_remove_handle)(CURLM *multi, CURL *easy);
    int (*multi_perform)(CURLM *multi, int *running);
    int (*multi_poll)(CURLM *multi, void *extra, unsigned extra_count, int timeout_ms, int *ready);
    int (*multi_wakeup)(CURLM *multi);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *left);
} libcurl_calls;

// NULL until clc_load() succeeded.
const libcurl_calls *clc_libcurl(void);
