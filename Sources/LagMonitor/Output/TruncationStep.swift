/// What of a record gives way, step by step, until enough of the stack's own frames fit.
package struct TruncationStep {
    package let functions: Bool
    package let ownerFrames: Int
    /// So many of the stack's own frames are enough to take this step.
    package let sufficientFrames: Int

    package static let all = [
        TruncationStep(functions: true, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        // Who holds the lock is half of the answer, and worth more than frames near the root.
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: 16),
        TruncationStep(functions: false, ownerFrames: 3, sufficientFrames: 8),
    ]
}
