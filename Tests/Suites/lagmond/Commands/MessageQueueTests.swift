import Glibc
import Synchronization
internal import TestSupport
internal import Testing

@testable internal import lagmond

@Suite("Messages that wait for their reader")
struct MessageQueueTests {
    private static func text(_ line: [UInt8]) -> String { String(decoding: line, as: UTF8.self) }

    /// Who reports goes on; what is too much is dropped, and the next line says how much.
    @Test func `a reader that stands still holds up its thread alone`() throws {
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
        // Taken, so that what comes now is one more batch.
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
