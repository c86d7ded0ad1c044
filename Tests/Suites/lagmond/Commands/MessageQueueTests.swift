import Glibc
import Synchronization
internal import TestSupport
internal import Testing

@testable internal import lagmond

@Suite("Queue of messages for a slow reader")
struct MessageQueueTests {
    private static func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

    /// The reporting thread continues; messages above the limit are dropped, and the next line reports how many.
    @Test func `a reader that does not read delays only the queue thread`() throws {
        let isReading = Atomic(false)
        let hasBegun = Atomic(false)
        let written = Mutex<[String]>([])
        let queue = try #require(
            MessageQueue.start(most: 3) { line in
                hasBegun.store(true, ordering: .releasing)
                while !isReading.load(ordering: .acquiring) { usleep(1000) }
                written.withLock { $0.append(Self.text(line)) }
            }
        )
        queue.add(Array("1".utf8))
        // The message has left the queue, so the next messages are a new batch.
        #expect(eventually { hasBegun.load(ordering: .acquiring) })
        for number in 2...5 { queue.add(Array("\(number)".utf8)) }
        #expect(!queue.isEmpty && written.withLock { $0.isEmpty })
        isReading.store(true, ordering: .releasing)
        #expect(eventually { queue.isEmpty })
        queue.add(Array("6".utf8))
        #expect(eventually { queue.isEmpty })
        let lines = written.withLock { $0 }
        #expect(lines.filter { $0.count == 1 } == ["1", "2", "3", "6"])
        #expect(
            lines.count == 5 && lines[3].hasSuffix("dropped: stderr is not read\n")
                && lines.contains { $0.hasSuffix(": 2 messages were dropped: stderr is not read\n") },
            "\(lines)"
        )
    }
}
