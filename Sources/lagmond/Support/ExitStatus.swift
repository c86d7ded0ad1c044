/// lagmond's exit codes: those of `sysexits.h`, and a shell's for commands.
enum ExitStatus {
    /// The run ended normally: its time was over, a signal requested it, or the output's reader is gone.
    static let success: Int32 = 0
    /// `check` found damage.
    static let damaged: Int32 = 1
    /// All targets have ended by themselves, at least one of them with a failure.
    static let targetFailed: Int32 = 1
    /// The command line is not valid.
    static let usage: Int32 = 64
    /// A file or folder to read from is missing or of another type.
    static let noInput: Int32 = 66
    /// Something the monitor needs is missing on this machine: libunwind; for lines, the named symbolizer.
    static let unavailable: Int32 = 69
    /// The system refused a resource: a thread, a socket, a temporary file.
    static let systemError: Int32 = 71
    /// The output or the truth file could not be opened.
    static let cannotCreate: Int32 = 73
    /// The kernel does not permit access to a process.
    static let notPermitted: Int32 = 77
    /// A setting is wrong or unknown.
    static let configuration: Int32 = 78
    /// The command was found and cannot be run, as shells report it.
    static let notExecutable: Int32 = 126
    /// The command was not found, as shells report it.
    static let notFound: Int32 = 127
}

/// A reason to exit before the run has begun.
struct StartFailure: Error, Equatable {
    let status: Int32
    let message: String

    /// The same failure, with the target's name in the message.
    func ofTarget(_ name: String) -> StartFailure { StartFailure(status: status, message: "targets: \(name): \(message)") }
}
