// Fields of stalls whose content in the line is not that of one property.
extension FieldTable {
    static let computed: [FieldDefinition] = [
        .field(.durationMinimum, "duration_min_ms", .leastDuration)
            .means("If the duration is not known exactly: its lower bound."),
        .field(.durationMaximum, "duration_max_ms", .mostDuration)
            .means("If the duration is not known exactly: its upper bound."),
        .field(.mono, "mono_us", .monotonicStart, required: .all, in: .fields)
            .andNotice { .count($0.time.monotonicNanoseconds / 1000) }
            .means("CLOCK_MONOTONIC at the line's time, in microseconds."),
        .field(.workersTotal, "workers_total", .workerCount, in: .fields)
            .means("For a pool: the number of threads that worked for it."),
        .field(.framesTotal, "frames_total", .wholeDepth, required: .stall, keep: .always)
            .means("The stack's depth before any frame was left out; inlined frames not counted."),
        .field(.sampleTree, "sample_tree", .mergedStacks, in: [])
            .means("All sampled stacks, merged: the roots."),
    ]
}

extension FieldAccess {
    // The bounds of the duration are read back in the order of the table: the upper one needs the lower one.

    static let leastDuration = FieldAccess.stall(
        .milliseconds,
        { $0.durationBounds.map { .milliseconds($0.lowerBound) } },
        store: { record, value in
            guard case .milliseconds(let least) = value else { return false }
            record.durationBounds = least...least
            return true
        }
    )

    static let mostDuration = FieldAccess.stall(
        .milliseconds,
        { $0.durationBounds.map { .milliseconds($0.upperBound) } },
        store: { record, value in
            guard case .milliseconds(let most) = value, let least = record.durationBounds?.lowerBound else { return false }
            record.durationBounds = least <= most ? least...most : nil
            return true
        }
    )

    /// Microseconds in the line.
    static let monotonicStart = FieldAccess.stall(
        .count,
        { .count($0.startMonotonicNanoseconds / 1000) },
        store: { record, value in
            guard case .count(let microseconds) = value else { return false }
            record.startMonotonicNanoseconds = microseconds.saturatingProduct(1000)
            return true
        }
    )

    /// Not read back into a record.
    static let workerCount = FieldAccess.stall(.count) { $0.workers.isEmpty ? nil : .count($0.workersTotal) }
    /// Not read back into a record.
    static let mergedStacks = FieldAccess.stall(.sampleTree) { $0.sampleTree.isEmpty ? nil : .sampleTree($0.sampleTree) }

    static let wholeDepth = FieldAccess.stall(
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
