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

    /// What is known about a process; nil: it cannot be read.
    struct Facts {
        var environment: [Substring]?
        var obstacle: ProgramFile.Obstacle?
        /// Its effective user, and lagmond's.
        var user: UInt32?
        var ourUser: UInt32 = geteuid()
        /// Whether it is in another PID namespace, or in another root folder or mount namespace.
        var hasOtherNumbers = false
        var hasOtherRoot = false
    }

    /// Reads some files of `/proc`, 50 µs.
    /// - Parameter table: the variable that names the command's shared table.
    init(of process: Int32, table: (name: String, value: String)) {
        let facts = Facts(
            environment: Self.entries(of: process),
            obstacle: ProgramFile(path: "/proc/\(process)/exe").obstacle(),
            user: Self.user(of: process),
            hasOtherNumbers: Self.isElsewhere(process, "ns/pid"),
            hasOtherRoot: Self.isElsewhere(process, "root") || Self.isElsewhere(process, "ns/mnt")
        )
        self.init(facts, table: table)
    }

    /// The first reason that applies.
    init(_ facts: Facts, table: (name: String, value: String)) {
        let other = facts.environment?.first { $0.hasPrefix(table.name + "=") }
        if let other, other != "\(table.name)=\(table.value)" {
            self = .otherMonitor
        } else if let obstacle = facts.obstacle {
            self = .obstacle(obstacle)
        } else if let user = facts.user, user != facts.ourUser {
            self = .user(user)
        } else if let environment = facts.environment {
            self =
                facts.hasOtherNumbers
                ? .processNumbers
                : facts.hasOtherRoot
                    ? .rootFolder : environment.contains { $0.contains(PreloadLibrary.name) } ? .unknown : .environment
        } else {
            self = .hidden
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
