internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Python programs that collect garbage, or that compute while another thread collects.
struct PythonCollectorTests {
    private static let program = """
        import gc, sys, threading

        garbage = [[] for _ in range(1000000)]

        def collect():
            while True:
                gc.collect()

        def compute():
            while True:
                sum(range(100000))

        print("ready", flush=True)
        if sys.argv[1] == "collect":
            collect()
        threading.Thread(target=collect, daemon=True).start()
        compute()
        """

    private func share(_ interpreter: String, _ mode: String) throws -> Double {
        let process = try InterpretedProcess(interpreter, Self.program, file: "shop.py", [mode])
        var (taken, collecting) = (0, 0)
        _ = eventually {
            let outcome = process.take()
            if outcome.stored > 0 {
                taken += 1
                collecting += outcome.isCollecting ? 1 : 0
            }
            usleep(2000)
            return taken == 60
        }
        #expect(taken == 60)
        return Double(collecting) / Double(max(taken, 1))
    }

    @Test(arguments: PythonLockTests.interpreters) func `a thread that collects garbage is reported as collecting`(
        interpreter: String
    ) throws {
        #expect(try share(interpreter, "collect") > 0.8)
    }

    @Test(arguments: PythonLockTests.interpreters)
    func `garbage collection by another thread is not attributed to this thread`(interpreter: String) throws {
        #expect(try share(interpreter, "compute") == 0)
    }
}
