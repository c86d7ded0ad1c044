/// A sink that follows every stall of a monitor, also those whose lines a limit holds back: for counts and states. Reporter
/// thread.
package protocol StallObserver: RecordSink {
    /// A stall is in progress (phase `begin`) or over. Its line, if one is due, has been passed to every sink.
    func observe(_ stall: LineFacts.Stall)
}
