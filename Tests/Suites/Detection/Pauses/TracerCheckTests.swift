internal import CLagLinux
import Glibc
import StallFixtures
import Testing

@testable import LagDetection

struct TracerCheckTests {
    private func status(state: String, tracer: String) -> String {
        "Name:\tState: x\\n\nUmask:\t0022\nState:\t\(state)\nTgid:\t7\nNgid:\t0\nPid:\t7\nPPid:\t1\nTracerPid:\t\(tracer)\nUid:\t0\n"
    }

    private func parse(_ text: String) -> TracerCheck { Array(text.utf8).withUnsafeBytes { TracerCheck.parse($0) } }

    @Test func `a stop by a thread of this process is not a stop by a debugger`() {
        #expect(!TracerCheck.traced(by: cll_gettid(), stopped: true).isHeldByOthers)
        #expect(TracerCheck.traced(by: 1, stopped: true).isHeldByOthers)
        #expect(TracerCheck.traced(by: 0, stopped: true).isHeldByOthers)
        #expect(!TracerCheck.traced(by: 1, stopped: false).isHeldByOthers)
    }

    @Test(
        arguments: [
            ("R (running)", "0", .none),
            ("S (sleeping)", "4711", .traced(by: 4711, stopped: false)),
            ("t (tracing stop)", "4711", .traced(by: 4711, stopped: true)),
            ("T (stopped)", "0", .none),
            ("t (tracing stop)", "0", .traced(by: 0, stopped: true)),
        ] as [(String, String, TracerCheck)]
    )
    func `the tracer and the stop are read from the status`(state: String, tracer: String, expected: TracerCheck) {
        #expect(parse(status(state: state, tracer: tracer)) == expected)
    }

    @Test(arguments: [
        "", "\n", "State:\tR\n", "TracerPid:\t1\n", "State:\t", "State:\tR\nTracerPid:\t", "State:\tR\nTracerPid:\tx\n",
    ])
    func `any other text is unknown`(text: String) {
        #expect(parse(text) == .unknown)
    }

    @Test func `a thread that is gone is unknown`() {
        #expect(TracerCheck.read(tid: 0x3FFF_FFFF) == .unknown)
        #expect(TracerCheck.read(tid: -1) == .unknown)
    }

    @Test func `a debugger is detected from attaching to detaching`() throws {
        let child = try ChildProcess("exec sleep 1000")
        defer { child.end() }
        #expect(TracerCheck.read(tid: child.pid, process: child.pid) == .none)

        let attached = fixture_trace_attach(child.pid)
        guard attached != EPERM else {
            print("not tested: this machine does not permit ptrace")
            return
        }
        try #require(attached == 0)
        #expect(TracerCheck.read(tid: child.pid, process: child.pid) == .traced(by: cll_gettid(), stopped: false))

        try #require(fixture_trace_stop(child.pid) == 0)
        #expect(TracerCheck.read(tid: child.pid, process: child.pid) == .traced(by: cll_gettid(), stopped: true))

        try #require(fixture_trace_detach(child.pid) == 0)
        #expect(TracerCheck.read(tid: child.pid, process: child.pid) == .none)
    }
}
