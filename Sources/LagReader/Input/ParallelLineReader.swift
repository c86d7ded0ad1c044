internal import Dispatch
internal import Glibc
internal import Synchronization

/// What is done with lines. Each reading thread has one of its own; what they found is put together at the end.
package protocol LineConsumer: ~Copyable, SendableMetatype {
    associatedtype Aggregate: Sendable

    /// A line without its newline; it is good during the call. Blank lines do not come.
    mutating func take(_ line: UnsafeRawBufferPointer)
    /// A line that was too long to be kept.
    mutating func takeOverlong()
    consuming func finish() -> Aggregate
}

/// Reads the lines of several files with several threads; the order of the lines is not kept.
package struct ParallelLineReader: Sendable {
    /// A part of a file that a thread takes at once.
    private static let partBytes: UInt64 = 8 << 20

    private struct Part {
        let file: InputFile
        /// Nil: the whole file, one line after the other.
        let range: Range<UInt64>?
    }

    private let parts: [Part]
    private let workers: Int
    private let progress: ReadProgress

    /// - Parameter workers: how many threads at most; there are never more than parts.
    package init(_ files: [InputFile], workers: Int, progress: ReadProgress? = nil) {
        parts = files.flatMap { file -> [Part] in
            guard case .plain(let bytes) = file.content else { return [Part(file: file, range: nil)] }
            let end = file.start + bytes
            return stride(from: file.start, to: end, by: Int(Self.partBytes)).map {
                // What is appended meanwhile belongs to the last one.
                let next = $0 + Self.partBytes
                return Part(file: file, range: $0..<(next >= end ? UInt64.max : next))
            }
        }
        self.workers = max(1, min(workers, parts.count))
        self.progress = progress ?? ReadProgress(total: 0)
    }

    /// Reads everything, and returns when that is done.
    /// - Parameter make: a consumer for a thread; called in that thread.
    package func run<Consumer: LineConsumer & ~Copyable>(
        _ make: @Sendable () -> Consumer
    ) -> (aggregates: [Consumer.Aggregate], inputErrors: [InputError]) {
        let next = Atomic<Int>(0)
        let results = Mutex<([Consumer.Aggregate], [InputError])>(([], []))
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            var consumer = make()
            let lineReader = LineReader()
            var inputErrors: [InputError] = []
            // Parts are given out in the order of the files, so a file stays open from its first part to its last, whatever becomes of its name.
            var current: (file: InputFile, opened: OpenFile)?
            while true {
                let index = next.add(1, ordering: .relaxed).oldValue
                guard index < parts.count else { break }
                do throws(InputError) {
                    let file = parts[index].file
                    if current?.file !== file {
                        current = nil
                        current = (file, try file.opened())
                    }
                    try read(parts[index], lineReader, &consumer)
                } catch {
                    inputErrors.append(error)
                }
            }
            let aggregate = consumer.finish()
            results.withLock { results in
                results.0.append(aggregate)
                results.1 += inputErrors
            }
        }
        return results.withLock { ($0.0, $0.1) }
    }

    private func read<Consumer: LineConsumer & ~Copyable>(
        _ part: Part,
        _ lineReader: LineReader,
        _ consumer: inout Consumer
    ) throws(InputError) {
        func take(_ piece: LineReader.Piece) {
            switch piece {
            case .line(let line): consumer.take(line)
            case .overlong: consumer.takeOverlong()
            }
        }
        if let range = part.range {
            let isInside = range.lowerBound > part.file.start
            let source = RangeSource(file: part.file, from: range.lowerBound - (isInside ? 1 : 0), progress: progress)
            try lineReader.read(source, part: range, isInside: isInside, take)
        } else {
            try lineReader.read(part.file.source(progress: progress), take)
        }
    }
}
