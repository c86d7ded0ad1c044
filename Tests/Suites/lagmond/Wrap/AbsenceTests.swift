internal import Foundation
internal import Testing

@testable internal import lagmond

/// Why a process is not watched, and what keeps running after the command: from injected facts, without processes.
struct AbsenceTests {
    private static let table = (name: "LAGMONITOR_LOOP_TABLE", value: "/proc/1/fd/3")

    private static func facts(_ change: (inout LibraryAbsence.Facts) -> Void = { _ in }) -> LibraryAbsence.Facts {
        var facts = LibraryAbsence.Facts(environment: ["PATH=/bin"], user: 5, ourUser: 5)
        change(&facts)
        return facts
    }

    private static func absence(_ change: (inout LibraryAbsence.Facts) -> Void) -> LibraryAbsence {
        LibraryAbsence(facts(change), table: table)
    }

    @Test func `each fact has its reason`() {
        #expect(Self.absence { _ in } == .environment)
        #expect(Self.absence { $0.environment = ["LD_PRELOAD=/lib/\(PreloadLibrary.name)"] } == .unknown)
        #expect(Self.absence { $0.user = 33 } == .user(33))
        #expect(Self.absence { $0.environment = nil } == .hidden)
        #expect(Self.absence { $0.hasOtherNumbers = true } == .processNumbers)
        #expect(Self.absence { $0.hasOtherRoot = true } == .rootFolder)
        #expect(Self.absence { $0.environment = ["LAGMONITOR_LOOP_TABLE=/proc/2/fd/3"] } == .otherMonitor)
        #expect(Self.absence { $0.environment = ["LAGMONITOR_LOOP_TABLE=/proc/1/fd/3"] } == .environment)
    }

    /// A process of another user hides its environment, and a container differs in both its process IDs and its files.
    @Test func `of several facts the first one that explains the others is named`() {
        #expect(Self.absence { ($0.user, $0.environment, $0.hasOtherRoot) = (33, nil, true) } == .user(33))
        #expect(Self.absence { ($0.hasOtherNumbers, $0.hasOtherRoot) = (true, true) } == .processNumbers)
        #expect(Self.absence { ($0.environment, $0.hasOtherNumbers) = (nil, true) } == .hidden)
        #expect(Self.absence { ($0.user, $0.environment) = (nil, nil) } == .hidden)
    }

    @Test func `each reason has a remedy`() {
        let texts: [(LibraryAbsence, String)] = [
            (.user(33), "it runs as user 33; start lagmond as that user, after the user changes"),
            (.environment, "its environment lacks LD_PRELOAD; start lagmond after what clears it"),
            (.processNumbers, "it runs in its own PID namespace; start lagmond inside it"),
            (.rootFolder, "it runs in another root folder or mount namespace; start lagmond there"),
        ]
        for (absence, text) in texts { #expect("\(absence)" == "the library is not active: \(text)") }
        #expect("\(LibraryAbsence.hidden)" == "the kernel does not show whether the library is active in it")
    }

    private static func member(_ pid: pid_t, _ name: String = "redis-server") -> RemainingProcesses.Member {
        .init(pid: pid, startTicks: 1, name: name)
    }

    @Test func `of a server with workers that keeps running, the master is named`() {
        #expect(RemainingProcesses.topmost(of: [12, 11, 10, 20], [10: 1, 11: 10, 12: 11, 20: 1]) == [10, 20])
        #expect(RemainingProcesses.topmost(of: [], [10: 1]).isEmpty)
    }

    @Test func `a daemon that keeps running is reported with a remedy`() throws {
        #expect(RemainingProcesses([]).message(isWatchOver: true) == nil)
        let one = try #require(RemainingProcesses([Self.member(10)]).message(isWatchOver: true))
        #expect(one.hasPrefix("redis-server [10] keeps running after the command's end, unwatched: make the command stay"))
        #expect(one.hasSuffix(", or use lagmond attach --pid 10"))
        let several = RemainingProcesses((1...6).map { Self.member($0, "worker") })
        let text = try #require(several.message(isWatchOver: false))
        #expect(
            text.hasPrefix("worker [1], worker [2], worker [3], worker [4] and 2 more keep running after the command's end, ")
        )
        #expect(text.contains("and lagmond neither ends nor restarts them") && !text.contains("attach"))
    }

    @Test func `processes that end with the command are not reported`() {
        // No process has this number.
        var remaining = RemainingProcesses([Self.member(.max)])
        remaining.settle()
        #expect(remaining.members.isEmpty)
    }
}
