internal import ArgumentParser
internal import Glibc

/// stdout, written whole.
enum StandardOutput {
    /// - Throws: the exit code, when stdout accepts no more: success if its reader is gone, because then no output is missed.
    static func write(_ bytes: [UInt8]) throws(ExitCode) {
        switch WholeWrite.write(bytes, to: STDOUT_FILENO) {
        case 0: return
        case EPIPE: throw ExitCode(ExitStatus.success)
        case let code:
            Diagnostics.report("cannot write to stdout: \(Diagnostics.reason(code))")
            throw ExitCode(ExitStatus.systemError)
        }
    }
}
