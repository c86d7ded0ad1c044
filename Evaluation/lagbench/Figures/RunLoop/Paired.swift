internal import LagModel
internal import LagRunLoop
internal import Synchronization

/// A figure of the run loop, compared with a peer. The two alternate, so that both have the same conditions, each time on a new
/// thread, so that neither inherits a loop. Reports the medians; the library's run loop must not be slower.
protocol PairedBenchmark: Benchmark {
    var peer: String { get }
    var rounds: Int { get }

    /// One round, in the figure's unit.
    func ours() throws -> Double
    func theirs() throws -> Double
}

extension PairedBenchmark {
    var targets: [Target] { [Target(.ratio, .atLeast(1))] }

    func run() throws -> [BenchLine] {
        var (our, their): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            our.append(try Paired.onNewThread { try ours() })
            their.append(try Paired.onNewThread { try theirs() })
        }
        let line = BenchLine(name, Samples(our).median, unit).comparing(with: peer, Samples(their).median)
        return [line.annotating("rounds", rounds)]
    }
}

/// The common part of paired figures.
enum Paired {
    /// Short operations are repeated more often.
    static func rounds(of count: Int) -> Int {
        switch count {
        case ..<1_000: 51
        case ..<10_000: 11
        case ..<100_000: 3
        default: 1
        }
    }

    static func onNewThread(_ body: @escaping @Sendable () throws -> Double) throws -> Double {
        let box = ResultBox()
        let thread = try BenchThread { box.set(Result { try body() }) }
        thread.join()
        return try box.get()
    }
}

private final class ResultBox: Sendable {
    private let result = PthreadMutex<Result<Double, any Error>>(.failure(BenchmarkFailure("the thread has no result")))

    func set(_ value: Result<Double, any Error>) { result.withLock { $0 = value } }
    func get() throws -> Double { try result.withLock { $0 }.get() }
}

/// A number to which any thread may add.
final class Tally: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .acquiring) }

    func add() { count.add(1, ordering: .acquiringAndReleasing) }
}
