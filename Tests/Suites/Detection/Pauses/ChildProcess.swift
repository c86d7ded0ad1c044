import Glibc

/// A shell command in a separate process, which must be ended.
struct ChildProcess {
    let pid: pid_t

    init(_ command: String) throws {
        var pid: pid_t = 0
        let arguments: [UnsafeMutablePointer<CChar>?] = ["/bin/sh", "-c", command].map { (text: String) in strdup(text) } + [nil]
        defer { for argument in arguments { free(argument) } }
        let error = posix_spawn(&pid, "/bin/sh", nil, nil, arguments, environ)
        guard error == 0 else { throw Failure(description: "posix_spawn: \(String(cString: strerror(error)))") }
        self.pid = pid
    }

    func end() {
        kill(pid, SIGKILL)
        while waitpid(pid, nil, 0) < 0, errno == EINTR {}
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }
}
