internal import Glibc

/// What processes that died left of their stalls in progress, read at start and reported once.
///
/// Refused are: a file that is not a regular file, or another user's (`foreign`); a file of another version or older than a week
/// (`old`); an inconsistent file (`damaged`). A foreign file is left alone. The other refused files are counted and removed. A
/// file whose process is alive is left alone.
package struct RecoveredStalls: ~Copyable {
    /// In the order of the files' names; within a file, in the order in which they began.
    package let stalls: [UnfinishedStall]
    /// Files whose content is unknown.
    package let refused: Int
    /// Each with its number of stalls; a refused file has none.
    private let files: [(descriptor: Int32, path: String, stallCount: Int)]

    /// A stall older than this is not worth reporting; log readers do not accept such lines either.
    static let maximumAgeSeconds = 7 * 24 * 3600
    /// No file of this program is larger.
    private static let maximumBytes = 1 << 28

    /// Some microseconds if there is nothing; otherwise reads files. Any thread.
    package init(at place: UnfinishedPath, bootID: String) { self.init(at: place, bootID: bootID, now: time(nil)) }

    /// - Parameter now: seconds since 1970.
    init(at place: UnfinishedPath, bootID: String, now: Int) {
        var stalls: [UnfinishedStall] = []
        var refused = 0
        var files: [(Int32, String, Int)] = []
        for path in place.candidates {
            let descriptor = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
            guard descriptor >= 0 else { continue }
            guard let content = Self.take(descriptor, path, bootID: bootID, now: now) else {
                _ = Glibc.close(descriptor)
                continue
            }
            switch content {
            case .success(let content):
                stalls += content.stalls
                files.append((descriptor, path, content.stalls.count))
            case .failure:
                refused += 1
                files.append((descriptor, path, 0))
            }
        }
        (self.stalls, self.refused, self.files) = (stalls, refused, files)
    }

    deinit { for file in files { _ = Glibc.close(file.descriptor) } }

    /// Writes what was left to every output that has lines of its format, and counts what was refused. An output that does not
    /// accept a line gets no more lines, because each may wait. A file is removed when every stall in it has been accepted by
    /// some output; an output that did not accept a stall counts it as dropped. The other stalls are tried again at the next
    /// start; a stall's lines have one id.
    /// - Returns: how many stalls the first output accepted.
    package consuming func report(to outputs: inout [RecordOutput], now: OutputTime) -> UInt64 {
        var written: UInt64 = 0
        var isTaken = [Bool](repeating: false, count: stalls.count)
        // For each output, the stalls that it did not accept.
        var isMissed = [[Bool]](repeating: isTaken, count: outputs.count)
        var hasFailed = [Bool](repeating: false, count: outputs.count)
        for index in outputs.indices {
            outputs[index].countDropped(UInt64(refused), reason: .unfinishedRefused)
            for (number, stall) in stalls.enumerated() {
                guard !hasFailed[index] else {
                    isMissed[index][number] = stall.lines[outputs[index].format] != nil
                    continue
                }
                do throws(SinkError) {
                    guard try outputs[index].write(stall, now: now) else { continue }
                    isTaken[number] = true
                    if index == 0 { written += 1 }
                } catch {
                    hasFailed[index] = true
                    isMissed[index][number] = true
                }
            }
            guard !hasFailed[index] else { continue }
            do throws(SinkError) { try outputs[index].announce(now: now) } catch { hasFailed[index] = true }
        }
        var first = 0
        for file in files {
            let numbers = first..<(first + file.stallCount)
            first = numbers.upperBound
            guard numbers.isEmpty ? !hasFailed.contains(true) : numbers.allSatisfy({ isTaken[$0] }) else { continue }
            for index in outputs.indices {
                outputs[index].countDropped(UInt64(numbers.count { isMissed[index][$0] }), reason: .sinkFailed)
            }
            remove(file.descriptor, file.path)
        }
        return written
    }

    /// Removes the files after they have been reported. Without this, the next start reports them again; a stall's lines have one
    /// id.
    package func remove() { for file in files { remove(file.descriptor, file.path) } }

    private func remove(_ descriptor: Int32, _ path: String) {
        if UnfinishedFile.isLinked(descriptor, at: path) { unlink(path) }
    }

    /// - Returns: nil for a file that must not be touched.
    private static func take(
        _ descriptor: Int32,
        _ path: String,
        bootID: String,
        now: Int
    ) -> Result<UnfinishedLayout.Content, UnfinishedLayout.RefusalError>? {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            status.st_size <= maximumBytes
        else { return nil }
        let isLocked = flock(descriptor, LOCK_EX | LOCK_NB) != 0
        // Its creator found it locked by a process that was checking it at that moment, and took another name.
        if status.st_size == 0 { return isLocked ? nil : .success(UnfinishedLayout.Content(identity: nil, stalls: [])) }
        let content = UnfinishedLayout.read(bytes(of: descriptor, Int(status.st_size), at: 0))
        switch content {
        case .failure(let error) where error.refusal == .foreign: return nil
        case .failure: if isLocked { return nil }
        case .success(let found):
            // Children that the process forked also hold the lock: they continue without our threads. But the dead process can be
            // identified only if its pid is valid here.
            if isLocked, found.identity?.isAlive(bootID: bootID) != false { return nil }
        }
        // Its owner, or a faster process, has just removed it.
        guard UnfinishedFile.isLinked(descriptor, at: path) else { return nil }
        let isOld = now - status.st_mtim.tv_sec > maximumAgeSeconds
        if isOld, case .success(let found) = content, !found.stalls.isEmpty { return .failure(.init(.old)) }
        return content
    }

    /// Fewer than `size` if the file ends, or cannot be read.
    package static func bytes(of descriptor: Int32, _ size: Int, at offset: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = 0
            while count < size {
                let read = pread(descriptor, buffer.baseAddress! + count, size - count, off_t(offset + count))
                if read < 0 && errno == EINTR { continue }
                guard read > 0 else { return }
                count += read
            }
        }
    }
}
