/// A loop that publishes nothing itself: the content of its beacon comes from sampling its thread, and its times are known within
/// bounds.
package protocol SampledLoop: ObservableLoop {
    /// What is known about the present stretch of work and about the last one that ended. The watchdog's thread, between two
    /// samples.
    var sampledStretches: SampledStretches { get }
}
