/// A stall in a service, with the culprit that an experienced engineer would name. The culprit was written before the monitor was
/// run, and is not changed if the monitor disagrees.
struct Scenario: Sendable {
    enum Group: String, Sendable {
        /// Code that computes on the main thread, as compiled by Swift's compiler.
        case language
        /// Foundation, GRDB, Yams, Collections and the C library, which compute for their caller.
        case libraries
        /// Calls in which the main thread waits.
        case waits
        case mainActor = "main-actor"
        /// Tasks of the pool, actors, and custom executors.
        case tasks
        /// SwiftNIO and Hummingbird, with clients.
        case servers
    }

    /// The halves of the corpus, of which developers of the monitor may examine one. A hash of a scenario's name decides.
    enum Half: String, Sendable {
        case developed
        case unseen
    }

    /// How the main thread runs, which determines how it is watched.
    enum Host: Sendable {
        /// It runs `ObservedRunLoop.main`.
        case runLoop
        /// It drains the main queue, like the main thread of a program with `static func main() async`.
        case mainQueue
    }

    enum Work: Sendable {
        /// Stalls the main thread; its caller measures it. The result prevents the optimiser from removing the work.
        case callout(@MainActor @Sendable () throws -> Int)
        /// Starts work that stalls a thread; the stalling function measures itself with ``StalledTime``.
        case service(@Sendable () async throws -> Void)
    }

    let name: String
    /// What stalls.
    let summary: String
    /// The causes as in records; several if each is correct.
    let causes: [String]
    /// The functions to blame, without the module; a closure of a function counts as the function.
    let culprits: [String]
    /// Their direct callers in the program: correct only in the weaker verdict.
    var callers: [String] = []
    /// The running context; nil: the record must not name one.
    var request: String?
    /// The functions that wait for the function on the stack, the innermost first; nil if this is not judged.
    var suspendedCallers: [String]?
    var group = Group.language
    var host = Host.runLoop
    let work: Work

    var half: Half { Coin.isHeads(name) ? .developed : .unseen }
}

extension Scenario {
    /// A scenario that stalls the main thread.
    init(
        _ name: String,
        _ summary: String,
        _ causes: [String],
        _ culprits: [String],
        callers: [String] = [],
        _ work: @escaping @MainActor @Sendable () throws -> Int
    ) {
        self.init(name: name, summary: summary, causes: causes, culprits: culprits, callers: callers, work: .callout(work))
    }

    /// A scenario that starts stalling work.
    static func service(
        _ name: String,
        _ summary: String,
        _ causes: [String],
        _ culprits: [String],
        callers: [String] = [],
        request: String? = nil,
        suspended: [String]? = nil,
        _ work: @escaping @Sendable () async throws -> Void
    ) -> Scenario {
        Scenario(
            name: name,
            summary: summary,
            causes: causes,
            culprits: culprits,
            callers: callers,
            request: request,
            suspendedCallers: suspended,
            work: .service(work)
        )
    }
}

extension [Scenario] {
    func grouped(_ group: Scenario.Group, on host: Scenario.Host = .runLoop) -> [Scenario] {
        map { scenario in
            var scenario = scenario
            (scenario.group, scenario.host) = (group, host)
            return scenario
        }
    }
}

extension Scenario: Encodable {
    private enum CodingKeys: String, CodingKey { case name, causes, culprits, callers, summary, part, computes, service }
    private enum ServiceKeys: String, CodingKey { case group, request, suspendedCallers }

    /// The scenario in the format that `lagdiagnosis` reads.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(summary, forKey: .summary)
        try container.encode(causes, forKey: .causes)
        try container.encode(culprits.map(Self.qualified), forKey: .culprits)
        try container.encode(callers.map(Self.qualified), forKey: .callers)
        try container.encode(half.rawValue, forKey: .part)
        // Whether all time without a processor is a wait for one.
        try container.encode(Set(causes).isSubset(of: ["cpu", "page_fault"]), forKey: .computes)
        var service = container.nestedContainer(keyedBy: ServiceKeys.self, forKey: .service)
        try service.encode(group.rawValue, forKey: .group)
        try service.encodeIfPresent(request, forKey: .request)
        try service.encodeIfPresent(suspendedCallers?.map(Self.qualified), forKey: .suspendedCallers)
    }

    private static func qualified(_ name: String) -> String { "servicestalls.\(name)" }
}

/// A reproducible hash of the name: the lowest bit of the output of `printf %s NAME | cksum`, which is POSIX's CRC.
/// `Evaluation/Libraries` uses a different hash; these scenarios were divided by this one when some of them were first examined.
private enum Coin {
    private static let polynomial: UInt32 = 0x04C1_1DB7

    static func isHeads(_ name: String) -> Bool {
        var (bytes, length) = (Array(name.utf8), name.utf8.count)
        while length > 0 {
            bytes.append(UInt8(truncatingIfNeeded: length))
            length >>= 8
        }
        let remainder = bytes.reduce(0 as UInt32) { remainder, byte in
            (0..<8).reduce(remainder ^ UInt32(byte) << 24) { bits, _ in bits & 1 << 31 == 0 ? bits << 1 : bits << 1 ^ polynomial }
        }
        return ~remainder & 1 == 0
    }
}
