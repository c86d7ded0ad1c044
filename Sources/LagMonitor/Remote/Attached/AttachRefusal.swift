/// Why a process cannot be watched from outside, and what would have to be granted.
package enum AttachRefusal: Error, Equatable, CustomStringConvertible {
    case noProcess(Int32)
    /// It is there, and `/proc` does not show it.
    case hidden(Int32)
    case ended(Int32)
    case itself
    case kernelThread(Int32)
    /// The number is that of a thread.
    case thread(Int32, of: Int32)
    case noThread(Int32, of: Int32)
    case notPermitted(Int32, reason: String, remedy: String)

    package var description: String {
        switch self {
        case .noProcess(let pid): "--pid \(pid): there is no such process"
        case .hidden(let pid):
            "--pid \(pid): /proc does not show it (mounted with hidepid, or of another pid namespace): run as its user or as root, "
                + "in its pid namespace"
        case .ended(let pid): "--pid \(pid): the process has ended"
        case .itself: "--pid: lagmond itself (allowed: another process)"
        case .kernelThread(let pid): "--pid \(pid): a thread of the kernel (allowed: a process)"
        case .thread(let tid, let pid): "--pid \(tid): a thread of process \(pid) (allowed: --pid \(pid) --loop \(tid))"
        case .noThread(let tid, let pid): "--loop \(tid): process \(pid) has no such thread"
        case .notPermitted(let pid, let reason, let remedy): "--pid \(pid): not permitted: \(reason): \(remedy)"
        }
    }
}
