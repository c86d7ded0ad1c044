package import CLagLinux

/// Whether a thread was in its own code or in the kernel when its stack was captured.
package enum KernelState: Sendable, Equatable {
    /// Nothing is known.
    case unknown
    /// On a processor, or waiting for one, in its own code.
    case running
    /// The same in a system call; with its number if known.
    case runningCall(Int64?)
    /// Asleep in a system call.
    case waiting(cll_thread_syscall)
    /// Asleep outside a system call: it waits for a page of memory.
    case faulting
    /// Asleep, and the kernel does not report in which call.
    case asleep

    /// Whether the thread slept; nil: not known, or it waited for memory, which may have been available.
    package var isAsleep: Bool? {
        switch self {
        case .running, .runningCall: false
        case .waiting, .asleep: true
        case .unknown, .faulting: nil
        }
    }

    package static func == (left: KernelState, right: KernelState) -> Bool {
        switch (left, right) {
        case (.unknown, .unknown), (.running, .running), (.faulting, .faulting), (.asleep, .asleep): true
        case (.runningCall(let left), .runningCall(let right)): left == right
        case (.waiting(let left), .waiting(let right)): left.number == right.number && left.sp == right.sp
        default: false
        }
    }
}
