internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A Python that stalls, watched from here.
private enum PythonProcess {
    static let interpreter = "/usr/bin/python3"
    static var isInstalled: Bool { access(interpreter, X_OK) == 0 }

    static let program = """
        import sys, time

        class Shop:
            def checkout(self):
                return (lambda: wait())()

        def wait():
            if sys.argv[1] == "sleep":
                time.sleep(600)
            while True:
                pass

        def key(value):
            Shop().checkout()

        print("ready", flush=True)
        sorted([1], key=key)
        """

    static let recursion = """
        import time

        def down(count):
            return down(count - 1) if count else time.sleep(600)

        def serve():
            down(700)

        print("ready", flush=True)
        serve()
        """

    static func start(_ mode: String) throws -> InterpretedProcess {
        try InterpretedProcess(interpreter, program, file: "shop.py", [mode])
    }
}

@Suite(.enabled(if: PythonProcess.isInstalled, "no python3 on this machine"))
struct PythonProcessTests {
    private static let rest = [
        "Shop.checkout.<locals>.<lambda> (shop.py):5", "Shop.checkout (shop.py):5", "key (shop.py):14", "<module> (shop.py):17",
    ]

    @Test func `of a recursion that is too deep the innermost frames are there, and the outermost`() throws {
        let process = try InterpretedProcess(PythonProcess.interpreter, PythonProcess.recursion, file: "deep.py")
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .passive && outcome.stored == process.frames.capacity && outcome.total > 700
        }
        #expect(isFound, "\(found)")
        #expect(Array(found.suffix(2)) == ["serve (deep.py):7", "<module> (deep.py):10"], "\(found)")
        #expect(found.prefix(150).allSatisfy { $0.hasPrefix("down (deep.py):") }, "\(found)")
    }

    @Test func `a lambda is told from others by the names that it uses`() throws {
        let process = try PythonProcess.start("sleep")
        #expect(eventually { process.variants() == ["Shop.checkout.<locals>.<lambda>": "wait"] }, "\(process.variants())")
    }

    @Test(arguments: [("sleep", CaptureMethod.passive, [9]), ("spin", .ptrace, [10, 11])] as [(String, CaptureMethod, [Int])])
    func `a thread has Python's frames in place of the interpreter's`(mode: String, method: CaptureMethod, lines: [Int]) throws {
        let process = try PythonProcess.start(mode)
        var found: [String] = []
        // Right after its line it may be elsewhere.
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == method && found.first?.hasPrefix("wait") == true
        }
        #expect(isFound, "\(found)")
        #expect(lines.map { "wait (shop.py):\($0)" }.contains(found.first ?? ""), "\(found)")
        #expect(Array(found.dropFirst()) == Self.rest, "\(found)")
    }

    @Test func `the interpreter's own frames are not the program's`() throws {
        let process = try PythonProcess.start("sleep")
        var outcome = process.take()
        _ = eventually {
            outcome = process.take()
            return process.own(outcome).count == 5
        }
        let first = try #require((0..<outcome.stored).first { process.frames[$0].language != 0 })
        // The C library's beginning of a process remains below, and what sleeps above.
        #expect(first > 0 && outcome.stored - first <= 5 + 3)
        for index in 0..<first {
            let module = process.frames[index].module.flatMap { process.capture.modules.module(at: $0) }
            #expect(process.frames[index].isRuntime == (module?.baseName.hasPrefix("python") ?? false))
        }
    }

    @Test func `the same stall is the same function and another line another frame`() throws {
        let process = try PythonProcess.start("sleep")
        var numbers: [UInt32] = []
        _ = eventually {
            let outcome = process.take()
            numbers = (0..<outcome.stored).map { process.frames[$0].language }.filter { $0 != 0 }
            return numbers.count == 5
        }
        let again = process.take()
        #expect((0..<again.stored).map { process.frames[$0].language }.filter { $0 != 0 } == numbers)
        #expect(Set(numbers.map { process.languages.function(of: $0) }).count == 5)
    }
}
