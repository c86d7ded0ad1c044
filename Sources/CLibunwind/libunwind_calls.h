// The functions used from libunwind, by pointer. Private to this target.
#pragma once

#if !__has_include(<libunwind.h>)
#error "libunwind's headers are missing: install libunwind-dev (Debian, Ubuntu) or libunwind-devel (Fedora)"
#endif
#include <libunwind.h>

typedef struct libunwind_calls {
    unw_addr_space_t (*create_addr_space)(unw_accessors_t *, int);
    void (*destroy_addr_space)(unw_addr_space_t);
    int (*set_caching_policy)(unw_addr_space_t, unw_caching_policy_t);
    void (*flush_cache)(unw_addr_space_t, unw_word_t, unw_word_t);
    int (*init_remote)(unw_cursor_t *, unw_addr_space_t, void *);
    int (*step)(unw_cursor_t *);
    int (*get_reg)(unw_cursor_t *, int, unw_word_t *);
    // Not in the public header, but exported for unwinders of other processes (libunwind-ptrace uses it).
    int (*search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *, unw_proc_info_t *, int, void *);
} libunwind_calls;

// NULL until clu_loader_load has succeeded.
const libunwind_calls *clu_libunwind(void);
