internal import CLagLinux
internal import Glibc
internal import LagCapture

/// The data read from `/proc` about a process that chooses its own names for threads and mapped files.
final class ProcTarget: FuzzTarget {
    static let name = "proc"
    private let surroundings: FuzzSurroundings
    let seeds = ["comm", "a) R 1 2 3", "lib\n7f00-8000 r-xp 0 08:01 5 /x", "x (deleted)", "[vdso]", "\u{1b}[2J"].map {
        Array($0.utf8)
    }
    let tokens = ["(", ")", " ", "\n", "\t", "R", "S 1", "/", "(deleted)", "r-xp", "\\012", "-"]

    init(_ surroundings: FuzzSurroundings) { self.surroundings = surroundings }

    func read(_ input: [UInt8]) throws {
        // A zero byte ends both names, and a slash ends a file's name.
        let text = input.map { $0 == 0 || $0 == 0x2f ? 0x5f : $0 }
        // The kernel keeps the first fifteen bytes.
        try FuzzFile.write(text, to: "/proc/self/comm")
        var status = cll_thread_status()
        var name = cll_name()
        var (ticks, image): (UInt64, UInt64) = (0, 0)
        var call = cll_thread_syscall()
        var faults = cll_thread_faults()
        guard cll_procfs_status(getpid(), getpid(), &status) == 0, cll_procfs_start_ticks(getpid(), &ticks) == 0, ticks > 0 else {
            throw FuzzError("a name hides the kernel's data on a thread")
        }
        cll_procfs_name(getpid(), getpid(), &name)
        _ = cll_procfs_image(getpid(), &image)
        _ = cll_procfs_syscall(getpid(), getpid(), &call)
        _ = cll_procfs_faults(getpid(), getpid(), &faults)
        _ = cll_thread_is_ending(getpid(), getpid())
        guard let library = try? SystemLibrary.paths.first, !text.isEmpty else { return }
        let path = surroundings.folder + "/" + String(decoding: text.prefix(200), as: UTF8.self)
        guard copyHead(of: library, to: path) else { return }
        defer { unlink(path) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard let memory = mmap(nil, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0), memory != MAP_FAILED else {
            return
        }
        defer { munmap(memory, 8192) }
        guard let modules = ModuleMap() else { throw FuzzError("no module map") }
        modules.refresh()
        // This program's own code, which a line break in a name must not hide.
        let own = UInt64(UInt(bitPattern: dlsym(nil, "getpid")))
        guard let index = modules.index(of: own), modules.module(at: index) != nil else {
            throw FuzzError("a mapped file's name hides other modules")
        }
    }

    private func copyHead(of from: String, to: String) -> Bool {
        guard let bytes = FuzzFile.read(from) else { return false }
        return (try? FuzzFile.write(Array(bytes.prefix(8192)), to: to)) != nil
    }
}
