/*
 * A model for SPIN of the protocol between a loop, the watchdog, the reporter, and the owner that stops them. README.md lists what it covers.
 *
 * One step of a process is one access to shared memory. The loop's plain and release stores go through a store buffer: in order (x86), or with WEAK in
 * any order that a release store allows (AArch64). The watchdog's loads are sequentially consistent or acquire loads, and its stores to data that the loop
 * reads are atomic read-modify-writes, so the watchdog needs no buffer.
 *
 * Time: the loop's activities are numbered by the beacon's sequence, and the number of an activity is the time at which it began: stretch k begins at k and
 * ends at k + 1. A stretch that reaches the threshold is a bit in `longs`; by then all earlier stores are visible, because a threshold is milliseconds, and
 * a store buffer's delay is much shorter.
 *
 * Parameters: STEPS (stretches of work), RING (clb_beacon.stretches), WEAK, EXACT_END (checks late_end), NOTES (no arming: a scan at any time), STOP (with
 * owner and reporter; memory without buffers, the waker is a semaphore), and at most one MUTANT_....
 */
#ifndef STEPS
#define STEPS 4
#endif
#ifndef RING
#define RING 2
#endif
#ifndef BUFFERED
#define BUFFERED 3
#endif

/* What the loop does, in the low bits of the word. */
#define REST 0
#define WORK 1
#define FINISHED 2
#define WORD_OF(number, activity) ((number) * 4 + (activity))
#define NUMBER(word) ((word) / 4)
#define IS_WORK(word) ((word) % 4 == WORK)
#define NO_WORD 255

#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))

/* clb_beacon, the fields that the loop stores to. */
#define WORD 0
#define CALLOUT 1
#define COUNT 2
#define ANSWERED 3
#define SINCE(number) (4 + (number) % RING)
#define UNTIL(number) (4 + RING + (number) % RING)
byte beacon[4 + 2 * RING];
/* clb_beacon.armed */
#define ANY 1
byte armed;

/* clb_waker, and the kernel's side of its futex. */
byte posts, waiters;
bool asleep, woken;

/* Watchdog.changed, Watchdog.stopping; Watch.State; WatchRegistry's registration. */
bool changed, stopping;
mtype = { watched, ending, retired, free };
mtype state = watched;
bool registered = true;

/* EpisodeQueue.ready, Reporter.semaphore, Reporter.stopping, the ends of the threads. */
#ifdef STOP
chan ready = [STEPS + 1] of { byte };
/* The reporter also wakes for other loops: once, at any time. */
bool notified = true;
bool reporterStopping, reporterEnded;
#endif
bool watchdogEnded, ended;

/* The loop's store buffer. */
byte bufferedField[BUFFERED], bufferedValue[BUFFERED];
byte buffered;

/* The truth, which the modelled code does not read. */
byte present;            /* the current time: the number of the loop's latest activity */
byte running;            /* the activity whose code the loop's thread runs */
byte longs;              /* stretches that reached the threshold */
bool hangFound;
byte reported;           /* stalls that were passed to the reporter */
#ifdef STOP
byte delivered;          /* stalls that the reporter has passed on */
#define REQUIRED reported
#else
#define delivered reported
#define REQUIRED longs
#endif
byte excused;            /* stalls whose end may be inexact, because their record may have been overwritten, as RING allows */
byte covered;            /* the other stretches inside a reported stall whose end was inexact */
byte counted;            /* overwritten records, which the watch counts as dropped */
bool loopHangs, loopEnded, wakerFreed, isPatient;
#define HAS(set, number) (((set) >> (number)) & 1)
#define MEMBERS(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2) + HAS(set, 3) + HAS(set, 4) + HAS(set, 5) + HAS(set, 6) + HAS(set, 7))
#define BEACON_FREED (loopEnded && !registered)

/* The properties, by name: each variable must stay false, which is asserted. */
bool lost_wakeup, lost_request, reported_twice, stall_lost, other_stack, used_after_stop, false_stall, torn_note, late_end;

/* ---- The loop's memory ---- */

