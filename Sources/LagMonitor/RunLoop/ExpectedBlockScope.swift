package import LagActivity
internal import LagModel

/// Scopes that expect to block, of something that publishes no activity of its own and can only be pinged or ticked: an event loop, a queue,
/// a pool. While one is open its beacon says `expected`, and no answer is missed.
///
/// Whoever can be watched holds one; a scope that opens on a thread (`StallMonitor.expectingBlock`) asks every one that there is whether that
/// thread works for it. Any thread. Cost: a lock, and what each takes to answer, some 100 ns.
package final class ExpectedBlockScope: Sendable {
    private struct Entry {
        weak var scope: ExpectedBlockScope?
    }

    private static let entries = PthreadMutex<[Entry]>([])

    private let beacon: ActivityBeacon
    private let runsHere: @Sendable () -> Bool
    // Scopes of several threads may be open at once. The beacon has one writer at a time: who holds this.
    private let depth = PthreadMutex(0)

    /// - Parameters:
    ///   - beacon: of what publishes nothing else, but that it is `finished`.
    ///   - runsHere: whether the calling thread works for it now. Does not keep it alive.
    package init(_ beacon: ActivityBeacon, runsHere: @escaping @Sendable () -> Bool) {
        self.beacon = beacon
        self.runsHere = runsHere
        let entry = Entry(scope: self)
        Self.entries.withLock { $0.append(entry) }
    }

    deinit { Self.entries.withLock { $0.removeAll { $0.scope == nil } } }

    /// Those that the calling thread works for.
    package static var here: [ExpectedBlockScope] {
        // Asked with no lock held: what is asked may take one of its own.
        entries.withLock { $0.compactMap(\.scope) }.filter { $0.runsHere() }
    }

    package func begin() {
        depth.withLock { depth in
            depth += 1
            if depth == 1, beacon.activity != .finished { beacon.publish(.expected) }
        }
    }

    /// Afterwards it rests as far as its beacon says, and answers are due again.
    package func end() {
        depth.withLock { depth in
            depth -= 1
            if depth == 0, beacon.activity == .expected { beacon.publish(.waiting) }
        }
    }
}
