internal import Glibc
internal import LagOutput

/// The lines that wait for one destination, in order: files that earlier processes left, and one of this process.
///
/// Several processes may have the same destination, so a file has one of several names, and is locked. Without lines there is no
/// file. One thread at a time.
struct LineSpool {
    /// Records that will not be delivered any more.
    struct Loss {
        /// Accepted by this process.
        var own: UInt64 = 0
        /// Accepted by an earlier process: none of them was ever counted as accepted here.
        var inherited: UInt64 = 0
    }

    private let place: UnfinishedPath
    private let capacity: Int
    /// The oldest first; lines are appended to the last one.
    private var files: [SpoolFile] = []
    private var isOpen = false
    /// The number of lines when it was closed.
    private var linesLeft = 0

    /// - Parameters:
    ///   - folder: must exist.
    ///   - destination: the sink's destination.
    init(folder: String, destination: String, capacity: Int) {
        var hash = StableHash()
        hash.combine(destination)
        place = UnfinishedPath("\(folder)/lagmonitor-\(hash.text).spool")
        self.capacity = capacity
    }

    /// Also after the close.
    var lines: Int { isOpen ? files.reduce(0) { $0 + $1.lines } : linesLeft }
    var isEmpty: Bool { files.allSatisfy(\.isEmpty) }

    /// Takes over what earlier processes left. Files of a running process are left to it.
    /// - Parameter lost: one more for each file that cannot be read.
    /// - Throws: ``SinkError/Reason/cannotOpen`` for a file that is not this user's own.
    mutating func open(_ lost: inout Loss) throws(SinkError) {
        guard !isOpen else { return }
        isOpen = true
        for path in place.candidates {
            do throws(SpoolFile.Obstacle) {
                let file = try SpoolFile.adopt(path)
                lost.inherited += file.isUnreadable ? 1 : 0
                if file.isEmpty { file.remove() } else { files.append(file) }
            } catch {
                if case .failed(let code, let detail) = error {
                    throw SinkError(.cannotOpen, path: path, code: code, detail: detail)
                }
            }
        }
    }

    /// Lines stay for the next process.
    mutating func close() {
        removeEmptyFiles()
        linesLeft = lines
        files = []
        isOpen = false
    }

    /// False: there is no space, or it could not be written.
    mutating func append(_ line: [UInt8], isRecord: Bool) -> Bool {
        if files.isEmpty, let file = create() { files.append(file) }
        return files.last?.append(line, isRecord: isRecord) ?? false
    }

    /// The first lines, up to a number of lines and of bytes, at least one.
    /// - Parameter lost: increased by the records of the first file if that is damaged and abandoned.
    mutating func first(_ count: Int, maxBytes: Int, _ lost: inout Loss) -> [SpoolFile.Entry] {
        removeEmptyFiles()
        guard let file = files.first else { return [] }
        var entries: [SpoolFile.Entry] = []
        var bytes = 0
        do throws(SpoolFile.Damage) {
            while entries.count < count, let entry = try file.entry(after: entries.last) {
                bytes += entry.line.count
                guard entries.isEmpty || bytes <= maxBytes else { break }
                entries.append(entry)
            }
        } catch  where entries.isEmpty {
            let inherited = min(file.inheritedRecords, file.records)
            lost.inherited += inherited
            lost.own += file.records - inherited
            file.removeAll()
            removeEmptyFiles()
        } catch {}
        return entries
    }

    /// Removes the first line, which no destination will ever accept.
    mutating func giveUp(_ entry: SpoolFile.Entry, _ lost: inout Loss) {
        if entry.isRecord {
            if let file = files.first, file.inheritedRecords > 0 { lost.inherited += 1 } else { lost.own += 1 }
        }
        remove([entry])
    }

    /// Removes lines that ``first(_:maxBytes:_:)`` returned, from the first one on.
    mutating func remove(_ entries: some BidirectionalCollection<SpoolFile.Entry>) {
        files.first?.remove(entries)
        removeEmptyFiles()
    }

    private mutating func removeEmptyFiles() {
        files.removeAll { file in
            if file.isEmpty { file.remove() }
            return file.isEmpty
        }
    }

    private func create() -> SpoolFile? {
        for path in place.candidates {
            do throws(SpoolFile.Obstacle) {
                return try SpoolFile.create(path, capacity: capacity)
            } catch {
                guard case .busy = error else { return nil }
            }
        }
        return nil
    }
}
