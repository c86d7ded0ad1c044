import Foundation

/// Represents a database client that blocks its caller, as clients built on a C library do. Its server is a slow thread at the
/// other end of two pipes.
struct OrderDatabase: Sendable {
    private let queries: Int32
    private let answers: Int32

    struct Unavailable: Error {}

    init() throws {
        var (there, back): ([Int32], [Int32]) = ([0, 0], [0, 0])
        guard pipe(&there) == 0, pipe(&back) == 0 else { throw Unavailable() }
        (queries, answers) = (there[1], back[0])
        let (input, output) = (there[0], back[1])
        Thread.detachNewThread {
            var query: UInt8 = 0
            while read(input, &query, 1) == 1 {
                usleep(400_000)
                _ = write(output, &query, 1)
            }
        }
    }

    func count() throws -> Int {
        var query: UInt8 = 42
        guard write(queries, &query, 1) == 1 else { throw Unavailable() }
        return try waitForAnswer()
    }

    @inline(never) private func waitForAnswer() throws -> Int {
        var answer: UInt8 = 0
        guard read(answers, &answer, 1) == 1 else { throw Unavailable() }
        return Int(answer)
    }
}
