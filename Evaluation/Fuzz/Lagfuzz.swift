internal import Foundation

/// `lagfuzz`: feeds seeded mutations to the readers of untrusted bytes.
@main
enum Lagfuzz {
    static var targets: [any FuzzTarget.Type] {
        [
            ElfTarget.self, DwarfTarget.self, TableTarget.self, LinesTarget.self, GzipTarget.self, SettingsTarget.self,
            KeptTarget.self,
            ProcTarget.self, NetworkTableTarget.self, ConfigTarget.self, HttpTarget.self,
        ]
    }

    static func main() throws {
        let options: FuzzOptions
        do throws(FuzzError) {
            options = try FuzzOptions(Array(CommandLine.arguments.dropFirst()))
        } catch {
            FileHandle.standardError.write(Data("lagfuzz: \(error)\n\n\(FuzzOptions.help)\n".utf8))
            exit(EX_USAGE)
        }
        if let folder = options.child { FuzzRun.runAsChild(options, folder: folder) }
        var isFine = true
        for target in targets where options.names.contains(target.name) {
            let folder = NSTemporaryDirectory() + "lagfuzz-\(getpid())-\(target.name)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            let run = FuzzRun(target: target, options: options, folder: folder)
            let isTargetFine =
                try options.replays ? run.replay() : run.run(seconds: options.seconds / Double(options.names.count))
            isFine = isTargetFine && isFine
        }
        exit(isFine ? EXIT_SUCCESS : EXIT_FAILURE)
    }
}
