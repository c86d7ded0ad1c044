internal import Glibc

/// A descriptor that is closed with its last user; stdin stays open. Any thread.
final class OpenFile: Sendable {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }
}
