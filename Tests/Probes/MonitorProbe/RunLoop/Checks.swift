import Glibc
import Synchronization

/// Checks of the run loop that are impossible inside the test process: the main thread's loop, and undisturbed counts of threads,
/// descriptors and memory. Prints a line for each check.
enum Checks {
    private static let failures = Atomic<Int>(0)

    /// Exits the process: exit status 1 if a check failed.
    static func end(_ checks: () -> Void) -> Never {
        checks()
        exit(failures.load(ordering: .acquiring) == 0 ? 0 : 1)
    }

    static func expect(_ condition: Bool, _ name: String) {
        print(condition ? "ok" : "FAILED", name)
        if !condition { failures.wrappingAdd(1, ordering: .releasing) }
    }
}

/// The kernel's information about this process.
enum OwnProcess {
    static var threads: Int { entries("/proc/self/task") }

    /// Without the one that is used for counting.
    static var descriptors: Int { entries("/proc/self/fd") - 1 }

    static var residentKilobytes: Int {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var size = 0
        var resident = 0
        return withUnsafeMutablePointer(to: &size) { size in
            withUnsafeMutablePointer(to: &resident) { resident in
                withVaList([size, resident]) { vfscanf(file, "%ld %ld", $0) } == 2 ? resident.pointee * 4 : 0
            }
        }
    }

    private static func entries(_ path: String) -> Int {
        guard let directory = opendir(path) else { return -1 }
        defer { closedir(directory) }
        var count = 0
        while readdir(directory) != nil { count += 1 }
        return count - 2
    }
}

/// Entries from any thread, in their order.
final class Notes<Note: Sendable & Equatable>: Sendable {
    private let list = Mutex<[Note]>([])

    var all: [Note] { list.withLock { $0 } }

    func add(_ note: Note) { list.withLock { $0.append(note) } }
}
