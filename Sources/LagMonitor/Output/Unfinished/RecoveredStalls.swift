internal import Glibc

/// What processes that died left of their stalls in progress, read at start and reported once.
///
/// Refused are: what is no plain file, or another user's (`foreign`); a file of another version or older than a week (`old`); one that
/// does not hold together (`damaged`). A file that is not ours is left alone; of the others the refusal is counted, and they are removed.
/// A file whose process lives is left alone.
package struct RecoveredStalls: ~Copyable {
    /// In the order of the names, each file's in the order in which they began.
    package let stalls: [UnfinishedStall]
    /// Files of which it is not known what they held.
    package let refused: Int
    /// Each with the number of its stalls; those that were refused have none.
    private let files: [(descriptor: Int32, path: String, stallCount: Int)]

    /// A stall that was cut off so long ago is no news; readers of logs do not take such lines either.
    static let maximumAgeSeconds = 7 * 24 * 3600
    /// No file that we made is larger.
    private static let maximumBytes = 1 << 28

    /// Some microseconds where there is nothing; reads files otherwise. Any thread.
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

    /// Writes what was left to every output that has lines of its format, and counts what was refused. An output that does not take a line
    /// is asked for no more: each may wait. A file goes when every stall in it has been taken by some output; where another one did not
    /// take it, that one counts it as dropped. Of the others the next start tries again; a stall's lines have one id.
    /// - Returns: how many stalls the first output took.
    package consuming func report(to outputs: inout [RecordOutput], now: OutputTime) -> UInt64 {
        var written: UInt64 = 0
        var isTaken = [Bool](repeating: false, count: stalls.count)
        // By output, those that it did not take.
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

    /// They have been reported: the files go. Without this the next start reports them again; a stall's lines have one id.
    package func remove() { for file in files { remove(file.descriptor, file.path) } }

    private func remove(_ descriptor: Int32, _ path: String) {
        if UnfinishedFile.isLinked(descriptor, at: path) { unlink(path) }
    }

    /// - Returns: nil for a file that is not to be touched.
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
        // Whoever made it found it locked, by one who looked just then, and took another name.
        if status.st_size == 0 { return isLocked ? nil : .success(UnfinishedLayout.Content(identity: nil, stalls: [])) }
        let content = UnfinishedLayout.read(bytes(of: descriptor, Int(status.st_size), at: 0))
        switch content {
        case .failure(let error) where error.refusal == .foreign: return nil
        case .failure: if isLocked { return nil }
        case .success(let found):
            // A lock is also held by children that the process forked: they live on without our threads. But who it was that died can
            // be reported only where its pid means something.
            if isLocked, found.identity?.isAlive(bootID: bootID) != false { return nil }
        }
        // Its owner, or who was quicker, has just removed it.
        guard UnfinishedFile.isLinked(descriptor, at: path) else { return nil }
        let isOld = now - status.st_mtim.tv_sec > maximumAgeSeconds
        if isOld, case .success(let found) = content, !found.stalls.isEmpty { return .failure(.init(.old)) }
        return content
    }

    /// Fewer than `size` where the file ends, or cannot be read.
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
