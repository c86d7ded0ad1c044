internal import ArgumentParser
internal import Glibc

/// stdout, written whole.
enum StandardOutput {
    /// - Throws: the exit code, when stdout takes no more: success when its reader went away, for nobody misses anything then.
    static func write(_ bytes: [UInt8]) throws(ExitCode) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EPIPE {
                throw ExitCode(ExitStatus.success)
            } else if errno != EINTR {
                Diagnostics.report("cannot write to stdout: \(Diagnostics.reason(errno))")
                throw ExitCode(ExitStatus.systemError)
            }
        }
    }
}
