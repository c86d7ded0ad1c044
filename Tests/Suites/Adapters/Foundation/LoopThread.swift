internal import CLagLinux
import CoreFoundation
import Foundation
import LagMonitor
import LagMonitorFoundation
import Synchronization
import Testing

/// A thread with a Foundation run loop, not watched unless requested.
final class LoopThread: Sendable {
    // Unsafe only for the compiler: RunLoop is not Sendable, and is passed on to observe a loop of another thread.
    private nonisolated(unsafe) let thread: Thread
    private let box: Box

    // Unchecked: CFRunLoop has its own lock; `runLoop` and `loop` are written before `ready`, and read afterwards.
    private final class Box: @unchecked Sendable {
        var runLoop: RunLoop?
        var core: CFRunLoop?
        var observed: FoundationLoop?
        let ready = DispatchSemaphore(value: 0)
        let ended = DispatchSemaphore(value: 0)
        let stopping = Atomic<Bool>(false)
    }

    /// - Parameters:
    ///  - watchesItself: whether the thread creates the ``FoundationLoop`` of its own loop.
    ///   - usesRunLoop: whether it runs with `RunLoop.run(mode:before:)` repeatedly, or with `CFRunLoopRun()`.
    init(name: String, watchesItself: Bool = true, usesRunLoop: Bool = true) {
        let box = Box()
        self.box = box
        thread = Thread {
            // Foundation's own naming is lost unless it already knows its thread.
            _ = cll_thread_set_name(pthread_self(), name)
            box.runLoop = RunLoop.current
            box.core = CFRunLoopGetCurrent()
            if watchesItself { box.observed = FoundationLoop(RunLoop.current) }
            // An item to wait for.
            let idle = Timer(timeInterval: 86400, repeats: true) { _ in }
            RunLoop.current.add(idle, forMode: .common)
            box.ready.signal()
            while !box.stopping.load(ordering: .acquiring) {
                if usesRunLoop {
                    _ = RunLoop.current.run(mode: .default, before: .distantFuture)
                } else {
                    CFRunLoopRun()
                }
            }
            box.runLoop = nil
            box.ended.signal()
        }
        thread.start()
        box.ready.wait()
    }

    var runLoop: RunLoop { box.runLoop! }
    var core: CFRunLoop { box.core! }
    /// The loop that the thread created.
    var loop: FoundationLoop { box.observed! }

    /// Runs `body` on the loop as a block.
    func perform(_ body: @escaping @Sendable () -> Void) {
        CFRunLoopPerformBlock(core, kCFRunLoopCommonModes, body)
        CFRunLoopWakeUp(core)
    }

    /// Runs `body` on the loop and waits for it.
    func performAndWait(_ body: @escaping @Sendable () -> Void) {
        let done = DispatchSemaphore(value: 0)
        perform {
            body()
            done.signal()
        }
        done.wait()
    }

    /// Ends the loop and its thread.
    func stop() {
        box.stopping.store(true, ordering: .releasing)
        // A stop ends one run; there may be another inside it.
        repeat { perform { CFRunLoopStop(CFRunLoopGetCurrent()) } } while box.ended.wait(timeout: .now() + 0.05) == .timedOut
    }
}

/// A manual source of a loop: CoreFoundation's version 0.
final class ManualSource: @unchecked Sendable {
    // Unchecked: immutable references; CFRunLoop and CFRunLoopSource have their own locks.
    private let source: CFRunLoopSource
    private let loop: CFRunLoop

    private final class Work: Sendable {
        let perform: @Sendable () -> Void
        init(_ perform: @escaping @Sendable () -> Void) { self.perform = perform }
    }

    init(on loop: CFRunLoop, _ perform: @escaping @Sendable () -> Void) {
        var context = CFRunLoopSourceContext()
        // Never released: tests end with their process.
        context.info = Unmanaged.passRetained(Work(perform)).toOpaque()
        context.perform = { raw in Unmanaged<Work>.fromOpaque(raw!).takeUnretainedValue().perform() }
        self.loop = loop
        source = CFRunLoopSourceCreate(nil, 0, &context)
        CFRunLoopAddSource(loop, source, kCFRunLoopCommonModes)
    }

    func signal() {
        CFRunLoopSourceSignal(source)
        CFRunLoopWakeUp(loop)
    }

    func remove() { CFRunLoopSourceInvalidate(source) }
}
