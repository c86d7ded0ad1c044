internal import Glibc

/// A file of `/proc` that stays open and is read repeatedly: it can still be read when the process has run out of descriptors.
///
/// A host may close descriptors that it did not open (all of them, when it becomes a daemon) and get the number again for a file
/// of its own. So each use compares device and inode first. A number that now refers to something else is forgotten, neither read
/// nor closed, and the file is opened again. (Only a close in the microsecond between the comparison and the use goes unnoticed.)
///
/// One thread at a time. A child created by `fork` must not use it: it shows the parent's numbers.
package final class PersistentProcFile {
    private let path: [CChar]
    private var descriptor: Int32 = -1
    private var device: dev_t = 0
    private var inode: ino_t = 0

    /// 0, 1 and 2 are left to the host, which may have closed them in order to open something else there.
    private static let lowestDescriptor: Int32 = 3

    /// Opens nothing yet; the first ``read(into:)`` does.
    package init(path: String) { self.path = Array(path.utf8CString) }

    /// The file that ``ThreadTimes`` reads for one thread; by default of this process.
    convenience init(timesOf tid: Int32, process: Int32? = nil) {
        self.init(path: "/proc/\(process.map(String.init) ?? "self")/task/\(tid)/schedstat")
    }

    deinit { close() }

    /// Reads the file from its beginning, at most the size of the buffer. About 1 µs; no lock, no allocation.
    /// - Returns: the length; nil if the file cannot be opened or read (the thread is gone).
    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        if !isOurs {
            descriptor = -1
            open()
        }
        guard descriptor >= 0 else { return nil }
        while true {
            let length = pread(descriptor, buffer.baseAddress, buffer.count, 0)
            if length < 0, errno == EINTR { continue }
            return length < 0 ? nil : length
        }
    }

    /// Closes the descriptor, if it is still ours; a later reading opens the file again.
    package func close() {
        if isOurs { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Whether the number still refers to the file that was opened.
    private var isOurs: Bool {
        var status = stat()
        return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device && status.st_ino == inode
    }

    private func open() {
        var opened = path.withUnsafeBufferPointer { Glibc.open($0.baseAddress!, O_RDONLY | O_CLOEXEC) }
        if opened >= 0, opened < Self.lowestDescriptor {
            let low = opened
            opened = fcntl(low, F_DUPFD_CLOEXEC, Self.lowestDescriptor)
            Glibc.close(low)
        }
        guard opened >= 0 else { return }
        var status = stat()
        guard fstat(opened, &status) == 0 else {
            Glibc.close(opened)
            return
        }
        descriptor = opened
        device = status.st_dev
        inode = status.st_ino
    }
}
