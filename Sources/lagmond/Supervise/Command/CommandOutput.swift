internal import Glibc
internal import LagMonitor

/// Opens the output for lines about commands, which is never the commands' own output.
struct CommandOutput {
    let settings: Settings

    /// Opens it.
    /// - Throws: ``StartFailure``.
    func open() throws(StartFailure) -> any RecordSink {
        try refuseStandardOutput()
        guard settings.choosesOutput else {
            if access(".", W_OK) != 0, access(CommandLauncher.defaultOutput, W_OK) != 0 {
                Diagnostics.report(
                    "\(CommandLauncher.defaultOutput): \(Diagnostics.reason(errno)): stalls will not be written (--output names another place)"
                )
            }
            return LazyFileSink(path: CommandLauncher.defaultOutput)
        }
        return try settings.openOutput()
    }

    /// The command's output must contain only what the command writes.
    private func refuseStandardOutput() throws(StartFailure) {
        var isStandard = settings.output.destination == .stdout
        if case .file(let path) = settings.output.destination {
            var (file, own) = (stat(), stat())
            isStandard =
                stat(path, &file) == 0 && file.st_mode & S_IFMT != S_IFREG
                && [STDOUT_FILENO, STDERR_FILENO].contains {
                    fstat($0, &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino
                        && own.st_rdev != Self.nullDevice
                }
        }
        guard isStandard, settings.choosesOutput else { return }
        throw StartFailure(
            status: ExitStatus.configuration,
            message: "output.path: stdout and stderr are the command's (allowed: another \(OutputSettings.allowedDestinations))"
        )
    }

    /// `/dev/null` (major 1, minor 3), which both may share.
    private static let nullDevice: dev_t = 0x103
}
