/// Something that may turn out to be a loop: it is watched from the beginning, so that its first stall is not missed.
package protocol CandidateLoop: ObservableLoop {
    /// Whether it is known to be a loop; once true, always true. Until then nothing about it is reported or counted. Any thread.
    var isConfirmed: Bool { get }
    /// Whether its work at this time may not be a loop's: nothing of that is reported until it returns to its wait, or is found
    /// to keep a client waiting. Only its latest stretch of work may be in doubt. Any thread.
    func isDoubtful(at time: UInt64) -> Bool
    /// A stall of it is reported. The reporter's thread.
    func recordReport()
}

extension CandidateLoop {
    package func isDoubtful(at time: UInt64) -> Bool { false }
    package func recordReport() {}
}
