internal import Glibc
internal import LagModel
internal import LagMonitor
internal import LagRemote

/// Why the preloaded library is not active in a process of the command, and what helps.
enum LibraryAbsence: Equatable {
    case obstacle(ProgramFile.Obstacle)
    /// It runs as another user, who may not open the library or the shared table.
    case user(UInt32)
    /// `LD_PRELOAD` was taken out of its environment.
    case environment
    /// It runs in its own PID namespace, where its process ID differs from the one that lagmond sees: its published data could
    /// not be assigned to it.
    case processNumbers
    /// It runs in another root folder or mount namespace, where the library's path does not exist.
    case rootFolder
    /// Below another `lagmond run`, which watches it.
    case otherMonitor
    /// The kernel does not let lagmond read it.
    case hidden
    case unknown

    /// Reads some files of `/proc`, 50 µs.
    /// - Parameter table: the variable that names the command's shared table.
    init(of process: Int32, table: (name: String, value: String)) {
        let environment = Self.entries(of: process)
        if let other = environment?.first(where: { $0.hasPrefix(table.name + "=") }), other != "\(table.name)=\(table.value)" {
            self = .otherMonitor
        } else if let obstacle = ProgramFile(path: "/proc/\(process)/exe").obstacle() {
            self = .obstacle(obstacle)
        } else if let user = Self.user(of: process), user != geteuid() {
            self = .user(user)
        } else if environment == nil {
            self = .hidden
        } else if Self.isElsewhere(process, "ns/pid") {
            self = .processNumbers
        } else if Self.isElsewhere(process, "root") || Self.isElsewhere(process, "ns/mnt") {
            self = .rootFolder
        } else {
            self = environment?.contains { $0.contains(PreloadLibrary.name) } == true ? .unknown : .environment
        }
    }

    /// Whether a process was started with this variable: by the command or a descendant of it.
    static func isStarted(_ process: Int32, with table: (name: String, value: String)) -> Bool {
        entries(of: process)?.contains("\(table.name)=\(table.value)") == true
    }

    /// nil: it cannot be read.
    private static func entries(of process: Int32) -> [Substring]? {
        ProcFile.text(at: "/proc/\(process)/environ", limit: longestEnvironment)?.split(separator: "\0")
    }

    private static let longestEnvironment = 131_072

    /// Whether a link of the process has another target than lagmond's.
    private static func isElsewhere(_ process: Int32, _ name: String) -> Bool {
        guard let theirs = link(process, name), let ours = link(getpid(), name) else { return false }
        return theirs != ours
    }

    private static func link(_ process: Int32, _ name: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/\(process)/\(name)", &buffer, buffer.count)
        return length > 0 ? String(decoding: buffer[..<length], as: UTF8.self) : nil
    }

    /// The effective user (`Uid:` of `status`, proc(5)).
    private static func user(of process: Int32) -> UInt32? {
        StatusFile(process: process).numbers("Uid").dropFirst().first.map { UInt32(truncatingIfNeeded: $0) }
    }
}

extension LibraryAbsence: CustomStringConvertible {
    var description: String {
        switch self {
        case .obstacle(let obstacle): "the library is not active: its program \(obstacle)"
        case .user(let user):
            "the library is not active: it runs as user \(user); start lagmond as that user, after the user changes"
        case .environment: "the library is not active: its environment lacks LD_PRELOAD; start lagmond after what clears it"
        case .processNumbers: "the library is not active: it runs in its own PID namespace; start lagmond inside it"
        case .rootFolder: "the library is not active: it runs in another root folder or mount namespace; start lagmond there"
        case .otherMonitor: "it runs below another lagmond"
        case .hidden: "the kernel does not show whether the library is active in it"
        case .unknown: "the library is not active: the loader did not load it"
        }
    }
}
