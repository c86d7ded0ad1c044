/// Whether a file of machine code is the program's, by its location.
enum FileLocation: Equatable {
    /// The program's executable, in any folder.
    case executable
    /// Beside the executable, or in a folder that is neither the system's nor a package manager's.
    case program
    /// In a folder of the system, of a toolchain or of a package manager.
    case system
    /// No path: a base name, code without a file.
    case unknown

    /// Folders of libraries, wherever the root of a container or a toolchain is: `/var/lib/…/merged/usr/lib/x.so`,
    /// `/opt/swift/usr/lib/…`.
    private static let folders = [
        "/usr/lib/", "/usr/lib64/", "/usr/lib32/", "/usr/libx32/", "/usr/libexec/", "/usr/local/lib/", "/usr/local/lib64/",
        "/lib/x86_64-linux-gnu/", "/lib/aarch64-linux-gnu/", "/lib/arm-linux-gnueabihf/", "/lib/i386-linux-gnu/",
        "/lib/riscv64-linux-gnu/", "/usr/share/dotnet/", "/.dotnet/", "/.linuxbrew/", "/vcpkg/installed/", "/bitnami/",
        // Languages, each with a folder for a version: /opt/java/openjdk/lib/server, ~/.pyenv/versions/3.12.1/lib.
        "/jvm/", "/jdk", "/openjdk", "/.pyenv/versions/", "/.rbenv/versions/", "/.nvm/versions/", "/.rustup/toolchains/",
        "/uv/python/",
        // conda: ~/miniconda3/lib, …/envs/x/lib.
        "conda/lib/", "conda3/lib/", "/envs/",
    ]
    /// Folders of a language's packages, which are never the program's own, wherever they are.
    private static let packageFolders = ["/site-packages/", "/dist-packages/", "/lib-dynload/", "/node_modules/", "/gems/"]
    /// Folders of libraries at the root of a file system; below other folders any program may use these names: `/opt/shop/lib`.
    private static let rootFolders = ["/lib/", "/lib64/", "/lib32/", "/libx32/", "/snap/"] + stores
    /// Package managers with a folder for each package.
    private static let stores = ["/nix/store/", "/gnu/store/"]

    /// Files named like a program, but shared by all its users: the modules of a language.
    private static let interpreters: Set<String> = [
        "perl", "python", "pypy", "ruby", "node", "nodejs", "php", "php-fpm", "php-cgi", "lua", "luajit", "java", "tclsh", "wish",
        "beam.smp", "guile", "R",
    ]
    /// The folders used by distributions, containers and `make install`.
    private static let interpreterFolders = ["/usr/bin/", "/usr/sbin/", "/usr/local/bin/"]
    private static let versionCharacters = "0123456789.-".utf8

    /// Folders of headers and of libraries' sources, which compilers record with their full paths.
    private static let sourceFolders = [
        "/usr/include/", "/usr/local/include/", "/usr/lib/gcc/", "/usr/lib/llvm-", "/usr/lib/clang/", "/usr/lib/swift/",
        // Swift's runtime and libraries; Rust's standard library and crates; Go's, and modules.
        "/include/c++/", "/libstdc++-v3/", "/libcxx/", "/libcxxabi/", "/swift/stdlib/", "/swift/include/", "/swift/lib/",
        "/swift-corelibs-", "/rustlib/src/",
        "/usr/src/rustc-", "/.cargo/registry/", "/.cargo/git/", "/share/cargo/registry/", "/usr/lib/go-", "/usr/local/go/src/",
        "/pkg/mod/",
        // Nim's library, of a distribution and of its own installer, and its packages.
        "/usr/lib/nim/", "/usr/local/lib/nim/", "/.choosenim/toolchains/", "/.nimble/pkgs",
        // This package's own, in a program that was built with it.
        "/Sources/CLagBeacon/", "/Sources/CLagLinux/", "/Sources/CLagRemote/", "/Sources/CLagOTLP/", "/Sources/CLibunwind/",
    ]

    /// Folders that Rust's releases write at the beginning of the paths of their sources and crates; elsewhere any path
    /// may contain these names.
    private static let sourceRoots = ["/rustc/", "/rust/deps/"]

    /// - Parameters:
    ///   - path: as in a memory map.
    ///   - executable: the program's path, in the same form.
    init(_ path: String, executable: String?) {
        let path = ModuleName.withoutMark(path)
        // A long path was cut: only its end is left.
        guard path.utf8.contains(UInt8(ascii: "/")) else {
            self = .unknown
            return
        }
        let executable = executable.map(ModuleName.withoutMark)
        if path == executable {
            self = .executable
        } else if Self.packageFolders.contains(where: { path.contains($0) }) {
            self = .system
        } else if Self.rootFolders.contains(where: path.hasPrefix) || Self.folders.contains(where: { path.contains($0) }) {
            // Also beside an executable in such a folder: the libraries there are packaged, not written for it. Exceptions are
            // its own package's files: /usr/bin/shop and /usr/lib/shop/libcart.so, or those in the same package of a store.
            let isOwn = executable.map { Self.isOfItsPackage(path, $0) } ?? false
            self = isOwn ? .program : .system
        } else {
            self = .program
        }
    }

    /// Whether a source file is a header or a library's: what was inlined from it is not the program's own.
    static func isSystemSource(_ path: String) -> Bool {
        // Clang records files found through gcc's folder in this form:
        // `/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/mutex`.
        let path = path.contains("/../") ? withoutParents(path) : path
        return sourceRoots.contains(where: path.hasPrefix) || sourceFolders.contains { path.contains($0) }
    }

    /// Without `..`, by the text alone.
    private static func withoutParents(_ path: String) -> String {
        var parts: [Substring] = []
        for part in path.split(separator: "/", omittingEmptySubsequences: false) {
            if part == "..", let last = parts.last, !last.isEmpty, last != ".." { parts.removeLast() } else { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }

    /// Whether a program of that name runs programs in another language: its functions are never the program's own. `python3.11`,
    /// `php-fpm8.2`.
    static func isInterpreter(_ name: String) -> Bool {
        var family = name[...]
        while let last = family.utf8.last, versionCharacters.contains(last) { family.removeLast() }
        return interpreters.contains(String(family))
    }

    /// Whether an executable is such a program. If it has such a name but is outside the usual folders, and its functions have a
    /// source file, it is the user's own: any program may be called `node`.
    static func isInterpreter(_ path: String, hasSource: Bool) -> Bool {
        guard isInterpreter(ModuleName.base(path)) else { return false }
        return !hasSource || path.hasPrefix("/bin/") || (folders + interpreterFolders).contains { path.contains($0) }
    }

    /// Whether a file is in a folder of libraries with the executable's name, or in the executable's package of a store.
    private static func isOfItsPackage(_ path: Substring, _ executable: Substring) -> Bool {
        for store in stores where path.hasPrefix(store) && executable.hasPrefix(store) {
            return path.dropFirst(store.count).prefix { $0 != "/" } == executable.dropFirst(store.count).prefix { $0 != "/" }
        }
        let name = ModuleName.base(String(executable))
        guard !isInterpreter(name) else { return false }
        // Below `lib`, `lib64`, `libexec`: the folders above may contain everything that the program needs.
        return path.split(separator: "/").dropLast().drop { !$0.hasPrefix("lib") }.contains { $0 == name }
    }
}
