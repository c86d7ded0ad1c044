/// What is removed from a record, step by step, until enough of the stack's own frames fit.
package struct TruncationStep {
    package let functions: Bool
    package let ownerFrames: Int
    /// With this many of the stack's own frames, the step is sufficient.
    let sufficientFrames: Int

    private static let all = [
        TruncationStep(functions: true, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: .max),
        // The lock's holder is half of the answer, and more important than frames near the root.
        TruncationStep(functions: false, ownerFrames: LineLimits.maximumOwnerFrames, sufficientFrames: 16),
        TruncationStep(functions: false, ownerFrames: 3, sufficientFrames: 8),
    ]
    private static let last = TruncationStep(functions: false, ownerFrames: 0, sufficientFrames: 0)

    /// Writes a line with the widest strings with which the leaf frame fits; otherwise with the widest that fit at all. The
    /// culprit is more important than one frame, so the tightest strings, which omit it, are the last resort.
    /// - Parameters:
    ///   - hasFunctions: whether frames have full names with more information.
    ///   - ownersHaveFrames: whether there are stacks of other threads.
    ///   - write: writes the line again. Returns its number of frames, nil if it is too long even without frames.
    package static func fit(
        frames: Int,
        hasFunctions: Bool,
        ownersHaveFrames: Bool,
        _ write: (StringCaps, TruncationStep) -> Int?
    ) {
        func attempt(_ caps: StringCaps) -> Int? {
            for step in all where step.functions ? hasFunctions : ownersHaveFrames {
                let written = write(caps, step)
                if let written, written >= min(step.sufficientFrames, frames) { return written }
            }
            return write(caps, last)
        }
        let levels = StringCaps.fromWideToTight
        var widest: StringCaps?
        for caps in levels where caps.priority > .always {
            guard let written = attempt(caps) else { continue }
            if written > 0 || frames == 0 { return }
            widest = widest ?? caps
        }
        // Not nil for any allowed limit: a test tries the lowest limit with the longest values.
        _ = attempt(widest ?? levels[levels.count - 1])
    }
}
