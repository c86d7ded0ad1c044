/// Encodes records as lines: JSON, one object, newline included, never longer than its limit.
///
/// In the native format the keys come in the order of the schema's table. If the line would be too long, it loses in this order:
/// the full names; the stack's frames from the root side down to a sufficient number (`frames_total` keeps the depth); the lock
/// owners' frames; more of the stack's own frames. If even a line without frames is too long, strings are cut shorter, and
/// finally the optional fields are left out. No cut is inside a token, and every line has every required field.
///
/// One thread at a time. Cost: one pass over the record, about the cost of copying its text; no allocation once warm.
package struct RecordEncoder: Sendable {
    package let context: ProcessContext
    package let limits: LineLimits
    package let format: RecordFormat
    var writer: JSONLineWriter

    package init(context: ProcessContext, limits: LineLimits = .standard, format: RecordFormat = .native) {
        self.context = context
        self.limits = limits
        self.format = format
        // A frame is written before it is known to be too much: space for one more.
        writer = JSONLineWriter(capacity: limits.maxLineBytes + 2048)
    }

    /// Passes the line of `record` to `body`; the bytes are valid only during the call.
    package mutating func encode<Result, Failure: Error>(
        _ record: StallRecord,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let layout = format.layout {
            layout.write(record, context: context, limits: limits, to: &writer)
        } else {
            write(record)
        }
        return try finish(body)
    }

    /// Passes the line of a notice to `body`.
    package mutating func encode<Result, Failure: Error>(
        _ notice: Notice,
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let layout = format.layout {
            layout.write(notice, context: context, limits: limits, to: &writer)
        } else {
            write(notice)
        }
        return try finish(body)
    }

    /// The line is done; tests see it, if it has our own schema.
    private func finish<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG
            if format == .native { LineTap.take(writer) }
        #endif
        return try writer.withBytes(body)
    }

    private mutating func write(_ notice: Notice) {
        for caps in StringCaps.fromWideToTight {
            writer.reset()
            writer.write(notice, context: context, caps: caps)
            if writer.count <= limits.maxLineBytes { return }
        }
    }

    private mutating func write(_ record: StallRecord) {
        let evidence = record.evidence
        let owners = [evidence.lockOwner].compactMap { $0 } + evidence.lockCycle + evidence.lockChain
        TruncationStep.fit(
            frames: record.frames.count,
            hasFunctions: record.frames.contains { $0.function != nil },
            ownersHaveFrames: owners.contains { !$0.frames.isEmpty } || record.workers.contains { !$0.frames.isEmpty }
        ) { write(record, $0, $1) }
    }

    /// This fraction of a line is reserved for the tree of samples.
    private static let treeShare = 4
    /// A shorter line has a tree only if the frames leave space.
    private static let minimumLineBytesWithTree = 3000

    /// Returns the line's number of frames, nil if it is too long even without frames.
    private mutating func write(_ record: StallRecord, _ caps: StringCaps, _ step: TruncationStep) -> Int? {
        let limit = limits.maxLineBytes
        writer.reset()
        writer.writeHead(
            of: record,
            context: context,
            caps: caps,
            ownerFrames: step.ownerFrames,
            maxLineBytes: limit
        )
        let fits = writer.count + JSONLineWriter.tailBytes <= limit
        // If the tree is requested, it gets a part of the line even if the frames would fill it.
        let kept = record.sampleTree.isEmpty || limit < Self.minimumLineBytesWithTree ? 0 : limit / Self.treeShare
        let frames = fits ? writer.writeFrames(of: record, withFunctions: step.functions, maxLineBytes: limit - kept) : 0
        writer.endArray()
        let rest = limit - writer.count - JSONLineWriter.tailBytes
        if frames > 0, !record.sampleTree.isEmpty, rest > 0 { writer.writeSampleTree(record.sampleTree, maxBytes: rest) }
        writer.writeTail()
        return fits ? frames : nil
    }
}
