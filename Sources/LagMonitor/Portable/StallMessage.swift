internal import LagModel
internal import LagOutput

/// One human-readable line: how long, why, and where.
package struct StallMessage {
    package let text: String

    /// - Parameter isCutOff: whether this message is for the case that the process dies during the stall.
    package init(_ record: StallRecord, isCutOff: Bool = false) {
        let duration = DurationText.text(nanoseconds: record.durationNanoseconds)
        let begun =
            switch record.phase {
            case .begin: "\(record.loop) has been stalled for \(duration)"
            case .end, .abandoned: "\(record.loop) was stalled for \(duration)"
            }
        // `clock_nanosleep in clock_nanosleep` is no place.
        let isCallItself = record.cause == .syscall && record.culprit != nil && record.culprit == record.evidence.syscall
        let place = isCallItself ? "" : (record.culprit ?? record.frames.first?.module).map { " in \($0)" } ?? ""
        let end = isCutOff ? " when the process was last seen" : record.phase == .abandoned ? " when the watch ended" : ""
        let threads = record.workers.reduce(0) { $0 + $1.threadIDs.count }
        let others = threads > 1 ? ", with \(threads) threads busy" : ""
        // Thread, loop and function names come from the program.
        text = PlainText.sanitized(
            begun + Self.why(record, place) + Self.work(record) + others + Self.turns(record.evidence)
                + Self.waiting(record.evidence) + end
        )
    }

    /// What the thread was working on.
    private static func work(_ record: StallRecord) -> String {
        if let request = record.request { return ", during \(request.name)" }
        return (record.task?.name).map { ", in task \($0)" } ?? ""
    }

    /// Whether an event waited for the loop meanwhile, if that is known.
    private static func waiting(_ evidence: StallRecord.Evidence) -> String {
        guard let isPending = evidence.pending else { return "" }
        guard isPending else { return " while no event was seen to wait" }
        let jobs = evidence.jobsWaiting ?? 0
        let what = jobs == 0 ? "work" : jobs == 1 ? "1 job" : "\(jobs) jobs"
        // It is a lower bound: not rounded up to the next millisecond.
        guard let pending = evidence.pendingNanoseconds, pending >= 1_000_000 else { return " while \(what) waited" }
        return " while \(what) waited for at least \(DurationText.text(nanoseconds: pending - pending % 1_000_000))"
    }

    /// Evidence that it was not one callback.
    private static func turns(_ evidence: StallRecord.Evidence) -> String {
        if let turns = evidence.turns { return turns == 1 ? ", in one turn" : ", in \(turns) turns without a rest" }
        guard let events = evidence.turnEvents, events > 1 else { return "" }
        return ", in one turn of \(events) events"
    }

    /// - Parameter place: where the thread was, ` in NAME`.
    private static func why(_ record: StallRecord, _ place: String) -> String {
        // A lock may have a second place: where its holder is.
        if record.cause == .lock { return ", waiting\(place) for " + lock(record.evidence) }
        if record.cause == .deadlock { return deadlock(record, place) }
        return why(record) + place
    }

    private static func why(_ record: StallRecord) -> String {
        let evidence = record.evidence
        switch record.cause {
        case .cpu: return evidence.isCollecting == true ? ", collecting garbage" : ", computing"
        case .runqueue: return ", ready to run but without a processor" + quota(evidence)
        case .pageFault: return ", waiting for memory"
        case .unknown, .lock, .deadlock: return ""
        case .syscall:
            let call = evidence.syscall.map { " \($0)" } ?? " a system call"
            return ",\(call)" + (evidence.syscallTarget.map { " of \($0)" } ?? "")
        }
    }

    private static func deadlock(_ record: StallRecord, _ place: String) -> String {
        let evidence = record.evidence
        let count = evidence.lockCycle.count
        guard evidence.lockCycle.contains(where: { $0.threadID == record.threadID }) else {
            let isOwner = evidence.lockCycle.contains { $0.threadID == evidence.lockOwner?.threadID }
            let owner = isOwner ? "which is in" : "which waits for"
            return ", waiting\(place) for \(lock(evidence)), \(owner) a deadlock of \(count) threads"
        }
        return (count == 1 ? ", in a deadlock with itself" : ", in a deadlock of \(count) threads") + place
    }

    private static func quota(_ evidence: StallRecord.Evidence) -> String {
        let milliseconds = (evidence.throttledNanoseconds ?? 0) / 1_000_000
        return milliseconds > 0 ? " (up to \(milliseconds) ms of it by the CPU quota of its control group)" : ""
    }

    private static func lock(_ evidence: StallRecord.Evidence) -> String {
        let what =
            switch evidence.lockKind {
            case .mutex, .owned, nil: "a lock"
            case .readWrite: "a read-write lock"
            case .queue: "a queue"
            case .thread: "a thread's end"
            case .condition: "a condition"
            case .semaphore: "a semaphore"
            case .group: "a group"
            case .gil: "the interpreter's lock"
            case .futex: "a futex"
            }
        if let readers = evidence.lockReaders {
            return "\(what) held by \(readers) unknown \(readers == 1 ? "reader" : "readers")"
        }
        guard let owner = evidence.lockOwner else { return what }
        let name = owner.threadName.map { " '\($0)'" } ?? ""
        switch evidence.lockKind {
        case .thread: return "the end of thread \(owner.threadID)\(name)"
        case .queue: return "\(what) that thread \(owner.threadID)\(name) drains"
        default:
            let own = owner.frames.first { $0.inApp == true && $0.symbol != nil }?.symbol
            return "\(what) held by thread \(owner.threadID)\(name)" + (own.map { " in \($0)" } ?? "")
        }
    }
}
