internal import Glibc
internal import LagModel

/// What is known of stalls that belong together. The order in which they are added makes no difference.
package struct StallGroup: Sendable {
    /// The causes in the order of the schema; `unknown` also for words that this version does not know.
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
    /// Of the last stall that has one, as with the others here.
    package private(set) var culprit = LatestText()
    package private(set) var fingerprint = LatestText()
    package private(set) var process = LatestText()
    package private(set) var service = LatestText()
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
        lastTime = max(lastTime, time)
        _ = line.withText(.fingerprint) { fingerprint.add($0, time: time) }
        _ = line.withText(.culprit) { culprit.add($0, time: time) }
        _ = line.withText(.processName) { process.add($0, time: time) }
        _ = line.withText(.serviceName) { service.add($0, time: time) }
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
        fingerprint.add(other.fingerprint)
        culprit.add(other.culprit)
        process.add(other.process)
        service.add(other.service)
        firstTime = min(firstTime, other.firstTime)
        lastTime = max(lastTime, other.lastTime)
        openCount += other.openCount
        heldBackCount = heldBackCount.saturatingSum(other.heldBackCount)
        heldBackNanoseconds = heldBackNanoseconds.saturatingSum(other.heldBackNanoseconds)
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
