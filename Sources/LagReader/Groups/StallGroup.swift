internal import Glibc
internal import LagModel

/// Statistics of the stalls of a group. The result does not depend on the order in which they are added.
package struct StallGroup: Sendable {
    /// The causes in the order of the schema; causes that this version does not know count as `unknown`.
    package static let causes = StallRecord.Cause.allCases.map(\.rawValue)

    /// The common key of the stalls.
    package let key: [UInt8]
    package private(set) var count: UInt64 = 0
    package private(set) var totalNanoseconds: UInt64 = 0
    package private(set) var worstNanoseconds: UInt64 = 0
    private var durations = DurationHistogram()
    package private(set) var hosts = DistinctCount()
    package private(set) var causes = [UInt64](repeating: 0, count: Self.causes.count)
    package private(set) var firstTime = Int64.max
    package private(set) var lastTime = Int64.min
    /// The culprit of the latest stall that has one; likewise for the fields below.
    package private(set) var culprit = LatestText()
    package private(set) var fingerprint = LatestText()
    package private(set) var process = LatestText()
    package private(set) var service = LatestText()
    /// The number of stalls that are in progress, or whose end was lost.
    package internal(set) var openCount: UInt64 = 0
    /// Stalls without their own line, which a limit suppressed; no other figure includes them.
    package private(set) var heldBackCount: UInt64 = 0
    package private(set) var heldBackNanoseconds: UInt64 = 0

    init(key: UnsafeBufferPointer<UInt8>) { self.key = Array(key) }

    package init(key: [UInt8]) { self.key = key }

    /// The rank: the total known time.
    package var weight: UInt64 { totalNanoseconds.saturatingSum(heldBackNanoseconds) }

    /// The duration that a share (0…1) of the stalls does not exceed.
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

    /// The index of a cause in ``causes``.
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
