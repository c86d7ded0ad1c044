#if DEBUG
    internal import Glibc

    /// Copies every line to the file that `LAG_TEST_LINES` names; only in debug builds.
    ///
    /// The test suite sets it, so that each line that any of its programs creates is checked against the schema at the end, even
    /// if the line is lost later. Any thread; one `write` per line, so that lines of several programs stay intact. The file is
    /// opened for each line, because tests count the descriptors that a monitor leaves.
    enum LineTap {
        /// nil: not set. Copied, because the environment may change.
        private static let path: String? = getenv("LAG_TEST_LINES").map { String(cString: $0) }

        static func take(_ writer: borrowing JSONLineWriter) {
            guard let path else { return }
            let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { return }
            writer.withBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
            close(descriptor)
        }
    }
#endif
