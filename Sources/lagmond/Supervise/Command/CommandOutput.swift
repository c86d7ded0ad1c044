internal import Glibc
internal import LagMonitor
internal import LagOutput

/// Opens the output for records about commands, which must not be the commands' own output.
struct CommandOutput {
    let settings: Settings

    /// Opens it.
    /// - Throws: ``StartFailure``.
    func open() throws(StartFailure) -> any RecordSink {
        try refuseStandardOutput()
        guard settings.choosesOutput else {
            let path = CommandLauncher.defaultOutput
            if let obstacle = Self.obstacle(to: path) {
                Diagnostics.report("\(obstacle): stalls will not be written (use --output to name another place)")
            }
            return LazyFileSink(path: path, rotation: settings.defaultRotation, permissions: settings.defaultPermissions)
        }
        return try settings.openOutput()
    }

    /// Why lines cannot be written to the default file; nil: no obstacle found without creating it.
    private static func obstacle(to path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if let refusal = LineFile.folderRefusal(path) { return "cannot create \(path): \(refusal)" }
            return access(".", W_OK) == 0 ? nil : "cannot create \(path): \(Diagnostics.reason(errno))"
        }
        do throws(SinkError) {
            close(try LineFile.open(path, .byDefault).descriptor)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// The command's output must contain only what the command writes.
    private func refuseStandardOutput() throws(StartFailure) {
        var isStandard = settings.output.destination == .stdout
        if case .file(let path) = settings.output.destination {
            var (file, own) = (stat(), stat())
            isStandard =
                stat(path, &file) == 0
                && [STDOUT_FILENO, STDERR_FILENO].contains {
                    fstat($0, &own) == 0 && own.st_dev == file.st_dev && own.st_ino == file.st_ino
                        && own.st_rdev != Self.nullDevice
                }
        }
        guard isStandard, settings.choosesOutput else { return }
        throw StartFailure(
            status: ExitStatus.configuration,
            message: "\(settings.names[.output]): stdout and stderr are the command's "
                + "(allowed: \(OutputSettings.allowedDestinationsBesideStdout), if it does not lead there)"
        )
    }

    /// `/dev/null` (major 1, minor 3), which the output and the command may share.
    private static let nullDevice: dev_t = 0x103
}