#ifdef STOP
inline put(field, value) { beacon[field] = value }
#else
inline put(field, value) { bufferedField[buffered] = field; bufferedValue[buffered] = value; buffered++ }
#endif

inline store(field, value) { atomic { buffered < BUFFERED -> put(field, value) } }

#ifndef STOP
inline drain(index) {
    d_step {
        beacon[bufferedField[index]] = bufferedValue[index];
        at = index;
        do
        :: at + 1 < buffered ->
            bufferedField[at] = bufferedField[at + 1]; bufferedValue[at] = bufferedValue[at + 1];
            at++
        :: else -> break
        od;
        bufferedField[at] = 0; bufferedValue[at] = 0;
        buffered--;
        at = 0
    }
}

#define IS_RELEASE(field) ((field) == WORD || (field) == COUNT || (field) == ANSWERED)
#define MAY_PASS(index) (buffered > index && !IS_RELEASE(bufferedField[index]))
#define DIFFERS(a, b) (bufferedField[a] != bufferedField[b])

active proctype StoreBuffer() {
    byte at;
end:
    do
    :: atomic { buffered > 0 -> drain(0) }
#ifdef WEAK
    /* A later store may pass earlier ones, unless it is a release store or to the same place. */
    :: atomic { MAY_PASS(1) && DIFFERS(0, 1) -> drain(1) }
    :: atomic { MAY_PASS(2) && DIFFERS(0, 2) && DIFFERS(1, 2) -> drain(2) }
#endif
    od
}
#endif

/* ---- Posts ---- */

/* clb_waker_post. In the loop, this is an atomic operation, which waits until the store buffer is empty. */
inline post(isOfLoop) {
    atomic { !(isOfLoop) || buffered == 0 -> used_after_stop = wakerFreed; assert(!used_after_stop); posts++ }
#ifndef STOP
    ;
    if
    :: atomic { waiters == 0 -> skip }
    :: atomic { waiters != 0 -> skip };
        /* FUTEX_WAKE */
        d_step { if :: asleep -> asleep = false; woken = true :: else fi }
    fi
#endif
}

/* ---- The loop's thread ---- */

/* clb_beacon_notify, clb_beacon_answer: arming for any activity is answered at every activity. */
inline answer() {
#ifdef NOTES
    skip
#else
    if
    :: atomic { armed == 0 -> skip }
    :: atomic { armed != 0 -> skip };
        atomic { buffered == 0 -> answers = armed; armed = 0 };
        if
        :: !answers -> skip
        :: else ->
            answers = 0;
#ifndef STOP
            store(ANSWERED, present);
#endif
            post(true)
        fi
    fi
#endif
}

/* clb_beacon_record_stretch, for the stretch before the current activity. */
inline recordStretch() {
#ifdef STOP
    skip
#else
    if
    :: HAS(longs, present - 1) ->
        atomic { buffered < BUFFERED -> count++; put(SINCE(count), present - 1) };
        store(UNTIL(count), present);
        store(COUNT, count)
    :: else
    fi
#endif
}

/* ActivityBeacon.begin: clb_beacon_begin, clb_beacon_store. */
inline begin(next) {
    present++;
#ifndef MUTANT_NOTE_AFTER_WORD
    recordStretch();
#endif
    store(CALLOUT, present);
    atomic { buffered < BUFFERED -> put(WORD, WORD_OF(present, next)); activity = next; running = present };
#ifdef MUTANT_NOTE_AFTER_WORD
    recordStretch();
#endif
    answer()
}

/* ActivityBeacon.wake: clb_beacon_wake, clb_beacon_store_strongly. */
inline wake(next) {
    atomic { buffered < BUFFERED -> present++; put(CALLOUT, present) };
    atomic { buffered < BUFFERED -> put(WORD, WORD_OF(present, next)); activity = next; running = present };
#ifndef MUTANT_NO_FENCE
    /* The store is sequentially consistent, and so is the load of `armed` that follows. */
    buffered == 0;
#endif
    answer()
}

