#if arch(x86_64)
    internal import TestSupport
    internal import Testing

    @testable internal import LagRemote

    /// Code with jumps, and a table of its source positions.
    struct V8BlocksTests {
        private static let start: UInt64 = 0x7f00_0000_1000
        /// One-byte instructions without effect, and a return at the end.
        private var code = [UInt8](repeating: 0x90, count: 100) + [0xc3]

        private mutating func put(_ place: Int, _ bytes: [UInt8]) {
            code.replaceSubrange(place..<place + bytes.count, with: bytes)
        }

        private mutating func jump(_ opcode: [UInt8], at place: Int, to target: Int, isShort: Bool = false) {
            let next = place + opcode.count + (isShort ? 1 : 4)
            let word = UInt32(bitPattern: Int32(target - next))
            put(place, opcode + (0..<(isShort ? 1 : 4)).map { UInt8(truncatingIfNeeded: word >> (UInt32($0) * 8)) })
        }

        private let entries = [0, 10, 40, 60].map {
            V8Positions.Entry(code: $0, source: V8Positions.Source(raw: UInt64($0 + 1) << 1))
        }

        private func passed(_ place: Int) -> [Int]? { passed(place, handlers: []) }

        private func passed(_ place: Int, handlers: [V8Blocks.Handler]) -> [Int]? {
            V8Blocks(code, start: Self.start, end: code.count, handlers: handlers)?.entries(before: place, of: entries)
                .map(\.code).sorted()
        }

        @Test func `code between two entries has the preceding entry`() {
            #expect([0, 9, 10, 39, 40, 59, 100].map(passed) == [[0], [0], [10], [10], [40], [40], [60]])
        }

        @Test func `where several paths meet, the preceding entries of all of them are found`() {
            var copy = self
            // A jump from 4 to 50. The code before 50 also continues there.
            copy.jump([0x0f, 0x84], at: 4, to: 50)
            #expect([49, 50, 55, 60].map(copy.passed) == [[40], [0, 40], [0, 40], [60]])
            // A backward jump.
            copy = self
            copy.jump([0x77], at: 70, to: 45, isShort: true)
            #expect([44, 45, 59, 65].map(copy.passed) == [[40], [40, 60], [40, 60], [60]])
        }

        @Test func `the only path to a position is followed backwards`() {
            var copy = self
            // The code at 70 follows a return: it is reached only from 12.
            copy.put(69, [0xc3])
            copy.jump([0x0f, 0x84], at: 12, to: 70)
            #expect([20, 68, 70, 90].map(copy.passed) == [[10], [60], [10], [10]])
            // It is reached from 41, too.
            copy.jump([0x0f, 0x85], at: 41, to: 70)
            #expect(copy.passed(75) == [10, 40])
        }

        @Test func `a short forward jump within one operation is ignored`() {
            var copy = self
            copy.jump([0x7a], at: 12, to: 20, isShort: true)
            #expect(copy.passed(25) == [10])
        }

        @Test func `an exception is followed from its call to its handler`() {
            var copy = self
            // No jump leads to the code after the return (`push`).
            copy.put(69, [0xc3, 0x50])
            #expect(copy.passed(75) == [])
            let calls = [15, 45].map { V8Blocks.Handler(returnAddress: $0, target: 70) }
            #expect(copy.passed(75, handlers: [calls[0]]) == [10])
            #expect(copy.passed(75, handlers: calls) == [10, 40])
            // Handlers of other code: nothing outside is followed.
            let others = [V8Blocks.Handler(returnAddress: 500, target: 70), V8Blocks.Handler(returnAddress: 15, target: 500)]
            #expect(copy.passed(75, handlers: others) == [])
        }

        @Test func `alignment padding is not a path to the code after it`() {
            var copy = self
            copy.put(69, [0xc3])
            copy.jump([0x0f, 0x84], at: 12, to: 80)
            #expect(copy.passed(85) == [10])
        }

        @Test func `targets of a jump table are treated as paths with unknown entries`() {
            var copy = self
            copy.put(69, [0xc3])
            copy.code += [UInt8](repeating: 0xcc, count: 104 - copy.code.count)
            copy.code += (0..<8).map { UInt8(truncatingIfNeeded: (Self.start + 70) >> ($0 * 8)) }
            let blocks = V8Blocks(copy.code, start: Self.start, end: 101)
            #expect(blocks?.entries(before: 68, of: entries).map(\.code) == [60])
            #expect(blocks?.entries(before: 75, of: entries).isEmpty == true)
        }

        @Test func `a table with only calls is not dense, and undecodable code has no paths`() {
            #expect(V8Blocks(code, start: Self.start, end: code.count)?.isDense(entries) == true)
            var copy = self
            for place in [2, 20, 45] { copy.put(place, [0xe8, 0, 0, 0, 0]) }
            #expect(V8Blocks(copy.code, start: Self.start, end: copy.code.count)?.isDense(entries) == false)
            copy.put(30, [0x06])
            #expect(V8Blocks(copy.code, start: Self.start, end: copy.code.count) == nil)
        }

        @Test(arguments: UInt64(0)..<20) func `reading random code terminates`(seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            for _ in 0..<200 {
                let code = (0..<Int.random(in: 1...300, using: &random)).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
                let blocks = V8Blocks(code, start: Self.start, end: Int.random(in: 0...code.count, using: &random))
                _ = blocks?.entries(before: Int.random(in: -10...400, using: &random), of: entries)
            }
        }
    }
#endif
