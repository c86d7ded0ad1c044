internal import CLagLinux
package import LagActivity
public import LagMonitor

/// The threads on which Dispatch runs blocks of queues that cannot be pinged, because a library (such as GRDB) keeps them
/// private. They are found by their name, and watched one by one.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorConcurrency
///
/// try monitor.watch(DispatchThreads(), rules: .jobs)
/// ```
/// A thread that has worked for one queue for longer than the threshold, without idling, is a stall: one long block, or many
/// short ones one after the other, which are not distinguished here. Queues do not wait for one another. So keep a block that is
/// intended to take long off the watched threads, or mark it by ``StallMonitor/expectingBlock(_:)``. The main queue does not
/// count: see ``PingedQueue``.
///
/// For your own queues, ``PingedQueue`` is better. Everything here is safe from any thread.
public final class DispatchThreads: ObservableLoop, NamedPool, Sendable {
    public let name: String
    public let beacon = ActivityBeacon()
    let threadName: cll_name

    /// - Parameters:
    ///   - threadName: as in the kernel (`/proc/<pid>/task/*/comm`), at most 15 bytes. The default is the name of the threads
    ///     that serve serial queues and other private ones without a target of their own.
    ///   - named: its name in records.
    public init(threadName: String = "-qos.overcommit", named: String = "queues") {
        name = named
        self.threadName = cll_name(threadName)
    }

    /// Thread 0: there are several.
    public var thread: ThreadIdentity { ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0) }

    public var publishesActivity: Bool { false }

    var jobs: JobSource? { JobSource(.queues, slots: TaskRuntime.slots) }
}

extension cll_name {
    /// As much of it as a thread's name can contain.
    init(_ text: String) {
        self.init()
        withUnsafeMutableBytes(of: &self.text) { $0.copyBytes(from: text.utf8.prefix(15)) }
    }
}
