internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagModel

/// A thread of the system: a body, a name, a stack.
package final class SystemThread: Sendable {
    static let defaultStackBytes = 512 * 1024
    /// A smaller stack cannot hold a Swift program's first calls and its libraries' thread-local storage.
    static let minimumStackBytes = 64 * 1024

    private enum State {
        case joinable(pthread_t)
        case joining
        case gone
    }

    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) { (self.name, self.body) = (name, body) }
    }

    private let handle: pthread_t
    private let state: PthreadMutex<State>
    private let joined = Gate()

    private init(_ thread: pthread_t) {
        handle = thread
        state = PthreadMutex(.joinable(thread))
    }

    deinit { detach() }

    /// Starts `body` on a thread of its own. The kernel keeps the first 15 bytes of the name.
    package static func start(name: String, stackBytes: Int, _ body: @escaping @Sendable () -> Void) throws -> SystemThread {
        let start = Unmanaged.passRetained(Start(name: name, body: body))
        var thread = pthread_t()
        let error = cll_thread_create(
            &thread,
            stackBytes,
            { raw in
                let start = Unmanaged<Start>.fromOpaque(raw!).takeRetainedValue()
                let name = SystemThread.kernelName(start.name)
                // Without a name, it keeps its creator's.
                if !name.isEmpty { _ = cll_thread_set_name(pthread_self(), name) }
                start.body()
            },
            start.toOpaque()
        )
        guard error == 0 else {
            start.release()
            throw RunLoopError.threadNotCreated(name: name, errno: error)
        }
        return SystemThread(thread)
    }

    /// The part of a name that the kernel keeps.
    static func kernelName(_ name: String) -> String { name.cut(toBytes: kernelNameBytes) }

    /// `TASK_COMM_LEN`, without the null byte.
    private static let kernelNameBytes = 15

    /// Waits until the thread has ended. Any number of threads may wait. Returns false on the thread itself, which cannot wait.
    package func join() -> Bool {
        // Once it is gone, its handle may belong to another thread, even the caller.
        if state.withLock({ if case .gone = $0 { true } else { false } }) { return true }
        if pthread_equal(pthread_self(), handle) != 0 { return false }
        let mine: pthread_t? = state.withLock { state in
            guard case .joinable(let thread) = state else { return nil }
            state = .joining
            return thread
        }
        if let mine {
            pthread_join(mine, nil)
            state.withLock { $0 = .gone }
            joined.open()
        } else {
            joined.wait()
        }
        return true
    }

    /// Detaches the thread; it cannot be joined any more.
    package func detach() {
        state.withLock { state in
            guard case .joinable(let thread) = state else { return }
            pthread_detach(thread)
            state = .gone
            joined.open()
        }
    }
}
