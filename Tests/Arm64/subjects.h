// Functions that call each other in a known order. Each has a frame directly below its caller's: none is inlined or makes a tail call.
#ifndef SUBJECTS_H
#define SUBJECTS_H

// The work of the innermost function. The rest of the stack is the same.
typedef void (*subject_work)(void *context);

// subject_outer < subject_middle < subject_inner < work.
void subject_outer(subject_work work, void *context);
// The same with a frame that grows (alloca), over a stack full of old frame records.
void subject_grown(subject_work work, void *context);
// Three functions without unwind tables: untabled_outer < untabled_inner < work; untabled_leaf spins without a frame of its own.
void untabled_outer(subject_work work, void *context);
void untabled_leaf(void *stop);
// The same below a function without a frame record: subject_frameless < untabled_outer < untabled_inner < work.
void subject_frameless(subject_work work, void *context);

// Spins in a function that calls nothing, until the word is set.
void subject_leaf(void *stop);
// Spins, and repeatedly calls a function.
void subject_spin(void *stop);

// Leaves `depth` old frame records of indirect calls below the current frame.
int subject_dig(int depth);

// Whether return addresses in this program are signed.
int subject_is_signed(void);

#endif
