internal import LagMonitor
internal import Testing

@testable import LagWorkload
@testable internal import lagmond

/// Each kind really blocks, for about the requested time.
@Suite(.serialized) struct WorkloadStepsTests {
    private static let length: Duration = .milliseconds(200)

    private func measure(_ kind: WorkloadKind) throws -> (wall: Duration, cpu: Duration) {
        let steps = try WorkloadSteps(for: [WorkloadStep(kind: kind)])
        // The length counts from the preparation.
        let begin = MonotonicTime.now
        let injection = try steps.prepare(kind, length: Self.length)
        let cpu = ThreadClock.cpu
        injection.block()
        let wall = MonotonicTime.now - begin
        let used = ThreadClock.cpu - cpu
        injection.cleanUp()
        return (wall, used)
    }

    @Test(arguments: [WorkloadKind.cpu, .sleep, .read, .lock, .io, .network, .child, .format])
    func `a blocking kind blocks for about the requested time`(kind: WorkloadKind) throws {
        let (wall, _) = try measure(kind)
        #expect(wall >= Self.length * 0.8)
        #expect(wall < Self.length * 10)
    }

    @Test(arguments: [WorkloadKind.sleep, .read, .lock, .network, .child])
    func `a waiting kind uses little processor time`(kind: WorkloadKind) throws {
        let (wall, cpu) = try measure(kind)
        #expect(cpu < wall * 0.3)
    }

    // Steal time of a virtual machine counts neither as running nor as waiting for a processor. A thread that never sleeps
    // computes, however little time it got; one that slept (for a page, for another thread's lock) must have been runnable
    // nearly all the time.
    @Test(arguments: [WorkloadKind.cpu, .format])
    func `a computing kind is running or waiting for a processor`(kind: WorkloadKind) throws {
        let (sleeps, runnable) = (ThreadClock.sleeps, ThreadClock.runnable)
        let (wall, cpu) = try measure(kind)
        #expect(cpu > .zero)
        #expect(ThreadClock.sleeps == sleeps || ThreadClock.runnable - runnable > wall * 0.7)
    }

    @Test func `a kind can be injected repeatedly`() throws {
        let steps = try WorkloadSteps(for: [WorkloadStep(kind: .network)])
        for kind in [WorkloadKind.lock, .read, .network, .child, .io] {
            for round in 0..<3 {
                let begin = MonotonicTime.now
                let injection = try steps.prepare(kind, length: .milliseconds(20))
                injection.block()
                #expect(MonotonicTime.now - begin >= .milliseconds(16), "\(kind) \(round)")
                injection.cleanUp()
            }
        }
    }

    @Test func `a hang that is released ends after the requested time`() throws {
        let steps = try WorkloadSteps(for: [])
        for _ in 0..<2 {
            let begin = MonotonicTime.now
            let injection = try steps.prepare(.hang, length: Self.length, releasing: true)
            injection.block()
            let wall = MonotonicTime.now - begin
            #expect(wall >= Self.length * 0.8)
            #expect(wall < Self.length * 10)
        }
    }

    @Test func `the idle kind does not block`() throws {
        #expect(try measure(.idle).wall < Self.length)
    }

    @Test func `the waiting time of the server is read from the request`() {
        #expect(SlowServer.waitingTime(in: "GET /wait?ms=250 HTTP/1.0\r\n\r\n") == .milliseconds(250))
        #expect(SlowServer.waitingTime(in: "GET / HTTP/1.0\r\n\r\n") == .zero)
        #expect(SlowServer.waitingTime(in: "GET /wait?ms=x") == .zero)
    }
}
