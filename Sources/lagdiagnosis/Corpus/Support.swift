internal import CStallCorpus
internal import Glibc
internal import LagMonitor
internal import Synchronization

// What the scenarios' other threads need. None of it runs on the stalled thread during the stall.

/// The words for an errno.
func reasonText(_ code: Int32) -> String { String(cString: strerror(code)) }

/// Starts a thread of this name that runs `work` and ends.
func helper(_ name: String, _ work: @escaping @Sendable () -> Void) throws {
    try ObservedRunLoop.performInBackground(name: name, work)
}

/// Sleeps until `end`.
func rest(until end: MonotonicTime) {
    var time = timespec(tv_sec: Int(end.nanoseconds / 1_000_000_000), tv_nsec: Int(end.nanoseconds % 1_000_000_000))
    while clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}

/// Opens once; who waits passes from then on.
final class Gate: Sendable {
    private let opened = Atomic(false)

    func open() { opened.store(true, ordering: .releasing) }

    /// For the microseconds that a thread needs to start.
    func wait() {
        while !opened.load(ordering: .acquiring) { usleep(50) }
    }
}

/// A C object on the heap that is never freed: a thread may use it until the process ends.
// Sendable without a check: the pointer never changes, its memory lives as long as the process, and the types it is used for
// (mutex, read-write lock, condition variable, semaphore) are made for use from any thread, or are never changed (an address).
struct Immortal<Value>: @unchecked Sendable {
    let raw: UnsafeMutablePointer<Value>

    init(_ value: Value, _ setUp: (UnsafeMutablePointer<Value>) -> Void) {
        raw = .allocate(capacity: 1)
        raw.initialize(to: value)
        setUp(raw)
    }
}

typealias ThreadMutex = Immortal<pthread_mutex_t>

extension ThreadMutex {
    init() { self.init(pthread_mutex_t()) { pthread_mutex_init($0, nil) } }

    func lock() { pthread_mutex_lock(raw) }
    func unlock() { pthread_mutex_unlock(raw) }

    /// Returns when another thread has it, and holds it until `end`.
    func beHeld(by name: String, until end: MonotonicTime) throws {
        let held = Gate()
        try helper(name) {
            lock()
            held.open()
            rest(until: end)
            unlock()
        }
        held.wait()
    }
}

/// A pipe whose ends no child gets.
struct Pipe {
    let read: Int32
    let write: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        let code = corpus_pipe(&ends)
        guard code == 0 else { throw DiagnosisFailure("pipe: \(reasonText(code))") }
        (read, write) = (ends[0], ends[1])
    }

    /// Has another thread write a byte at `end`.
    func fill(at end: MonotonicTime) throws {
        try helper("writer") {
            rest(until: end)
            _ = Glibc.write(write, "x", 1)
        }
    }
}

/// A file on a disk: /var/tmp is to outlive a reboot, so it is seldom in memory.
final class ScratchFile: Sendable {
    let path: String
    let descriptor: Int32

    init(bytes: Int = 0) throws {
        path = Leftovers.newPath()
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Unavailable("open \(path)", errno: errno) }
        let block = [UInt8](repeating: 0x5a, count: 1 << 20)
        for _ in 0..<(bytes >> 20) where write(descriptor, block, block.count) != block.count {
            remove()
            throw Unavailable("write to \(path)", errno: errno)
        }
        if bytes > 0 { fsync(descriptor) }
    }

    /// Its name goes; what has it open keeps it.
    func remove() { unlink(path) }

    /// Has the kernel forget what it holds of the contents.
    func evict() { posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) }

    func map(_ bytes: Int) throws -> Mapping { try Mapping(bytes, descriptor: descriptor) }
}

/// Mapped memory that stays until the process ends.
// Sendable without a check: an address and a size that never change; the main thread alone touches the memory.
struct Mapping: @unchecked Sendable {
    let start: UnsafeMutableRawPointer
    let bytes: Int

    init(_ bytes: Int, descriptor: Int32 = -1) throws {
        let flags = descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS
        let protection = descriptor >= 0 ? PROT_READ : PROT_READ | PROT_WRITE
        guard let start = mmap(nil, bytes, protection, flags, descriptor, 0), start != MAP_FAILED else {
            throw Unavailable("mmap", errno: errno)
        }
        self.start = start
        self.bytes = bytes
    }
}

/// Files that are needed until the records are written.
enum Leftovers {
    private static let paths = Mutex<[String]>([])

    /// The name of a file that nobody has.
    static func newPath() -> String { "/var/tmp/lagdiagnosis-\(getpid())-\(UInt64.random(in: 0 ... .max))" }

    /// Has ``clear()`` remove a file.
    static func remove(_ path: String) { paths.withLock { $0.append(path) } }

    static func clear() {
        paths.withLock { paths in
            for path in paths { unlink(path) }
            paths = []
        }
    }
}
