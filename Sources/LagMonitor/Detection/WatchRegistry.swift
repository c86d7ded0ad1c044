internal import CLibunwind
internal import Glibc
package import LagActivity
internal import LagCapture
internal import Synchronization

/// The loops that are watched. Added and removed from any thread, read by the watchdog without a lock.
///
/// Entries lie in one stretch of memory that is taken at the start, so the watchdog needs no memory and takes no lock
/// when a loop comes or goes; the loops themselves are kept alive on the registry's side until the watchdog is done.
// Unchecked: `entries` is an immutable pointer; who may touch an entry's fields is said at WatchEntry; the rest is in a Mutex.
package final class WatchRegistry: @unchecked Sendable {
    /// Loops that can be watched at once in one process.
    package static let capacity = 16_384

    /// A watched loop as the reporter sees it.
    package struct Registration: Sendable {
        package let loop: any ObservableLoop
        package let name: String
        package let owner: any WatchOwner
    }

    private struct Table {
        var registrations: [Int: Registration] = [:]
        var freeIndices: [Int] = []
        var used = 0
    }

    let entries: UnsafeMutablePointer<WatchEntry>
    private let table = Mutex(Table())
    /// How far the watchdog has to look.
    private let extent = Atomic<Int>(0)
    private static var bytes: Int { capacity * MemoryLayout<WatchEntry>.stride }

    package init?() {
        guard let memory = clu_memory_map(Self.bytes) else { return nil }
        entries = memory.bindMemory(to: WatchEntry.self, capacity: Self.capacity)
    }

    deinit { clu_memory_unmap(entries, Self.bytes) }

    /// Entries below this index may be in use. Watchdog.
    var count: Int { extent.load(ordering: .acquiring) }

    /// - Returns: the entry's index; nil when the registry is full.
    package func add(_ loop: any ObservableLoop, name: String, owner: any WatchOwner, rule: DetectionRule) -> Int? {
        let thread = loop.thread
        let target = CaptureTarget(tid: thread.tid, stackLow: thread.stackLow, stackHigh: thread.stackHigh)
        return table.withLock { table in
            let index: Int
            if let reused = table.freeIndices.popLast() {
                index = reused
            } else {
                guard table.used < Self.capacity else { return nil }
                index = table.used
                table.used += 1
            }
            (entries + index).initialize(to: WatchEntry(beacon: loop.beacon.raw, target: target, rule: rule))
            table.registrations[index] = Registration(loop: loop, name: name, owner: owner)
            entries[index].state.store(.active, ordering: .releasing)
            if extent.load(ordering: .relaxed) <= index { extent.store(index + 1, ordering: .releasing) }
            return index
        }
    }

    /// Asks the watchdog to end the watch of what `matches`; returns how many.
    package func end(where matches: (Registration) -> Bool) -> Int {
        table.withLock { table in
            var count = 0
            for (index, registration) in table.registrations where matches(registration) {
                let (exchanged, _) = entries[index].state.compareExchange(
                    expected: .active,
                    desired: .ending,
                    ordering: .acquiringAndReleasing
                )
                if exchanged { count += 1 }
            }
            return count
        }
    }

    package func registration(at index: Int) -> Registration? { table.withLock { $0.registrations[index] } }

    /// The counts of the loops that `owner` watches now.
    package func counters(of owner: any WatchOwner) -> WatchCounters {
        table.withLock { table in
            var sum = WatchCounters()
            for (index, registration) in table.registrations where registration.owner === owner {
                sum += entries[index].counters
            }
            return sum
        }
    }

    /// Everybody who watches something now, each once.
    package func owners() -> [any WatchOwner] {
        table.withLock { table in
            var owners: [any WatchOwner] = []
            for registration in table.registrations.values where !owners.contains(where: { $0 === registration.owner }) {
                owners.append(registration.owner)
            }
            return owners
        }
    }

    package func contains(where matches: (Registration) -> Bool) -> Bool {
        table.withLock { $0.registrations.values.contains(where: matches) }
    }

    /// Lets go of loops that the watchdog is done with; reporter or a stopping thread. Their release runs outside the lock.
    package func reap() {
        let gone = table.withLock { table -> [Registration] in
            var gone: [Registration] = []
            for (index, registration) in table.registrations where entries[index].state.load(ordering: .acquiring) == .retired {
                table.registrations[index] = nil
                registration.owner.absorb(entries[index].counters)
                table.freeIndices.append(index)
                entries[index].state.store(.free, ordering: .releasing)
                gone.append(registration)
            }
            return gone
        }
        withExtendedLifetime(gone) {}
    }
}
