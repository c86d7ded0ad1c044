internal import LagMonitor

/// A stall whose cause and culprit are known.
struct Scenario: Sendable {
    /// What stalls the main thread.
    enum Stall: Sendable {
        /// Work in one callout, which ends at about the given time. The result prevents the optimiser from removing the work.
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
    /// The culprit; two if both are equally correct.
    let causes: [StallRecord.Cause]
    /// Simplified symbols of the function to blame; two if both are equally correct.
    let culprits: [String]
    /// What happens, and the reason for the cause.
    let summary: String
    var ending = Ending.byItself
    /// Whether no other scenario may run at the same time.
    var runsAlone = false
    /// Whether a busy machine is part of the scenario. Otherwise a run in which other processes took the processor is repeated.
    var expectsRunDelay = false
    /// Whether it gets its own processor, if permitted: for scenarios that compute or wake often, and would wait for a
    /// processor on a busy machine. None of its other threads may compute.
    var needsOwnProcessor = false
    /// The memory control group in which the process runs.
    var memoryLimitBytes: Int?
    /// Checks with the kernel's counters that the stall happened as intended, if that depends on the machine.
    var isStallAsIntended: @Sendable (Truth) -> Bool = { _ in true }
    /// Further data for scenarios of another program.
    var library: LibraryTruth?
    /// The setup before the loop runs; on the main thread, which is the only thread then.
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

    /// A scenario of another program, which stalls there.
    init(named name: String, _ causes: [StallRecord.Cause], culprits: [String], _ summary: String, library: LibraryTruth) {
        self.name = name
        self.causes = causes
        self.culprits = culprits
        self.summary = summary
        self.library = library
        prepare = { throw DiagnosisFailure("\(name) is a scenario of another program") }
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

/// This machine lacks something, or does not permit it.
struct Unavailable: Error {
    let reason: String

    init(_ reason: String) { self.reason = reason }
    init(_ call: String, errno code: Int32) { self.init("\(call): \(reasonText(code))") }
}
