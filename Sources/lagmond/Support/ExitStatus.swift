internal import Glibc
internal import LagWorkload

/// What lagmond says when it ends: the codes of `sysexits.h`.
enum ExitStatus {
    /// The run ended in order: its time was over, a signal asked for it, or the output's reader went away.
    static let success: Int32 = 0
    /// `check` found damage.
    static let damaged: Int32 = 1
    /// All targets have ended by themselves, and at least one of them with a failure.
    static let targetFailed: Int32 = 1
    /// The command line could not be understood.
    static let usage: Int32 = 64
    /// A file or folder to read from is missing, or is no such thing.
    static let noInput: Int32 = 66
    /// Something the monitor needs is missing on this machine: libunwind; for lines, the named symbolizer.
    static let unavailable: Int32 = 69
    /// The system refused something the workload needs: a thread, a loopback socket, a temporary file.
    static let systemError: Int32 = 71
    /// The output or the truth file could not be opened.
    static let cannotCreate: Int32 = 73
    /// A setting is wrong, or nobody knows it.
    static let configuration: Int32 = 78
}

extension Diagnostics {
    /// Fills the standard descriptors that came closed, so that no file that is opened later takes the number of one and
    /// gets its lines. stdout is filled for reading: a record for it is refused, not lost.
    static func reserveStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number, which is this one: those below are taken.
            _ = open("/dev/null", (descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
        }
    }
}

/// A reason to end before the run has begun.
struct StartFailure: Error, Equatable {
    let status: Int32
    let message: String
}
