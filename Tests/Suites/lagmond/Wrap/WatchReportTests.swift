internal import Foundation
internal import LagMonitor
internal import TestSupport
internal import Testing

@testable internal import lagmond

struct WatchReportTests {
    private static func process(_ pid: Int32, startTicks: UInt64 = 1, loops: [String] = ["main"]) -> WatchReport.Process {
        .init(id: ProcessID(pid: pid, startTicks: startTicks), name: "p", loops: loops)
    }

    /// The messages of `count` updates, half a second apart.
    private static func messages(_ count: Int, _ watched: (Int) -> [WatchReport.Process]) -> [String] {
        var report = WatchReport()
        let start = MonotonicTime.now
        return (0..<count).flatMap { number in
            report.update(watched(number), of: .init(pid: 7, name: "c"), at: start + WatchReport.interval * number)
        }
    }

    @Test func `a process gets one line with all its loops`() {
        let messages = Self.messages(8) { number in
            number == 0 ? [] : [Self.process(7, loops: number == 1 ? ["main"] : ["main", "a", "b", "c", "d", "e"])]
        }
        #expect(messages == ["watching main, a, b, c and 2 more of p [7]"])
    }

    @Test func `loops with the same name are counted`() {
        let messages = Self.messages(8) { _ in [Self.process(7, loops: ["main", "w", "w", "a", "w", "b", "c"])] }
        #expect(messages == ["watching main, w (3), a, b and 1 more of p [7]"])
    }

    @Test func `another process with the same PID gets its own line`() {
        let messages = Self.messages(8) { [Self.process(7, startTicks: $0 < 4 ? 1 : 2)] }
        #expect(messages == Array(repeating: "watching main of p [7]", count: 2))
    }

    @Test func `the number of lines for worker processes is limited`() {
        let messages = Self.messages(8) { _ in (1...300).map { Self.process($0) } }
        #expect(messages.count == WatchReport.lines + 1 && messages.last == "watching more processes, not listed individually")
    }

    @Test func `processes are listed often at the start of a command and rarely later`() {
        let start = MonotonicTime.now
        func isDue(_ seconds: Int, listedAt: Int) -> Bool {
            WatchReport.isListDue(startedAt: start, listedAt: start + .seconds(listedAt), at: start + .seconds(seconds))
        }
        #expect(isDue(1, listedAt: 1) && isDue(4, listedAt: 4))
        #expect(!isDue(5, listedAt: 4) && !isDue(60, listedAt: 57) && isDue(60, listedAt: 55))
    }

    @Test func `a process whose waits the library does not see is watched sooner at the start of a command`() {
        let start = MonotonicTime.now
        #expect(WatchReport.blindTime(startedAt: start, at: start + .seconds(9)) == .seconds(2))
        #expect(WatchReport.blindTime(startedAt: start, at: start + .seconds(10)) == .seconds(5))
    }

    @Test func `a command without a loop is reported once`() {
        #expect(Self.messages(10) { _ in [] }.isEmpty)
        let messages = Self.messages(40) { _ in [] }
        #expect(messages.count == 1 && messages[0].hasPrefix("c [7] has no event loop after 5 s: "))
        #expect(Self.messages(40) { _ in [Self.process(9)] } == ["watching main of p [9]"])
    }

    @Test func `a command without a loop is reported with the reason`() {
        for (waiter, reason) in [
            ("it", "a thread of it waits for events"), ("nginx [8]", "a thread of nginx [8] waits for events"),
            (nil, WatchReport.noWaits),
        ] {
            var report = WatchReport()
            let start = MonotonicTime.now
            let messages = (0..<40).flatMap { number in
                let command = WatchReport.Command(pid: 7, name: "c", waiter: waiter)
                return report.update([], of: command, at: start + WatchReport.interval * number)
            }
            #expect(messages.count == 1 && messages[0].hasPrefix("c [7] has no event loop after 5 s: \(reason)"), "\(messages)")
        }
    }

    @Test func `if nothing is selected, the patterns and the omitted loops are named`() {
        let leftOut = (1...10).map { "worker of c [\($0)]" }
        var report = WatchReport()
        let start = MonotonicTime.now
        let messages = (0..<40).flatMap { number in
            let command = WatchReport.Command(pid: 7, name: "c", selection: "process d; thread main", leftOut: leftOut)
            return report.update([], of: command, at: start + WatchReport.interval * number)
        }
        let text = "c [7] has no event loop that is selected (process d; thread main) after 5 s: nothing is watched so far; "
        #expect(messages == [text + "left out are \(leftOut.prefix(8).joined(separator: ", ")) and 2 more"])
    }

    @Test func `a restarted command gets new lines`() {
        var report = WatchReport()
        let start = MonotonicTime.now
        let messages = (0..<60).flatMap { number in
            // A new process every two seconds.
            let pid = Int32(number / 4 + 1)
            let command = WatchReport.Command(pid: pid, name: "c")
            return report.update([Self.process(pid)], of: command, at: start + WatchReport.interval * number)
        }
        #expect(messages.count == 15 && messages.last == "watching main of p [15]")
    }

    @Test func `nothing is reported while the way to watch a command is undecided`() {
        var report = WatchReport()
        let start = MonotonicTime.now
        for number in 0..<30 {
            let command = WatchReport.Command(pid: 7, name: "c", isUndecided: true)
            #expect(report.update([], of: command, at: start + WatchReport.interval * number).isEmpty)
        }
    }

    @Test func `a command does not stay undecided for ever`() {
        var report = WatchReport()
        let start = MonotonicTime.now
        let messages = (0..<80).flatMap { number in
            let command = WatchReport.Command(pid: 7, name: "c", isUndecided: true)
            return report.update([], of: command, at: start + WatchReport.interval * number)
        }
        #expect(messages.count == 1 && messages[0].hasPrefix("c [7] has no event loop after 5 s: "), "\(messages)")
    }

    @Test func `a restart resets the time until the missing loop is reported`() {
        var report = WatchReport()
        let start = MonotonicTime.now
        for number in 0..<40 {
            let command = WatchReport.Command(pid: Int32(number / 8), name: "c")
            #expect(report.update([], of: command, at: start + WatchReport.interval * number).isEmpty)
        }
    }

    private static let table = (name: "LAGMONITOR_LOOP_TABLE", value: "/proc/1/fd/3")

    @Test(arguments: [
        (["-i", "/bin/sleep", "60"], LibraryAbsence.environment),
        (["LD_PRELOAD=/nowhere/\(PreloadLibrary.name)", "/bin/sleep", "60"], .unknown),
        (["LAGMONITOR_LOOP_TABLE=/proc/2/fd/3", "/bin/sleep", "60"], .otherMonitor),
    ])
    func `the reason why the library is not in a process is found`(arguments: [String], expected: LibraryAbsence) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        // Before its exec the child is a copy of this process.
        #expect(eventually { LibraryAbsence(of: process.processIdentifier, table: Self.table) == expected })
    }
}
