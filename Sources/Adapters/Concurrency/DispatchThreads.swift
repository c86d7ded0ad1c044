internal import CLagLinux
package import LagActivity
public import LagMonitor

/// The threads on which Dispatch runs blocks of queues that cannot be pinged, because a library keeps them for itself (GRDB's, for one): found by
/// their name, and watched one by one.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorConcurrency
///
/// try monitor.watch(DispatchThreads(), rules: .jobs)
/// ```
/// A thread that has worked for one queue for longer than the threshold, without a rest, is a stall: one long block, or many short ones one
/// after the other, which are not distinguished here. Queues do not wait for one another, so a block that is meant to take long is best kept off the watched
/// threads, or is marked by ``StallMonitor/expectingBlock(_:)``. The main queue does not count: see ``PingedQueue``.
///
/// A queue that you have yourself is watched better by ``PingedQueue``. Everything here is safe from any thread.
public final class DispatchThreads: ObservableLoop, NamedPool, Sendable {
    public let name: String
    public let beacon = ActivityBeacon()
    let threadName: cll_name

    /// - Parameters:
    ///   - threadName: as the kernel has it (`/proc/<pid>/task/*/comm`), of 15 bytes at most. The default is that of the threads that serve serial queues
    ///     and other private ones without a target of their own.
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
    /// As much of it as a thread's name can have.
    init(_ text: String) {
        self.init()
        withUnsafeMutableBytes(of: &self.text) { $0.copyBytes(from: text.utf8.prefix(15)) }
    }
}
