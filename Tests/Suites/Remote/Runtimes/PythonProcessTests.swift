internal import CLagLinux
internal import Foundation
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// A stalling Python program, watched from here.
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
        import sys, time

        def down(count):
            return down(count - 1) if count else time.sleep(600)

        def serve():
            sys.setrecursionlimit(100000)
            down(int(sys.argv[1]))

        print("ready", flush=True)
        serve()
        """

    /// Forks like an embedder that does not inform the interpreter.
    static let fork = """
        import ctypes, sys, time

        def serve():
            while sys.argv[1] == "spin":
                pass
            time.sleep(600)

        child = ctypes.CDLL(None).fork()
        if child:
            print("ready", child, flush=True)
            time.sleep(600)
        serve()
        """

    /// Loads a library for each line of input, always at the same line of code.
    static let loader = """
        import ctypes, sys

        print("ready", flush=True)
        for name in ["libresolv.so.2", "libanl.so.1", "libBrokenLocale.so.1"] * 100:
            sys.stdin.readline()
            ctypes.CDLL(name)
        """

    /// Code that was compiled under names that are not file names.
    static let names = """
        import time

        names = ["<string>", "", "two\\nlines.py", "caf\\udce9.py", "relative/part.py", "site-packages/other.py"]
        def wait():
            time.sleep(600)
        call = wait
        for name in names:
            space = {"call": call}
            exec(compile("def step():\\n    call()\\n", name, "exec"), space)
            call = space["step"]
        print("ready", flush=True)
        call()
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

    /// The deeper recursion is only partly copied.
    @Test(arguments: [700, 6000])
    func `a recursion too deep for the buffer has its innermost and outermost frames`(depth: Int) throws {
        let process = try InterpretedProcess(PythonProcess.interpreter, PythonProcess.recursion, file: "deep.py", ["\(depth)"])
        var found: [String] = []
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == .passive && outcome.stored == process.frames.capacity && outcome.total > 700
        }
        #expect(isFound, "\(found)")
        #expect(Array(found.suffix(2)) == ["serve (deep.py):8", "<module> (deep.py):11"], "\(found)")
        #expect(found.prefix(150).allSatisfy { $0.hasPrefix("down (deep.py):") }, "\(found)")
    }

    @Test(arguments: ["sleep", "spin"]) func `a process forked without the knowledge of Python has Python frames`(mode: String)
        throws
    {
        let process = try InterpretedProcess(PythonProcess.interpreter, PythonProcess.fork, file: "master.py", [mode])
        var found: [String] = []
        let isFound = eventually {
            found = process.own(process.take())
            return found.first?.hasPrefix("serve (master.py)") == true
        }
        #expect(isFound && found.last == "<module> (master.py):12", "\(found)")
    }

    @Test func `a thread's late answer has its frames, whatever was captured since the request`() throws {
        let process = try PythonProcess.start("sleep")
        let capture = try #require(RuntimeCapture(process.languages, process: process.pid))
        let modules = try #require(ModuleMap(process: process.pid))
        modules.refresh()
        let thread = ThreadIdentity(tid: process.pid, process: process.pid, stackLow: 0, stackHigh: 0)
        #expect(capture.prepare(thread, modules, mayStop: true))
        // Another one that sleeps.
        _ = capture.prepare(nil, modules, mayStop: false)
        var stopped = cll_snapshot()
        capture.stopped.take(process.pid, &stopped)
        #expect(capture.stopped.taken?.tid == process.pid)
    }

    @Test func `frame numbers stay the same when the program loads a library`() throws {
        let process = try InterpretedProcess(PythonProcess.interpreter, PythonProcess.loader, file: "loader.py")
        func numbers() -> [UInt32] {
            var found: [UInt32] = []
            _ = eventually {
                let outcome = process.take()
                found = (0..<outcome.stored).map { process.frames[$0].language }.filter { $0 != 0 }
                return !found.isEmpty && process.own(outcome) == ["<module> (loader.py):5"]
            }
            return found
        }
        let first = numbers()
        let generation = process.capture.modules.generation
        try process.goOn()
        #expect(
            eventually {
                _ = process.take()
                return process.capture.modules.generation != generation
            }
        )
        #expect(!first.isEmpty && numbers() == first)
    }

    @Test func `invalid file names do not change the frames`() throws {
        let process = try InterpretedProcess(PythonProcess.interpreter, PythonProcess.names, file: "names.py")
        var files: [String?] = []
        let isFound = eventually {
            let outcome = process.take()
            files = (0..<outcome.stored).compactMap { process.frames[$0].language }.filter { $0 != 0 }
                .compactMap { process.languages.name(of: $0) }.filter { $0.function == "step" }.map(\.file)
            return files.count == 6
        }
        let expected = ["<string>", nil, "two\u{fffd}lines.py", "caf\u{fffd}.py", "relative/part.py", "site-packages/other.py"]
        #expect(isFound && files == expected, "\(files)")
    }

    @Test func `a lambda is distinguished from others by the names that it uses`() throws {
        let process = try PythonProcess.start("sleep")
        #expect(eventually { process.variants() == ["Shop.checkout.<locals>.<lambda>": "wait"] }, "\(process.variants())")
    }

    @Test(arguments: [("sleep", CaptureMethod.passive, [9]), ("spin", .ptrace, [10, 11])] as [(String, CaptureMethod, [Int])])
    func `a thread has Python frames in place of interpreter frames`(mode: String, method: CaptureMethod, lines: [Int]) throws {
        let process = try PythonProcess.start(mode)
        var found: [String] = []
        // Right after it prints its line, the thread may be elsewhere.
        let isFound = eventually {
            let outcome = process.take()
            found = process.own(outcome)
            return outcome.method == method && found.first?.hasPrefix("wait") == true
        }
        #expect(isFound, "\(found)")
        #expect(lines.map { "wait (shop.py):\($0)" }.contains(found.first ?? ""), "\(found)")
        #expect(Array(found.dropFirst()) == Self.rest, "\(found)")
    }

    @Test func `frames of the interpreter itself are marked as runtime frames`() throws {
        let process = try PythonProcess.start("sleep")
        var outcome = process.take()
        _ = eventually {
            outcome = process.take()
            return process.own(outcome).count == 5
        }
        let first = try #require((0..<outcome.stored).first { process.frames[$0].language != 0 })
        // The C library's startup frames remain below, and the sleeping frames above.
        #expect(first > 0 && outcome.stored - first <= 5 + 3)
        for index in 0..<first {
            let module = process.frames[index].module.flatMap { process.capture.modules.module(at: $0) }
            #expect(process.frames[index].isRuntime == (module?.baseName.hasPrefix("python") ?? false))
        }
    }

    @Test func `a repeated capture gives the same frame numbers`() throws {
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
