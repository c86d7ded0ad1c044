internal import Glibc

extension SinkError {
    // strerror is thread-safe since glibc 2.32; Debian 12 has 2.36.
    package var codeText: String { strerror(code).map { "\(String(cString: $0)) (errno \(code))" } ?? "errno \(code)" }
}
