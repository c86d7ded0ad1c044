internal import CLagLinux
internal import Glibc
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Python programs in which one thread holds the interpreter lock in C code while the first thread waits for it.
struct PythonLockTests {
    /// Every installed CPython, one of each minor version.
    static let interpreters: [String] = {
        let home = getenv("HOME").map { String(cString: $0) } ?? ""
        let versions = ["3.11.7", "3.12.1", "3.13.0"].map { "\(home)/.pyenv/versions/\($0)/bin/python3" }
        return (["/usr/bin/python3"] + versions).filter { access($0, X_OK) == 0 }
    }()

    /// `ctypes.PyDLL` calls without releasing the lock.
    private static let program = """
        import ctypes, sys, threading, time

        LIBC = ctypes.PyDLL(None)

        def keep():
            LIBC.usleep(600000000) if sys.argv[1] == "sleep" else sum(range(10 ** 14))

        def serve():
            threading.Thread(target=keep, daemon=True).start()
            while True:
                time.sleep(0.01)

        if sys.argv[1] == "free":
            LOCK = threading.Condition()
            threading.Thread(target=lambda: time.sleep(600), daemon=True).start()
            print("ready", flush=True)
            with LOCK:
                LOCK.wait()
        print("ready", flush=True)
        serve()
        """

    private static let cases = interpreters.flatMap { interpreter in ["sleep", "compute"].map { (interpreter, $0) } }

    @Test(arguments: cases) func `the holder of the interpreter lock is identified with its frames`(
        interpreter: String,
        mode: String
    ) throws {
        let process = try InterpretedProcess(interpreter, Self.program, file: "shop.py", [mode], ownFile: "shop.py")
        let owner = process.interpreterLockOwner()
        let threads = process.threads
        #expect(threads.count == 2 && owner == threads[1], "\(String(describing: owner)) of \(threads)")
        let frames = process.ownFrames(of: threads[1])
        #expect(frames.first == "keep (shop.py):6", "\(frames)")
        // It is in the start of the thread, or after its sleep.
        let own = process.own(process.take())
        #expect(["serve (shop.py):9", "serve (shop.py):11"].contains(own.first ?? ""), "\(own)")
    }

    @Test(arguments: interpreters) func `another wait is not reported as a wait for the interpreter lock`(interpreter: String)
        throws
    {
        let process = try InterpretedProcess(interpreter, Self.program, file: "shop.py", ["free"])
        for _ in 0..<20 {
            _ = process.take()
            let chain = process.chain(from: process.threads[0])
            #expect(chain.count <= 1 && (chain.count == 0 || chain[0].lock.kind != Int32(CLL_LOCK_INTERPRETER)))
            usleep(5000)
        }
    }
}
