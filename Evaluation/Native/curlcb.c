//! build: gcc -O2 $S -o $O -lcurl -lpthread
//! part: open
//! packages: libcurl4-openssl-dev
//! stall write | save_chunk | save_chunk|fetch_file|on_write | cpu
//! stall share | share_lock | share_lock|fetch_file|fetch_shared|on_share | lock
#include "stall.h"
#include <curl/curl.h>
static volatile long acc;
static char url[200], path[100];
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static CURLSH *shared;
static size_t save_chunk(char *b, size_t n, size_t m, void *u) {
    unsigned h = *(unsigned *)u;
    for (int k = 0; k < 20; k++)
        for (size_t i = 0; i < n * m; i++) h = (h << 5) - h + b[i];
    *(unsigned *)u = h;
    return n * m;
}
static int fetch_file(curl_write_callback w) {
    CURL *c = curl_easy_init();
    unsigned h = 0;
    curl_easy_setopt(c, CURLOPT_URL, url);
    curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, w);
    curl_easy_setopt(c, CURLOPT_WRITEDATA, &h);
    if (shared) curl_easy_setopt(c, CURLOPT_SHARE, shared);
    curl_easy_perform(c);
    curl_easy_cleanup(c);
    return h;
}
void on_write(void) { REPEAT(acc += fetch_file(save_chunk)); }
static void share_lock(CURL *c, curl_lock_data d, curl_lock_access a, void *u) {
    (void)c;
    (void)d;
    (void)a;
    (void)u;
    pthread_mutex_lock(&cache);
}
static void share_unlock(CURL *c, curl_lock_data d, void *u) {
    (void)c;
    (void)d;
    (void)u;
    pthread_mutex_unlock(&cache);
}
static size_t drop(char *b, size_t n, size_t m, void *u) {
    (void)b;
    (void)u;
    return n * m;
}
static int fetch_shared(void) {
    shared = curl_share_init();
    curl_share_setopt(shared, CURLSHOPT_LOCKFUNC, share_lock);
    curl_share_setopt(shared, CURLSHOPT_UNLOCKFUNC, share_unlock);
    curl_share_setopt(shared, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
    hold_elsewhere(&cache, 450);
    int r = fetch_file(drop);
    curl_share_cleanup(shared);
    shared = 0;
    return r;
}
void on_share(void) { acc += fetch_shared(); }
static const struct way ways[] = {{"write", on_write}, {"share", on_share}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (!getcwd(path, 60)) return 1;
    snprintf(path + strlen(path), 30, "/curl.%d", getpid());
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 4000; i++) fprintf(f, "line %d of it\n", i);
    fclose(f);
    snprintf(url, 200, "file://%s", path);
    serve_epoll(atoi(v[1]), ways);
}
