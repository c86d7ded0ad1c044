internal import CLagBeacon
internal import CLagLinux
internal import Glibc
package import LagActivity
internal import LagCapture
internal import LagModel
internal import Synchronization

/// The watched loops. Any thread adds and removes them; the watchdog reads them without a lock.
/// Entries are in one block of memory that is allocated at the start, so the watchdog neither allocates nor locks when a loop is
/// added or removed; the registry keeps the loops alive until the watchdog is done with them.
// Unchecked: `hotParts` and `coldParts` are immutable pointers; Watch.HotPart and Watch.ColdPart document which thread may access
// their memory; the rest is in a Mutex.
package final class WatchRegistry: @unchecked Sendable {
    /// Loops that can be watched at once in one process.
    package static let capacity = 16_384

    /// A watched loop for the reporter.
    package struct Registration: Sendable {
        package let loop: any ObservableLoop
        /// The loop, if it is not certain that it is one.
        package let candidate: (any CandidateLoop)?
        package let name: String
        package let owner: any WatchOwner
        /// The ticks of the loop, if a rule needs them.
        package let ticker: (any LoopTicker)?
        package let ticks: TickCell?
        /// What lagmond sees of the loop, if it started this process.
        package let mirror: BeaconMirror?
    }

    /// A loop that is watched and whose watch is not ending.
    private struct Key: Hashable {
        let loop: ObjectIdentifier
        let owner: ObjectIdentifier

        init(_ loop: any ObservableLoop, _ owner: any WatchOwner) {
            self.loop = ObjectIdentifier(loop)
            self.owner = ObjectIdentifier(owner)
        }
    }

    private struct Table {
        var registrations: [Int: Registration] = [:]
        var indices: [Key: Int] = [:]
        var freeIndices: [Int] = []
        var used = 0
    }

    let hotParts: UnsafeMutablePointer<Watch.HotPart>
    let coldParts: UnsafeMutablePointer<Watch.ColdPart>
    private let table = PthreadMutex(Table())
    /// How far the watchdog has to scan.
    private let highWaterMark = Atomic<Int>(0)
    private static var hotPartBytes: Int { capacity * MemoryLayout<Watch.HotPart>.stride }
    private static var coldPartBytes: Int { capacity * MemoryLayout<Watch.ColdPart>.stride }

    package init?() {
        assert(MemoryLayout<Watch.HotPart>.stride == 64, "a cache line each")
        guard let hotParts = cll_memory_map(Self.hotPartBytes), let coldParts = cll_memory_map(Self.coldPartBytes) else {
            return nil
        }
        self.hotParts = hotParts.bindMemory(to: Watch.HotPart.self, capacity: Self.capacity)
        self.coldParts = coldParts.bindMemory(to: Watch.ColdPart.self, capacity: Self.capacity)
    }

    deinit {
        cll_memory_unmap(hotParts, Self.hotPartBytes)
        cll_memory_unmap(coldParts, Self.coldPartBytes)
    }

    /// Entries below this index may be in use. Watchdog.
    var count: Int { highWaterMark.load(ordering: .acquiring) }

    /// Watches a loop for an owner; does nothing if this owner watches it already.
    /// - Parameters:
    ///   - ticker: makes the loop tick into `ticks`; cancelled with the watch.
    ///   - mirror: paused and released with the watch.
    ///   - now: the beginning of the rules' grace period.
    ///   - ignoresEarlier: whether what the loop began before `now` counts only from `now` on.
    /// - Returns: the entry's index; nil if the registry is full.
    package func add(
        _ loop: any ObservableLoop,
        name: String,
        owner: any WatchOwner,
        rules: WatchRules,
        ticks: TickCell? = nil,
        ticker: (any LoopTicker)? = nil,
        mirror: BeaconMirror? = nil,
        now: UInt64 = 0,
        ignoresEarlier: Bool = false
    ) -> Int? {
        let target = loop.thread
        let candidate = loop as? any CandidateLoop
        let waits = (loop as? any ExaminableLoop)?.waits ?? .rests
        if let callout = rules.callout { clb_beacon_limit(loop.beacon.raw, callout.thresholdNanoseconds) }
        let ignoreBefore = ignoresEarlier || rules.graceNanoseconds > 0 ? now.saturatingSum(rules.graceNanoseconds) : 0
        let process = target.process == getpid() ? nil : target.process
        // For an unpinned loop it would soon be another thread's.
        let isOneThread = target.tid != 0 && !(loop is any UnpinnedLoop)
        let times = process != nil || isOneThread ? PersistentProcFile(timesOf: target.tid, process: process) : nil
        let (index, isNew) = table.withLock { table -> (Int?, Bool) in
            if let present = table.indices[Key(loop, owner)] { return (present, false) }
            let index: Int
            if let reused = table.freeIndices.popLast() {
                index = reused
            } else {
                guard table.used < Self.capacity else { return (nil, false) }
                index = table.used
                table.used += 1
            }
            (hotParts + index).initialize(
                to: Watch.HotPart(beacon: loop.beacon.raw, rules: rules, publishesRests: waits == .rests)
            )
            (coldParts + index).initialize(
                to: Watch.ColdPart(
                    loop,
                    target: target,
                    ticks: ticks,
                    times: times,
                    rules: rules,
                    ignoreBefore: ignoreBefore
                )
            )
            table.registrations[index] = Registration(
                loop: loop,
                candidate: candidate,
                name: name,
                owner: owner,
                ticker: ticker,
                ticks: ticks,
                mirror: mirror
            )
            table.indices[Key(loop, owner)] = index
            hotParts[index].state.store(.active, ordering: .releasing)
            if highWaterMark.load(ordering: .relaxed) <= index { highWaterMark.store(index + 1, ordering: .releasing) }
            return (index, true)
        }
        if !isNew {
            ticker?.cancel()
            mirror?.release()
        }
        return index
    }

    package func isWatched(_ loop: any ObservableLoop, by owner: any WatchOwner) -> Bool {
        table.withLock { $0.indices[Key(loop, owner)] != nil }
    }

    /// Pauses or resumes the watch of a loop for this owner; of all its loops if `loop` is nil.
    /// - Parameter now: for a resume: nothing before it counts.
    package func setPaused(_ paused: Bool, _ loop: (any ObservableLoop)?, of owner: any WatchOwner, now: UInt64) {
        table.withLock { table in
            for (key, index) in table.indices where key.owner == ObjectIdentifier(owner) {
                guard loop.map({ key.loop == ObjectIdentifier($0) }) ?? true else { continue }
                table.registrations[index]?.mirror?.setPaused(paused)
                if paused {
                    _ = exchange(index, [.resuming, .active], for: .paused)
                } else if hotParts[index].state.load(ordering: .acquiring) == .paused {
                    coldParts[index].resumedNanoseconds.store(now, ordering: .releasing)
                    _ = exchange(index, [.paused], for: .resuming)
                }
            }
        }
    }

    /// Requests the watchdog to end the watch of a loop for this owner; false if it is not watched. It may be added again at
    /// once.
    package func end(_ loop: any ObservableLoop, of owner: any WatchOwner) -> Bool {
        table.withLock { table in
            guard let index = table.indices.removeValue(forKey: Key(loop, owner)) else { return false }
            return end(index)
        }
    }

    /// Requests the watchdog to report every stall of this owner's loops that had begun by then, however short it is so far.
    package func requestReports(of owner: any WatchOwner, begunBefore time: UInt64) {
        table.withLock { table in
            for (index, registration) in table.registrations where registration.owner === owner {
                coldParts[index].reportRequested.store(time, ordering: .releasing)
            }
        }
    }

    /// Requests the watchdog to end every watch of this owner; returns their number.
    package func endAll(of owner: any WatchOwner) -> Int {
        table.withLock { table in
            var count = 0
            for (index, registration) in table.registrations where registration.owner === owner {
                table.indices[Key(registration.loop, owner)] = nil
                if end(index) { count += 1 }
            }
            return count
        }
    }

    private func end(_ index: Int) -> Bool { exchange(index, [.resuming, .active, .paused], for: .ending) }

    /// Sets a new state if the present one is among these. The watchdog may change `.resuming` to `.active` meanwhile, so list
    /// `.resuming` before `.active`.
    private func exchange(_ index: Int, _ states: [Watch.State], for desired: Watch.State) -> Bool {
        states.contains { state in
            hotParts[index].state.compareExchange(expected: state, desired: desired, ordering: .acquiringAndReleasing).exchanged
        }
    }

    /// The ticks of a loop that is watched for this owner by a rule that needs them.
    package func ticks(of loop: any ObservableLoop, by owner: any WatchOwner) -> TickCell? {
        table.withLock { table in table.indices[Key(loop, owner)].flatMap { table.registrations[$0]?.ticks } }
    }

    /// Sends a ping to a loop. Not on the watchdog, unless the loop declares that this takes no lock.
    func ping(_ index: Int) {
        guard let loop = registration(at: index)?.loop as? any PingableLoop else { return }
        loop.ping()
        // Not before: the time for sending it is not the loop's. And the entry may belong to another loop by now.
        table.withLock { table in
            guard table.registrations[index]?.loop === loop else { return }
            coldParts[index].pingedNanoseconds.store(clb_now_ns(), ordering: .releasing)
        }
    }

    package func registration(at index: Int) -> Registration? { table.withLock { $0.registrations[index] } }

    /// The counts of all loops that `owner` watches or has watched.
    package func counters(of owner: any WatchOwner) -> WatchCounters {
        table.withLock { table in
            var sum = owner.absorbed
            for (index, registration) in table.registrations where registration.owner === owner {
                sum += counters(of: registration, at: index)
            }
            return sum
        }
    }

    private func counters(of registration: Registration, at index: Int) -> WatchCounters {
        registration.candidate?.isConfirmed == false ? WatchCounters() : coldParts[index].counters
    }

    /// A stall that this watch has counted is lost. Reporter only.
    package func countDropped(at index: Int) { coldParts[index].dropped.add(1, ordering: .relaxed) }

    /// A counted stall turned out not to be one. Reporter only.
    package func countDismissed(at index: Int) { coldParts[index].dismissed.add(1, ordering: .relaxed) }

    package func owners() -> [any WatchOwner] {
        table.withLock { table in
            var owners: [any WatchOwner] = []
            for registration in table.registrations.values where !owners.contains(where: { $0 === registration.owner }) {
                owners.append(registration.owner)
            }
            return owners
        }
    }

    /// Whether a watch of this owner is left, even one that is ending.
    package func holds(anythingOf owner: any WatchOwner) -> Bool {
        table.withLock { $0.registrations.values.contains { $0.owner === owner } }
    }

    /// The loops that the watchdog is done with. Their last episodes are in the queue: it adds these before it retires the loop.
    package func retired() -> [Int] {
        table.withLock { table in table.registrations.keys.filter { hotParts[$0].state.load(ordering: .acquiring) == .retired } }
    }

    /// Releases loops that ``retired()`` returned, once the episodes that were in the queue by then are reported. The release
    /// runs outside the lock. Reporter only.
    package func reap(_ retired: [Int]) {
        guard !retired.isEmpty else { return }
        let gone = table.withLock { table -> [Registration] in
            retired.compactMap { index in
                guard let registration = table.registrations.removeValue(forKey: index) else { return nil }
                let key = Key(registration.loop, registration.owner)
                if table.indices[key] == index { table.indices[key] = nil }
                registration.owner.absorb(counters(of: registration, at: index))
                coldParts[index].times = nil
                table.freeIndices.append(index)
                hotParts[index].state.store(.free, ordering: .releasing)
                return registration
            }
        }
        for registration in gone {
            registration.ticker?.cancel()
            registration.mirror?.release()
        }
    }
}
