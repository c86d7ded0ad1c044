import LagOutput
import Testing

/// Which parts of a record are removed if its line is too long, and in which order.
struct TruncationStepTests {
    /// The parts of a record that are in its line.
    private struct Kept: Equatable {
        var frames: Int
        var functions: Int
        /// The number of frames for each thread of the lock.
        var ownerFrames: [Int]
        var bytes: Int
    }

    private static func record(frames: Int, owners: Int) -> StallRecord {
        var record = Sample.record(frames: frames)
        for index in record.frames.indices {
            record.frames[index].function = "Shop.Frame\(index).run(customer: Shop.Customer, basket: [Shop.Item]) async throws"
        }
        let threads = (0..<owners).map {
            StallRecord.LockOwner(
                threadID: Int32(50 + $0),
                threadName: "owner-\($0)",
                waitsFor: 0x7f00_1234_5678,
                frames: (0..<12).map(Sample.frame)
            )
        }
        record.evidence.lockKind = .mutex
        record.evidence.lockOwner = threads.first
        record.evidence.lockChain = Array(threads.dropFirst())
        return record
    }

    private static func kept(_ record: StallRecord, limit: Int) throws -> Kept {
        let line = try Sample.line(record, limit: limit)
        let parsed = try Sample.parse(line)
        let frames = try #require(parsed["frames"] as? [[String: Any]])
        let owner = parsed["lock_owner"] as? [String: Any]
        let owners = [owner].compactMap(\.self) + (parsed["lock_chain"] as? [[String: Any]] ?? [])
        #expect(parsed["frames_total"] as? Int == record.frames.count)
        // The kept frames are those next to the leaf.
        #expect(frames.compactMap { $0["symbol"] as? String } == (0..<frames.count).map { "Shop.Frame\($0).run" })
        return Kept(
            frames: frames.count,
            functions: frames.count { $0["function"] != nil },
            ownerFrames: owners.map { ($0["frames"] as? [Any])?.count ?? 0 },
            bytes: line.utf8.count
        )
    }

    private static let whole = 1_000_000

    @Test func `a line with enough space contains everything`() throws {
        let kept = try Self.kept(Self.record(frames: 30, owners: 2), limit: Self.whole)
        #expect(kept.frames == 30 && kept.functions == 30)
        #expect(kept.ownerFrames == [LineLimits.maximumOwnerFrames, LineLimits.maximumOwnerFrames])
    }

    @Test func `full function names are removed first and all together`() throws {
        let record = Self.record(frames: 30, owners: 2)
        let full = try Self.kept(record, limit: Self.whole).bytes
        let kept = try Self.kept(record, limit: full - 1)
        #expect(kept.frames == 30 && kept.functions == 0)
        #expect(kept.ownerFrames == [8, 8])
    }

    @Test func `full function names are removed before frames even without lock owners`() throws {
        let record = Self.record(frames: 10, owners: 0)
        let full = try Self.kept(record, limit: Self.whole).bytes
        let kept = try Self.kept(record, limit: full - 1)
        #expect(kept.frames == 10 && kept.functions == 0)
    }

    @Test func `next, frames near the root are removed down to sixteen`() throws {
        let record = Self.record(frames: 30, owners: 2)
        var plain = record
        for index in plain.frames.indices { plain.frames[index].function = nil }
        let room = try Self.kept(plain, limit: Self.whole).bytes
        let kept = try Self.kept(record, limit: room - 1)
        #expect(kept.frames == 29 && kept.ownerFrames == [8, 8])
        plain.frames = Array(plain.frames.prefix(16))
        let sixteen = try Sample.line(plain, limit: Self.whole).utf8.count
        #expect(try Self.kept(record, limit: sixteen).frames == 16)
        #expect(try Self.kept(record, limit: sixteen).ownerFrames == [8, 8])
    }

    @Test func `next, frames of lock owners are removed down to three`() throws {
        let record = Self.record(frames: 30, owners: 2)
        var sixteen = record
        sixteen.frames = record.frames.prefix(16).map {
            var frame = $0
            frame.function = nil
            return frame
        }
        let kept = try Self.kept(record, limit: try Sample.line(sixteen, limit: Self.whole).utf8.count - 1)
        #expect(kept.ownerFrames == [3, 3])
        // The stack uses the space of the removed frames.
        #expect(kept.frames > 16)
    }

