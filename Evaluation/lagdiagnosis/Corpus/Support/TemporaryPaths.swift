internal import Glibc
internal import Synchronization

/// Files that are needed until the records are written.
enum TemporaryPaths {
    private static let paths = Mutex<[String]>([])

    /// An unused file name.
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
