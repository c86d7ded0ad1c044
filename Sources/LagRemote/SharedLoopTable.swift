internal import CLagBeacon
internal import CLagLinux
internal import CLagRemote
internal import Glibc
internal import LagActivity
package import LagMonitor
internal import Synchronization

/// The table in which the loops of other processes publish their activity (clb_loop_table.h).
///
/// Any thread reads; everything in it is a claim of other processes, and is checked against the kernel's data on them.
// Unchecked: the pointer and the descriptor are immutable, and the memory is only accessed by atomic operations and copies.
package final class SharedLoopTable: @unchecked Sendable {
    let raw: UnsafeMutablePointer<clb_loop_table>
    private let descriptor: Int32
    /// The loops that are or were watched, by slot.
    private let watched = Mutex<[UInt32: WeakLoop]>([:])

    private struct WeakLoop {
        weak var loop: RemoteLoop?
    }

    /// The environment variable that a process needs to write into the table.
    package let variable: (name: String, value: String)

    /// Takes 5 ms.
    /// - Throws: ``StallMonitorError/resources(reason:)``.
    package init() throws(StallMonitorError) {
        var table: UnsafeMutablePointer<clb_loop_table>?
        var descriptor: Int32 = -1
        var start: UInt64 = 0
        if let fault = ProcFolder.fault { throw .resources(reason: fault) }
        var error = cll_procfs_start_ticks(getpid(), &start)
        if error == 0 { error = clr_loop_table_create(start, &table, &descriptor) }
        guard error == 0, let table else {
            throw .resources(reason: "no shared memory: \(String(cString: strerror(error)))")
        }
        raw = table
        self.descriptor = descriptor
        var path = [CChar](repeating: 0, count: Int(CLB_LOOP_TABLE_PATH_MAX))
        clr_loop_table_path(descriptor, &path)
        variable = (
            CLB_LOOP_TABLE_VARIABLE, String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        )
    }

    /// A table only for this process, if the system refuses shared memory: no other process finds it, and it stays empty.
    package static func unshared() throws(StallMonitorError) -> SharedLoopTable {
        var table: UnsafeMutablePointer<clb_loop_table>?
        let error = clr_loop_table_create_unshared(&table)
        guard error == 0, let table else { throw .resources(reason: "no memory: \(String(cString: strerror(error)))") }
        return SharedLoopTable(unshared: table)
    }

    private init(unshared table: UnsafeMutablePointer<clb_loop_table>) {
        raw = table
        descriptor = -1
        variable = (CLB_LOOP_TABLE_VARIABLE, "")
    }

    /// The maximum number of loops at a time.
    package static let slotCount = Int(CLB_LOOP_TABLE_SLOTS)

    /// Whether other processes can find it.
    package var isShared: Bool { descriptor >= 0 }

    deinit { clr_loop_table_destroy(raw, descriptor) }

    /// A loop that is or was in the table.
    struct Loop {
        enum State {
            case live, paused
            /// Whether it may not be a loop: nothing of it is reported yet.
            case provisional
            /// Its process no longer watches it, but may still write.
            case left
            case ended
        }

        let index: UInt32
        /// Unchanged while the slot belongs to this loop.
        let claim: UInt64
        let state: State
        /// Whether it ended because it turned out not to be a loop.
        let isWithdrawn: Bool
        /// Whether a monitor in its process publishes it; otherwise it is known only by its waits.
        let isFromMonitor: Bool
        let thread: ProcessThread
        let claimedNanoseconds: UInt64
        /// An address in its thread's stack.
        let stackPointer: UInt64
        let name: String
        /// The known names of its modes, from number 1 on.
        let modes: [String]

        var process: Int32 { thread.process }

        /// Whether its process still watches it, or still waits there.
        var isPresent: Bool { state == .live || state == .paused || state == .provisional }
    }

    struct ProcessThread: Hashable {
        let process: Int32
        let thread: Int32
    }

    func loop(at index: UInt32) -> Loop? {
        var found = clr_loop_table_entry()
        guard clr_loop_table_read(raw, index, &found) != 0 else { return nil }
        let state: Loop.State? =
            switch Int(found.state) {
            case CLB_SLOT_LIVE: .live
            case CLB_SLOT_PAUSED: .paused
            case CLB_SLOT_UNWATCHED: .left
            case CLB_SLOT_PROVISIONAL: .provisional
            case CLB_SLOT_ENDED, CLB_SLOT_WITHDRAWN: .ended
            default: nil
            }
        guard let state else { return nil }
        let modes = withUnsafeBytes(of: found.modes) { $0.split(separator: 0, omittingEmptySubsequences: false).map(Self.text) }
        return Loop(
            index: index,
            claim: clb_claim_with_state(found.claim, 0),
            state: state,
            isWithdrawn: Int(found.state) == CLB_SLOT_WITHDRAWN,
            isFromMonitor: found.kind == UInt32(CLB_LOOP_FROM_MONITOR),
            thread: ProcessThread(process: found.pid, thread: found.tid),
            claimedNanoseconds: found.claimed_ns,
            stackPointer: found.wait_sp,
            name: withUnsafeBytes(of: found.name) { Self.text($0.prefix { $0 != 0 }) },
            modes: modes
        )
    }

    /// Whether the slot has a loop that counts; also false if it no longer belongs to this claim.
    func isConfirmed(_ claim: UInt64, at index: UInt32) -> Bool {
        let present = clb_loop_table_claim(raw, index)
        return clb_claim_with_state(present, 0) == claim && clr_claim_is_confirmed(present) != 0
    }

    /// Where a loop waits now, the descriptor of its epoll instance if it is permanent, and whether it creates one for each wait;
    /// claims of its process.
    func waitPlace(at index: UInt32) -> (stackPointer: UInt64, epoll: Int32?, isMadeAnew: Bool) {
        var (stackPointer, object): (UInt64, Int32) = (0, 0)
        clr_loop_table_wait_place(raw, index, &stackPointer, &object)
        return (stackPointer, object > 0 ? object - 1 : nil, object < 0)
    }

    /// Whether its thread serves a connection that it accepted after its last wait; a claim of its process.
    func isServing(at index: UInt32) -> Bool { clr_loop_table_is_serving(raw, index) != 0 }

    /// Whether another thread of that loop's process has returned since then from a wait on the same epoll instance.
    func hasFetcher(besides index: UInt32, from epoll: Int32, since nanoseconds: UInt64) -> Bool {
        epoll >= 0 && epoll < .max && clr_loop_table_has_fetcher(raw, index, epoll + 1, nanoseconds) != 0
    }

    /// Whether a process publishes anything there, a loop or a candidate. Takes some 0.1 µs.
    package func hasClaim(of process: Int32) -> Bool {
        (0..<UInt32(CLB_LOOP_TABLE_SLOTS)).contains { index in
            let claim = clb_loop_table_claim(raw, index)
            let state = Int(clb_claim_state(claim))
            let isPresent = state == CLB_SLOT_LIVE || state == CLB_SLOT_PAUSED || state == CLB_SLOT_PROVISIONAL
            return isPresent && clb_claim_pid(claim) == process
        }
    }

    /// How often there was no free slot for a loop. Loops without a slot are not watched.
    package var refusals: UInt64 { clr_loop_table_refused(raw) }

    private static func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

    /// Sets the loop that is watched at that slot from now on.
    func record(_ loop: RemoteLoop, at index: UInt32) { watched.withLock { $0[index] = WeakLoop(loop: loop) } }

    /// The loops that are watched.
    var remoteLoops: [RemoteLoop] { watched.withLock { $0.values.compactMap(\.loop) } }

    /// From now on another loop can use the slot.
    func free(_ loop: Loop) { _ = clr_loop_table_free(raw, loop.index, loop.claim) }

    /// The claims of slots that are taken but have no valid loop, by slot: a process died between the claim and its publication,
    /// or wrote invalid data. Takes some 0.2 µs.
    var unfinishedClaims: [UInt32: UInt64] {
        var claims: [UInt32: UInt64] = [:]
        for index in 0..<UInt32(CLB_LOOP_TABLE_SLOTS) {
            let claim = clr_loop_table_unfinished(raw, index)
            if claim != 0 { claims[index] = claim }
        }
        return claims
    }

    /// Frees that slot, unless another claim has it by now.
    func free(_ claim: UInt64, at index: UInt32) { _ = clr_loop_table_free(raw, index, claim) }

    /// The kernel's data on a loop's process.
    struct Owner {
        let startTicks: UInt64
        let stack: (low: UInt64, high: UInt64)
        /// Whether it has this table mapped: if not, it did not write the claim.
        let mapsTable: Bool
    }

    enum OwnerLookup {
        case found(Owner)
        case gone
        /// Currently unknown: no free descriptor, no memory, no permission.
        case unknown
    }

    /// Reads two files of `/proc`; blocks while the process holds the lock of its memory map.
    func owner(of process: Int32, stackPointer: UInt64) -> OwnerLookup {
        var owner = clr_mapping_owner()
        switch clr_mapping_owner_find(descriptor, process, stackPointer, &owner) {
        case 0:
            let stack = (owner.stack_low, owner.stack_high)
            return .found(Owner(startTicks: owner.start_ticks, stack: stack, mapsTable: owner.maps_file != 0))
        case ESRCH, ENOENT: return .gone
        default: return .unknown
        }
    }

    /// Changes whenever a loop is added or removed. Takes some 0.1 µs.
    var claims: UInt64 {
        var sum: UInt64 = 0
        for index in 0..<UInt32(CLB_LOOP_TABLE_SLOTS) { sum = (sum ^ clb_loop_table_claim(raw, index)) &* 0x0000_0100_0000_01b3 }
        return sum
    }

    /// Waits until a loop has published something, or until a time (`CLOCK_MONOTONIC`).
    /// - Returns: false on timeout.
    func wait(until deadline: UInt64) -> Bool { clb_waker_wait_shared(clb_loop_table_waker(raw), deadline) != 0 }

    /// The time of the first answer of a beacon since the last call; 0: none.
    func drain() -> UInt64 { clb_waker_drain(clb_loop_table_waker(raw)) }

    /// Makes the processes read the clock itself from now on, if the kernel has abandoned the counter that they read instead.
    func checkClock() { clr_loop_table_check_clock(raw) }

    /// Ends a wait. Any thread.
    func wake() { clb_waker_post_shared(clb_loop_table_waker(raw)) }
}
