internal import CLagBeacon
import Dispatch
import Foundation
import Glibc
internal import LagActivity
internal import LagModel
import LagRunLoop
import Synchronization
import TestSupport
import Testing

/// Entries from any thread, in their order.
final class Log<Note: Sendable & Equatable>: Sendable {
    private let notes = PthreadMutex<[Note]>([])

    var all: [Note] { notes.withLock { $0 } }
    var count: Int { notes.withLock { $0.count } }

    func add(_ note: Note) { notes.withLock { $0.append(note) } }
    func clear() { notes.withLock { $0 = [] } }
}

/// Holds a value that is set after the closure that uses it was created.
final class Box<Value: Sendable>: Sendable {
    private let content = PthreadMutex<Value?>(nil)

    var value: Value? {
        get { content.withLock { $0 } }
        set { content.withLock { $0 = newValue } }
    }
}

/// An object whose release can be observed.
final class Tracked: Sendable {
    private let ended: Counter
    init(_ ended: Counter) { self.ended = ended }
    deinit { ended.add() }
    func touch() {}
}

final class TestPipe: Sendable {
    let reading, writing: Int32

    init() throws {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        (reading, writing) = (ends[0], ends[1])
    }

    deinit {
        close(reading)
        close(writing)
    }

    func write() { #expect(Glibc.write(writing, "x", 1) == 1) }
}

/// Runs `body` on a new thread and waits for it: most of a loop's interface may only be used on its own thread.
func onFreshThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
    let result = Box<Result<Value, any Error>>()
    let done = DispatchSemaphore(value: 0)
    try ObservedRunLoop.performInBackground(name: "test") {
        result.value = Result { try body() }
        done.signal()
    }
    done.wait()
    return try result.value!.get()
}

/// Runs `body` on that many threads at the same time and waits for all. (`concurrentPerform` uses no more threads than
/// processors.)
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    let group = DispatchGroup()
    for number in 0..<count {
        group.enter()
        try ObservedRunLoop.performInBackground(name: "test \(number)") {
            body(number)
            group.leave()
        }
    }
    group.wait()
}

/// A keep-alive thread for the duration of `body`.
func withThread<Value>(_ body: (KeepAliveThread) throws -> Value) throws -> Value {
    let thread = try KeepAliveThread(name: "test")
    defer {
        thread.stop()
        thread.join()
    }
    return try body(thread)
}

extension ObservedRunLoop {
    /// A run with a limit far longer than any test needs.
    func runBriefly(_ mode: RunLoopMode = .default, once: Bool = false) -> RunLoopResult {
        run(in: mode, for: .seconds(20), returnAfterSourceHandled: once)
    }
}

/// The times in a loop's beacon, in nanoseconds of the monotonic clock.
extension ActivityBeacon {
    var wokeNanoseconds: UInt64 { clb_beacon_woke_ns(raw) }
    var calloutNanoseconds: UInt64 { clb_beacon_callout_ns(raw) }
    var pongNanoseconds: UInt64 { clb_beacon_pong_ns(raw) }
}
