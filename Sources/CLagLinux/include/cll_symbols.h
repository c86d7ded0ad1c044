// Names for addresses: the demanglers, and the kernel's own image in this process.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Where the kernel mapped the vDSO's ELF image (AT_SYSINFO_EHDR); NULL where it mapped no such image.
const void *cll_vdso_image(void);

// Exported by libswiftCore; declared in no header that ships. Declared here in C, where the compiler knows the calling
// convention, rather than in Swift with @_silgen_name, which would call it by Swift's and only happens to agree.
// Returns memory of malloc, or NULL when the name is no Swift symbol.
char *swift_demangle(const char *mangled, size_t length, char *buffer, size_t *size, uint32_t flags);

// __cxa_demangle of the process's C++ runtime, NULL when it has none. Takes the loader's lock: call once, at start.
typedef char *(*cll_cxa_demangle)(const char *mangled, char *buffer, size_t *length, int *status);
cll_cxa_demangle cll_find_cxa_demangle(void);
