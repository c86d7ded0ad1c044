internal import CLibunwind
internal import LagModel

@testable import LagCapture
@testable import LagDetection

/// Samples at times in milliseconds since ``start``.
extension StackTally {
    static let start: UInt64 = 1000 * millisecond

    static func small() -> StackTally { StackTally(maximumFrames: 4)! }

    /// A sample of a stack of one frame, whose address is the key.
    @discardableResult
    func observe(_ key: UInt64, _ milliseconds: UInt64) -> (index: Int, isSame: Bool, isNew: Bool) {
        add(.passive(), .stack([key]), key: key, at: Self.start + milliseconds * millisecond)
    }

    /// The same of a thread of a pool.
    @discardableResult
    func observe(worker: Int32, _ key: UInt64, _ milliseconds: UInt64) -> (index: Int, isSame: Bool, isNew: Bool) {
        add(worker: worker, .passive(), .stack([key]), key: key, at: Self.start + milliseconds * millisecond)
    }

    /// Milliseconds by key.
    var weights: [UInt64: Double] {
        Dictionary(
            uniqueKeysWithValues: (0..<count).map { (self[$0].key, Double(self[$0].weightNanoseconds) / Double(millisecond)) }
        )
    }
}

extension CaptureOutcome {
    static func passive(_ stored: Int = 1) -> CaptureOutcome {
        CaptureOutcome(method: .passive, failure: nil, stored: stored, total: stored)
    }
}

extension FrameBuffer {
    static func stack(_ counters: [UInt64]) -> FrameBuffer {
        let buffer = FrameBuffer(capacity: 64)
        for (index, counter) in counters.enumerated() {
            buffer.raw[index] = clu_frame()
            buffer.raw[index].pc = counter
        }
        return buffer
    }
}
