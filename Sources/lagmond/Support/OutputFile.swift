internal import Glibc

/// Replaces a file atomically: written to a temporary file beside it, then renamed.
enum OutputFile {
    /// - Throws: why it cannot be written, naming the file.
    static func write(_ bytes: [UInt8], to path: String) throws(StartFailure) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        // A pipe or a device cannot be replaced: its reader waits for data.
        guard !isThere || status.st_mode & S_IFMT == S_IFREG else { return try writeThrough(bytes, to: path, status) }
        // Replaces the target of a link, so that the link stays.
        let target = isThere ? resolved(path) ?? path : path
        let (draft, descriptor) = try createDraft(of: target, for: path, mode: isThere ? status.st_mode & 0o777 : 0o666)
        var code = WholeWrite.write(bytes, to: descriptor)
        // Before the rename, so that the name never refers to an empty file after a crash.
        if code == 0, fsync(descriptor) != 0 { code = errno }
        if close(descriptor) != 0, code == 0 { code = errno }
        if code == 0, rename(draft, target) != 0 { code = errno }
        guard code == 0 else {
            unlink(draft)
            throw failure("cannot write", path, code)
        }
    }

    private static let draftNames = 8

    /// A new file beside the target. An interrupted run may have left a file with the first name: in a container, process IDs
    /// repeat.
    private static func createDraft(
        of target: String,
        for path: String,
        mode: mode_t
    ) throws(StartFailure) -> (path: String, descriptor: Int32) {
        var draft = "\(target).\(getpid()).part"
        var code = EEXIST
        for _ in 0..<draftNames where code == EEXIST {
            let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
            if descriptor >= 0 { return (draft, descriptor) }
            code = errno
            if code == EEXIST { draft = "\(target).\(getpid()).\(UInt32.random(in: 0 ... .max)).part" }
        }
        throw failure("cannot create \(draft) for", path, code)
    }

    private static func writeThrough(_ bytes: [UInt8], to path: String, _ status: stat) throws(StartFailure) {
        guard status.st_mode & S_IFMT != S_IFDIR else { throw failure("cannot write", path, EISDIR) }
        let descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw failure("cannot open", path, errno) }
        let code = WholeWrite.write(bytes, to: descriptor)
        close(descriptor)
        if code != 0 { throw failure("cannot write", path, code) }
    }

    private static func resolved(_ path: String) -> String? {
        guard let text = realpath(path, nil) else { return nil }
        defer { free(text) }
        return String(cString: text)
    }

    private static func failure(_ what: String, _ path: String, _ code: Int32) -> StartFailure {
        StartFailure(status: ExitStatus.cannotCreate, message: "\(what) \(path): \(Diagnostics.reason(code))")
    }
}
