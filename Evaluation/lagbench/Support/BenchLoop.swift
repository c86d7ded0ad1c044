internal import LagActivity

/// A watched loop that consists only of a beacon: the benchmark publishes its activities.
final class BenchLoop: ObservableLoop {
    let beacon = ActivityBeacon()
    // No thread: these loops never stall, so nothing is captured.
    let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
    let name: String

    init(name: String) { self.name = name }
}
