internal import CLagLinux
internal import Glibc

/// `/tmp/perf-PID.map` of a process: JIT compilers write it to name their code for profilers. Each read continues after the
/// previous one.
///
/// Any user may put a file there: it must be a regular file of the process's user, or root, and not a link; the amount read is
/// bounded. These files stay, and process IDs are reused: a file that was not written since the process began belongs to another
/// one. One thread at a time.
struct PerfMapFile {
    /// A larger file is not read: then its code has no names.
    static let maximumBytes: UInt64 = 256 << 20
    private static let pieceBytes = 1 << 18

    private let path: String
    private let process: Int32
    /// When the process began, by the file system's clock; nil: not known.
    private let begin: Int64?
    private var index = PerfMapIndex()
    private var readBytes: UInt64 = 0
    private var identity: (device: UInt, inode: UInt) = (0, 0)

    /// - Parameter innerPid: the process ID in the process's own namespace.
    init(process: Int32, innerPid: Int32) {
        self.init(path: "/proc/\(process)/root/tmp/perf-\(innerPid).map", process: process)
    }

    init(path: String, process: Int32) {
        self.path = path
        self.process = process
        begin = Self.begin(of: process)
    }

    /// Whether the file exists. Takes some µs.
    var exists: Bool {
        var found = stat()
        return lstat(path, &found) == 0 && found.st_mode & S_IFMT == S_IFREG && isOfProcess(found)
    }

    /// The map's name for the code at an address.
    mutating func name(of address: UInt64) -> String? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        guard refresh(descriptor), let place = index.find(address) else { return nil }
        return Self.text(descriptor, place.offset, place.bytes)
    }

    private mutating func refresh(_ descriptor: Int32) -> Bool {
        var found = stat()
        guard fstat(descriptor, &found) == 0, found.st_mode & S_IFMT == S_IFREG, isTrusted(found.st_uid),
            isOfProcess(found)
        else { return false }
        let size = UInt64(clamping: found.st_size)
        guard size <= Self.maximumBytes else { return false }
        if identity != (UInt(found.st_dev), UInt(found.st_ino)) || size < readBytes {
            index = PerfMapIndex()
            readBytes = 0
            identity = (UInt(found.st_dev), UInt(found.st_ino))
        }
        while readBytes < size, !index.isOverfull {
            let count = Int(min(UInt64(Self.pieceBytes), size - readBytes))
            guard let piece = Self.bytes(descriptor, readBytes, count), !piece.isEmpty else { break }
            var read = index.add(piece, at: readBytes)
            // A line that is longer than a piece is ignored.
            if read == 0, piece.count == Self.pieceBytes { read = piece.count }
            guard read > 0 else { break }
            readBytes += UInt64(read)
        }
        return !index.isOverfull
    }

    /// Owned by root or by the process's user.
    private func isTrusted(_ user: uid_t) -> Bool {
        if user == 0 { return true }
        var found = stat()
        return stat("/proc/\(process)", &found) == 0 && found.st_uid == user
    }

    /// The change time, which no call can set.
    private func isOfProcess(_ found: stat) -> Bool {
        begin.map { Self.nanoseconds(found.st_ctim) &+ Self.clockSlack >= $0 } ?? false
    }

    /// Files have the time of the kernel's last tick.
    private static let clockSlack: Int64 = 50_000_000

    private static func begin(of process: Int32) -> Int64? {
        var ticks: UInt64 = 0
        var (now, sinceBoot) = (timespec(), timespec())
        guard cll_procfs_start_ticks(process, &ticks) == 0, clock_gettime(CLOCK_REALTIME, &now) == 0,
            clock_gettime(CLOCK_BOOTTIME, &sinceBoot) == 0
        else { return nil }
        let tick = 1_000_000_000 / Int64(max(1, sysconf(Int32(_SC_CLK_TCK))))
        return nanoseconds(now) &- nanoseconds(sinceBoot) &+ Int64(clamping: ticks) &* tick
    }

    private static func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }

    private static func bytes(_ descriptor: Int32, _ offset: UInt64, _ count: Int) -> [UInt8]? {
        var got = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            if let base = buffer.baseAddress { got = pread(descriptor, base, count, off_t(clamping: offset)) }
            initialized = max(0, got)
        }
        return got >= 0 ? bytes : nil
    }

    private static func text(_ descriptor: Int32, _ offset: UInt64, _ count: Int) -> String? {
        guard let bytes = bytes(descriptor, offset, count), bytes.count == count, count > 0 else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}
