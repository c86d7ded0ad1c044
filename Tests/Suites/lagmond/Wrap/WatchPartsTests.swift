internal import CLagLinux
internal import LagOutput
internal import Testing

@testable internal import LagMonitor
@testable internal import LagRemote
@testable internal import lagmond

struct WatchPartsTests {
    @Test func `the liveness probe needs an answer of every thread`() {
        let probe = LivenessProbe()
        let first = probe.request()
        #expect(!probe.isAnswered(first) && probe.present == first)
        probe.answer(first, by: .manager)
        #expect(!probe.isAnswered(first))
        probe.answer(first, by: .relay)
        #expect(probe.isAnswered(first))
        // An answer to an older request does not answer this one.
        let second = probe.request()
        probe.answer(first, by: .manager)
        probe.answer(second, by: .relay)
        #expect(!probe.isAnswered(second))
    }

    @Test func `the number of metric series is limited`() {
        let counts = StallCounts(places: [])
        for number in 0..<1000 {
            counts.register(.init(target: number % 2 == 0 ? "a" : "b", process: "p\(number)", loop: "main"))
        }
        let places = counts.snapshot.loops.keys
        #expect(places.count <= StallCounts.maximumPlaces + 2)
        #expect(places.contains(.other(target: "a")) && places.contains(.other(target: "b")))
    }

    @Test func `loops with ever changing names share a series`() {
        let counts = StallCounts(places: [])
        var names: Set<StallCounts.LoopKey> = []
        for round in 0..<20 {
            let lags = (0..<100).map { (StallCounts.LoopKey(process: "p", loop: "loop \(round).\($0)x"), UInt64($0)) }
            let rows = counts.rows(of: Dictionary(lags) { $1 })
            names.formUnion(rows.keys)
            #expect(rows.values.max() == 99)
        }
        #expect(names.count <= StallCounts.maximumPlaces + 1 && names.contains(.other(target: nil)))
    }

    /// proc_pid_stat(5): the text between the parentheses is chosen by the program.
    @Test func `the identity and the parent of a process are found with any process name`() {
        for name in [
            "sh", "a) b", ") S 7 (", "x\u{301}", "\u{301}", "\u{200d}", "\u{fe0f}", "\u{600}", "x\u{110bd}", "\n)", "e\u{20dd}",
        ] {
            var process = cll_process()
            let rest = "S 17 42 42 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 4711 0 0 0 0 0 140720308486144 0"
            #expect(cll_parse_process("42 (\(name)) \(rest)", &process) == 0, "\(name)")
            #expect(process.parent == 17 && process.start_ticks == 4711 && process.image == 140_720_308_486_144, "\(name)")
        }
        var process = cll_process()
        #expect(cll_parse_process("", &process) != 0 && cll_parse_process("42 (x)", &process) != 0)
    }

    @Test func `entries of a process without permission to signal the others are not trusted`() {
        let (root, www, me): (TableUsers.IDs, TableUsers.IDs, TableUsers.IDs) = ([0], [33], [1000])
        #expect(TableUsers.may(root, signal: www) && TableUsers.may(me, signal: me) && TableUsers.may([1000, 0], signal: www))
        #expect(!TableUsers.may(www, signal: root) && !TableUsers.may(www, signal: me) && !TableUsers.may(me, signal: []))
        var users = TableUsers()
        users.add([.init(pid: 7, users: root), .init(pid: 8, users: www)], below: 7)
        #expect(users.stranger(to: [root]) { _ in false } == .init(pid: 8, users: www))
        #expect(users.stranger(to: [www]) { _ in false } == nil)
        #expect(users.stranger(to: [www, root]) { _ in false } == .init(pid: 8, users: www))
        // A process that has exited since may have left its claim; a restarted command has new table contents.
        users.add([.init(pid: 7, users: root)], below: 7)
        #expect(users.stranger(to: [root]) { _ in false } != nil)
        users.add([.init(pid: 9, users: root)], below: 9)
        #expect(users.stranger(to: [root]) { _ in false } == nil)
    }

    @Test func `the users of a command are listed once a second at most`() {
        let start = MonotonicTime.now
        var users = TableUsers()
        for (milliseconds, listed) in [(0, 0), (999, 0), (1000, 1000), (1999, 1000)] {
            users.lookIfDue(below: 0, at: start + .milliseconds(milliseconds))
            #expect(users.listedAt == start + .milliseconds(listed))
        }
    }

    /// The pages and the actions on a hang do not depend on written lines.
    @Test func `a hang whose records are suppressed still counts as in progress`() throws {
        let counts = StallCounts(places: [])
        let context = ProcessContext.current(serviceName: nil, serviceVersion: nil)
        let log = LineDispatcher(live: LiveLines(counts: counts, context: context), target: nil)
        let sink = try #require(log.sink(of: context) as? any StallObserver)
        func stall(_ phase: StallRecord.Phase) throws -> LineFacts.Stall {
            let record = StallRecord(
                id: StallID(startRealtimeNanoseconds: 0, randomHigh: 0, randomLow: 1),
                startRealtimeNanoseconds: 0,
                startMonotonicNanoseconds: 0,
                durationNanoseconds: 4_000_000_000,
                thresholdNanoseconds: 150_000_000,
                phase: phase,
                kind: .callout,
                loop: "main",
                threadID: 4711
            )
            return try #require(LineFacts(record).stall)
        }
        let place = log.place(process: context.processName, loop: "main")
        sink.observe(try stall(.begin))
        #expect(log.hasBegun(process: context.pid, thread: 4711))
        #expect(counts.snapshot.loops[place]?.inProgress.count == 1)
        sink.observe(try stall(.end))
        #expect(!log.hasBegun(process: context.pid, thread: 4711))
        #expect(counts.snapshot.loops[place]?.inProgress.isEmpty == true)
        #expect(counts.snapshot.durations.values.reduce(0) { $0 + $1.count } == 1)
    }

    @Test func `thread numbers are removed from the loop label`() {
        let log = LineDispatcher(live: nil, target: "t")
        #expect(log.place(process: "p", loop: "thread 4711") == .init(target: "t", process: "p", loop: "thread"))
        let labels = ["thread pool": "thread pool", "conn-17": "conn", "NIO-ELT-0-#3": "NIO-ELT-0", "42": "thread"]
        for (name, label) in labels {
            #expect(log.place(process: "p", loop: name).loop == label)
        }
    }

    /// The list of processes without a loop is some seconds old.
    @Test func `a process with a loop is not listed as one without`() {
        var status = TargetStatus(name: "a", phase: "running")
        status.processes = [.init(pid: 7, name: "p", loops: [("main", 0)]), .init(pid: 8, name: "p", loops: [])]
        status.withoutLoop = [7, 8, 9].map { WatchReporter.Unwatched(pid: $0, name: "p", reason: "r") }
        #expect(status.silent.map(\.pid) == [8, 9])
    }

    @Test func `metrics have a target label if there are targets`() {
        let status = TargetStatus(name: "a\"b", phase: "running", pid: 7, restarts: 3, signals: 2)
        let page = MetricsPage(
            counts: .init(),
            lags: [.init(target: "a\"b", process: "p", loop: "main"): 1_500_000_000],
            dropped: 0,
            targets: [status]
        )
        #expect(page.text.contains(#"lagmonitor_loop_lag_seconds{target="a\"b",process="p",loop="main"} 1.5"#))
        #expect(page.text.contains(#"lagmonitor_target_restarts_total{target="a\"b"} 3"#))
        #expect(page.text.contains(#"lagmonitor_hang_signals_total{target="a\"b"} 2"#))
    }
}
