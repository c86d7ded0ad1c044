internal import Glibc
internal import LagModel

/// What is known of stalls that belong together. The order in which they are added makes no difference.
package struct StallGroup: Sendable {
    /// Why a thread stood still, in the order of the schema; `unknown` also for words that nobody knows here.
    package static let causes = StallRecord.Cause.allCases.map(\.rawValue)

    /// What they have in common.
    package let key: [UInt8]
    package private(set) var count: UInt64 = 0
    package private(set) var totalNanoseconds: UInt64 = 0
    package private(set) var worstNanoseconds: UInt64 = 0
    private var durations = DurationHistogram()
    package private(set) var hosts = DistinctCount()
    package private(set) var causes = [UInt64](repeating: 0, count: Self.causes.count)
    package private(set) var firstTime = Int64.max
    package private(set) var lastTime = Int64.min
    /// The culprit of the last stall that has one.
    package private(set) var culprit: [UInt8] = []
    private var culpritTime = Int64.min
    /// The fingerprint of the last stall.
    package private(set) var fingerprint: [UInt8] = []
    /// Not ``lastTime``, which those that were held back move, too.
    private var fingerprintTime = Int64.min
    /// Of stalls that go on, or whose end was lost.
    package internal(set) var openCount: UInt64 = 0
    /// Stalls without a line of their own, which a limit held back; they are in no other figure.
    package private(set) var heldBackCount: UInt64 = 0
    package private(set) var heldBackNanoseconds: UInt64 = 0

    init(key: UnsafeBufferPointer<UInt8>) { self.key = Array(key) }

    package init(key: [UInt8]) { self.key = key }

    /// What decides the rank: all the time that is known of.
    package var weight: UInt64 { totalNanoseconds.saturatingSum(heldBackNanoseconds) }

    /// The duration that so large a part of them does not exceed, 0…1.
    package func nanoseconds(atShare share: Double) -> UInt64 { min(worstNanoseconds, durations.nanoseconds(atShare: share)) }

    /// The most frequent cause.
    package var cause: String {
        let most = causes.max() ?? 0
        return most == 0 ? "" : Self.causes[causes.firstIndex(of: most) ?? Self.causes.count - 1]
    }

    mutating func add(_ line: borrowing LineScanner, time: Int64, nanoseconds: UInt64, causeIndex: Int, hostHash: UInt64) {
        count += 1
        totalNanoseconds = totalNanoseconds.saturatingSum(nanoseconds)
        worstNanoseconds = max(worstNanoseconds, nanoseconds)
        durations.add(nanoseconds: nanoseconds)
        hosts.add(hostHash)
        causes[causeIndex] += 1
        firstTime = min(firstTime, time)
        if time >= fingerprintTime {
            _ = line.withText(.fingerprint) {
                Self.keep($0, in: &fingerprint, isNewer: time > fingerprintTime)
                fingerprintTime = time
            }
        }
        lastTime = max(lastTime, time)
        if time >= culpritTime {
            _ = line.withText(.culprit) {
                Self.keep($0, in: &culprit, isNewer: time > culpritTime)
                culpritTime = time
            }
        }
    }

    mutating func addHeldBack(count: UInt64, nanoseconds: UInt64, lastTime: Int64?) {
        heldBackCount = heldBackCount.saturatingSum(count)
        heldBackNanoseconds = heldBackNanoseconds.saturatingSum(nanoseconds)
        guard let lastTime else { return }
        self.lastTime = max(self.lastTime, lastTime)
        firstTime = min(firstTime, lastTime)
    }

    package mutating func add(_ other: StallGroup) {
        count += other.count
        totalNanoseconds = totalNanoseconds.saturatingSum(other.totalNanoseconds)
        worstNanoseconds = max(worstNanoseconds, other.worstNanoseconds)
        durations.add(other.durations)
        hosts.add(other.hosts)
        for index in causes.indices { causes[index] += other.causes[index] }
        if other.fingerprintTime >= fingerprintTime {
            let isNewer = other.fingerprintTime > fingerprintTime
            other.fingerprint.withUnsafeBufferPointer { Self.keep($0, in: &fingerprint, isNewer: isNewer) }
            fingerprintTime = other.fingerprintTime
        }
        firstTime = min(firstTime, other.firstTime)
        lastTime = max(lastTime, other.lastTime)
        if other.culpritTime >= culpritTime {
            other.culprit.withUnsafeBufferPointer { Self.keep($0, in: &culprit, isNewer: other.culpritTime > culpritTime) }
            culpritTime = other.culpritTime
        }
        openCount += other.openCount
        heldBackCount = heldBackCount.saturatingSum(other.heldBackCount)
        heldBackNanoseconds = heldBackNanoseconds.saturatingSum(other.heldBackNanoseconds)
    }

    /// The newer one; of two of the same time the one that is first as text, so that the order of reading does not show.
    private static func keep(_ text: UnsafeBufferPointer<UInt8>, in kept: inout [UInt8], isNewer: Bool) {
        let new = text.cut(GroupTable.maximumTextBytes)
        guard new.count != kept.count || (!new.isEmpty && memcmp(new.baseAddress!, kept, new.count) != 0) else { return }
        if isNewer || kept.isEmpty || new.lexicographicallyPrecedes(kept) { kept = Array(new) }
    }

    /// Where a cause is in ``causes``.
    package static func causeIndex(_ line: borrowing LineScanner) -> Int {
        let index = line.withText(.cause) { text in
            causeNames.firstIndex {
                $0.count == text.count && memcmp($0, text.baseAddress!, text.count) == 0
            }
        }
        return index.flatMap { $0 } ?? causes.count - 1
    }

    private static let causeNames = causes.map { Array($0.utf8) }
}
