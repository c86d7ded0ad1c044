//! build: clang++ -O2 -std=c++17 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections -I/usr/include/botan-2 $S -o $O -l:libcryptopp.a -lbotan-2 -lpthread
//! part: open
//! packages: libcrypto++-dev libbotan-2-dev clang lld
//! stall whirl | seal_record | seal_record|on_whirl | cpu
//! stall sink | mix_audit | AuditSink::Put2|mix_audit|stream_out|on_sink | cpu
//! stall kdf | stretch_key | stretch_key|on_kdf | cpu
//! stall rng | wait_entropy | WeakRng::.*|wait_entropy|new_nonce|on_rng | syscall
#include "stall.h"
#include <cryptopp/whrlpool.h>
#include <cryptopp/hex.h>
#include <cryptopp/filters.h>
#include <botan/pbkdf.h>
#include <botan/rng.h>
#include <botan/bigint.h>
#include <string>
static volatile long acc;
static std::string text(60000, 'x');
static int seal_record(const std::string &s) {
    unsigned char d[64];
    CryptoPP::Whirlpool().CalculateDigest(d, (const unsigned char *)s.data(), s.size());
    return d[3];
}
static void on_whirl() { REPEAT(acc = acc + seal_record(text)); }
static unsigned mix_audit(const unsigned char *b, size_t n) {
    unsigned h = 9;
    for (int k = 0; k < 30; k++)
        for (size_t i = 0; i < n; i++) h = (h << 3) ^ (h >> 7) ^ b[i] ^ k;
    return h;
}
struct AuditSink : CryptoPP::Bufferless<CryptoPP::Sink> {
    unsigned h = 0;
    size_t Put2(const unsigned char *b, size_t n, int, bool) override {
        h += mix_audit(b, n);
        return 0;
    }
};
static long stream_out() {
    auto *a = new AuditSink;
    CryptoPP::StringSource s(text, true, new CryptoPP::HexEncoder(a));
    return a->h;
}
static void on_sink() { REPEAT(acc = acc + stream_out()); }
static int stretch_key(const std::string &p, int n) {
    auto k = Botan::PBKDF::create("PBKDF2(SHA-256)");
    return k->pbkdf_iterations(32, p, (const uint8_t *)"saltsalt", 8, n)[0];
}
static void on_kdf() { REPEAT(acc = acc + stretch_key("secret", 5000)); }
static void wait_entropy(uint8_t *o, size_t n) {
    int f = late_pipe(450);
    char b[16];
    if (read(f, b, 16) < 0) {}
    close(f);
    for (size_t i = 0; i < n; i++) o[i] = b[i % 7] * i;
}
struct WeakRng : Botan::RandomNumberGenerator {
    void randomize(uint8_t *o, size_t n) override { wait_entropy(o, n); }
    bool accepts_input() const override { return false; }
    void add_entropy(const uint8_t *, size_t) override {}
    std::string name() const override { return "weak"; }
    void clear() override {}
    bool is_seeded() const override { return true; }
};
static long new_nonce() {
    WeakRng r;
    Botan::BigInt b;
    b.randomize(r, 128);
    return b.bits();
}
static void on_rng() { acc = acc + new_nonce(); }
static const way ways[] = {{"whirl", on_whirl}, {"sink", on_sink}, {"kdf", on_kdf}, {"rng", on_rng}, {0, 0}};
int main(int, char **v) { serve_epoll(atoi(v[1]), ways); }
