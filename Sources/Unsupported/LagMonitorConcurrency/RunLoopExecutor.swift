internal import Dispatch
public import LagRunLoop

/// An executor on a serial dispatch queue: jobs run in order, and are not watched.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class RunLoopExecutor: SerialExecutor, TaskExecutor {
    private let queue: DispatchQueue
    public let loop = ObservedRunLoop.main

    public init(name: String, priority: ThreadPriority = .inherited, stackBytes: Int = 512 * 1024) throws {
        queue = DispatchQueue(label: name)
    }

    /// False: jobs run.
    public var isFinished: Bool { false }

    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async {
            job.runSynchronously(isolatedTo: self.asUnownedSerialExecutor(), taskExecutor: self.asUnownedTaskExecutor())
        }
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    public func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

    /// Nil: Dispatch does not provide it.
    public func isIsolatingCurrentContext() -> Bool? { nil }
}
