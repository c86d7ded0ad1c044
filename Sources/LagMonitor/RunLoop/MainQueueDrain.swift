internal import CLagLinux

/// The main dispatch queue on the main thread's loop: `DispatchQueue.main` and `@MainActor` work. The main thread only.
///
/// libdispatch has two hooks for this, the ones that CoreFoundation uses: a descriptor that becomes readable when the main queue
/// has work, and a call that runs what is queued.
struct MainQueueDrain {
    /// The descriptor to watch; -1 in a program without libdispatch.
    let descriptor: Int32
    /// Set while the queue is being drained. A run inside one of its blocks must not drain it again: the queue is serial.
    private(set) var isDraining = false

    init() { descriptor = cll_dispatch_main_queue_fd() }

    var canDrain: Bool { descriptor >= 0 && !isDraining }

    mutating func begin() { isDraining = true }
    mutating func end() { isDraining = false }

    /// Runs what is queued.
    static func drain() { cll_dispatch_main_queue_drain() }
}
