// The stack, the culprit, and the counters.
extension FieldTable {
    static let stack: [FieldDefinition] = [
        .field(.capture, "capture", .oneOf(\.capture), required: .stall, keep: .essential)
            .means("How the stack was captured; none: no stack."),
        .field(.captureError, "capture_error", .text(\.captureError), cap: .reason)
            .means("Why there is no stack, or why a better capture method failed."),
        .field(.framePointerRecovered, "frame_pointer_recovered", .flag(\.framePointerRecovered), in: .fields).means(
            """
            The stack was unwound with a frame pointer that was found by a search, or by frame pointers through code without \
            unwind tables, such as JIT-compiled code.
            """
        ),
        .field(.unwindEnd, "unwind_end", .text(\.unwindEnd), in: .fields)
            .means("Why the stack does not reach the thread's first frame."),
        .field(.samples, "samples", .count(\.samples), required: .stall, keep: .essential)
            .means("How often the stack was sampled."),
        .field(.samplesMatched, "samples_matched", .count(\.samplesMatched), required: .stall, keep: .essential)
            .means("How often the sampled stack was this one."),
        .field(.samplesShare, "samples_share", .share(\.samplesShare), in: .fields)
            .means("The share of the stall's time that this stack covers."),
        .field(.workersTotal, "workers_total", workerCount, in: .fields)
            .means("For a pool: the number of threads that worked for it."),
        .field(.workers, "workers", .workers(\.workers), in: [])
            .means("Those threads, by what they were last found doing; the first group is the one of the record's own stack."),
        .field(.culprit, "culprit", .text(\.culprit), cap: .symbol, keep: .essential)
            .andNotice { $0.culprit.map(FieldValue.text) }
            .means("The function to blame."),
        .field(.culpritConfidence, "culprit_confidence", .share(\.culpritConfidence), keep: .essential)
            .means("How certain that is."),
    ]

    static let counters: [FieldDefinition] = [
        .field(.sequence, "seq", .count(\.sequence), required: .stall, keep: .essential)
            .means("Counts the lines about stalls: a gap is a loss."),
        .field(.droppedTotal, "dropped_total", lost, required: [.stall, .dropped], keep: .essential, in: .fields)
            .means("Lines lost so far in this process."),
        .field(.suppressedTotal, "suppressed_total", heldBack, required: [.stall, .suppressed], keep: .essential, in: .fields)
            .means("Stalls held back by a limit so far in this process."),
        .field(.late, "late", .flag(\.isLate), in: .fields)
            .means("Only when true: the line was kept on disk while its destination did not accept it, and sent afterwards."),
        .field(.framesTotal, "frames_total", wholeDepth, required: .stall, keep: .always)
            .means("The stack's depth before any frame was left out; inlined frames not counted."),
        .field(.frames, "frames", .frames(\.frames), required: .stall, keep: .always, in: .metadata)
            .means("The stack, leaf first."),
        .field(.sampleTree, "sample_tree", mergedStacks, in: [])
            .means("All sampled stacks, merged: the roots."),
    ]

    private static let lost = FieldAccess.count(\.droppedTotal).andNotice { $0.droppedTotal.map(FieldValue.count) }
    private static let heldBack = FieldAccess.count(\.suppressedTotal).andNotice { $0.suppressedTotal.map(FieldValue.count) }

    // These two are not read back into a record.

    private static let workerCount = FieldAccess.stall(.count) { $0.workers.isEmpty ? nil : .count($0.workersTotal) }
    private static let mergedStacks = FieldAccess.stall(.sampleTree) { $0.sampleTree.isEmpty ? nil : .sampleTree($0.sampleTree) }

    private static let wholeDepth = FieldAccess.stall(
        .count,
        { .count(UInt64($0.wholeDepth)) },
        store: { record, value in
            guard case .count(let count) = value else { return false }
            record.framesTotal = Int(clamping: count)
            return true
        }
    )
}

extension StallRecord {
    package var workersTotal: UInt64 { UInt64(workers.reduce(0) { $0 + $1.threadIDs.count }) }

    /// `frames_total`. Inlined frames are not on the stack.
    package var wholeDepth: Int { max(framesTotal, frames.count { $0.inlined != true }) }
}