proctype Loop() {
    byte count;
    byte activity = REST;
    bool answers;

    do
    :: activity == REST && present < STEPS -> wake(WORK)
    :: activity == WORK ->
        if
        :: skip
        :: atomic { buffered == 0 -> longs = longs | (1 << present) }
#if !defined(NOTES) && !defined(STOP)
        :: atomic { buffered == 0 -> longs = longs | (1 << present); loopHangs = true };
            /* A hang: it ends when the watchdog has found it, or when it is no longer watched. */
            atomic { hangFound || state != watched -> loopHangs = false; hangFound = false }
#endif
        fi;
        if
        :: present < STEPS -> begin(WORK)
        :: begin(REST)
        fi
    :: activity == REST -> break
    od;
    /* ObservedRunLoop.finish */
    wake(FINISHED);
    loopEnded = true
}

/* ---- The watchdog's thread ---- */

/* A load of a field of the beacon. */
inline load(field, into) {
    atomic { used_after_stop = BEACON_FREED; assert(!used_after_stop); into = beacon[field] }
}

/* BeaconReading.init */
inline read() {
#ifdef STOP
    atomic { used_after_stop = BEACON_FREED; assert(!used_after_stop); word = beacon[WORD]; callout = beacon[CALLOUT] }
#else
    load(WORD, word);
    atomic { used_after_stop = BEACON_FREED; assert(!used_after_stop); callout = beacon[CALLOUT]; answered = beacon[ANSWERED] }
#endif
}

/* Watch.arm: clb_beacon_arm */
inline arm() {
#ifdef NOTES
    skip
#else
    atomic { used_after_stop = BEACON_FREED; assert(!used_after_stop); armed = ANY }
#endif
}

/* Watch.close: EpisodeQueue.giveReady, Reporter.wake. */
inline report(since) {
    d_step {
        reported_twice = HAS(reported, since); assert(!reported_twice);
        false_stall = !HAS(longs, since); assert(!false_stall);
        reported = reported | (1 << since)
    };
#ifdef STOP
    ready!since;
    notified = true
#endif
}

/* StallDetector.close, beginAll: time before `until` is ignored from now on. */
inline endStall(until) {
    d_step {
#ifdef EXACT_END
        late_end = until != intervalSince + 1 && !HAS(excused, intervalSince); assert(!late_end);
#endif
        reporting = intervalSince;
        covered = covered | (((1 << until) - 1) & ~((2 << intervalSince) - 1));
        ignoreBefore = MAX(ignoreBefore, until)
    };
    report(reporting);
    reporting = 0
}

/* CalloutStrategy.begin */
inline beginInterval() {
    d_step {
        if
        :: IS_WORK(word) -> condition = working; intervalWord = word; intervalSince = MAX(callout, ignoreBefore); intervalSeen = now
        :: else -> condition = idle; intervalWord = 0; intervalSince = 0; intervalSeen = 0
        fi
    }
}

/* Watch.sampleStack: the capture, and the decision whether its stack is kept (isStillStalled). */
inline sampleStack() {
#ifdef STOP
    skip
#else
    /*
     * Passive capture: the thread sleeps in the kernel all the time. By signal: the handler runs on the loop's thread and publishes its copy with a
     * release store. In both cases the loop's earlier stores are visible when the copy is.
     */
    sampled = running;
    atomic { NUMBER(beacon[WORD]) >= sampled -> skip };
#ifdef MUTANT_NO_REREAD_AFTER_CAPTURE
    again = word;
#else
    load(WORD, again);
#endif
    d_step {
        other_stack = again == word && sampled != NUMBER(word); assert(!other_stack);
        sampled = 0; again = 0
    }
#endif
}

#define IS_SEEN (condition != idle && noteSince <= intervalSince && intervalSince < noteUntil)

