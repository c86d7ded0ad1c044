internal import ArgumentParser
internal import CLagLinux
internal import Glibc

/// A subcommand that this program starts itself.
protocol HiddenCommand: ParsableCommand {
    /// The process that started it.
    var parent: Int32 { get }
}

extension HiddenCommand {
    /// Has the kernel end this process with its parent. If the parent has already exited, exits now.
    func tieToParent() throws {
        let code = cll_die_with_parent(SIGKILL)
        guard code == 0 else { throw DiagnosisFailure("prctl: \(String(cString: strerror(code)))") }
        if getppid() != parent { Glibc.exit(EXIT_FAILURE) }
    }
}
