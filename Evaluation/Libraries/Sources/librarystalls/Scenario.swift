internal import CLibraryStalls
internal import Foundation

/// A stall in a library, with the culprit that an experienced engineer would name. The culprit was written before the monitor was
/// run, and is not changed if the monitor disagrees.
struct Scenario: Sendable {
    /// The parts of the corpus, of which developers of the monitor may examine one. A hash of a scenario's name decides.
    enum Part: String, Encodable {
        case developed
        case unseen
    }

    /// Called with the time at which the stall must end. The result prevents the optimiser from removing the work.
    typealias Body = @Sendable (moment) throws -> Int

    /// What stalls the main thread.
    enum Stall: Sendable {
        case callout(Body)
        /// A task that makes the main actor compute for this many nanoseconds, and measures it there.
        case mainActor(@MainActor @Sendable (UInt64) async throws -> Truth)
    }

    let name: String
    /// The causes as in records; several if each is correct.
    let causes: [String]
    /// The function to blame: the nearest function of the program itself, or its callback if a library calls it and it takes the
    /// time.
    let culprits: [String]
    /// Its direct callers in the program: correct only in the weaker verdict.
    var callers: [String] = []
    /// The thread that holds the lock, if memory contains it.
    var owner: String?
    let summary: String
    /// Whether the scenario counts only if the thread is off its processor for most of the stall.
    var mustBlock = false
    /// The setup before the loop runs.
    let prepare: @Sendable () throws -> Stall

    var part: Part { Self.fnv1a(name) & 1 == 0 || Self.examined.contains(name) ? .developed : .unseen }

    /// Scenarios whose misses were examined later, and which no longer count as unseen.
    private static let examined: Set<String> = [
        "pq-copy-out", "sqlite-recursive-query", "sqlite-busy", "fork-large", "foundation-sort-closure", "merged-functions",
        "one-of-two-closures", "lazy-map-closure",
    ]
    /// Whether all time without a processor is a wait for one.
    var computes: Bool { !mustBlock && !causes.contains("syscall") && (causes.contains("cpu") || causes.contains("page_fault")) }

    /// FNV-1a with 64 bits, which can be reproduced.
    private static func fnv1a(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension Scenario {
    /// A scenario in Swift; `culprit` and `caller` are names without the module.
    init(
        _ name: String,
        _ causes: [String],
        _ culprits: [String],
        caller: String? = nil,
        owner: String? = nil,
        _ summary: String,
        preparing prepare: @escaping @Sendable () throws -> Body
    ) {
        self.init(
            name: name,
            causes: causes,
            culprits: culprits.map(Self.qualified),
            callers: [Self.qualified(caller ?? Self.dispatcher)],
            owner: owner,
            summary: summary,
            prepare: { .callout(try prepare()) }
        )
    }

    /// A scenario in Swift that needs no preparation.
    init(
        _ name: String,
        _ causes: [String],
        _ culprits: [String],
        caller: String? = nil,
        _ summary: String,
        _ body: @escaping Body
    ) {
        self.init(name, causes, culprits, caller: caller, summary, preparing: { body })
    }

    /// A scenario of the C part. The table from which it is read never changes.
    init(_ stall: stall) {
        let entry = UncheckedStall(stall: stall)
        self.init(
            name: String(cString: stall.name),
            causes: Self.list(stall.causes),
            culprits: Self.list(stall.culprits),
            callers: stall.callers == nil ? ["handle_event"] : Self.list(stall.callers),
            owner: stall.owner.map { String(cString: $0) },
            summary: String(cString: stall.summary),
            mustBlock: stall.must_block != 0,
            prepare: {
                if let reason = entry.stall.prepare?() { throw Unavailable(reason: String(cString: reason)) }
                return .callout { end in
                    entry.stall.arrange?(end)
                    return withUnsafePointer(to: entry.stall) { Int(handle_event($0, end)) }
                }
            }
        )
    }

    /// A Swift scenario that stalls the main actor.
    init(
        _ name: String,
        _ causes: [String],
        _ culprits: [String],
        caller: String,
        _ summary: String,
        mainActor work: @escaping @MainActor @Sendable (UInt64) async throws -> Truth
    ) {
        self.init(
            name: name,
            causes: causes,
            culprits: culprits.map(Self.qualified),
            callers: [Self.qualified(caller)],
            summary: summary,
            prepare: { .mainActor(work) }
        )
    }

    /// The function that calls the bodies of scenarios, as in records.
    private static let dispatcher = "ScenarioRun.begin"

    private static func list(_ text: UnsafePointer<CChar>?) -> [String] {
        text.map { String(cString: $0).split(separator: "|").map(String.init) } ?? []
    }

    private static func qualified(_ name: String) -> String {
        // For example `closure #2 in makeHandlers`.
        guard let place = name.range(of: " in ")?.upperBound else { return "librarystalls.\(name)" }
        return "\(name[..<place])librarystalls.\(name[place...])"
    }
}

// Sendable without a check: pointers to constants and functions of the program.
private struct UncheckedStall: @unchecked Sendable {
    let stall: stall
}

/// This machine lacks something, or does not permit it.
struct Unavailable: Error {
    let reason: String
}

extension Scenario: Encodable {
    private enum CodingKeys: String, CodingKey { case name, causes, culprits, callers, owner, summary, part, computes }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(causes, forKey: .causes)
        try container.encode(culprits, forKey: .culprits)
        try container.encode(callers, forKey: .callers)
        try container.encodeIfPresent(owner, forKey: .owner)
        try container.encode(summary, forKey: .summary)
        try container.encode(part, forKey: .part)
        try container.encode(computes, forKey: .computes)
    }
}
