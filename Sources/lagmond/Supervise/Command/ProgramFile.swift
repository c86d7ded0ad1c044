internal import CLagRemote
internal import Glibc

/// A program file: how the kernel and the loader will run it, as far as this affects how it is watched.
struct ProgramFile: Equatable {
    /// Why the preloaded library will not be in the program. The program runs anyway.
    enum Obstacle: Equatable {
        case setuid
        case setgid
        /// File capabilities: as with setuid, the loader ignores `LD_PRELOAD`.
        case capabilities
        case staticallyLinked
        /// Not this machine's architecture: 32-bit, or emulated.
        case anotherArchitecture
        /// A C library other than glibc, by its loader's path.
        case anotherLibrary(loader: String)
    }

    let path: String

    /// Examines the file, or a script's interpreter.
    /// - Returns: nil if there is no obstacle, or if the file cannot be read.
    func obstacle() -> Obstacle? {
        var file = path
        // The kernel ignores a script's own setuid bits. It follows interpreters up to four deep.
        for _ in 0..<5 {
            guard let interpreter = Self.interpreter(ofScript: file) else { break }
            file = interpreter
        }
        return Self.privilege(of: file) ?? ElfHeader(path: file).flatMap(Self.obstacle(in:))
    }

    private static func privilege(of file: String) -> Obstacle? {
        var status = stat()
        guard stat(file, &status) == 0 else { return nil }
        if status.st_mode & S_ISUID != 0, status.st_uid != geteuid() || getuid() != geteuid() { return .setuid }
        if status.st_mode & S_ISGID != 0, status.st_mode & S_IXGRP != 0, status.st_gid != getegid() || getgid() != getegid() {
            return .setgid
        }
        // Root gains no privileges from them.
        if geteuid() != 0, clr_file_has_capabilities(file) != 0 { return .capabilities }
        return nil
    }

    private static func obstacle(in header: ElfHeader) -> Obstacle? {
        guard header.isOfThisMachine else { return .anotherArchitecture }
        guard let loader = header.loader else { return .staticallyLinked }
        return loader.contains("ld-musl") ? .anotherLibrary(loader: loader) : nil
    }

    /// The path after `#!`; `nil` if the file is not a script.
    static func interpreter(ofScript file: String) -> String? {
        guard let start = readStart(of: file, atMost: 256), start.starts(with: "#!".utf8) else { return nil }
        let line = start.dropFirst(2).prefix { $0 != UInt8(ascii: "\n") }
        let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
        return words.first.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The first bytes of a file; `nil` if it cannot be read or is not a regular file.
    static func readStart(of file: String, at offset: Int = 0, atMost count: Int) -> [UInt8]? {
        // Opening a pipe would block.
        let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            filled = max(0, pread(descriptor, buffer.baseAddress, count, offset))
        }
        return bytes
    }
}

extension ProgramFile.Obstacle: CustomStringConvertible {
    var description: String {
        switch self {
        case .setuid: "is setuid"
        case .setgid: "is setgid"
        case .capabilities: "has file capabilities"
        case .staticallyLinked: "is statically linked"
        case .anotherArchitecture: "is not a 64-bit program for this architecture"
        case .anotherLibrary(let loader): "uses a C library other than glibc (\(loader))"
        }
    }
}
