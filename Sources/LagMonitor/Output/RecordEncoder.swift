/// Makes lines of records: JSON, one object, newline included, never longer than its limit.
///
/// In the native format keys come in the order of the schema's table. When the line would be too long, first the full names go, then the stack's frames
/// from the root side (`frames_total` keeps the depth) down to a number that says enough, then the lock owners' frames, then more
/// of the stack's own; if even a line without frames is too
/// long, strings are cut harder and at last the optional fields go. No cut is inside a token, and every line has
/// every required field.
///
/// One thread at a time. Cost: one pass over the record, about the copying of its text; no allocation once warm.
package struct RecordEncoder: Sendable {
    package let context: ProcessContext
    package let limits: LineLimits
    package let format: RecordFormat
    var writer: JSONLineWriter

    package init(context: ProcessContext, limits: LineLimits = .standard, format: RecordFormat = .native) {
        self.context = context
        self.limits = limits
        self.format = format
        // A frame is written before it is known to be too much: room for one more.
        writer = JSONLineWriter(capacity: limits.maxLineBytes + 2048)
    }

    /// The line of `record`, handed to `body`; the bytes are valid during the call only.
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

    /// The line of a notice, handed to `body`.
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

    /// The line is done; tests see it, if it is one of our own schema.
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

    /// One part in so many of a line is kept for the tree of samples.
    private static let treeShare = 4
    /// A shorter line has a tree only where the frames leave room.
    private static let minimumLineBytesWithTree = 3000

    /// Returns how many frames the line has, nil when it is too long without any.
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
        // Who asks for the tree gets a part of it also where the frames would fill the line.
        let kept = record.sampleTree.isEmpty || limit < Self.minimumLineBytesWithTree ? 0 : limit / Self.treeShare
        let frames = fits ? writer.writeFrames(of: record, withFunctions: step.functions, maxLineBytes: limit - kept) : 0
        writer.endArray()
        let rest = limit - writer.count - JSONLineWriter.tailBytes
        if frames > 0, !record.sampleTree.isEmpty, rest > 0 { writer.writeSampleTree(record.sampleTree, maxBytes: rest) }
        writer.writeTail()
        return fits ? frames : nil
    }
}
