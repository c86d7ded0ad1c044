internal import Glibc

/// A command as the user wrote it: found like in a shell, and passed on byte for byte.
struct WrappedCommand {
    /// Its arguments, the name first, terminated by nil: raw bytes, which need not be valid UTF-8.
    let arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    /// Owns the arguments; nil: they are this process's.
    private let memory: AnyObject?

    private init(arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) {
        self.arguments = arguments
        memory = nil
    }

    /// - Parameter words: its name and its arguments; without a zero byte.
    init(words: [String]) {
        let copies = ArgumentCopies(words)
        arguments = copies.pointers
        memory = copies
    }

    private final class ArgumentCopies {
        let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
        private let count: Int

        init(_ words: [String]) {
            count = words.count
            pointers = .allocate(capacity: count + 1)
            for (index, word) in words.enumerated() { (pointers + index).initialize(to: strdup(word)) }
            (pointers + count).initialize(to: nil)
        }

        deinit {
            for index in 0..<count { free(pointers[index]) }
            pointers.deallocate()
        }
    }

    /// The command after the first `--` of this process's command line.
    /// - Throws: ``StartFailure`` if nothing follows.
    static func ofCommandLine() throws(StartFailure) -> WrappedCommand? {
        let (all, count) = ProcessArguments.raw
        for index in 1..<max(1, count) {
            guard let argument = all[index], strcmp(argument, "--") == 0 else { continue }
            guard all[index + 1] != nil else {
                throw StartFailure(status: ExitStatus.usage, message: "--: no command follows")
            }
            return WrappedCommand(arguments: all + (index + 1))
        }
        return nil
    }

    /// For messages.
    var name: String { arguments[0].map { String(cString: $0) } ?? "" }

    /// Where the program is.
    /// - Throws: ``StartFailure`` with a shell's status: 127 if it is not found, 126 if it cannot be run.
    func locate(path variable: String?) throws(StartFailure) -> ProgramFile {
        let name = name
        if name.contains("/") {
            if let refusal = Self.refusal(of: name) { throw refusal(name) }
            return ProgramFile(path: name)
        }
        var forbidden: ((String) -> StartFailure)?
        // The default of execvp(3) without PATH.
        for folder in (variable ?? "/bin:/usr/bin").split(separator: ":", omittingEmptySubsequences: false) where !name.isEmpty {
            // An empty entry is the working folder.
            let path = folder.isEmpty ? "./\(name)" : "\(folder)/\(name)"
            guard let refusal = Self.refusal(of: path) else { return ProgramFile(path: path) }
            if refusal("").status == ExitStatus.notExecutable { forbidden = refusal }
        }
        let shown = name.isEmpty ? "\"\"" : name
        throw forbidden?(name) ?? StartFailure(status: ExitStatus.notFound, message: "\(shown): command not found")
    }

    /// `nil` when the file can be run.
    private static func refusal(of path: String) -> ((String) -> StartFailure)? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            let code = errno
            let isMissing = code == ENOENT || code == ENOTDIR
            return { failure($0, code, isMissing ? ExitStatus.notFound : ExitStatus.notExecutable) }
        }
        if status.st_mode & S_IFMT == S_IFDIR { return { failure($0, EISDIR, ExitStatus.notExecutable) } }
        guard faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 else {
            let code = errno
            return { failure($0, code, ExitStatus.notExecutable) }
        }
        return nil
    }

    /// The failure for an error of `execve`.
    static func failure(_ name: String, _ code: Int32) -> StartFailure {
        failure(name, code, code == ENOENT ? ExitStatus.notFound : ExitStatus.notExecutable)
    }

    private static func failure(_ name: String, _ code: Int32, _ status: Int32) -> StartFailure {
        StartFailure(status: status, message: "\(name): \(Diagnostics.reason(code))")
    }
}
