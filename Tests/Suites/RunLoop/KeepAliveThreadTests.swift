import Foundation
internal import LagActivity
import LagRunLoop
import TestSupport
import Testing

/// Keep-alive threads, and their end.
struct KeepAliveThreadTests {
    @Test func `a keep-alive thread runs submitted work at any time on its one thread`() throws {
        try withThread { thread in
            let tids = Log<Int32>()
            for _ in 0..<3 {
                usleep(5_000)
                tids.add(try thread.performAndWait { ThreadIdentity.current.tid })
            }
            #expect(Set(tids.all) == [thread.loop.thread.tid])
        }
    }

    @Test func `a keep-alive thread has the given name, stack size and priority`() throws {
        let thread = try KeepAliveThread(name: "named thread, long", priority: .background, stackBytes: 128 * 1024)
        defer { thread.stop() }
        let kernelName = try String(
            contentsOfFile: "/proc/self/task/\(thread.loop.thread.tid)/comm",
            encoding: .utf8
        )
        #expect(kernelName == "named thread, l\n")
        #expect(thread.name == "named thread, long")
        #expect(thread.niceValue == 15)
        let size = thread.loop.thread.stackHigh - thread.loop.thread.stackLow
        // The C library may reuse a cached stack of up to four times the size.
        #expect(size >= 128 * 1024 && size <= 640 * 1024)
    }

