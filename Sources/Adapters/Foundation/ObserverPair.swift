internal import CoreFoundation

/// The two observers of a loop: one called before all others, one after them.
// Sendable without a check: both are immutable references, and CFRunLoopObserver has its own lock.
struct ObserverPair: @unchecked Sendable {
    private let first: CFRunLoopObserver
    private let last: CFRunLoopObserver

    /// Creates them and adds them to the modes of `target`. Any thread.
    init(on target: RunLoopTarget, publishingTo publisher: LoopActivityPublisher) {
        // Guaranteed: the observer holds a reference as long as it exists. Another reference per call would cost as much as the
        // rest.
        first = Self.make(LoopActivityPublisher.firstActivities, order: .min, publisher) { _, activity, info in
            Unmanaged<LoopActivityPublisher>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.begin(activity) }
        }
        last = Self.make(LoopActivityPublisher.lastActivities, order: .max, publisher) { _, activity, info in
            Unmanaged<LoopActivityPublisher>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.end(activity) }
        }
        for mode in target.modes {
            CFRunLoopAddObserver(target.loop, first, mode)
            CFRunLoopAddObserver(target.loop, last, mode)
        }
    }

    /// Removes them. Any thread; a call in progress on the loop's thread is not interrupted.
    ///
    /// They are not invalidated: that would release the publisher at once, even during a call in progress. Without invalidation,
    /// CFRunLoop holds the observer during the call, and the observer holds its publisher.
    func detach(from target: RunLoopTarget) {
        for mode in target.modes {
            CFRunLoopRemoveObserver(target.loop, first, mode)
            CFRunLoopRemoveObserver(target.loop, last, mode)
        }
    }

    private static func make(
        _ activities: CFRunLoopActivity,
        order: CFIndex,
        _ publisher: LoopActivityPublisher,
        _ call: CFRunLoopObserverCallBack
    ) -> CFRunLoopObserver {
        var context = CFRunLoopObserverContext()
        context.info = Unmanaged.passUnretained(publisher).toOpaque()
        context.retain = { info in UnsafeRawPointer(Unmanaged<LoopActivityPublisher>.fromOpaque(info!).retain().toOpaque()) }
        context.release = { info in Unmanaged<LoopActivityPublisher>.fromOpaque(info!).release() }
        guard let observer = CFRunLoopObserverCreate(nil, activities.rawValue, true, order, call, &context) else {
            fatalError("no memory for a run loop observer")
        }
        return observer
    }
}
