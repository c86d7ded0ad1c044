#if DEBUG
    internal import Glibc

    /// Copies every line that is made to the file that `LAG_TEST_LINES` names; in debug builds alone.
    ///
    /// The test suite sets it, so that each line that any of its programs makes, whatever becomes of the line, is held
    /// against the schema at the end. Any thread; one `write` a line, so that lines of several programs stay whole. The file
    /// is opened for each: tests count what descriptors a monitor leaves.
    enum LineTap {
        /// nil: it is not set. Copied, the environment may change.
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
