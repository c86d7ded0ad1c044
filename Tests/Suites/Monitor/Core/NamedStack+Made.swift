import LagCapture
import LagModel

@testable import LagDetection
@testable import LagMonitor

extension StallFindings.NamedStack {
    /// Of one sample.
    static func made(_ frames: [StallRecord.Frame], _ outcome: CaptureOutcome) -> StallFindings.NamedStack {
        StallFindings.NamedStack(
            stack: TalliedStack(key: 1, outcome: outcome),
            frames: frames,
            levels: frames,
            index: 0,
            waitKind: nil,
            isSleep: false,
            loopFrames: 0,
            areOfRuntime: [],
            areNamesLost: []
        )
    }
}
