//! build: gcc -O2 $S -o $O -lssl -lcrypto -lpthread
//! part: open
//! packages: libssl-dev
//! stall bio | seal_frame | frame_write|seal_frame|send_page|on_bio | cpu
//! stall pass | ask_passphrase | ask_passphrase|load_key|on_pass | syscall
//! stall stack | by_serial | by_serial|sort_revoked|on_stack | cpu
#define OPENSSL_SUPPRESS_DEPRECATED
#include "stall.h"
#include <openssl/ssl.h>
#include <openssl/bn.h>
#include <openssl/pem.h>
static volatile long acc;
static BIO_METHOD *meth;
static char pem[4000];
static OPENSSL_STACK *st;
static void seal_frame(unsigned char *d, const unsigned char *s, int n) {
    unsigned k = 77;
    for (int r = 0; r < 40; r++)
        for (int i = 0; i < n; i++) {
            k ^= k << 13;
            k ^= k >> 17;
            k ^= k << 5;
            d[i & 1023] = s[i] ^ k;
        }
}
static int frame_write(BIO *b, const char *p, int n) {
    (void)b;
    static unsigned char o[1024];
    seal_frame(o, (const unsigned char *)p, n);
    acc += o[3];
    return n;
}
static long frame_ctrl(BIO *b, int c, long n, void *p) {
    (void)b;
    (void)n;
    (void)p;
    return c == BIO_CTRL_FLUSH;
}
static int send_page(void) {
    BIO *s = BIO_new(meth), *f = BIO_new(BIO_f_buffer());
    BIO_set_init(s, 1);
    BIO *c = BIO_push(f, s);
    for (int i = 0; i < 200; i++) BIO_printf(c, "line %d of a page of text\n", i);
    BIO_flush(c);
    BIO_free_all(c);
    return 1;
}
void on_bio(void) { REPEAT(acc += send_page()); }
static int ask_passphrase(char *b, int n, int w, void *u) {
    (void)u;
    (void)n;
    if (!w) {
        int f = late_pipe(430);
        char c[8];
        if (read(f, c, 8) < 0) {}
        close(f);
    }
    strcpy(b, "secret");
    return 6;
}
static int load_key(void) {
    BIO *b = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(b, 0, ask_passphrase, 0);
    int r = k != 0;
    EVP_PKEY_free(k);
    BIO_free(b);
    return r;
}
void on_pass(void) { acc += load_key(); }
static int by_serial(const void *a, const void *b) {
    unsigned long x = **(unsigned long **)a, y = **(unsigned long **)b;
    for (int k = 0; k < 60; k++) {
        x = x * 6364136223846793005ul + 1;
        y = y * 6364136223846793005ul + 1;
    }
    return x < y ? -1 : x > y;
}
static int sort_revoked(void) {
    OPENSSL_STACK *s = OPENSSL_sk_dup(st);
    OPENSSL_sk_set_cmp_func(s, by_serial);
    OPENSSL_sk_sort(s);
    int n = OPENSSL_sk_num(s);
    OPENSSL_sk_free(s);
    return n;
}
void on_stack(void) { REPEAT(acc += sort_revoked()); }
static const struct way ways[] = {{"bio", on_bio}, {"pass", on_pass}, {"stack", on_stack}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    meth = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 200, "frames");
    BIO_meth_set_write(meth, frame_write);
    BIO_meth_set_ctrl(meth, frame_ctrl);
    st = OPENSSL_sk_new_null();
    static unsigned long n[3000];
    for (int i = 0; i < 3000; i++) {
        n[i] = i * 2654435761ul;
        OPENSSL_sk_push(st, &n[i]);
    }
    EVP_PKEY *k = EVP_PKEY_Q_keygen(0, 0, "EC", "P-256");
    BIO *b = BIO_new(BIO_s_mem());
    PEM_write_bio_PKCS8PrivateKey(b, k, EVP_aes_128_cbc(), "secret", 6, 0, 0);
    pem[BIO_read(b, pem, 3999)] = 0;
    serve_epoll(atoi(v[1]), ways);
}
