internal import CoreFoundation

/// The two observers of a loop: one called before all others, one after them.
// Sendable without a check: both are immutable references, and CFRunLoopObserver locks itself.
struct ObserverPair: @unchecked Sendable {
    private let first: CFRunLoopObserver
    private let last: CFRunLoopObserver

    /// Makes them and adds them to the modes of `parts`. Any thread.
    init(on parts: LoopParts, telling teller: LoopTeller) {
        // Guaranteed: the observer has a reference for as long as it is there. One more a call would cost as much as the rest.
        first = Self.make(LoopTeller.firstActivities, order: .min, teller) { _, activity, info in
            Unmanaged<LoopTeller>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.begin(activity) }
        }
        last = Self.make(LoopTeller.lastActivities, order: .max, teller) { _, activity, info in
            Unmanaged<LoopTeller>.fromOpaque(info!)._withUnsafeGuaranteedRef { $0.end(activity) }
        }
        for mode in parts.modes {
            CFRunLoopAddObserver(parts.loop, first, mode)
            CFRunLoopAddObserver(parts.loop, last, mode)
        }
    }

    /// Takes them out again. Any thread; a call in progress on the loop's thread ends in its own time.
    ///
    /// They are not invalidated: that would release the teller at once, also under a call in progress. Without it CFRunLoop holds the
    /// observer during the call, and the observer its teller.
    func detach(from parts: LoopParts) {
        for mode in parts.modes {
            CFRunLoopRemoveObserver(parts.loop, first, mode)
            CFRunLoopRemoveObserver(parts.loop, last, mode)
        }
    }

    private static func make(
        _ activities: CFRunLoopActivity,
        order: CFIndex,
        _ teller: LoopTeller,
        _ call: CFRunLoopObserverCallBack
    ) -> CFRunLoopObserver {
        var context = CFRunLoopObserverContext()
        context.info = Unmanaged.passUnretained(teller).toOpaque()
        context.retain = { info in UnsafeRawPointer(Unmanaged<LoopTeller>.fromOpaque(info!).retain().toOpaque()) }
        context.release = { info in Unmanaged<LoopTeller>.fromOpaque(info!).release() }
        guard let observer = CFRunLoopObserverCreate(nil, activities.rawValue, true, order, call, &context) else {
            fatalError("no memory for a run loop observer")
        }
        return observer
    }
}
