#if DEBUG
internal import Glibc

/// Copies every line that is made to the file that `LAG_TEST_LINES` names; in debug builds alone.
///
/// The test suite sets it, so that each line that any of its programs makes, whatever becomes of the line, is held
/// against the schema at the end. Any thread; one `write` a line, so that lines of several programs stay whole.
enum LineTap {
    /// nil: nobody asks.
    private static let descriptor: Int32? = {
        guard let path = getenv("LAG_TEST_LINES") else { return nil }
        let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
        return descriptor < 0 ? nil : descriptor
    }()

    static func take(_ writer: borrowing JSONLineWriter) {
        guard let descriptor else { return }
        writer.withBytes { _ = write(descriptor, $0.baseAddress, $0.count) }
    }
}
#endif
