/// Something that may turn out to be a loop: it is watched from the beginning, so that its first stall is not missed.
package protocol CandidateLoop: ObservableLoop {
    /// Whether it is known to be a loop; once true, always true. Until then nothing about it is reported or counted. Any thread.
    var isConfirmed: Bool { get }
    /// Whether its latest stretch of work may not be a loop's: nothing more of it is reported until it returns to its wait, or
    /// is found to keep a client waiting. Any thread.
    var isDoubtful: Bool { get }
    /// A stall of it is reported. The reporter's thread.
    func recordReport()
}

extension CandidateLoop {
    package var isDoubtful: Bool { false }
    package func recordReport() {}
}
