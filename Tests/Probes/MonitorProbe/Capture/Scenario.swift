internal import CLagLinux
import Dispatch
import Glibc
internal import LagActivity
import LagCapture
import StallFixtures
import Synchronization

/// The scenarios with one captured thread.
enum Scenario {
    typealias Body = @Sendable () throws -> Void

    static let all: [String: Body] = sleeping.merging(running) { $1 }.merging(others) { $1 }.merging(locks) { $1 }
        .merging(chaining) { $1 }.merging(waits) { $1 }.merging(chains) { $1 }
        .merging(descriptions) { $1 }

    /// Starts a thread with `body`, captures it, releases it, and reports whether it was disturbed.
    static func stall(
        sleeping: Bool,
        stackBytes: Int = 512 * 1024,
        letGo: @escaping () -> Void = {},
        _ body: @escaping @Sendable (StalledThread) -> Int
    ) throws {
        let capture = try ThreadCapture()
        SignalCapture.install()
        let frames = CaptureScenarios.prepare(capture)
        let thread = StalledThread(stackBytes: stackBytes) { thread in
            thread.verdict.store(body(thread), ordering: .relaxed)
        }
        CaptureScenarios.capture(thread, with: capture, into: frames, sleeping: sleeping)
        letGo()
        CaptureScenarios.finish(thread)
        SignalCapture.remove()
    }

    static func pipePair() -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private static func throughPipe(_ body: @escaping @Sendable (Int32) -> Int) throws {
        let ends = pipePair()
        let stallInBody: @Sendable (StalledThread) -> Int = { thread in
            thread.setReady()
            return body(ends.read)
        }
        try stall(sleeping: true, letGo: { _ = write(ends.write, "x", 1) }, stallInBody)
    }

    static let sleeping: [String: Body] = [
        "handwritten-read": { try throughPipe { fixture_read_by_hand($0, 64) - 1 } },
        "sleep": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                return sleepUndisturbed(400)
            }
        },
        "read": { try throughPipe(readUndisturbed) },
        "poll": { try throughPipe(pollUndisturbed) },
        "lock": {
            // Unchecked: a mutex is designed to be shared.
            nonisolated(unsafe) let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
            pthread_mutex_init(mutex, nil)
            pthread_mutex_lock(mutex)
            let lock: @Sendable (StalledThread) -> Int = { thread in
                thread.setReady()
                return lockUndisturbed(mutex)
            }
            try stall(sleeping: true, letGo: { pthread_mutex_unlock(mutex) }, lock)
        },
        "semaphore": {
            // Unchecked: a semaphore is designed to be shared.
            nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
            sem_init(semaphore, 0, 0)
            let wait: @Sendable (StalledThread) -> Int = { thread in
                thread.setReady()
                return waitUndisturbed(semaphore)
            }
            try stall(sleeping: true, letGo: { sem_post(semaphore) }, wait)
        },
        "timed-semaphore": {
            let semaphore = DispatchSemaphore(value: 0)
            let wait: @Sendable (StalledThread) -> Int = { thread in
                thread.setReady()
                return waitAtMost(semaphore)
            }
            try stall(sleeping: true, letGo: { semaphore.signal() }, wait)
        },
        "child": {
            let child = spawnSleep("0.4")
            try stall(sleeping: true) { thread in
                thread.setReady()
                return waitForChild(child)
            }
        },
        "vfork": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                return waitInVfork(400)
            }
        },
        "blocked-signals-sleeping": {
            try stall(sleeping: true) { thread in
                blockEverySignal()
                thread.setReady()
                return sleepUndisturbed(400)
            }
        },
        "frameless": {
            try stall(sleeping: true) { thread in
                var result = 1
                withUnsafeMutablePointer(to: &result) { result in
                    thread.setReady()
                    _ = fixture_frameless_call(
                        { $0!.assumingMemoryBound(to: Int.self).pointee = sleepUndisturbed(400) },
                        result,
                        41
                    )
                }
                return result
            }
        },
        "scheduled-prologue": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                fixture_sleep_in_scheduled_code()
                return 0
            }
        },
        "grown-frame": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                fixture_sleep_over_earlier_calls()
                return 0
            }
        },
        "generated-sleeping": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                return callFromGeneratedCode { sleepUndisturbed(400) }
            }
        },
        // Code generated after the modules were read calls code that existed before.
        "generated-later": {
            // Unchecked: it is no longer written.
            nonisolated(unsafe) let page = fixture_generated_page()
            try stall(sleeping: true) { thread in
                thread.setReady()
                return callFromGeneratedCode(through: page) { sleepUndisturbed(400) }
            }
        },
        "handler-sleeping": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                return stallInHandler(alternateStack: false) { sleepUndisturbed(400) }
            }
        },
        "jumping-handler": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                fixture_in_jumping_handler(0)
                return 0
            }
        },
        "jumping-handler-alternate": {
            try stall(sleeping: true) { thread in
                thread.setReady()
                fixture_in_jumping_handler(1)
                return 0
            }
        },
        "stack-end-sleeping": {
            try stall(sleeping: true, stackBytes: 128 * 1024) { thread in
                stallAtStackEnd(thread, margin: 6000) {
                    thread.setReady()
                    return sleepUndisturbed(400)
                }
            }
        },
    ]

    static func spawnSleep(_ seconds: String) -> pid_t {
        var child = pid_t()
        let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup(seconds), nil]
        precondition(posix_spawnp(&child, "sleep", nil, nil, arguments, environ) == 0)
        return child
    }

    static func blockEverySignal() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, nil)
    }
}

/// What a C callback needs to call a Swift closure and store its result.
final class Call {
    let body: () -> Int
    var result = 1
    init(_ body: @escaping () -> Int) { self.body = body }

    static func run(_ argument: UnsafeMutableRawPointer?) {
        let call = Unmanaged<Call>.fromOpaque(argument!).takeUnretainedValue()
        call.result = call.body()
    }
}

@inline(never) func callFromGeneratedCode(through page: UnsafeMutableRawPointer? = nil, _ body: @escaping () -> Int) -> Int {
    let call = Call(body)
    fixture_generated_call(page, { Call.run($0) }, Unmanaged.passUnretained(call).toOpaque())
    return call.result
}

@inline(never) func stallInHandler(alternateStack: Bool, _ body: @escaping () -> Int) -> Int {
    let call = Call(body)
    fixture_in_signal_handler(alternateStack ? 1 : 0, { Call.run($0) }, Unmanaged.passUnretained(call).toOpaque())
    return call.result
}

@inline(never) func stallAtStackEnd(_ thread: StalledThread, margin: UInt64, _ body: @escaping () -> Int) -> Int {
    let call = Call(body)
    fixture_at_stack_end(thread.stackLow, margin, { Call.run($0) }, Unmanaged.passUnretained(call).toOpaque())
    return call.result
}
