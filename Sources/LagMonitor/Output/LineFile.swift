internal import Glibc

/// Opens a file to which lines are appended. Other users may be able to write in its folder, and may have replaced it.
///
/// A new file has mode 0600: lines contain names of files, functions and hosts. A symbolic link at the end of the path is
/// followed only if this user or root created it, as with the kernel's `protected_symlinks`.
package enum LineFile {
    package enum Choice: Sendable {
        /// A person chose the path: it is created wherever possible, and any existing file is opened.
        case named
        /// The path is a default. No link is followed; an existing file must be a regular file of this user, with this one name;
        /// and it is created only where other users cannot put files.
        case byDefault
    }

    package struct Opened {
        /// In non-blocking mode; belongs to the caller.
        package let descriptor: Int32
        package var isNew = false
        /// Whether a link of the kernel led to it (`/dev/stdout`, `/proc/self/fd/3`). Then the path leads to this file under any
        /// name: after a rename, opening the path opens it again.
        package var isByDescriptor = false
    }

    private static let mode: mode_t = 0o600
    private static let attempts = 3

    /// Opening a pipe without a reader is an error instead of an endless wait.
    /// - Throws: ``SinkError/Reason/cannotOpen`` with the path and the reason.
    package static func open(_ path: String, _ choice: Choice = .named) throws(SinkError) -> Opened {
        let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        var code: Int32 = 0
        // Files may appear and disappear meanwhile.
        for _ in 0..<attempts {
            let folderRefusal = choice == .byDefault ? folderRefusal(path) : nil
            if folderRefusal == nil {
                let made = Glibc.open(path, flags | O_NOFOLLOW | O_CREAT | O_EXCL, mode)
                if made >= 0 { return Opened(descriptor: made, isNew: true) }
                code = errno
                guard code == EEXIST else { break }
            }
            // With O_CREAT, the kernel's `protected_regular` and `protected_fifos` apply to what other users have put there.
            let creation = choice == .named ? O_CREAT : 0
            let found = Glibc.open(path, flags | O_NOFOLLOW | creation, mode)
            if found >= 0 {
                if choice == .byDefault, let refusal = refusal(of: found) {
                    close(found)
                    throw SinkError(.cannotOpen, path: path, code: EPERM, detail: refusal)
                }
                return Opened(descriptor: found)
            }
            code = errno
            if code == ELOOP { return try follow(path, flags, choice) }
            guard code == ENOENT else { break }
            if let folderRefusal { throw SinkError(.cannotOpen, path: path, code: EPERM, detail: folderRefusal) }
        }
        // The system's text for it is "No such device or address".
        let detail = code == ENXIO ? "it is a pipe without a reader, or a socket (errno \(code))" : nil
        throw SinkError(.cannotOpen, path: path, code: code, detail: detail)
    }

    /// Each link itself is opened, so it is the one that was checked, even if its name is reused meanwhile.
    private static func follow(
        _ path: String,
        _ flags: Int32,
        _ choice: Choice
    ) throws(SinkError) -> Opened {
        guard choice == .named else {
            throw SinkError(.cannotOpen, path: path, code: ELOOP, detail: "it is a symbolic link; name the file that it leads to")
        }
        var (folder, name) = (AT_FDCWD, path)
        defer { if folder != AT_FDCWD { close(folder) } }
        for _ in 0..<maximumLinks {
            let link = openat(folder, name, pathOnly | O_NOFOLLOW | O_CLOEXEC)
            // It does not exist: it is created, as is the target of a link.
            guard link >= 0 || errno == ENOENT else { throw SinkError(.cannotOpen, path: path, code: errno) }
            if link < 0 {
                let made = openat(folder, name, flags | O_NOFOLLOW | O_CREAT | O_EXCL, mode)
                if made >= 0 { return Opened(descriptor: made, isNew: true) }
                // It was created meanwhile.
                guard errno == EEXIST else { throw SinkError(.cannotOpen, path: path, code: errno) }
                continue
            }
            defer { close(link) }
            var status = stat()
            let isLink = fstat(link, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
            if isLink, !isTrusted(status) {
                throw SinkError(
                    .cannotOpen,
                    path: path,
                    code: ELOOP,
                    detail: "it is a symbolic link of another user (uid \(status.st_uid)); allowed: this user's and root's"
                )
            }
            // Links of the kernel (/dev/stdout leads to one) contain no path, and cannot be replaced.
            if !isLink || isOfKernel(status) {
                let descriptor = openat(folder, name, flags | O_CREAT | (isLink ? 0 : O_NOFOLLOW), mode)
                if descriptor >= 0 { return Opened(descriptor: descriptor, isByDescriptor: isLink) }
                // It has become a link meanwhile.
                guard errno == ELOOP else { throw SinkError(.cannotOpen, path: path, code: errno) }
                continue
            }
            guard let target = target(of: link) else { throw SinkError(.cannotOpen, path: path, code: errno) }
            // Its target is relative to its own folder.
            let parts = name.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            if !parts.isEmpty {
                let next = openat(folder, parts == [""] ? "/" : parts.joined(separator: "/"), pathOnly | O_DIRECTORY | O_CLOEXEC)
                guard next >= 0 else { throw SinkError(.cannotOpen, path: path, code: errno) }
                if folder != AT_FDCWD { close(folder) }
                folder = next
            }
            name = target
        }
        throw SinkError(.cannotOpen, path: path, code: ELOOP)
    }

    /// The kernel's limit.
    private static let maximumLinks = 40

    private static func target(of link: Int32) -> String? {
        var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = bytes.withUnsafeMutableBytes {
            readlinkat(link, "", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
        }
        return count > 0 ? String(decoding: bytes[..<count], as: UTF8.self) : nil
    }

    private static func isOfKernel(_ link: stat) -> Bool {
        var kernel = stat()
        return stat("/proc/self/", &kernel) == 0 && kernel.st_dev == link.st_dev
    }

    /// fcntl.h defines it for GNU sources only.
    private static let pathOnly: Int32 = 0o10_000_000

    private static func isTrusted(_ file: stat) -> Bool { file.st_uid == geteuid() || file.st_uid == 0 }

    private static func refusal(of descriptor: Int32) -> String? {
        var file = stat()
        guard fstat(descriptor, &file) == 0, file.st_mode & S_IFMT == S_IFREG else { return "it is not a regular file" }
        if file.st_uid != geteuid() { return "it belongs to another user (uid \(file.st_uid))" }
        if file.st_nlink != 1 { return "it has \(file.st_nlink) names (hard links)" }
        return nil
    }

    /// Why a file is not created there by default; nil: it may be created.
    package static func folderRefusal(_ path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let folder = parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
        var status = stat()
        // Then creating it will report the reason.
        guard stat(folder, &status) == 0 else { return nil }
        if !isTrusted(status) { return "the folder belongs to another user (uid \(status.st_uid))" }
        if status.st_mode & S_IWOTH != 0 { return "every user can write to the folder" }
        if status.st_mode & S_IWGRP != 0, status.st_gid != getegid() { return "group \(status.st_gid) can write to the folder" }
        return nil
    }
}