inline replayOne() {
    if
    :: noteUntil <= ignoreBefore -> skip
#ifdef MUTANT_REPLAY_DROPS
    /* "Then the next observation reports its end." */
    :: noteUntil > ignoreBefore && IS_SEEN && condition == stalled -> skip
#else
    :: noteUntil > ignoreBefore && IS_SEEN && condition == stalled -> condition = working; endStall(noteUntil)
#endif
    :: else ->
#ifndef MUTANT_REPLAY_DROPS
        if
        :: !IS_SEEN && condition == stalled -> condition = working; endStall(noteSince)
        :: else
        fi;
#endif
        if
#ifdef MUTANT_REPLAY_DROPS
        :: condition == stalled -> skip
#endif
        :: (IS_SEEN -> intervalSince : MAX(noteSince, ignoreBefore)) > noteSince -> skip
        :: else ->
#ifndef MUTANT_NOTE_IGNORES_NOTHING
            ignoreBefore = MAX(ignoreBefore, noteUntil);
#endif
            reporting = noteSince; report(reporting); reporting = 0
        fi
    fi;
    if :: condition != idle -> intervalSince = MAX(intervalSince, ignoreBefore) :: else fi
}

/* Watch.replay, StallDetector.replay */
inline replay() {
#ifdef STOP
    skip
#else
    load(COUNT, count);
    isKnown = condition == stalled;
    do
    :: stretchCount == count -> break
    :: else ->
        stretchCount++;
        /* clb_beacon_read_stretch */
        load(SINCE(stretchCount), noteSince);
        load(UNTIL(stretchCount), noteUntil);
        load(COUNT, again);
        if
#ifdef MUTANT_RING_BOUND
        :: again - stretchCount >= RING ->
#else
        :: again - stretchCount >= RING - 1 ->
#endif
            /* Overwritten: more stalls ended since the last observation than can be read. Each is counted, except the one in progress. */
#ifdef MUTANT_LOST_UNCOUNTED
            excused = excused | longs
#else
            d_step { excused = excused | longs; counted = counted + (isKnown -> 0 : 1) }
#endif
        :: else ->
            d_step { torn_note = noteUntil != noteSince + 1; assert(!torn_note) };
            replayOne()
        fi;
        d_step { noteSince = 0; noteUntil = 0; again = 0; isKnown = false }
    od;
    isKnown = false;
    count = 0
#endif
}

/* Watch.observe. `now` is the time; `longsSeen`: the stretches that had reached the threshold when the scan began. */
inline observe() {
    hasChanged = word != lastWord;
    if
    :: fastPolled -> d_step { condition = working; intervalWord = lastWord; intervalSince = MAX(callout, ignoreBefore); intervalSeen = now; fastPolled = false }
    :: else
    fi;
    lastWord = word;
    if
    :: hasChanged -> replay()
    :: else
    fi;
    /* CalloutStrategy.observe */
    if
    :: condition == working && intervalWord == word ->
        intervalSeen = now;
        if
        :: longsSeen >> intervalSince ->
            atomic { condition = stalled; hangFound = loopHangs && intervalSince == present };
            /* Watch.open */
            arm();
            sampleStack()
        :: else
        fi
    :: condition == stalled && intervalWord == word -> intervalSeen = now
    :: condition == stalled && intervalWord != word ->
        /* CalloutStrategy.end */
        d_step {
            until = MAX(now, intervalSince);
            if :: answered >= intervalSeen && answered > intervalSince -> until = MIN(until, answered) :: else fi;
            if :: callout > intervalSince -> until = MIN(until, callout) :: else fi
        };
        endStall(until);
        until = 0;
        beginInterval()
    :: else -> beginInterval()
    fi
}

/* Watch.retire: finish, endActiveStall, StallDetector.finish. */
inline retire() {
    read();
    if
    :: word != lastWord -> now = present; observe()
    :: else
    fi;
    if
    :: condition == stalled -> atomic { reporting = intervalSince; condition = idle }; report(reporting); reporting = 0
    :: else
    fi;
    /* clb_beacon_disarm */
    atomic { used_after_stop = BEACON_FREED; assert(!used_after_stop); armed = 0 };
    state = retired;
    hasRetired = true
}

