import Testing

/// Real threads that wait for each other, each scene in a process of its own.
@Suite struct WaitTests {
    /// Who holds the lock, and that it is not the wrong one.
    @Test(
        arguments: [
            ("wait-mutex", "mutex", "holder"), ("wait-mutex-normal", "mutex", "holder"),
            ("wait-mutex-recursive", "mutex", "holder"), ("wait-mutex-errorcheck", "mutex", "holder"),
            ("wait-mutex-adaptive", "mutex", "holder"), ("wait-mutex-timed", "mutex", "holder"),
            ("wait-mutex-priority", "priority", "holder"), ("wait-mutex-robust", "mutex", "holder"),
            ("wait-swift-mutex", "priority", "holder"), ("wait-read-lock-of-writer", "read-write", "holder"),
            ("wait-write-lock-of-writer", "read-write", "holder"), ("wait-join", "thread", "holder"),
            ("wait-queue", "queue", "worker"), ("wait-queue-of-sync", "queue", "holder"),
            ("wait-queue-barrier", "queue", "worker"),
        ]
    )
    func `the owner of a lock is found`(scenario: String, kind: String, owner: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0 && run["kind"] == kind && run["owner"] == owner, "\(run.lines)")
        #expect(run["threads"] == "waiter \(owner)" && run["cycle"] == "none" && run["last"] == "none", "\(run.lines)")
    }

    /// There is none, or it cannot be known: then nobody is accused.
    @Test(
        arguments: [
            "wait-write-lock-of-reader", "wait-semaphore", "wait-dispatch-semaphore", "wait-group", "wait-condition",
            "wait-ended-owner", "wait-number", "wait-condition-before-mutex",
        ]
    )
    func `what has no owner gets no owner`(scenario: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0 && run["owner"] == "none" && run["kind"] == "futex", "\(run.lines)")
        #expect(run["threads"] == "waiter" && run["cycle"] == "none", "\(run.lines)")
    }

    @Test func `a sleep is no lock`() throws {
        let run = try ProbeRun("wait-sleep")
        #expect(run["kind"] == "none" && run["owner"] == "none" && run["threads"] == "waiter", "\(run.lines)")
    }

    @Test(
        arguments: [
            ("chain-to-running", "waiter holder", "none"), ("chain-of-three", "a b c", "none"),
            ("chain-into-a-cycle", "a b c", "1"), ("deadlock-of-one", "a", "0"), ("deadlock-of-two", "b a", "0"),
            ("deadlock-of-three", "b c a", "0"), ("deadlock-of-mutex-and-queue", "waiter worker", "0"),
            ("chain-too-long", (0..<16).map { "t\($0)" }.joined(separator: " "), "none"),
        ]
    )
    func `the chain of owners is followed to its end`(scenario: String, threads: String, cycle: String) throws {
        let run = try ProbeRun(scenario)
        #expect(run.status == 0 && run["threads"] == threads && run["cycle"] == cycle, "\(run.lines)")
    }

    @Test(arguments: ["read", "poll", "connect", "openat", "wait4", "waitid", "any-child", "futex", "nanosleep"])
    func `what a system call works on`(call: String) throws {
        let run = try ProbeRun("describe-\(call)")
        #expect(run["caught"] == "yes" && run["descriptor"] == "right", "\(run.lines)")
        #expect(run["target"] == run["expected"], "\(run.lines)")
        let isSocket = ["poll", "connect"].contains(call)
        #expect(run["socket"] == (isSocket ? run["expected"] : "none"), "\(run.lines)")
        #expect(run["port"] == run["expected-port"], "\(run.lines)")
        let process = call == "any-child" ? "-1" : run["child"] ?? "0"
        #expect(run["process"] == process, "\(run.lines)")
    }

    /// Where the file system has nothing to wait for, the thread is never found in the call.
    @Test func `fsync names its file`() throws {
        let run = try ProbeRun("describe-fsync")
        guard run["caught"] == "yes" else { return }
        #expect(run["descriptor"] == "right" && run["target"] == run["expected"], "\(run.lines)")
    }

    @Test func `addresses that lead nowhere do no harm`() throws {
        let run = try ProbeRun("describe-wrong-address")
        #expect(run["alive"] == "yes" && run["reported"] == nil, "\(run.lines)")
    }
}
