internal import LagOutput

/// A format that only writes. How much fits is tried here, with less and less until the line fits. The same data is removed in
/// the same order as in the native format.
protocol SubjectLayout: LineLayout {
    /// Writes the whole line, newline included.
    func write(_ event: LineSubject, _ detail: LineDetail, context: ProcessContext, to writer: inout JSONLineWriter)
}

/// How much of an event is written.
struct LineDetail {
    let caps: StringCaps
    /// A longer line will not be used: once this is exceeded, frames may be left out.
    let maxLineBytes: Int
    /// The stalled thread's frames, from the leaf on.
    var frames = 0
    /// Whether frames have their full names, if these contain more.
    var functions = false
    /// Frames of each thread that holds a lock.
    var ownerFrames = 0
}

extension SubjectLayout {
    package func write(_ record: StallRecord, context: ProcessContext, limits: LineLimits, to writer: inout JSONLineWriter) {
        let event = LineSubject(record)
        let line = SubjectLine(layout: self, event: event, context: context, maxLineBytes: limits.maxLineBytes)
        TruncationStep.fit(
            frames: event.frames.count,
            hasFunctions: event.frames.contains { $0.function != nil },
            ownersHaveFrames: event.owners.contains { !$0.frames.isEmpty } || !event.workers.isEmpty
        ) { line.writeMostFrames($0, $1, &writer) }
    }

    package func write(_ notice: Notice, context: ProcessContext, limits: LineLimits, to writer: inout JSONLineWriter) {
        let subject = LineSubject(notice)
        for caps in StringCaps.fromWideToTight {
            writer.reset()
            write(subject, LineDetail(caps: caps, maxLineBytes: limits.maxLineBytes), context: context, to: &writer)
            if writer.count <= limits.maxLineBytes { return }
        }
    }
}

/// One record's line for a format.
private struct SubjectLine {
    let layout: any SubjectLayout
    let event: LineSubject
    let context: ProcessContext
    let maxLineBytes: Int

    /// As many frames as fit, from the leaf on. One more is always longer, so halving finds the number.
    /// - Returns: their number, nil if the line is too long even without frames.
    func writeMostFrames(_ caps: StringCaps, _ step: TruncationStep, _ writer: inout JSONLineWriter) -> Int? {
        var detail = LineDetail(caps: caps, maxLineBytes: maxLineBytes)
        detail.functions = step.functions
        detail.ownerFrames = step.ownerFrames
        if write(detail, frames: event.frames.count, &writer) { return event.frames.count }
        guard write(detail, frames: 0, &writer) else { return nil }
        var low = 0
        var high = event.frames.count
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if write(detail, frames: middle, &writer) { low = middle } else { high = middle }
        }
        _ = write(detail, frames: low, &writer)
        return low
    }

    /// Whether the line is within the limit.
    private func write(_ detail: LineDetail, frames: Int, _ writer: inout JSONLineWriter) -> Bool {
        var detail = detail
        detail.frames = frames
        writer.reset()
        layout.write(event, detail, context: context, to: &writer)
        return writer.count <= maxLineBytes
    }
}
