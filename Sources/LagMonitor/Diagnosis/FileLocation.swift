/// Whose a file of machine code is, by where it lies.
enum FileLocation: Equatable {
    /// The program's executable, wherever it lies.
    case executable
    /// Beside the executable, or in a folder that is neither the system's nor a package manager's.
    case program
    /// In a folder of the system, of a toolchain or of a package manager.
    case system
    /// No path: a base name, code without a file.
    case unknown

    /// Folders of libraries, wherever a container or a toolchain has its root: `/var/lib/…/merged/usr/lib/x.so`, `/opt/swift/usr/lib/…`.
    private static let folders = [
        "/usr/lib/", "/usr/lib64/", "/usr/lib32/", "/usr/libx32/", "/usr/libexec/", "/usr/local/lib/", "/usr/local/lib64/",
        "-linux-gnu/", "-linux-gnueabihf/", "-linux-musl/", "/site-packages/", "/dist-packages/", "/node_modules/", "/gems/",
    ]
    /// Folders of libraries at the root of a file system; below other folders these names are anyone's: `/opt/shop/lib`.
    private static let rootFolders = ["/lib/", "/lib64/", "/lib32/", "/libx32/", "/nix/store/", "/gnu/store/"]

    /// - Parameters:
    ///   - path: as in a memory map.
    ///   - executable: the program's, in the same form.
    init(_ path: String, executable: String?) {
        let path = ModuleName.withoutMark(path)
        guard path.utf8.first == UInt8(ascii: "/") else {
            self = .unknown
            return
        }
        let isSystem = Self.rootFolders.contains(where: path.hasPrefix) || Self.folders.contains { path.contains($0) }
        guard let executable = executable.map(ModuleName.withoutMark) else {
            self = isSystem ? .system : .program
            return
        }
        if path == executable {
            self = .executable
        } else if isSystem {
            // Also beside an executable in such a folder: its libraries there are packaged, not written for it. What lies in a folder of the
            // program's own name is an exception: /usr/lib/shop/shop and /usr/lib/shop/libcart.so.
            self = Self.isOwnFolder(of: executable, Self.folder(path)) ? .program : .system
        } else {
            self = .program
        }
    }

    private static func folder(_ path: Substring) -> Substring {
        path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[..<$0] } ?? ""
    }

    /// Whether it is the executable's folder and has its name.
    private static func isOwnFolder(of executable: Substring, _ folder: Substring) -> Bool {
        guard self.folder(executable) == folder else { return false }
        return ModuleName.base(String(folder)) == ModuleName.base(String(executable))
    }
}
