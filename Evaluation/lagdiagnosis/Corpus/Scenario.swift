internal import LagMonitor

/// A stall of which is known why it happens and where.
struct Scenario: Sendable {
    /// What stalls the main thread.
    enum Stall: Sendable {
        /// Work of one callout, which is over at about the given time. The result keeps the optimiser from dropping the work.
        case callout(@Sendable (MonotonicTime) throws -> Int)
        /// A task of the main actor.
        case mainActor(@MainActor @Sendable (MonotonicTime) async -> Int)
    }

    /// How the stall ends.
    enum Ending: Sendable {
        case byItself
        /// Never: the parent ends the process after the record of the hang (phase `begin`).
        case byParent
    }

    let name: String
    /// The culprit; two if two answers are equally right.
    let causes: [StallRecord.Cause]
    /// Simplified symbols of the function to blame; two where two answers are equally right.
    let culprits: [String]
    /// A description: what happens, and why this cause.
    let summary: String
    var ending = Ending.byItself
    /// Whether nothing else of the corpus may run beside it.
    var runsAlone = false
    /// Whether a busy machine belongs to it. Otherwise a run in which others took the processor is repeated.
    var expectsRunDelay = false
    /// Whether it gets its own processor, if permitted: for scenarios that compute or wake often, and would wait for a
    /// processor on a busy machine. None of its other threads may compute.
    var needsOwnProcessor = false
    /// The memory control group that the process is put into.
    var memoryLimitBytes: Int?
    /// Whether the kernel's counters agree that the stall was what it was meant to be, where that depends on the machine.
    var isStallAsIntended: @Sendable (Truth) -> Bool = { _ in true }
    /// Further data, if it is another program's scenario.
    var library: LibraryTruth?
    /// Setup before the loop runs; on the main thread, which is the only one then.
    let prepare: @Sendable () throws -> Stall

    init(
        _ name: String,
        _ causes: [StallRecord.Cause],
        _ culprits: [String],
        _ summary: String,
        preparing prepare: @escaping @Sendable () throws -> Stall
    ) {
        self.name = name
        self.causes = causes
        self.culprits = culprits.map { $0.hasPrefix("corpus_") ? $0 : Self.qualified($0) }
        self.summary = summary
        self.prepare = prepare
    }

    /// One of another program, which stalls there.
    init(named name: String, _ causes: [StallRecord.Cause], culprits: [String], _ summary: String, library: LibraryTruth) {
        self.name = name
        self.causes = causes
        self.culprits = culprits
        self.summary = summary
        self.library = library
        prepare = { throw DiagnosisFailure("\(name) is another program's") }
    }

    /// A scenario that needs no preparation.
    init(
        _ name: String,
        _ causes: [StallRecord.Cause],
        _ culprits: [String],
        _ summary: String,
        _ body: @escaping @Sendable (MonotonicTime) throws -> Int
    ) {
        self.init(name, causes, culprits, summary, preparing: { .callout(body) })
    }

    /// `lagdiagnosis.f` of `f`, `closure #2 in lagdiagnosis.f` of `closure #2 in f`.
    private static func qualified(_ name: String) -> String {
        guard name.hasPrefix("closure "), let place = name.firstRange(of: " in ") else { return "lagdiagnosis.\(name)" }
        return "\(name[..<place.upperBound])lagdiagnosis.\(name[place.upperBound...])"
    }

    func with(_ change: (inout Scenario) -> Void) -> Scenario {
        var copy = self
        change(&copy)
        return copy
    }
}

extension Scenario {
    /// A scenario whose preparation returns its callout.
    init(
        _ name: String,
        _ causes: [StallRecord.Cause],
        _ culprits: [String],
        _ summary: String,
        making make: @escaping @Sendable () throws -> @Sendable (MonotonicTime) throws -> Int
    ) {
        self.init(name, causes, culprits, summary, preparing: { .callout(try make()) })
    }
}

/// Something that this machine does not permit or lacks.
struct Unavailable: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
    init(_ call: String, errno code: Int32) { self.init("\(call): \(reasonText(code))") }
}
