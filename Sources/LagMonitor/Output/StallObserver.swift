/// A sink that follows every stall that a monitor knows, also those of which a limit holds the lines back: for counts and states. Reporter thread.
package protocol StallObserver: RecordSink {
    /// A stall goes on (phase `begin`) or is over. Its line, where one is due, was given to every sink.
    func observe(_ stall: LineFacts.Stall)
}
