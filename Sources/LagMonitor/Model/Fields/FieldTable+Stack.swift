// The stack, who is to blame, and what was counted.
extension FieldTable {
    static let stack: [FieldDefinition] = [
        FieldDefinition(
            .capture,
            "capture",
            .oneOf(CaptureMethod.allCases.map(\.rawValue)),
            required: .stall,
            keep: .essential,
            value: .word(\.capture),
            "How the stack was taken; none: there is no stack."
        ),
        FieldDefinition(
            .captureError,
            "capture_error",
            .text,
            cap: .reason,
            value: .text(\.captureError),
            "Why there is no stack, or none that was taken in a better way."
        ),
        FieldDefinition(
            .framePointerRecovered,
            "frame_pointer_recovered",
            .flag,
            in: .fields,
            value: .flag(\.framePointerRecovered),
            """
            The stack was unwound with a frame pointer that was found by searching for it, or by frame pointers through code that has no \
            unwind tables, such as a compiler at run time makes.
            """
        ),
        FieldDefinition(
            .unwindEnd,
            "unwind_end",
            .text,
            in: .fields,
            value: .text(\.unwindEnd),
            "Why the stack does not reach the thread's first frame."
        ),
        FieldDefinition(
            .samples,
            "samples",
            .count,
            required: .stall,
            keep: .essential,
            value: .count(\.samples),
            "How often the stack was sampled."
        ),
        FieldDefinition(
            .samplesMatched,
            "samples_matched",
            .count,
            required: .stall,
            keep: .essential,
            value: .count(\.samplesMatched),
            "How often it was this stack."
        ),
        FieldDefinition(
            .samplesShare,
            "samples_share",
            .share,
            in: .fields,
            value: .share(\.samplesShare),
            "The share of the stall's time that this stack covers."
        ),
        FieldDefinition(
            .workersTotal,
            "workers_total",
            .count,
            in: .fields,
            value: .stall { $0.workers.isEmpty ? nil : .count($0.workersTotal) },
            "Of a pool, the threads that worked for it."
        ),
        FieldDefinition(
            .workers,
            "workers",
            .workers,
            in: [],
            value: .stored(\.workers, { $0.isEmpty ? nil : .workers($0) }) {
                if case .workers(let workers) = $0 { workers } else { nil }
            },
            "Those threads, by what they were last found doing; the first group is the one of the record's own stack."
        ),
        FieldDefinition(
            .culprit,
            "culprit",
            .text,
            cap: .symbol,
            keep: .essential,
            value: .text(\.culprit).andNotice { $0.culprit.map(FieldValue.text) },
            "The function to blame."
        ),
        FieldDefinition(
            .culpritConfidence,
            "culprit_confidence",
            .share,
            keep: .essential,
            value: .share(\.culpritConfidence),
            "How sure that is."
        ),
    ]

    static let counters: [FieldDefinition] = [
        FieldDefinition(
            .sequence,
            "seq",
            .count,
            required: .stall,
            keep: .essential,
            value: .count(\.sequence),
            "Counts the lines about stalls: a gap is a loss."
        ),
        FieldDefinition(
            .droppedTotal,
            "dropped_total",
            .count,
            required: [.stall, .dropped],
            keep: .essential,
            in: .fields,
            value: .count(\.droppedTotal).andNotice {
                if case .dropped(_, _, let total) = $0.content { .count(total) } else { nil }
            },
            "Lines lost so far in this process."
        ),
        FieldDefinition(
            .suppressedTotal,
            "suppressed_total",
            .count,
            required: [.stall, .suppressed],
            keep: .essential,
            in: .fields,
            value: .count(\.suppressedTotal).andNotice {
                if case .suppressed(_, let total) = $0.content { .count(total) } else { nil }
            },
            "Stalls held back by a limit so far in this process."
        ),
        FieldDefinition(
            .late,
            "late",
            .flag,
            in: .fields,
            value: .flag(\.isLate),
            "Only when true: the line was kept on disk while its destination did not take it, and sent afterwards."
        ),
        FieldDefinition(
            .framesTotal,
            "frames_total",
            .count,
            required: .stall,
            keep: .always,
            value: .stall({ .count(UInt64($0.wholeDepth)) }) { record, value in
                guard case .count(let count) = value else { return false }
                record.framesTotal = Int(clamping: count)
                return true
            },
            "The stack's depth before any frame was left out; inlined frames not counted."
        ),
        FieldDefinition(
            .frames,
            "frames",
            .frames,
            required: .stall,
            keep: .always,
            in: .metadata,
            value: .stored(\.frames, FieldValue.frames) { if case .frames(let frames) = $0 { frames } else { nil } },
            "The stack, leaf first."
        ),
        FieldDefinition(
            .sampleTree,
            "sample_tree",
            .sampleTree,
            in: [],
            value: .stall { $0.sampleTree.isEmpty ? nil : .sampleTree($0.sampleTree) },
            "All stacks that were seen, merged: the roots."
        ),
    ]
}

extension StallRecord {
    /// `workers_total`.
    package var workersTotal: UInt64 { UInt64(workers.reduce(0) { $0 + $1.threadIDs.count }) }

    /// `frames_total`. Inlined frames have no place on the stack.
    package var wholeDepth: Int { max(framesTotal, frames.count { $0.inlined != true }) }
}
