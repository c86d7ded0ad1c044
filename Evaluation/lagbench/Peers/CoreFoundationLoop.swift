internal import CoreFoundation
internal import Dispatch
internal import Foundation
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// A thread that runs a CFRunLoop with one manual source: the peer of an ``ObservedRunLoop`` with one source.
final class CoreFoundationLoop: Sendable {
    private struct Parts {
        let loop: CFRunLoop
        let source: CFRunLoopSource
    }

    // Unchecked: CFRunLoop locks itself (its documentation calls adding, signalling, waking and stopping thread-safe), and
    // the box is written by the loop's thread before `ready` is signalled, and only read afterwards.
    private final class Box: @unchecked Sendable {
        var parts: Parts?
        let ready = DispatchSemaphore(value: 0)
        let stopping = Atomic<Bool>(false)
    }

    private final class Work: Sendable {
        let perform: @Sendable () -> Void
        init(_ perform: @escaping @Sendable () -> Void) { self.perform = perform }
    }

    private static let everyActivity: CFOptionFlags = 0x0fff_ffff

    private let box = Box()
    private let thread: BenchThread

    /// - Parameters:
    ///   - observer: called at every activity of the loop, as the observer-and-semaphore watchdog does; none: the loop is not
    ///     monitored.
    ///   - runsAnewForEachSource: whether it runs like `RunLoop.run()`, which starts again after each handled source.
    ///   - prepare: called on the loop's thread before it runs.
    ///   - perform: the source's callback, on the loop's thread.
    init(
        observer: SemaphoreWatchdog? = nil,
        runsAnewForEachSource: Bool = false,
        prepare: (@Sendable () -> Void)? = nil,
        perform: @escaping @Sendable () -> Void
    ) throws {
        let box = box
        thread = try BenchThread { Self.body(box, observer, runsAnewForEachSource, prepare, Work(perform)) }
        box.ready.wait()
    }

    /// The loop's thread.
    var tid: Int32 { thread.target.tid }

    /// Signals the source and wakes the loop. May be called on any thread, also from inside the callback.
    func signal() {
        guard let parts = box.parts else { return }
        CFRunLoopSourceSignal(parts.source)
        CFRunLoopWakeUp(parts.loop)
    }

    /// Runs a block on the loop, and wakes it. May be called on any thread.
    func perform(_ block: @escaping @Sendable () -> Void) {
        guard let parts = box.parts else { return }
        CFRunLoopPerformBlock(parts.loop, kCFRunLoopDefaultMode, block)
        CFRunLoopWakeUp(parts.loop)
    }

    /// Ends the loop and its thread; once, from another thread.
    func stop() {
        box.stopping.store(true, ordering: .releasing)
        if let parts = box.parts { CFRunLoopStop(parts.loop) }
        signal()
        thread.join()
    }

    private static func body(
        _ box: Box,
        _ observer: SemaphoreWatchdog?,
        _ runsAnewForEachSource: Bool,
        _ prepare: (@Sendable () -> Void)?,
        _ work: Work
    ) {
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(work).toOpaque()
        context.perform = { raw in Unmanaged<Work>.fromOpaque(raw!).takeUnretainedValue().perform() }
        guard let source = CFRunLoopSourceCreate(nil, 0, &context), let loop = CFRunLoopGetCurrent() else {
            preconditionFailure("CoreFoundation returned no loop or no source")
        }
        CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
        if let observer {
            let observed = CFRunLoopObserverCreateWithHandler(nil, everyActivity, true, 0) { _, activity in
                observer.record(recordedActivity(of: activity))
            }
            CFRunLoopAddObserver(loop, observed, kCFRunLoopDefaultMode)
        }
        prepare?()
        box.parts = Parts(loop: loop, source: source)
        // Only now, because a signal from another thread needs the loop and the source.
        box.ready.signal()
        while !box.stopping.load(ordering: .acquiring) {
            if runsAnewForEachSource {
                CFRunLoopRunInMode(kCFRunLoopDefaultMode, .greatestFiniteMagnitude, true)
            } else {
                CFRunLoopRun()
            }
        }
        withExtendedLifetime(work) {}
    }

    private static func recordedActivity(of activity: CFRunLoopActivity) -> SemaphoreWatchdog.Activity {
        if activity == .beforeSources { return .beforeSources }
        if activity == .afterWaiting { return .afterWaiting }
        return .other
    }
}
