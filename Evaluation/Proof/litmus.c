// Tests the memory order that the protocol relies on: runs each pair of threads below in every order that the machine allows.
//
// The machine: an instruction may be performed (a load takes its value, a store becomes visible to all) at any time, even before an older instruction
// of its thread, unless the architecture keeps the two in order. A load takes the value of an older store of its own thread to the same address,
// even before that store is visible.
//   x86-64 (TSO): only a load may pass an older instruction, and only if that is a store. Nothing passes a locked instruction, including XCHG.
//   AArch64 (other-multi-copy atomic, no dependencies): an instruction may pass any older one except an access to the same address. Nothing passes an
//   older LDAR. STLR passes nothing. LDAR does not pass an older STLR (LDAPR does). An atomic access with both orders acts as both.
// `run` checks that the compiler generates these instructions from CLagBeacon.
//
//     litmus NAME    prints the number of states and whether the forbidden outcome was reached; exits with 0 if that is as expected, else with 1.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 2, MAX_STEPS = 6, PLACES = 6, REGISTERS = 6 };

typedef enum { END, LOAD, STORE, OR, ADD, TAKE } kind;
// On x86: LOCKED. On AArch64: ACQUIRE is LDAR, ACQUIRE_PC is LDAPR, RELEASE is STLR, both bits are an LSE instruction or an LDAXR/STLXR pair.
enum { PLAIN = 0, ACQUIRE = 1, RELEASE = 2, ACQUIRE_PC = 4, LOCKED = 8, BOTH = ACQUIRE | RELEASE };
typedef struct { kind kind; uint8_t place, value, order; } step;  // for LOAD and TAKE (exchange with 0), value is the register
typedef struct {
    const char *name, *says;
    int is_arm, is_expected;
    step threads[MAX_THREADS][MAX_STEPS];
    int (*is_bad)(const uint8_t *registers, const uint8_t *memory);
} test;

enum { WORD, ARMED, POSTS, WAITERS, COUNT, SINCE };

// The watchdog is parked although the loop works: the loop did not see the arming (r0), and the watchdog did not see the new word (r1).
static int missed(const uint8_t *r, const uint8_t *m) { (void)m; return r[0] == 0 && r[1] == 0; }
// The waiter sleeps despite a post: the post did not see the waiter (r0), and the waiter did not see the post (r1).
static int asleep(const uint8_t *r, const uint8_t *m) { (void)m; return r[0] == 0 && r[1] == 0; }
// The word shows that the stretch has ended (r0), but its record is missing (r1).
static int no_note(const uint8_t *r, const uint8_t *m) { (void)m; return r[0] == 1 && r[1] == 0; }
// All posts were taken, including that of the stop (posts are 0), but the stop was not seen (r0).
static int stop_unseen(const uint8_t *r, const uint8_t *m) { return r[0] == 0 && m[POSTS] == 0; }
// The newer record's start (r0), with the count of the older records (r1).
static int torn(const uint8_t *r, const uint8_t *m) { (void)m; return r[0] == 1 && r[1] == 0; }

#define LOOP_WAKES_X86 {{STORE, WORD, 1, LOCKED}, {LOAD, ARMED, 0, PLAIN}}
#define LOOP_WAKES_ARM {{STORE, WORD, 1, RELEASE}, {LOAD, ARMED, 0, ACQUIRE}}
#define STOPPING WAITERS

