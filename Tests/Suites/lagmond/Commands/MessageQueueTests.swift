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
        let written = Mutex<[String]>([])
        let queue = try #require(
            MessageQueue.start(most: 3) { line in
                while !isReading.load(ordering: .acquiring) { usleep(1000) }
                written.withLock { $0.append(Self.text(line)) }
            }
        )
        for number in 1...5 { queue.add(Array("\(number)".utf8)) }
        #expect(!queue.isEmpty && written.withLock { $0.isEmpty })
        isReading.store(true, ordering: .releasing)
        #expect(eventually { queue.isEmpty })
        queue.add(Array("6".utf8))
        #expect(eventually { queue.isEmpty })
        let lines = written.withLock { $0 }
        #expect(lines.filter { $0.count == 1 } == ["1", "2", "3", "6"])
        #expect(
            lines.count == 5 && lines.contains { $0.hasSuffix(": 2 messages were dropped: stderr is not read\n") },
            "\(lines)"
        )
    }
}