    /// For any limit, a step is taken only if the previous one is not sufficient.
    @Test func `more space never shows less`() throws {
        let record = Self.record(frames: 40, owners: 3)
        var stages: [Int] = []
        for limit in stride(from: 1024, through: 20_000, by: 61) {
            let kept = try Self.kept(record, limit: limit)
            let stage =
                switch (kept.functions, kept.ownerFrames) {
                // The shortest lines have no optional field.
                case (0, []), (0, [0]), (0, [0, 0, 0]): 0
                case (0, [3, 3, 3]): 1
                case (0, [8, 8, 8]): 2
                case (40, [8, 8, 8]): 3
                default: -1
                }
            #expect(stage >= 0, "\(kept)")
            let least = [1, 8, 16, 40][max(0, stage)]
            #expect(limit < 1500 || kept.frames >= least, "\(kept)")
            stages.append(stage)
        }
        #expect(stages == stages.sorted() && Set(stages) == [0, 1, 2, 3])
    }

    @Test func `a stack of few frames is kept complete`() throws {
        // The stack has only five frames: the owners keep theirs as long as the five fit.
        let record = Self.record(frames: 5, owners: 1)
        var plain = record
        for index in plain.frames.indices { plain.frames[index].function = nil }
        let room = try Sample.line(plain, limit: Self.whole).utf8.count
        #expect(try Self.kept(record, limit: room).ownerFrames == [8])
        #expect(try Self.kept(record, limit: room - 1).ownerFrames == [3])
        #expect(try Self.kept(record, limit: room - 1).frames == 5)
    }

    @Test func `frames of the threads in a deadlock are removed too`() throws {
        var record = Self.record(frames: 20, owners: 1)
        record.evidence.lockCycle = (0..<3).map {
            StallRecord.LockOwner(threadID: Int32($0), waitsFor: 1, frames: (0..<12).map(Sample.frame))
        }
        let parsed = try Sample.parse(Sample.line(record, limit: 4000))
        let cycle = try #require(parsed["lock_cycle"] as? [[String: Any]])
        #expect(cycle.count == 3 && cycle.allSatisfy { $0["thread_id"] != nil && $0["frames"] == nil })
        #expect(try #require(parsed["frames"] as? [Any]).count >= 5)
    }

    /// The culprit is more important than a frame.
    @Test func `the shortest line still contains cause, culprit and lock owner`() throws {
        var record = Self.record(frames: 20, owners: 1)
        record.message = "main was stalled for 300 ms, waiting for a lock held by thread 50 'owner-0' in Shop.checkOut"
        record.cause = .lock
        record.culprit = "Shop.checkOut"
        record.culpritConfidence = 0.9
        record.evidence.syscall = "futex"
        record.evidence.blockedNanoseconds = 300_000_000
        record.sampleTree = [StallRecord.SampleNode(weightNanoseconds: 1, samples: 1, frames: ["main"])]
        for limit in [1024, 1600, 2400] {
            let line = try Sample.line(record, limit: limit)
            #expect(line.utf8.count <= limit)
            let parsed = try Sample.parse(line)
            #expect(parsed["culprit"] as? String == "Shop.checkOut" && parsed["lock_kind"] as? String == "mutex", "\(limit)")
            #expect(parsed["blocked_ms"] as? Double == 300 && parsed["message"] as? String == record.message, "\(limit)")
            #expect((parsed["lock_owner"] as? [String: Any])?["thread_name"] as? String == "owner-0", "\(limit)")
            // A sample tree does not displace the leaf frame.
            #expect(!(parsed["frames"] as? [Any] ?? []).isEmpty || parsed["sample_tree"] == nil, "\(limit)")
        }
    }

    @Test func `inlined frames do not count in the total`() throws {
        var record = Sample.record(frames: 3)
        record.frames[0].inlined = true
        record.framesTotal = 2
        #expect(try Sample.parse(Sample.line(record))["frames_total"] as? Int == 2)
    }
}