static const test tests[] = {
    // clb_beacon_store_strongly against clb_beacon_arm and clb_beacon_word.
    {"x86-arm", "wake", 0, 0, {LOOP_WAKES_X86, {{OR, ARMED, 1, LOCKED}, {LOAD, WORD, 1, PLAIN}}}, missed},
    {"aarch64-arm", "wake", 1, 0, {LOOP_WAKES_ARM, {{OR, ARMED, 1, BOTH}, {LOAD, WORD, 1, ACQUIRE}}}, missed},
    // The same for a release store: clb_beacon_store.
    {"x86-arm-released", "publish", 0, 1, {{{STORE, WORD, 1, PLAIN}, {LOAD, ARMED, 0, PLAIN}}, {{OR, ARMED, 1, LOCKED}, {LOAD, WORD, 1, PLAIN}}}, missed},
    {"aarch64-arm-released", "publish", 1, 1, {{{STORE, WORD, 1, RELEASE}, {LOAD, ARMED, 0, PLAIN}}, {{OR, ARMED, 1, BOTH}, {LOAD, WORD, 1, ACQUIRE}}}, missed},
    // With LDAPR instead of LDAR the outcome is reached: sequentially consistent loads must not be compiled to LDAPR.
    {"aarch64-arm-ldapr", "rcpc", 1, 1, {{{STORE, WORD, 1, RELEASE}, {LOAD, ARMED, 0, ACQUIRE_PC}}, {{OR, ARMED, 1, BOTH}, {LOAD, WORD, 1, ACQUIRE}}}, missed},
    // Arming with a plain store.
    {"x86-arm-plain", "arm", 0, 1, {LOOP_WAKES_X86, {{STORE, ARMED, 1, PLAIN}, {LOAD, WORD, 1, PLAIN}}}, missed},
    {"aarch64-arm-plain", "arm", 1, 1, {LOOP_WAKES_ARM, {{STORE, ARMED, 1, PLAIN}, {LOAD, WORD, 1, ACQUIRE}}}, missed},
    // clb_waker_post against clb_waker_wait.
    {"x86-post", "post", 0, 0, {{{ADD, POSTS, 1, LOCKED}, {LOAD, WAITERS, 0, PLAIN}}, {{ADD, WAITERS, 1, LOCKED}, {LOAD, POSTS, 1, PLAIN}}}, asleep},
    {"aarch64-post", "post", 1, 0, {{{ADD, POSTS, 1, BOTH}, {LOAD, WAITERS, 0, ACQUIRE}}, {{ADD, WAITERS, 1, BOTH}, {LOAD, POSTS, 1, ACQUIRE}}}, asleep},
    {"aarch64-post-relaxed", "post", 1, 1, {{{ADD, POSTS, 1, PLAIN}, {LOAD, WAITERS, 0, PLAIN}}, {{ADD, WAITERS, 1, BOTH}, {LOAD, POSTS, 1, ACQUIRE}}}, asleep},
    // clb_beacon_record_stretch and clb_beacon_store against Watch.fastPoll.
    {"x86-note", "note", 0, 0, {{{STORE, COUNT, 1, PLAIN}, {STORE, WORD, 1, PLAIN}}, {{LOAD, WORD, 0, PLAIN}, {LOAD, COUNT, 1, PLAIN}}}, no_note},
    {"aarch64-note", "note", 1, 0, {{{STORE, COUNT, 1, RELEASE}, {STORE, WORD, 1, RELEASE}}, {{LOAD, WORD, 0, ACQUIRE}, {LOAD, COUNT, 1, ACQUIRE}}}, no_note},
    {"aarch64-note-relaxed", "note", 1, 1, {{{STORE, COUNT, 1, RELEASE}, {STORE, WORD, 1, PLAIN}}, {{LOAD, WORD, 0, ACQUIRE}, {LOAD, COUNT, 1, ACQUIRE}}}, no_note},
    // Watchdog.stop against clb_waker_drain and Watchdog.stopping, which an RCpc load may read early: a store instead of the exchange would not suffice.
    {"x86-stop", "stop", 0, 0, {{{STORE, STOPPING, 1, PLAIN}, {ADD, POSTS, 1, LOCKED}}, {{STORE, POSTS, 0, LOCKED}, {LOAD, STOPPING, 0, PLAIN}}}, stop_unseen},
    {"aarch64-stop-store", "rcpc", 1, 1, {{{STORE, STOPPING, 1, RELEASE}, {ADD, POSTS, 1, BOTH}}, {{STORE, POSTS, 0, RELEASE}, {LOAD, STOPPING, 0, ACQUIRE_PC}}}, stop_unseen},
    {"aarch64-stop", "stop", 1, 0, {{{STORE, STOPPING, 1, RELEASE}, {ADD, POSTS, 1, BOTH}}, {{TAKE, POSTS, 1, BOTH}, {LOAD, STOPPING, 0, ACQUIRE_PC}}}, stop_unseen},
    // clb_beacon_record_stretch, with a record that replaces an older one, against clb_beacon_read_stretch. Only time keeps them in order: the threshold
    // lies between the two stores.
    {"x86-note-reuse", "reuse", 0, 0, {{{STORE, COUNT, 1, PLAIN}, {STORE, SINCE, 1, PLAIN}}, {{LOAD, SINCE, 0, PLAIN}, {LOAD, COUNT, 1, PLAIN}}}, torn},
    {"aarch64-note-reuse-at-once", "reuse", 1, 1, {{{STORE, COUNT, 1, RELEASE}, {STORE, SINCE, 1, PLAIN}}, {{LOAD, SINCE, 0, ACQUIRE}, {LOAD, COUNT, 1, PLAIN}}}, torn},
};

