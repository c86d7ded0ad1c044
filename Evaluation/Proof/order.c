// The source of the instructions that `run` checks: the two sides of the store/arm pair, each in a function.
#include "clb_beacon.h"

int proof_wake(clb_beacon *beacon, uint64_t now_ns) { return clb_beacon_store_strongly(beacon, CLB_ACTIVITY_AFTER_WAITING, now_ns); }

int proof_publish(clb_beacon *beacon) { return clb_beacon_store(beacon, CLB_ACTIVITY_BEFORE_SOURCES); }

uint64_t proof_arm(clb_beacon *beacon, clb_waker *waker) {
    clb_beacon_arm(beacon, waker, CLB_ARMED_ANY);
    return clb_beacon_word(beacon);
}
