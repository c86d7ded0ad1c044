internal import Glibc

/// Opens a file that lines are appended to. Others may be able to write in its folder, and may have put something in its place.
///
/// What is created has mode 0600: lines hold names of files, functions and hosts. A symbolic link at the end of the path is followed only if
/// this user or root made it, as the kernel's `protected_symlinks` has it.
package enum LineFile {
    /// Who chose the path.
    package enum Choice: Sendable {
        /// A person: it is created wherever that is possible, and whatever is there is opened.
        case named
        /// Nobody, it is a default. No link is followed; what is there has to be a plain file of this user, with this one name; and it is
        /// created only where no one else can put files.
        case byDefault
    }

    private static let mode: mode_t = 0o600
    private static let attempts = 3

    /// - Returns: a descriptor in non-blocking mode, and whether the file was created. Opening a pipe without a reader is then an error
    ///   instead of a wait without end.
    /// - Throws: ``SinkError/Reason/cannotOpen`` with the path and the reason.
    package static func open(_ path: String, _ choice: Choice = .named) throws(SinkError) -> (descriptor: Int32, isNew: Bool) {
        let flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        var code: Int32 = 0
        // Files come and go meanwhile.
        for _ in 0..<attempts {
            let folderRefusal = choice == .byDefault ? folderRefusal(path) : nil
            if folderRefusal == nil {
                let made = Glibc.open(path, flags | O_NOFOLLOW | O_CREAT | O_EXCL, mode)
                if made >= 0 { return (made, true) }
                code = errno
                guard code == EEXIST else { break }
            }
            // With O_CREAT the kernel's `protected_regular` and `protected_fifos` hold for what others have put there.
            let creation = choice == .named ? O_CREAT : 0
            let found = Glibc.open(path, flags | O_NOFOLLOW | creation, mode)
            if found >= 0 {
                if choice == .byDefault, let refusal = refusal(of: found) {
                    close(found)
                    throw SinkError(.cannotOpen, path: path, code: EPERM, detail: refusal)
                }
                return (found, false)
            }
            code = errno
            if code == ELOOP { return (try follow(path, flags, choice), false) }
            guard code == ENOENT else { break }
            if let folderRefusal { throw SinkError(.cannotOpen, path: path, code: EPERM, detail: folderRefusal) }
        }
        throw SinkError(.cannotOpen, path: path, code: code)
    }

    private static func follow(_ path: String, _ flags: Int32, _ choice: Choice) throws(SinkError) -> Int32 {
        var link = stat()
        guard lstat(path, &link) == 0, link.st_mode & S_IFMT == S_IFLNK else {
            throw SinkError(.cannotOpen, path: path, code: ELOOP)
        }
        guard choice == .named else {
            throw SinkError(.cannotOpen, path: path, code: ELOOP, detail: "it is a symbolic link; name the file that it leads to")
        }
        let refusal = SinkError(
            .cannotOpen,
            path: path,
            code: ELOOP,
            detail: "it is a symbolic link of another user (uid \(link.st_uid)); allowed: this user's and root's"
        )
        guard isTrusted(link) else { throw refusal }
        let descriptor = Glibc.open(path, flags | O_CREAT, mode)
        guard descriptor >= 0 else { throw SinkError(.cannotOpen, path: path, code: errno) }
        // Who can replace the link may have done so before it was followed.
        var now = stat()
        guard lstat(path, &now) == 0, now.st_ino == link.st_ino, now.st_dev == link.st_dev, isTrusted(now) else {
            close(descriptor)
            throw refusal
        }
        return descriptor
    }

    private static func isTrusted(_ file: stat) -> Bool { file.st_uid == geteuid() || file.st_uid == 0 }

    private static func refusal(of descriptor: Int32) -> String? {
        var file = stat()
        guard fstat(descriptor, &file) == 0, file.st_mode & S_IFMT == S_IFREG else { return "it is no plain file" }
        if file.st_uid != geteuid() { return "it belongs to another user (uid \(file.st_uid))" }
        if file.st_nlink != 1 { return "it has \(file.st_nlink) names (hard links)" }
        return nil
    }

    /// Why a file is not created there without being asked for; nil: it may be.
    package static func folderRefusal(_ path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let folder = parts.isEmpty ? "." : parts == [""] ? "/" : parts.joined(separator: "/")
        var status = stat()
        // Then creating it will say why.
        guard stat(folder, &status) == 0 else { return nil }
        if !isTrusted(status) { return "the folder belongs to another user (uid \(status.st_uid))" }
        if status.st_mode & S_IWOTH != 0 { return "every user can write to the folder" }
        if status.st_mode & S_IWGRP != 0, status.st_gid != getegid() { return "group \(status.st_gid) can write to the folder" }
        return nil
    }
}