    @Test func `values out of range are refused with the name of the value`() {
        #expect(throws: RunLoopError.invalidArgument("stackBytes of thread 't' is 10; at least 65536 is needed")) {
            try KeepAliveThread(name: "t", stackBytes: 10)
        }
        #expect(throws: RunLoopError.invalidArgument("the nice value of thread 't' is 20; allowed is -20 to 19")) {
            try KeepAliveThread(name: "t", priority: ThreadPriority(niceValue: 20))
        }
    }

    @Test func `an idle thread uses no processor time`() throws {
        try withThread { thread in
            try thread.performAndWait {}
            #expect(eventually { thread.loop.isWaiting })
            func state() throws -> Substring? {
                let text = try String(contentsOfFile: "/proc/self/task/\(thread.loop.thread.tid)/stat", encoding: .utf8)
                return text.split(separator: ")").last?.split(separator: " ").first
            }
            // The kernel's count for the thread: time on a processor, and how often it was scheduled.
            func account() throws -> [UInt64] {
                let path = "/proc/self/task/\(thread.loop.thread.tid)/schedstat"
                return try String(contentsOfFile: path, encoding: .utf8).split(whereSeparator: \.isWhitespace)
                    .compactMap { UInt64($0) }
            }
            // Published before it sleeps.
            #expect(try eventually { try state() == "S" })
            let before = try account()
            usleep(300_000)
            let after = try account()
            #expect(after[0] - before[0] == 0, "nanoseconds on a processor")
            #expect(after[2] - before[2] == 0, "times it was put on one")
        }
    }

    @Test func `stopping a thread from outside ends it and releases everything`() throws {
        let ended = Counter()
        weak let loop: ObservedRunLoop?
        weak let object: KeepAliveThread?
        do {
            let thread = try KeepAliveThread(name: "outside")
            (loop, object) = (thread.loop, thread)
            let tracked = Tracked(ended)
            thread.loop.add(RunLoopTimer(after: .seconds(1_000)) { _ in tracked.touch() }, to: .common)
            try thread.performAndWait { tracked.touch() }
            thread.stop()
            thread.stop()
            #expect(thread.join())
            #expect(thread.join(), "joining twice is allowed")
            #expect(thread.isFinished)
            #expect(!thread.perform {})
        }
        #expect(ended.value == 1)
        #expect(loop == nil)
        #expect(object == nil)
    }

    @Test func `a thread can be stopped from inside`() throws {
        let thread = try KeepAliveThread(name: "inside")
        thread.perform { thread.stop() }
        #expect(thread.join())
        #expect(thread.isFinished)
        let other = try KeepAliveThread(name: "inside")
        other.perform { KeepAliveThread.stopCurrent() }
        #expect(other.join())
    }

    @Test func `a stopped thread ends after the current callout and drops the remaining work`() throws {
        let ended = Counter()
        let ran = Counter()
        let refused = Counter()
        let thread = try KeepAliveThread(name: "prompt")
        let waiter = try KeepAliveThread(name: "waiter")
        let go = DispatchSemaphore(value: 0)
        let source = RunLoopSource { ran.add() }
        thread.loop.add(source, to: .default)
        thread.perform { go.wait() }
        thread.perform { KeepAliveThread.stopCurrent() }
        for _ in 0..<3 {
            let tracked = Tracked(ended)
            thread.perform {
                tracked.touch()
                ran.add()
            }
        }
        source.signal()
        waiter.perform {
            do { try thread.performAndWait { ran.add() } } catch { refused.add() }
        }
        usleep(20_000)
        go.signal()
        thread.join()
        #expect(ran.value == 0)
        #expect(ended.value == 3)
        #expect(eventually { refused.value == 1 })
        waiter.stop()
        waiter.join()
    }

    @Test func `the captures of finished work are released before the next work runs`() throws {
        try withThread { thread in
            let ended = Counter()
            let seen = Log<Int>()
            let go = DispatchSemaphore(value: 0)
            thread.perform { go.wait() }
            do {
                let tracked = Tracked(ended)
                thread.perform { tracked.touch() }
            }
            thread.perform { seen.add(ended.value) }
            go.signal()
            #expect(eventually { seen.count == 1 })
            #expect(seen.all == [1])
        }
    }

    @Test func `a stopped thread ends its nested runs`() throws {
        let thread = try KeepAliveThread(name: "nested")
        let depth = Counter()
        let ended = Counter()
        thread.perform {
            thread.perform {
                depth.add()
                _ = ObservedRunLoop.current.runBriefly()
                ended.add()
            }
            depth.add()
            _ = ObservedRunLoop.current.runBriefly()
            ended.add()
        }
        #expect(eventually { depth.value == 2 && thread.loop.isWaiting })
        thread.stop()
        #expect(thread.join())
        #expect(ended.value == 2)
    }

    @Test func `stopping the loop does not end the thread`() throws {
        try withThread { thread in
            thread.loop.stop()
            thread.perform { ObservedRunLoop.current.stop() }
            #expect(try! thread.performAndWait { 1 } == 1)
            #expect(!thread.isFinished)
        }
    }

    @Test func `a thread ends when its last reference is released`() throws {
        let loop = try {
            let thread = try KeepAliveThread(name: "dropped")
            try thread.performAndWait {}
            return thread.loop
        }()
        #expect(eventually { loop.isFinished })
    }

    @Test func `a thread cannot join itself`() throws {
        try withThread { thread in
            let joined = try thread.performAndWait { thread.join() }
            #expect(!joined)
        }
    }

    @Test func `hundred thousand threads leave no resources behind`() throws {
        let output = try Probe.run("threads")
        #expect(output.status == 0, "\(output.text)")
    }
}

/// Tests that need a main thread or a separate process.
struct ProbeTests {
    @Test func `the main loop serves the main queue and the main actor on the main thread`() throws {
        let output = try Probe.run("main-loop")
        #expect(output.status == 0, "\(output.text)")
        #expect(output.text.contains("ok main actor work runs on the main thread"))
    }

    @Test func `a loop opens descriptors only to watch others, and closes them`() throws {
        let output = try Probe.run("descriptors")
        #expect(output.status == 0, "\(output.text)")
    }
}

/// The program next to the test program, for tests that need a separate process.
enum Probe {
    static func run(_ arguments: String...) throws -> (status: Int32, text: String) {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let process = Process()
        let pipe = Pipe()
        process.executableURL = folder.appendingPathComponent("MonitorProbe")
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
