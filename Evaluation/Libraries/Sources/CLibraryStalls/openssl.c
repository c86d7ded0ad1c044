// OpenSSL and crypt(3).
#include "tables.h"

#include <arpa/inet.h>
#include <crypt.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned char block[1 << 16], digest[64];

int derive_storage_key(moment end) {
    int rounds = 0;
    while (moment_now() < end) rounds += PKCS5_PBKDF2_HMAC("secret", 6, block, 16, 20000, EVP_sha256(), 32, digest);
    return rounds;
}

int make_host_key(moment end) {
    int keys = 0;
    while (moment_now() < end) {
        EVP_PKEY *key = EVP_RSA_gen(2048);
        keys += key != NULL;
        EVP_PKEY_free(key);
    }
    return keys;
}

int hash_upload(moment end) {
    int sums = 0;
    while (moment_now() < end) {
        EVP_Digest(block, sizeof block, digest, NULL, EVP_sha256(), NULL);
        sums += digest[0];
    }
    return sums;
}

int encrypt_recording(moment end) {
    int bytes = 0, length;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    EVP_EncryptInit_ex(context, EVP_chacha20_poly1305(), NULL, digest, digest + 32);
    while (moment_now() < end) {
        EVP_EncryptUpdate(context, block, &length, block, sizeof block);
        bytes += length;
    }
    EVP_CIPHER_CTX_free(context);
    return bytes;
}

int issue_tokens(moment end) {
    EVP_PKEY *key = EVP_EC_gen("P-384");
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int tokens = 0;
    while (moment_now() < end) {
        size_t length = sizeof block;
        EVP_DigestSignInit(context, NULL, EVP_sha384(), NULL, key);
        tokens += EVP_DigestSign(context, block, &length, digest, sizeof digest);
        EVP_MD_CTX_reset(context);
    }
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return tokens;
}

// The library's generator computes the random bytes; the kernel only provides its seeds.
int make_session_ids(moment end) {
    int made = 0;
    while (moment_now() < end) made += RAND_bytes(block, sizeof block);
    return made;
}

int stretch_passphrase(moment end) {
    int made = 0;
    while (moment_now() < end) made += EVP_PBE_scrypt("secret", 6, block, 16, 4096, 8, 1, 0, digest, 32);
    return made;
}

int check_password(moment end) {
    struct crypt_data data;
    memset(&data, 0, sizeof data);
    int sums = 0;
    while (moment_now() < end) sums += crypt_r("secret", "$6$rounds=20000$saltsalt$", &data)[20];
    return sums;
}

static int listener, listener_port;

static const char *listen_silently(void) {
    listener = loopback_listener(8, &listener_port);
    return listener < 0 ? failed("listen") : NULL;
}

static int accept_and_close(void *unused) { return close(accept(listener, NULL, NULL)); }
static void answer_late(moment end) { act_at(end, "silent-server", accept_and_close, NULL); }

int open_secure_channel(moment end) {
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(listener_port)};
    if (connect(client, (struct sockaddr *)&address, sizeof address) != 0) return -1;
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *channel = SSL_new(context);
    SSL_set_fd(channel, client);
    int code = SSL_connect(channel);
    SSL_free(channel);
    SSL_CTX_free(context);
    close(client);
    return code;
}

const struct stall openssl_stalls[] = {
    {"openssl-pbkdf2", "cpu", "derive_storage_key", NULL, NULL, "PKCS5_PBKDF2_HMAC", NULL, NULL, derive_storage_key},
    {"openssl-rsa-key", "cpu", "make_host_key", NULL, NULL, "a search for RSA keys", NULL, NULL, make_host_key},
    {"openssl-sha256", "cpu", "hash_upload", NULL, NULL, "EVP_Digest: assembly without frame pointers", NULL, NULL, hash_upload},
    {"openssl-chacha20", "cpu", "encrypt_recording", NULL, NULL, "EVP_EncryptUpdate: assembly that uses every register", NULL,
     NULL, encrypt_recording},
    {"openssl-sign", "cpu", "issue_tokens", NULL, NULL, "signatures on P-384", NULL, NULL, issue_tokens},
    {"openssl-random", "cpu", "make_session_ids", NULL, NULL, "RAND_bytes", NULL, NULL, make_session_ids},
    {"openssl-scrypt", "cpu", "stretch_passphrase", NULL, NULL, "EVP_PBE_scrypt", NULL, NULL, stretch_passphrase},
    {"openssl-handshake", "syscall", "open_secure_channel", NULL, NULL, "SSL_connect to a silent server",
     listen_silently, answer_late, open_secure_channel},
    {"crypt-sha512", "cpu", "check_password", NULL, NULL, "crypt(3) with many rounds", NULL, NULL, check_password},
    {0},
};
