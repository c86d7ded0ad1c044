// Names for addresses: the demanglers, and the kernel's own image in this process.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Where the kernel mapped the vDSO's ELF image (AT_SYSINFO_EHDR); NULL if it mapped no such image.
const void *cll_vdso_image(void);

// Exported by libswiftCore, but not declared in any header that ships. Declared here in C, where the compiler uses
// the correct calling convention; in Swift, @_silgen_name would use Swift's, which only happens to agree. Returns
// memory from malloc, or NULL if the name is not a Swift symbol.
char *swift_demangle(const char *mangled, size_t length, char *buffer, size_t *size, uint32_t flags);

// __cxa_demangle of the process's C++ runtime, NULL if it has none. Takes the loader's lock: call it once, at start.
typedef char *(*cll_cxa_demangle)(const char *mangled, char *buffer, size_t *length, int *status);
cll_cxa_demangle cll_find_cxa_demangle(void);
