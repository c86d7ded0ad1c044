#define _GNU_SOURCE
#include "cll_spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NONE = -1, IN_CHANGE = -2, LOWEST = 3 };

static _Atomic int cll_users;
// The descriptor kept back is of any file that was read recently: opening one only to keep it would lose the race for
// the slot against a host that accepts connections as fast as it can. A host may close descriptors that it did not
// open and get the number again for a file of its own, even for the same file. Device and inode show whether it is
// still the same file; its signal owner, to which no signals are sent, shows whether it is still our opening of it.
// Written while the descriptor is IN_CHANGE.
static _Atomic int cll_spare = NONE;
static dev_t cll_spare_device;
static ino_t cll_spare_inode;

static int cll_spare_take(int from) { return atomic_compare_exchange_strong(&cll_spare, &from, IN_CHANGE); }

// Returns whether a descriptor became free.
static int cll_spare_drop(void) {
    int descriptor = atomic_load(&cll_spare);
    if (descriptor < 0 || !cll_spare_take(descriptor)) return 0;
    struct stat status;
    int is_ours = fstat(descriptor, &status) == 0 && status.st_dev == cll_spare_device && status.st_ino == cll_spare_inode &&
                  fcntl(descriptor, F_GETOWN) == getpid();
    atomic_store(&cll_spare, NONE);
    return is_ours && close(descriptor) == 0;
}

void cll_spare_retain(void) {
    if (atomic_fetch_add(&cll_users, 1) > 0) return;
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) cll_spare_close(descriptor);
}

void cll_spare_release(void) {
    if (atomic_fetch_sub(&cll_users, 1) == 1) cll_spare_drop();
}

int cll_spare_open(const char *path, int flags) {
    int descriptor = open(path, flags);
    if (descriptor >= 0) return descriptor;
    int error = errno;
    if ((error != EMFILE && error != ENFILE) || !cll_spare_drop()) return -error;
    descriptor = open(path, flags);
    return descriptor >= 0 ? descriptor : -errno;
}

void cll_spare_close(int descriptor) {
    struct stat status;
    // 0, 1 and 2 are left to the host, which may have closed them in order to open something else there.
    int is_wanted = atomic_load(&cll_users) > 0 && atomic_load(&cll_spare) == NONE && descriptor >= LOWEST;
    if (!is_wanted || fstat(descriptor, &status) != 0 || fcntl(descriptor, F_SETOWN, getpid()) != 0 || !cll_spare_take(NONE)) {
        close(descriptor);
        return;
    }
    cll_spare_device = status.st_dev;
    cll_spare_inode = status.st_ino;
    atomic_store(&cll_spare, descriptor);
    // The last user may have gone since.
    if (atomic_load(&cll_users) == 0) cll_spare_drop();
}
