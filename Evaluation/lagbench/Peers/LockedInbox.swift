internal import Foundation

/// Messages in an array with Foundation's lock, as programs without ports implement it.
// Unchecked: the array is only accessed with the lock held.
final class LockedInbox: @unchecked Sendable {
    private let lock = NSLock()
    private var messages: [Int] = []
    private let handle: @Sendable (Int) -> Void

    init(handle: @escaping @Sendable (Int) -> Void) { self.handle = handle }

    func append(_ message: Int) { lock.withLock { messages.append(message) } }

    /// Handles the received work, on the calling thread.
    func handleAll() {
        let waiting = lock.withLock {
            defer { messages = [] }
            return messages
        }
        for message in waiting { handle(message) }
    }
}
