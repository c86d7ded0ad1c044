/// Why a process cannot be watched from outside, and what would have to be granted.
package enum AttachRefusal: Error, Equatable, CustomStringConvertible {
    case noProcess(Int32)
    /// It exists, but `/proc` does not show it.
    case hidden(Int32)
    case ended(Int32)
    case itself
    case kernelThread(Int32)
    /// Its system calls have different numbers.
    case program32Bit(Int32)
    /// The ID belongs to a thread.
    case thread(Int32, of: Int32)
    case noThread(Int32, of: Int32)
    case notPermitted(Int32, reason: String, remedy: String)

    package var description: String {
        switch self {
        case .noProcess(let pid): "process \(pid): no such process"
        case .hidden(let pid):
            "process \(pid): /proc does not show it (mounted with hidepid, or of another PID namespace): run as its user or as root, "
                + "in its PID namespace"
        case .ended(let pid): "process \(pid): it has exited"
        case .itself: "lagmond itself (allowed: another process)"
        case .kernelThread(let pid): "process \(pid): a kernel thread (allowed: a process)"
        case .program32Bit(let pid): "process \(pid): a 32-bit program (allowed: a 64-bit program)"
        case .thread(let tid, let pid): "\(tid) is a thread of process \(pid) (allowed: --pid \(pid) --loop \(tid))"
        case .noThread(let tid, let pid): "--loop \(tid): process \(pid) has no such thread"
        case .notPermitted(let pid, let reason, let remedy): "process \(pid): not permitted: \(reason): \(remedy)"
        }
    }
}
