import Testing

/// Real threads that wait for each other, each scenario in its own process.
@Suite struct WaitTests {
    /// The thread that holds the lock, and never a wrong one.
    @Test(
        arguments: [
            ("wait-mutex", "mutex", "holder"), ("wait-mutex-normal", "mutex", "holder"),
            ("wait-mutex-recursive", "mutex", "holder"), ("wait-mutex-errorcheck", "mutex", "holder"),
            ("wait-mutex-adaptive", "mutex", "holder"), ("wait-mutex-timed", "mutex", "holder"),
            ("wait-mutex-priority", "priority", "holder"), ("wait-mutex-robust", "mutex", "holder"),
            ("wait-swift-mutex", "priority", "holder"), ("wait-read-lock-of-writer", "read-write", "holder"),
            ("wait-write-lock-of-writer", "read-write", "holder"), ("wait-join", "thread", "holder"),
            ("wait-queue", "queue", "worker"), ("wait-queue-of-sync", "queue", "holder"),
            ("wait-queue-barrier", "queue", "worker"), ("wait-std-mutex", "mutex", "holder"),
            ("wait-std-recursive-mutex", "mutex", "holder"), ("wait-std-timed-mutex", "mutex", "holder"),
            ("wait-std-shared-mutex-of-writer", "read-write", "holder"), ("wait-dispatch-once", "owned-word", "holder"),
        ]
    )
    func `the owner of a lock is identified`(scenario: String, kind: String, owner: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0 && run["kind"] == kind && run["owner"] == owner, "\(run.lines)")
        #expect(run["threads"] == "waiter \(owner)" && run["cycle"] == "none" && run["last"] == "none", "\(run.lines)")
    }

    /// There is no owner, or it cannot be known: then no thread is named.
    @Test(
        arguments: [
            ("wait-semaphore", "semaphore"), ("wait-dispatch-semaphore", "semaphore"), ("wait-group", "futex"),
            ("wait-condition", "condition"), ("wait-ended-owner", "futex"), ("wait-number", "futex"),
            ("wait-condition-before-mutex", "condition"), ("wait-once-beside-a-tid", "futex"),
        ]
    )
    func `no owner is reported for a wait whose owner does not exist or is unknown`(scenario: String, kind: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0 && run["owner"] == "none" && run["kind"] == kind && run["readers"] == "0", "\(run.lines)")
        #expect(run["threads"] == "waiter" && run["cycle"] == "none", "\(run.lines)")
    }

    /// The lock's memory contains only their number.
    @Test(
        arguments: [
            ("wait-write-lock-of-reader", 1), ("wait-write-lock-of-readers", 3), ("wait-write-lock-of-writer-behind-reader", 1),
            ("wait-read-lock-behind-writer", 1), ("wait-std-shared-mutex-of-reader", 1),
        ]
    )
    func `the readers of a read-write lock are counted but not identified`(scenario: String, readers: Int) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0 && run["kind"] == "read-write" && run["owner"] == "none", "\(run.lines)")
        #expect(run["readers"] == "\(readers)" && run["threads"] == "waiter", "\(run.lines)")
    }

    @Test func `a sleep is not reported as a lock`() throws {
        let run = try ProbeRun("wait-sleep")
        #expect(run["kind"] == "none" && run["owner"] == "none" && run["threads"] == "waiter", "\(run.lines)")
    }

    @Test(
        arguments: [
            ("chain-to-running", "waiter holder", "none"), ("chain-of-three", "a b c", "none"),
            ("chain-into-a-cycle", "a b c", "1"), ("deadlock-of-one", "a", "0"), ("deadlock-of-two", "b a", "0"),
            ("deadlock-of-three", "b c a", "0"), ("ring-with-a-time-out", "b c a", "none"),
            ("deadlock-of-mutex-and-queue", "waiter worker", "0"),
            ("chain-too-long", (0..<16).map { "t\($0)" }.joined(separator: " "), "none"),
        ]
    )
    func `the chain of owners is followed to its end`(scenario: String, threads: String, cycle: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0 && run["threads"] == threads && run["cycle"] == cycle, "\(run.lines)")
    }

    @Test(arguments: ["read", "poll", "connect", "openat", "wait4", "waitid", "any-child", "futex", "nanosleep"])
    func `a system call is reported with its file, socket or process`(call: String) throws {
        let run = try ProbeRun("describe-\(call)")
        #expect(run["caught"] == "yes" && run["descriptor"] == "right", "\(run.lines)")
        #expect(run["target"] == run["expected"], "\(run.lines)")
        let isSocket = ["poll", "connect"].contains(call)
        #expect(run["socket"] == (isSocket ? run["expected"] : "none"), "\(run.lines)")
        #expect(run["port"] == run["expected-port"], "\(run.lines)")
        let process = call == "any-child" ? "-1" : run["child"] ?? "0"
        #expect(run["process"] == process, "\(run.lines)")
    }

    /// If the file system has nothing to wait for, the thread is never found in the call.
    @Test func `fsync is reported with its file`() throws {
        let run = try ProbeRun("describe-fsync")
        guard run["caught"] == "yes" else { return }
        #expect(run["descriptor"] == "right" && run["target"] == run["expected"], "\(run.lines)")
    }

    @Test func `invalid addresses in a system call do no harm`() throws {
        let run = try ProbeRun("describe-wrong-address")
        #expect(run["alive"] == "yes" && run["reported"] == nil, "\(run.lines)")
    }
}