typedef struct { uint8_t done[MAX_THREADS], memory[PLACES], registers[REGISTERS]; } machine;

static int is_load(step s) { return s.kind == LOAD; }
static int is_store(step s) { return s.kind == STORE; }

// Whether the architecture keeps two instructions of a thread in order.
static int is_ordered(const test *test, step older, step younger) {
    if (older.place == younger.place && !(is_store(older) && is_load(younger))) return 1;
    if (!test->is_arm) return (older.order | younger.order) & LOCKED || !(is_store(older) && is_load(younger));
    if (older.order & (ACQUIRE | ACQUIRE_PC) || younger.order & RELEASE) return 1;
    return older.order & RELEASE && younger.order & ACQUIRE;
}

// All states that were visited; few enough for a list.
static machine seen[4096];
static int seen_count, bad_count;

static void explore(const test *test, machine now) {
    for (int index = 0; index < seen_count; index++) if (memcmp(&seen[index], &now, sizeof(now)) == 0) return;
    if (seen_count == (int)(sizeof(seen) / sizeof(seen[0]))) abort();
    seen[seen_count++] = now;
    int is_over = 1;
    for (int thread = 0; thread < MAX_THREADS; thread++) {
        const step *steps = test->threads[thread];
        for (int index = 0; index < MAX_STEPS && steps[index].kind != END; index++) {
            if (now.done[thread] >> index & 1) continue;
            is_over = 0;
            int may_run = 1, forwarded = -1;
            for (int older = 0; older < index; older++) {
                if (now.done[thread] >> older & 1) continue;
                if (is_ordered(test, steps[older], steps[index])) may_run = 0;
                if (is_store(steps[older]) && steps[older].place == steps[index].place) forwarded = steps[older].value;
            }
            if (!may_run) continue;
            machine next = now;
            step s = steps[index];
            uint8_t *place = &next.memory[s.place];
            next.done[thread] |= (uint8_t)(1 << index);
            switch (s.kind) {
            case LOAD: next.registers[s.value] = forwarded >= 0 ? (uint8_t)forwarded : *place; break;
            case STORE: *place = s.value; break;
            case OR: *place |= s.value; break;
            case ADD: *place += s.value; break;
            case TAKE: next.registers[s.value] = *place; *place = 0; break;
            case END: break;
            }
            explore(test, next);
        }
    }
    if (is_over && test->is_bad(now.registers, now.memory)) bad_count++;
}

int main(int count, char **arguments) {
    if (count == 1) {
        for (size_t index = 0; index < sizeof(tests) / sizeof(tests[0]); index++) printf("%s %s\n", tests[index].name, tests[index].is_expected ? "caught" : "holds");
        return 0;
    }
    for (size_t index = 0; index < sizeof(tests) / sizeof(tests[0]); index++) {
        if (strcmp(tests[index].name, arguments[1]) != 0) continue;
        machine start;
        memset(&start, 0, sizeof(start));
        explore(&tests[index], start);
        printf("%d %s\n", seen_count, bad_count > 0 ? "reached" : "unreachable");
        return (bad_count > 0) != tests[index].is_expected;
    }
    return 64;
}