inline visitClosely() {
    read();
    d_step {
        wasChanged = word != lastWord;
        /* The end of a stall may be later than the start of this scan. */
        if :: wasChanged && condition == stalled -> now = present :: else fi
    };
    observe();
    if
    :: condition == stalled ->
        /* Arms, then reads again. */
        arm();
        read();
        if
        :: word != lastWord -> now = present; observe()
        :: else
        fi
    :: else
    fi;
    if
    :: word % 4 == FINISHED -> retire()
    :: else ->
        if
        :: condition == stalled -> sampleStack()
        :: else
        fi;
        if :: wasChanged || IS_WORK(word) -> isBusy = true :: else fi;
        isStalled = condition == stalled
    fi
}

/* Watch.visit */
inline visit() {
    if
    :: state == ending -> retire()
    :: state == watched ->
        /* Watch.fastPoll */
        load(WORD, word);
        load(COUNT, count);
        if
        :: word != lastWord && IS_WORK(word) && count == stretchCount && condition != stalled ->
            d_step { count = 0; lastWord = word; fastPolled = true; isBusy = true }
        :: else ->
            count = 0;
            visitClosely()
        fi
    :: else
    fi
}

/* Watchdog.park */
inline park() {
    if
#ifdef MUTANT_PARK_RETIRED
    :: true ->
#else
    :: state == watched ->
#endif
#ifdef MUTANT_READ_THEN_ARM
        load(WORD, again);
        arm();
#else
        arm();
#ifdef MUTANT_NO_REREAD_AFTER_ARM
        again = lastWord;
#else
        load(WORD, again);
#endif
#endif
        d_step { if :: again != lastWord -> hasDeadline = true :: else fi; again = 0 }
    :: else
    fi
}

/* Watchdog.scan; Plan is hasDeadline and wantsPosts. */
inline scan() {
    d_step { now = present; longsSeen = longs; isBusy = false; isStalled = false; hasRetired = false; wasChanged = false };
    visit();
#ifdef STOP
    /* Watch.readClock */
    if
    :: state == watched -> load(WORD, again); again = 0
    :: else
    fi;
#endif
    hasDeadline = isBusy;
#ifdef STOP
    if :: hasRetired -> notified = true :: else fi;
#endif
#ifndef NOTES
    if :: !isBusy -> park() :: else fi;
#endif
    d_step {
        wantsPosts = isStalled || !isBusy;
        now = 0; longsSeen = 0; isBusy = false; isStalled = false; hasRetired = false; wasChanged = false; hasChanged = false; word = 0; callout = 0; answered = 0
    }
}

/* clb_waker_wait, clb_waker_wait_as, clb_waker_take. Without a deadline only a post ends the wait; with a deadline it may end at any time. */
inline wait() {
#ifdef STOP
    atomic { posts > 0 || hasDeadline -> isPosted = posts > 0; posts = (posts > 0 -> posts - 1 : 0) }
#else
#ifndef MUTANT_UNCOUNTED_WAITER
    waiters++;
#endif
    do
    :: atomic { posts > 0 -> posts--; isPosted = true; break }
    :: atomic { posts == 0 -> skip };
        /* FUTEX_WAIT_BITSET: the kernel compares the word and suspends the thread in one step. */
        if
        :: atomic { posts != 0 -> skip }
        :: atomic { posts == 0 -> asleep = true };
#ifdef MUTANT_UNCOUNTED_WAITER
            waiters++;
#endif
            if
            :: atomic { woken -> woken = false };
                atomic { isPosted = true; posts = (posts > 0 -> posts - 1 : 0); break }
            :: atomic { hasDeadline && asleep -> asleep = false };
                atomic { isPosted = posts > 0; posts = (posts > 0 -> posts - 1 : 0); break }
            fi
        fi
    od;
    waiters = 0
#endif
}

mtype = { idle, working, stalled };

