// Recognises Go programs: their threads belong to the runtime, which runs many goroutines on each, and are not loops.
#define _GNU_SOURCE
#include "clr_go_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cll_procfs_text.h"

enum { MOST_HEADERS = 64, NOTE_BYTES = 2048, GO_BUILD_ID = 4 };

static uint64_t clr_aligned(uint64_t size, uint64_t alignment) { return (size + alignment - 1) / alignment * alignment; }

// The note that Go's linker adds to each program, ".note.go.buildid", among the notes of one segment.
static int clr_has_go_note(const char *notes, size_t length, uint64_t alignment) {
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= length;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        const char *name = notes + at + sizeof(note);
        if (note.n_type == GO_BUILD_ID && note.n_namesz == 4 && at + sizeof(note) + 4 <= length && memcmp(name, "Go\0", 4) == 0) return 1;
        at += sizeof(note) + clr_aligned(note.n_namesz, alignment) + clr_aligned(note.n_descsz, alignment);
    }
    return 0;
}

static int clr_has_go_build_id(int file) {
    Elf64_Ehdr header;
    Elf64_Phdr segments[MOST_HEADERS];
    if (pread(file, &header, sizeof(header), 0) != (ssize_t)sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(segments[0]) || header.e_phnum > MOST_HEADERS) return 0;
    size_t bytes = header.e_phnum * sizeof(segments[0]);
    if (pread(file, segments, bytes, (off_t)header.e_phoff) != (ssize_t)bytes) return 0;
    for (unsigned index = 0; index < header.e_phnum; index++) {
        char notes[NOTE_BYTES];
        if (segments[index].p_type != PT_NOTE) continue;
        size_t wanted = segments[index].p_filesz < sizeof(notes) ? (size_t)segments[index].p_filesz : sizeof(notes);
        ssize_t got = pread(file, notes, wanted, (off_t)segments[index].p_offset);
        if (got > 0 && clr_has_go_note(notes, (size_t)got, segments[index].p_align == 8 ? 8 : 4)) return 1;
    }
    return 0;
}

static int clr_is_go(int file) {
    if (file < 0) return 0;
    int is_go = clr_has_go_build_id(file);
    close(file);
    return is_go;
}

int clr_is_go_program(pid_t pid) { return clr_is_go(cll_procfs_open(pid, 0, "exe")); }

int clr_is_go_file(const char *path) { return clr_is_go(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)); }
