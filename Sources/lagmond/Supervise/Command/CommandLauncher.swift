internal import Glibc
internal import LagMonitor
internal import LagRemote

/// Starts a command with the preloaded library, which publishes the command's loops in a shared table.
// Unchecked: `command` holds pointers into memory that this process never changes; the rest is immutable.
struct CommandLauncher: @unchecked Sendable {
    let command: WrappedCommand
    /// Why the preloaded library will not publish the command's loops; `nil`: it will.
    let obstacle: String?
    /// Whether the command cannot be watched from outside either, because it uses the system calls of another architecture.
    let isOfOtherArchitecture: Bool
    /// Why the library will not publish the loops of programs that the command starts either.
    let libraryObstacle: String?

    private let program: ProgramFile
    private let environment: ChildEnvironment
    private let signals: InheritedSignals
    /// Where the command, and all programs that it starts, publish their loops.
    let loopTable: SharedLoopTable

    /// The default output for records: a file, because stdout and stderr belong to the command.
    static let defaultOutput = "lagmond-stalls.jsonl"

    /// Finds the command and creates the shared loop table. Starts nothing.
    /// - Parameter library: `liblagmonitor-preload.so`; `nil` if it is not installed.
    /// - Throws: ``StartFailure``.
    init(
        _ command: WrappedCommand,
        signals: InheritedSignals,
        library: String? = PreloadLibrary.find(),
        environment: ChildEnvironment = .current()
    ) throws(StartFailure) {
        self.command = command
        self.signals = signals
        let path = environment.value(of: "PATH")
        let search = path.isEmpty ? nil : String(decoding: path.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        program = try command.locate(path: search)
        var changed = environment
        do throws(StallMonitorError) {
            loopTable = try SharedLoopTable()
            libraryObstacle = Self.preload(library, into: &changed, loopTable: loopTable.variable.value)
        } catch {
            // The command runs anyway.
            libraryObstacle = "no shared loop table: \(error)"
            loopTable = try Self.unsharedTable()
        }
        // The program's own obstacle first: it is more specific.
        let own = loopTable.isShared ? program.obstacle() : nil
        isOfOtherArchitecture = program.obstacle() == .anotherArchitecture
        if let own { obstacle = "\(program.path) \(own)" } else { obstacle = libraryObstacle }
        self.environment = changed
    }

    private static func unsharedTable() throws(StartFailure) -> SharedLoopTable {
        do throws(StallMonitorError) {
            return try .unshared()
        } catch {
            throw StartFailure(status: ExitStatus.systemError, message: "the loop table: \(error)")
        }
    }

    /// The process name that the kernel will assign.
    var programName: String { program.path.split(separator: "/").last.map(String.init) ?? program.path }

    /// Whether it is a Go program.
    var isGo: Bool { GoProgram.isFile(at: program.path) }

    /// Starts the command; the caller waits for it.
    /// - Parameter ownSession: see ``WrappedProcess/start(_:_:environment:signals:ownSession:)``.
    func start(ownSession: Bool = false) throws(StartFailure) -> WrappedProcess {
        try WrappedProcess.start(command, program, environment: environment, signals: signals, ownSession: ownSession)
    }

    /// - Returns: why no program can load the library, or nil.
    private static func preload(_ library: String?, into environment: inout ChildEnvironment, loopTable: String) -> String? {
        guard let library else {
            environment.set(SettingKey.sharedLoopTableName, to: loopTable.utf8.map { CChar(bitPattern: $0) })
            return PreloadLibrary.absence
        }
        // Also if the program itself will not load it, because programs that it starts may.
        guard environment.preload(library, loopTable: loopTable) else {
            return "the loader cannot load \(library): its path contains a space, a colon or a dollar sign"
        }
        return nil
    }
}

/// Finds the library that is loaded into wrapped programs.
enum PreloadLibrary {
    static let name = "liblagmonitor-preload.so"
    /// The message if it is not installed.
    static let absence =
        "\(name) is not installed: neither beside lagmond nor in ../lib or ../lib/lagmonitor "
        + "(in the source tree, swift build --product lagmonitor-preload builds it)"

    /// Beside this program, as in a build folder, or in `../lib` or `../lib/lagmonitor`, as in packages.
    static func find() -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &buffer, buffer.count)
        guard length > 0 else { return nil }
        let folder = String(decoding: buffer[..<length], as: UTF8.self).split(separator: "/").dropLast()
        let parent = folder.dropLast()
        return [folder, parent + ["lib"], parent + ["lib", "lagmonitor"]].lazy
            .map { "/" + ($0 + [name[...]]).joined(separator: "/") }
            .first { access($0, R_OK) == 0 }
    }
}
