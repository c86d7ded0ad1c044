/// When which step is due: a plan without a clock.
///
/// The main thread does one thing at a time, so executions that would overlap queue up: the one that was due first
/// goes first (of equals, the first step in the list), and the next one follows after ``idleGap`` at the
/// earliest. What is injected is therefore always one stall at a time, with an idle main thread before and after it.
///
/// All times count from the start of the run.
package struct WorkloadPlan: Sendable {
    /// One callback to be run on the main thread.
    package struct Execution: Sendable, Equatable {
        package let kind: WorkloadKind
        /// Not before this.
        package let due: Duration
        package let length: Duration
    }

    /// One step, with its remaining executions. A run of a `short` step consists of many pieces, any other of one.
    private struct Lane {
        let step: WorkloadStep
        let piecesPerRun: Int
        let pieceLength: Duration
        /// How many pieces were taken, over all runs.
        var taken = 0

        /// Unlimited where the step repeats and names no count.
        var isOver: Bool {
            let runs = taken / piecesPerRun
            guard let count = step.count ?? (step.everyMilliseconds == nil ? 1 : nil) else { return false }
            return runs >= count
        }

        var due: Duration {
            let (run, piece) = taken.quotientAndRemainder(dividingBy: piecesPerRun)
            let milliseconds = step.startMilliseconds + run * (step.everyMilliseconds ?? 0)
            return .milliseconds(milliseconds) + WorkloadPlan.shortSpacing * piece
        }
    }

    /// How long the main thread is idle between two executions: long enough for its loop to sleep and
    /// for the watchdog to notice it.
    static let idleGap: Duration = .milliseconds(20)
    /// From the beginning of one short callback to the next one's.
    static let shortSpacing: Duration = .milliseconds(10)
    /// How long a short callback takes, unless that is too close to the threshold.
    static let shortLength: Duration = .milliseconds(5)
    /// Between two short callbacks, the loop only has to start to sleep.
    static let shortGap: Duration = .milliseconds(4)

    private var lanes: [Lane]

    /// - Parameter threshold: the shortest stall that is reported; a short callback stays at a tenth of it or below.
    package init(steps: [WorkloadStep], threshold: Duration) {
        lanes = steps.map { step in
            guard step.kind == .short else {
                return Lane(step: step, piecesPerRun: 1, pieceLength: .milliseconds(step.forMilliseconds))
            }
            let pieces = max(1, step.forMilliseconds / 10)
            return Lane(step: step, piecesPerRun: pieces, pieceLength: min(Self.shortLength, threshold / 10))
        }
    }

    /// Takes the next execution.
    ///
    /// - Parameter lastEnd: when the last one was over and what it was; nil before the first one.
    /// - Returns: nil when the plan is done.
    mutating func next(after lastEnd: (time: Duration, kind: WorkloadKind)?) -> Execution? {
        // `min` keeps the first of equals.
        guard let index = lanes.indices.filter({ !lanes[$0].isOver }).min(by: { lanes[$0].due < lanes[$1].due }) else {
            return nil
        }
        let lane = lanes[index]
        lanes[index].taken += 1
        var due = lane.due
        if let lastEnd {
            let isBurst = lastEnd.kind == .short && lane.step.kind == .short
            due = max(due, lastEnd.time + (isBurst ? Self.shortGap : Self.idleGap))
        }
        return Execution(kind: lane.step.kind, due: due, length: lane.pieceLength)
    }
}
