internal import CLagBeacon
internal import CLagLinux
internal import LagDetection
internal import LagModel
internal import LagMonitor
internal import Synchronization

/// Reads memory of another process whose pages are not in its page tables, in a separate thread.
///
/// Such a page may be on a disk or a server, or a program provides it (`userfaultfd`, FUSE), perhaps never; and no call can read
/// it with a time limit. So that thread waits for it, and the caller waits for the thread, for a limited time. Until the thread
/// has an answer, further reads of such pages fail immediately.
///
/// One for each ``RemoteMemory``. The thread starts at the first read, which is rare: mostly the process itself has touched what
/// is read.
final class AbsentPages: Sendable {
    /// The maximum for one read.
    static let maximumBytes = 64 * 1024
    /// Of one read: more than a disk takes, or a thread that waits for a processor.
    static let waitNanoseconds: UInt64 = 100_000_000
    private static let endNanoseconds: UInt64 = 10_000_000

    private enum State {
        case unused
        case idle(Reader)
        /// Its last answer was not waited for any longer.
        case late(Reader)
    }

    private let process: Int32
    private let state = PthreadMutex(State.unused)

    init(of process: Int32) { self.process = process }

    deinit {
        state.withLock { state in
            switch state {
            case .unused: break
            case .idle(let reader), .late(let reader): reader.end(until: clb_now_ns().saturatingSum(Self.endNanoseconds))
            }
        }
    }

    /// - Parameter count: at most ``maximumBytes``.
    /// - Returns: how many bytes could be read in time.
    func read(_ address: UInt64, _ target: UnsafeMutableRawPointer, _ count: Int) -> Int {
        state.withLock { state in
            let reader: Reader
            switch state {
            case .unused:
                guard let started = Reader() else { return 0 }
                reader = started
            case .idle(let known): reader = known
            case .late(let known):
                guard known.answered.wait(until: 0) else { return 0 }
                reader = known
            }
            reader.request(process, address, count)
            guard reader.answered.wait(until: clb_now_ns().saturatingSum(Self.waitNanoseconds)) else {
                state = .late(reader)
                return 0
            }
            state = .idle(reader)
            return reader.take(target)
        }
    }
}

/// The thread, and what it shares with the callers.
// Unchecked: the request and the buffer belong to the thread from `wanted` to `answered`, and to the caller, behind a lock,
// otherwise; both semaphores order memory.
private final class Reader: @unchecked Sendable {
    private let wanted = WakeSemaphore()
    let answered = WakeSemaphore()
    private let buffer: UnsafeMutableRawPointer
    private var request: (process: Int32, address: UInt64, count: Int) = (0, 0, 0)
    private let isEnded = Atomic(false)
    private var got = 0
    private var thread: WorkerThread?

    /// Nil without memory, or a thread.
    init?() {
        guard let buffer = cll_memory_map(AbsentPages.maximumBytes) else { return nil }
        self.buffer = buffer
        // The thread keeps this object alive: it may wait for a page longer than its users live.
        guard let thread = try? WorkerThread(name: "lag-pages", submitsToQueues: false, { self.run() }) else { return nil }
        self.thread = thread
    }

    deinit { cll_memory_unmap(buffer, AbsentPages.maximumBytes) }

    private func run() {
        while wanted.wait(until: .max), !isEnded.load(ordering: .relaxed) {
            got = cll_memory_read(request.process, request.address, buffer, request.count)
            answered.post()
        }
    }

    /// Ends the thread, as soon as it has an answer.
    func end(until deadline: UInt64) {
        isEnded.store(true, ordering: .relaxed)
        wanted.post()
        _ = thread?.join(until: deadline)
    }

    func request(_ process: Int32, _ address: UInt64, _ count: Int) {
        request = (process, address, count)
        wanted.post()
    }

    func take(_ target: UnsafeMutableRawPointer) -> Int {
        target.copyMemory(from: buffer, byteCount: got)
        return got
    }
}
