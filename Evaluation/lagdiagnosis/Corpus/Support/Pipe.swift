internal import Glibc
internal import LagMonitor
internal import StallFixtures

/// A pipe whose ends children do not inherit.
struct Pipe {
    let read: Int32
    let write: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        let code = corpus_pipe(&ends)
        guard code == 0 else { throw DiagnosisFailure("pipe: \(reasonText(code))") }
        (read, write) = (ends[0], ends[1])
    }

    /// Has another thread write a byte at `end`.
    func fill(at end: MonotonicTime) throws {
        try helper("writer") {
            rest(until: end)
            _ = Glibc.write(write, "x", 1)
        }
    }
}
