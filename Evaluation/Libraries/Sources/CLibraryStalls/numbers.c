// GMP, GSL, FFTW, and password hashes, which are slow on purpose.
#include "tables.h"

#include <argon2.h>
#include <fftw3.h>
#include <gmp.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <nettle/sha3.h>
#include <sodium.h>
#include <string.h>

static volatile double result;
static unsigned char buffer[1 << 16];

int raise_to_power(moment end) {
    mpz_t base, power, modulus, value;
    mpz_inits(base, power, modulus, value, NULL);
    mpz_ui_pow_ui(modulus, 7, 700);
    mpz_ui_pow_ui(power, 5, 800);
    mpz_set_ui(base, 12345);
    while (moment_now() < end) mpz_powm(value, base, power, modulus);
    result = mpz_get_d(value);
    mpz_clears(base, power, modulus, value, NULL);
    return 0;
}

int count_permutations(moment end) {
    mpz_t value;
    mpz_init(value);
    while (moment_now() < end) mpz_fac_ui(value, 20000);
    result = (double)mpz_size(value);
    mpz_clear(value);
    return 0;
}

double price_density(double at, void *argument) {
    double sum = 0;
    for (int term = 1; term < 2000; term++) sum += cos(at * term) / term;
    return sum;
}

int price_option(moment end) {
    gsl_integration_workspace *workspace = gsl_integration_workspace_alloc(100);
    gsl_function function = {price_density, NULL};
    double error, value;
    while (moment_now() < end) {
        gsl_integration_qag(&function, 0.5, 1, 1e30, 1, 100, GSL_INTEG_GAUSS15, workspace, &value, &error);
        result = value;
    }
    gsl_integration_workspace_free(workspace);
    return 0;
}

int balance_forces(moment end) {
    enum { count = 120 };
    gsl_matrix *matrix = gsl_matrix_alloc(count, count);
    gsl_permutation *order = gsl_permutation_alloc(count);
    while (moment_now() < end) {
        for (int row = 0; row < count; row++) {
            for (int column = 0; column < count; column++) {
                gsl_matrix_set(matrix, row, column, row == column ? count : row % 7 + column % 3);
            }
        }
        int sign;
        gsl_linalg_LU_decomp(matrix, order, &sign);
        result = gsl_matrix_get(matrix, 3, 3);
    }
    gsl_matrix_free(matrix);
    gsl_permutation_free(order);
    return 0;
}

int plan_equalizer(moment end) {
    fftw_complex *data = fftw_alloc_complex(1 << 14);
    while (moment_now() < end) {
        fftw_plan plan = fftw_plan_dft_1d(1 << 14, data, data, FFTW_FORWARD, FFTW_ESTIMATE);
        memset(data, 0, sizeof *data << 14);
        for (int round = 0; round < 8; round++) fftw_execute(plan);
        fftw_destroy_plan(plan);
    }
    fftw_free(data);
    return 0;
}

int check_argon_password(moment end) {
    unsigned char hash[32];
    while (moment_now() < end) argon2id_hash_raw(2, 1024, 1, "secret", 6, "saltsalt", 8, hash, sizeof hash);
    return hash[0];
}

int hash_attachment(moment end) {
    unsigned char hash[32];
    if (sodium_init() < 0) return 0;
    while (moment_now() < end) crypto_generichash(hash, sizeof hash, buffer, sizeof buffer, NULL, 0);
    return hash[0];
}

int seal_attachment(moment end) {
    static unsigned char sealed[sizeof buffer + 64], key[32], nonce[24];
    while (moment_now() < end) crypto_secretbox_easy(sealed, buffer, sizeof buffer, nonce, key);
    return sealed[9];
}

int fingerprint_disk(moment end) {
    struct sha3_256_ctx context;
    unsigned char hash[32];
    sha3_256_init(&context);
    while (moment_now() < end) sha3_256_update(&context, sizeof buffer, buffer);
    sha3_256_digest(&context, sizeof hash, hash);
    return hash[0];
}

const struct stall number_stalls[] = {
    {"gmp-powm", "cpu", "raise_to_power", NULL, NULL, "mpz_powm: assembly without frames", NULL, NULL, raise_to_power},
    {"gmp-factorial", "cpu", "count_permutations", NULL, NULL, "mpz_fac_ui", NULL, NULL, count_permutations},
    {"gsl-integrand", "cpu", "price_density", "price_option", NULL, "GSL integrates a slow function of the program", NULL, NULL,
     price_option},
    {"gsl-lu", "cpu", "balance_forces", NULL, NULL, "gsl_linalg_LU_decomp", NULL, NULL, balance_forces},
    {"fftw-execute", "cpu", "plan_equalizer", NULL, NULL, "fftw_execute", NULL, NULL, plan_equalizer},
    {"argon2-hash", "cpu|page_fault", "check_argon_password", NULL, NULL, "argon2id, which allocates new memory each time", NULL, NULL,
     check_argon_password},
    {"sodium-hash", "cpu", "hash_attachment", NULL, NULL, "crypto_generichash", NULL, NULL, hash_attachment},
    {"sodium-secretbox", "cpu", "seal_attachment", NULL, NULL, "crypto_secretbox_easy", NULL, NULL, seal_attachment},
    {"nettle-sha3", "cpu", "fingerprint_disk", NULL, NULL, "sha3_256_update", NULL, NULL, fingerprint_disk},
    {0},
};
