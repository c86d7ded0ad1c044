internal import CLagLinux
internal import CLagRemote
internal import Glibc

/// Checks, before anything else begins, whether a process can be watched from outside, by trying each operation once.
struct AttachPermission {
    let process: Int32

    /// - Parameter loops: the threads to watch.
    /// - Throws: ``AttachRefusal``.
    func check(loops: [Int32]) throws(AttachRefusal) {
        guard process != getpid() else { throw .itself }
        let status = StatusFile(process: process)
        // In the /proc of another PID namespace, the process ID belongs to another process.
        guard !status.isEmpty, ProcFolder.fault == nil else {
            throw kill(process, 0) == 0 || errno == EPERM ? .hidden(process) : .noProcess(process)
        }
        if let leader = status.numbers("Tgid").first, leader != Int(process) { throw .thread(process, of: Int32(leader)) }
        if Self.hasEnded(status) { throw .ended(process) }
        // It has no memory of its own.
        guard status.value("VmSize") != nil else { throw .kernelThread(process) }
        try checkPatiently()
        // After the permission check, because only a process that may trace it may read its file.
        if ProgramFormat.is32Bit(process) { throw .program32Bit(process) }
        for loop in loops where access("/proc/\(process)/task/\(loop)", F_OK) != 0 { throw .noThread(loop, of: process) }
    }

    private static func hasEnded(_ status: StatusFile) -> Bool {
        guard let state = status.value("State")?.drop(while: { $0 == "\t" }).first else { return false }
        return state == "Z" || state == "X"
    }

    /// During an exec, the data is inconsistent for a moment.
    private func checkPatiently() throws(AttachRefusal) {
        for _ in 0..<Self.tries {
            do throws(AttachRefusal) {
                return try checkAccess()
            } catch {
                guard case .notPermitted = error else { throw error }
                usleep(Self.pauseMicroseconds)
            }
        }
        try checkAccess()
    }

    private static let tries = 10
    private static let pauseMicroseconds: UInt32 = 2000

    /// The facts, read once: the kernel applies the same rules to all operations, but a container's filter applies to each
    /// separately.
    private func checkAccess() throws(AttachRefusal) {
        var files = clr_thread_files()
        switch clr_thread_files_open(process, process, &files) {
        case 0: clr_thread_files_close(&files)
        case ESRCH where access("/proc/\(process)/syscall", F_OK) != 0 && access("/proc/self/syscall", F_OK) != 0:
            throw .notPermitted(
                process,
                reason: "/proc/PID/syscall is missing",
                remedy: "needs a kernel with CONFIG_HAVE_ARCH_TRACEHOOK"
            )
        case ESRCH: throw .noProcess(process)
        default: throw refusal()
        }
        var word: UInt64 = 0
        guard cll_memory_prepare() == 0, let image = ProgramImage(of: process),
            cll_memory_read(process, image.firstStack & ~7, &word, MemoryLayout<UInt64>.size) > 0,
            clr_tracer_may_seize(process) != 0
        else { throw refusal() }
    }

    /// Why the kernel refuses the process; a process may also have exited meanwhile.
    func refusal() -> AttachRefusal {
        let status = StatusFile(process: process)
        if status.isEmpty || Self.hasEnded(status) { return .ended(process) }
        let explanation = AttachFacts.read(of: process).explanation
        return .notPermitted(process, reason: explanation.reason, remedy: explanation.remedy)
    }
}
