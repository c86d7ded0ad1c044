internal import Glibc

/// A descriptor that accepts whole lines: the common part of file and descriptor sinks. It owns the descriptor.
///
/// One thread at a time. A line that was begun is finished before the next one: if the reader is too slow or the disk is full,
/// the rest is kept, so no line is ever cut in the middle while the descriptor exists.
package struct LineDescriptor: ~Copyable {
    let descriptor: Int32
    let kind: DescriptorKind
    /// The rest of a partly written line, or the newline that another program's last line lacks.
    private var rest: [UInt8] = []
    private var restIsOurs = true
    /// Lines whose rest had to be abandoned.
    private var abandonedLines: UInt64 = 0

    /// Takes ownership of `descriptor`.
    /// - Parameter needsNewline: the present end is in the middle of another program's line; the first line here begins with a
    ///   newline.
    package init(owning descriptor: Int32, kind: DescriptorKind, needsNewline: Bool = false) {
        self.descriptor = descriptor
        self.kind = kind
        if needsNewline {
            rest.append(UInt8(ascii: "\n"))
            restIsOurs = false
        }
    }

    deinit { _ = Glibc.close(descriptor) }

    var isMidLine: Bool { !rest.isEmpty }

    /// Writes `line` with the guarantees of ``RecordSink/write(_:)``.
    package mutating func write(_ line: UnsafeRawBufferPointer, path: String, deadline: WriteDeadline) throws(SinkError) {
        try finishRest(path: path, deadline: deadline)
        var written = 0
        do throws(SinkError) {
            try writeAll(line, written: &written, path: path, deadline: deadline)
        } catch {
            // Nothing arrived, or nothing more can arrive: the whole line is lost.
            guard written > 0, error.reason != .readerGone else { throw error }
            rest.append(contentsOf: line[written...])
            restIsOurs = true
        }
    }

    package mutating func finishRest(path: String, deadline: WriteDeadline) throws(SinkError) {
        guard isMidLine else { return }
        var written = 0
        // Moved out for the call: the bytes are read while `self` is in use.
        let pending = rest
        let span = pending.span
        do throws(SinkError) {
            try span.withUnsafeBufferPointer { buffer throws(SinkError) in
                try Self.writeAll(
                    UnsafeRawBufferPointer(buffer),
                    to: descriptor,
                    kind: kind,
                    written: &written,
                    path: path,
                    deadline: deadline
                )
            }
            rest.removeAll(keepingCapacity: true)
        } catch {
            rest.removeFirst(written)
            if error.reason == .readerGone { abandonRest() }
            throw error
        }
    }

    package mutating func abandonRest() {
        guard isMidLine else { return }
        rest.removeAll(keepingCapacity: true)
        if restIsOurs { abandonedLines += 1 }
    }

    /// How many lines were abandoned since the last call.
    package mutating func takeAbandoned() -> UInt64 {
        defer { abandonedLines = 0 }
        return abandonedLines
    }

    private func writeAll(
        _ bytes: UnsafeRawBufferPointer,
        written: inout Int,
        path: String,
        deadline: WriteDeadline
    ) throws(SinkError) {
        try Self.writeAll(bytes, to: descriptor, kind: kind, written: &written, path: path, deadline: deadline)
    }

    private static func writeAll(
        _ bytes: UnsafeRawBufferPointer,
        to descriptor: Int32,
        kind: DescriptorKind,
        written: inout Int,
        path: String,
        deadline: WriteDeadline
    ) throws(SinkError) {
        while written < bytes.count {
            let part = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let outcome = kind.write(part, to: descriptor)
            if outcome.count > 0 {
                written += outcome.count
                continue
            }
            switch outcome.code {
            case EINTR: continue
            case EAGAIN:
                guard deadline.waitUntilWritable(descriptor) else { throw SinkError(.tooSlow, path: path) }
            case EPIPE, ECONNRESET: throw SinkError(.readerGone, path: path, code: outcome.code)
            default: throw SinkError(.writeFailed, path: path, code: outcome.code)
            }
        }
    }
}
