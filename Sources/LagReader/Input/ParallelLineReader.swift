internal import Dispatch
internal import Glibc
internal import Synchronization

/// Consumes lines. Each reading thread has its own consumer; the results are merged at the end.
package protocol LineConsumer: ~Copyable, SendableMetatype {
    associatedtype Aggregate: Sendable

    /// A line without its newline; valid during the call. Blank lines are skipped.
    mutating func take(_ line: UnsafeRawBufferPointer)
    /// A line that was too long to be kept.
    mutating func takeOverlong()
    consuming func finish() -> Aggregate
}

/// Reads the lines of several files with several threads; the order of lines is not preserved.
package struct ParallelLineReader: Sendable {
    /// The size of the part of a file that a thread takes at once.
    private static let partBytes: UInt64 = 8 << 20

    private struct Part {
        let file: InputFile
        /// Nil: the whole file, one line after the other.
        let range: Range<UInt64>?
    }

    /// The parts of all files, in the order of the files; computed on demand, because a sparse file may claim millions of
    /// gigabytes.
    private struct Files {
        private var files: [(file: InputFile, parts: Int)] = []
        private(set) var count = 0

        init(_ inputs: [InputFile]) {
            for file in inputs {
                let parts =
                    switch file.content {
                    case .plain(let bytes):
                        Int(clamping: bytes / ParallelLineReader.partBytes) + (bytes % ParallelLineReader.partBytes > 0 ? 1 : 0)
                    case .gzip, .stream: 1
                    }
                files.append((file, parts))
                count += parts
            }
        }

        /// - Parameters:
        ///   - number: the number of the part.
        ///   - place: the index of its file, and the number of parts before that file; initially (0, 0). Numbers grow from call
        ///     to call.
        func part(_ number: Int, from place: inout (index: Int, before: Int)) -> Part? {
            while place.index < files.count, number - place.before >= files[place.index].parts {
                place = (place.index + 1, place.before + files[place.index].parts)
            }
            guard place.index < files.count else { return nil }
            let (file, parts) = files[place.index]
            guard case .plain = file.content else { return Part(file: file, range: nil) }
            let index = number - place.before
            let begin = file.start + UInt64(index) * ParallelLineReader.partBytes
            // Data that is appended meanwhile belongs to the last part.
            return Part(file: file, range: begin..<(index + 1 == parts ? UInt64.max : begin + ParallelLineReader.partBytes))
        }
    }

    private let files: Files
    private let workers: Int
    private let progress: ReadProgress

    /// - Parameter workers: the maximum number of threads; never more than there are parts.
    package init(_ files: [InputFile], workers: Int, progress: ReadProgress? = nil) {
        self.files = Files(files)
        self.workers = max(1, min(workers, self.files.count))
        self.progress = progress ?? ReadProgress(total: 0)
    }

    /// Reads everything, then returns.
    /// - Parameter make: creates a consumer for a thread; called in that thread.
    package func run<Consumer: LineConsumer & ~Copyable>(
        _ make: @Sendable () -> Consumer
    ) -> (aggregates: [Consumer.Aggregate], inputErrors: [InputError]) {
        let next = Atomic<Int>(0)
        let results = Mutex<([Consumer.Aggregate], [InputError])>(([], []))
        DispatchQueue.concurrentPerform(iterations: workers) { _ in
            var consumer = make()
            let lineReader = LineReader()
            var inputErrors: [InputError] = []
            // Parts are assigned in the order of the files, so a file stays open from its first to its last part, even if it is
            // renamed.
            var current: (file: InputFile, opened: OpenFile)?
            var place = (index: 0, before: 0)
            while let part = files.part(next.add(1, ordering: .relaxed).oldValue, from: &place) {
                do throws(InputError) {
                    let file = part.file
                    if current?.file !== file {
                        current = nil
                        current = (file, try file.opened())
                    }
                    try read(part, lineReader, &consumer)
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