proctype Watchdog() {
    /* Watchdog.run, Plan, ScanState */
    bool isPosted, isNews, hasDeadline, wantsPosts, isBusy, isStalled, hasRetired, wasChanged, hasChanged;
    byte now, longsSeen;
    /* BeaconReading */
    byte word, callout, answered;
    /* Watch.HotPart, WatchRegistry.add */
    byte lastWord = NO_WORD, stretchCount;
    bool fastPolled;
    /* CalloutStrategy.State, StallDetector.ignoreBefore */
    mtype condition = idle;
    byte intervalWord, intervalSince, intervalSeen, ignoreBefore;
    byte count, again, sampled, noteSince, noteUntil, reporting, until;
    bool isKnown;

    scan();
    do
    :: stopping -> break
#ifndef STOP
    :: state == retired -> break
#endif
    :: else ->
#ifdef NOTES
        scan()
#else
        wait();
        if
        :: stopping -> break
        :: else
        fi;
#ifndef MUTANT_DRAIN_AFTER_SCAN
        /* clb_waker_drain */
        posts = 0;
#endif
        atomic { isNews = changed; changed = false };
        if
        :: stopping -> break
        :: else
        fi;
        if
        :: isPosted && !wantsPosts && !isNews -> d_step { isPosted = false }
        :: else -> d_step { isPosted = false; isNews = false }; scan()
        fi;
#ifdef MUTANT_DRAIN_AFTER_SCAN
        posts = 0
#endif
#endif
    od;
    /* Watchdog.endAll */
    if
    :: state == watched || state == ending -> retire()
    :: else
    fi;
#ifdef STOP
    notified = true;
#else
    ended = true;
#endif
    watchdogEnded = true
}

#ifdef STOP
/* ---- The reporter's thread ---- */

/* Reporter.run: WatchRegistry.retired, EpisodeQueue.takeReady, WatchRegistry.reap. */
proctype Reporter() {
    bool isLast, isRetired;
    byte since;

    do
    :: atomic {
            notified -> notified = false;
            isLast = reporterStopping;
#ifndef MUTANT_RETIRED_AFTER_QUEUE
            isRetired = state == retired
#endif
        };
        do
        :: atomic { nempty(ready) -> ready?since };
            /* Without a registration a stall has no owner, and is not delivered. */
            d_step { if :: registered -> delivered = delivered | (1 << since) :: else fi; since = 0 }
        :: atomic { empty(ready) -> break }
        od;
#ifdef MUTANT_RETIRED_AFTER_QUEUE
        isRetired = state == retired;
#endif
        if
        :: isRetired -> atomic { registered = false; state = free; isRetired = false }
        :: else
        fi;
        if
        :: isLast -> break
        :: else
        fi
    od;
    reporterEnded = true
}

/* ---- The owner of the watch ---- */

/* WatchRegistry.end, Watchdog.wake */
inline endWatch() {
#ifdef MUTANT_POST_BEFORE_STATE
    changed = true;
    post(false);
#endif
    atomic {
        if
        :: state == watched -> state = ending
        :: else
        fi
    };
#ifndef MUTANT_POST_BEFORE_STATE
    changed = true;
    post(false)
#endif
}

/* StallMonitor.unwatch or stop, and MonitorEngine.release. */
proctype Owner() {
    if
    :: isPatient = true; !registered       /* the loop ends first */
    :: isPatient = true; endWatch(); !registered
    :: endWatch()                         /* the watchdog or a sink takes longer than stop() waits */
    fi;
    isPatient = false;
    /* Watchdog.stop */
    stopping = true;
    post(false);
    /* WorkerThread.join; Reporter.stop */
    watchdogEnded;
    reporterStopping = true;
    notified = true;
    reporterEnded;
#ifdef MUTANT_WAKER_FREED
    wakerFreed = true;
#endif
    ended = true
}

#endif

/* ---- The judge, which runs when no other process can continue ---- */

active proctype Judge() {
    timeout;
    d_step {
        if
        :: !ended ->
            lost_wakeup = loopHangs || loopEnded && state == watched; assert(!lost_wakeup);
            lost_request = true; assert(!lost_request)
        :: else ->
            stall_lost = MEMBERS(REQUIRED & ~delivered & ~covered) > counted; assert(!stall_lost)
        fi
    }
}

init {
    atomic { run Loop(); run Watchdog()
#ifdef STOP
        ; run Reporter(); run Owner()
#endif
    }
}
