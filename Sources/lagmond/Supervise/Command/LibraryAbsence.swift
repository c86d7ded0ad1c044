internal import CLagLinux
internal import Glibc
internal import LagMonitor

/// Why the preloaded library is not in a process of the command, with what helps.
enum LibraryAbsence: Equatable {
    case obstacle(ProgramFile.Obstacle)
    /// It runs as another user, who may not open the library or the shared table.
    case user(UInt32)
    /// `LD_PRELOAD` was taken out of its environment.
    case environment
    /// It runs in another root folder or mount namespace, where the library's path leads nowhere.
    case rootFolder
    case unknown

    /// Some files of `/proc`, 50 µs.
    init(of process: Int32) {
        if let obstacle = ProgramFile(path: "/proc/\(process)/exe").obstacle() {
            self = .obstacle(obstacle)
        } else if let environment = Self.text(process, "environ"), !environment.contains(PreloadLibrary.name) {
            self = .environment
        } else if Self.link(process, "root") != Self.link(getpid(), "root")
            || Self.link(process, "ns/mnt") != Self.link(getpid(), "ns/mnt")
        {
            self = .rootFolder
        } else if let user = Self.user(of: process), user != geteuid() {
            self = .user(user)
        } else {
            self = .unknown
        }
    }

    private static func text(_ process: Int32, _ name: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 131_072)
        let length = cll_procfs_read(process, 0, name, &buffer, buffer.count)
        guard length >= 0 else { return nil }
        return String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func link(_ process: Int32, _ name: String) -> String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/\(process)/\(name)", &buffer, buffer.count)
        return length > 0 ? String(decoding: buffer[..<length], as: UTF8.self) : nil
    }

    /// The effective user (`Uid:` of `status`, proc(5)).
    private static func user(of process: Int32) -> UInt32? {
        let line = text(process, "status")?.split(separator: "\n").first { $0.hasPrefix("Uid:") }
        return line?.split(separator: "\t").dropFirst(2).first.flatMap { UInt32($0) }
    }
}

extension LibraryAbsence: CustomStringConvertible {
    var description: String {
        switch self {
        case .obstacle(let obstacle): "its program \(obstacle)"
        case .user(let user): "it runs as user \(user); start lagmond as that user, behind what changes it"
        case .environment: "its environment lacks LD_PRELOAD; start lagmond behind what clears it"
        case .rootFolder: "it runs in another root folder or mount namespace; start lagmond there"
        case .unknown: "the loader did not load it"
        }
    }
}
