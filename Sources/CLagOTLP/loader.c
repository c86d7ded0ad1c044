#define _GNU_SOURCE
#include "clc_client.h"
#include "libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static libcurl_calls calls;
static const libcurl_calls *loaded;
static char failure[256];

static void *clc_open(void) {
    // Debian has two builds of one interface, by their TLS library.
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    for (size_t index = 0; index < sizeof(names) / sizeof(names[0]); index++) {
        void *handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (handle != NULL) return handle;
    }
    const char *reason = dlerror();
    snprintf(failure, sizeof(failure), "cannot load %s (Debian package libcurl4): %s", names[0], reason ? reason : "no reason given");
    return NULL;
}

// POSIX promises that a function's address fits in a void pointer; ISO C does not, hence the store through one.
static void clc_find(void *handle, const char *name, void *call) {
    void *address = dlsym(handle, name);
    if (address == NULL) snprintf(failure, sizeof(failure), "libcurl has no %s: version 7.68 or newer is needed", name);
    *(void **)call = address;
}

static void clc_load_once(void) {
    void *handle = clc_open();
    if (handle == NULL) return;
    clc_find(handle, "curl_global_init", &calls.global_init);
    clc_find(handle, "curl_easy_init", &calls.easy_init);
    clc_find(handle, "curl_easy_cleanup", &calls.easy_cleanup);
    clc_find(handle, "curl_easy_setopt", &calls.easy_setopt);
    clc_find(handle, "curl_easy_getinfo", &calls.easy_getinfo);
    clc_find(handle, "curl_easy_strerror", &calls.easy_strerror);
    clc_find(handle, "curl_slist_append", &calls.slist_append);
    clc_find(handle, "curl_slist_free_all", &calls.slist_free_all);
    clc_find(handle, "curl_multi_init", &calls.multi_init);
    clc_find(handle, "curl_multi_cleanup", &calls.multi_cleanup);
    clc_find(handle, "curl_multi_add_handle", &calls.multi_add_handle);
    clc_find(handle, "curl_multi_remove_handle", &calls.multi_remove_handle);
    clc_find(handle, "curl_multi_perform", &calls.multi_perform);
    clc_find(handle, "curl_multi_poll", &calls.multi_poll);
    clc_find(handle, "curl_multi_wakeup", &calls.multi_wakeup);
    clc_find(handle, "curl_multi_info_read", &calls.multi_info_read);
    if (failure[0] != 0) return;
    if (calls.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        snprintf(failure, sizeof(failure), "libcurl cannot be initialised");
        return;
    }
    loaded = &calls;
}

const char *clc_load(void) {
    pthread_once(&once, clc_load_once);
    return failure[0] != 0 ? failure : NULL;
}

const libcurl_calls *clc_libcurl(void) { return clc_load() == NULL ? loaded : NULL; }
