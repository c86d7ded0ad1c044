#define _GNU_SOURCE
#include "clr_mapping_owner.h"

#include "cll_procfs.h"
#include "cll_procfs_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

typedef struct {
    struct stat file;
    uint64_t sp;
    clr_mapping_owner *owner;
} clr_owner_search;

// One line of maps: "low-high perms offset major:minor inode path".
static void clr_match_owner(char *line, void *context) {
    const clr_owner_search *search = context;
    clr_mapping_owner *owner = search->owner;
    char *at = line;
    uint64_t low = strtoull(at, &at, 16);
    if (*at != '-') return;
    uint64_t high = strtoull(at + 1, &at, 16);
    if (search->sp >= low && search->sp < high) {
        owner->stack_low = low;
        owner->stack_high = high;
    }
    for (int fields = 0; fields < 2 && at != NULL; fields++) at = strchr(at + 1, ' ');
    if (at == NULL) return;
    unsigned long major_number = strtoul(at, &at, 16);
    if (*at != ':') return;
    unsigned long minor_number = strtoul(at + 1, &at, 16);
    uint64_t inode = strtoull(at, NULL, 10);
    if (inode == search->file.st_ino && makedev(major_number, minor_number) == search->file.st_dev) owner->maps_file = 1;
}

int clr_mapping_owner_find(int descriptor, int32_t pid, uint64_t sp, clr_mapping_owner *owner) {
    memset(owner, 0, sizeof(*owner));
    if (pid <= 0) return ESRCH;
    clr_owner_search search = {.sp = sp, .owner = owner};
    if (fstat(descriptor, &search.file) != 0) return errno;
    int error = cll_procfs_start_ticks(pid, &owner->start_ticks);
    return error != 0 ? error : cll_maps_each(pid, clr_match_owner, &search);
}
