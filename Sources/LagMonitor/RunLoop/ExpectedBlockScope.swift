package import LagActivity
internal import LagModel

/// Scopes in which blocking is expected, for things that publish no activity and can only be pinged or ticked: an event loop, a
/// queue, a pool. While a scope is open, the beacon's activity is `expected`, and a missing answer does not count.
///
/// Everything that can be watched holds one. A scope that opens on a thread (`StallMonitor.expectingBlock`) asks each of them
/// whether that thread works for it. Any thread. Cost: a lock, and some 100 ns for each answer.
package final class ExpectedBlockScope: Sendable {
    private struct Entry {
        weak var scope: ExpectedBlockScope?
    }

    private static let entries = PthreadMutex<[Entry]>([])

    private let beacon: ActivityBeacon
    private let runsHere: @Sendable () -> Bool
    // Scopes of several threads may be open at once. The beacon has one writer at a time: the thread that holds this lock.
    private let depth = PthreadMutex(0)

    /// - Parameters:
    ///   - beacon: publishes nothing except this and `finished`.
    ///   - runsHere: whether the calling thread works for it now. Must not keep it alive.
    package init(_ beacon: ActivityBeacon, runsHere: @escaping @Sendable () -> Bool) {
        self.beacon = beacon
        self.runsHere = runsHere
        let entry = Entry(scope: self)
        Self.entries.withLock { $0.append(entry) }
    }

    deinit { Self.entries.withLock { $0.removeAll { $0.scope == nil } } }

    /// Those that the calling thread works for.
    package static var here: [ExpectedBlockScope] {
        // Called with no lock held: the closure may take a lock of its own.
        entries.withLock { $0.compactMap(\.scope) }.filter { $0.runsHere() }
    }

    package func begin() {
        depth.withLock { depth in
            depth += 1
            if depth == 1, beacon.activity != .finished { beacon.publish(.expected) }
        }
    }

    /// Afterwards it is idle according to its beacon, and answers are due again.
    package func end() {
        depth.withLock { depth in
            depth -= 1
            if depth == 0, beacon.activity == .expected { beacon.publish(.waiting) }
        }
    }
}
