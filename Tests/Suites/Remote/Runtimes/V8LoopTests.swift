internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// Code that V8 generates for loops: each loop checks at the end of an iteration whether it is to be interrupted.
struct V8LoopTests {
    /// Instructions at given positions; the code between them has no effect.
    private struct Code {
        var bytes = [UInt8](repeating: 0x90, count: 400)

        mutating func put(_ place: Int, _ instruction: UInt8..., jumpingTo target: Int? = nil, isShort: Bool = false) {
            var all = instruction
            if let target {
                let distance = target - (place + all.count + (isShort ? 1 : 4))
                let word = UInt32(bitPattern: Int32(distance))
                all += (0..<(isShort ? 1 : 4)).map { UInt8(truncatingIfNeeded: word >> (UInt32($0) * 8)) }
            }
            bytes.replaceSubrange(place..<place + all.count, with: all)
        }

        /// A loop with its check at `latch`, and the block that runs if the loop is to be interrupted.
        mutating func putLoop(begin: Int, latch: Int, block: Int, isShort: Bool = false) {
            if isShort {
                put(latch, 0x77, jumpingTo: begin, isShort: true)
                put(latch + 2, 0xe9, jumpingTo: block)
            } else {
                put(latch, 0x0f, 0x84, jumpingTo: begin)
                put(latch + 6, 0xe9, jumpingTo: block)
            }
            put(block + 10, 0xe8, 0xf2, 0x28, 0xed, 0x1f)
            put(block + 19, 0xe9, jumpingTo: begin)
        }

        func place(around place: Int) -> Int? { V8Loop.behindCall(bytes, around: place) }
    }

    /// A loop from 20 to 150, with an inner loop from 64 to 100.
    private var nested: Code {
        var code = Code()
        code.putLoop(begin: 64, latch: 100, block: 200, isShort: true)
        code.putLoop(begin: 20, latch: 150, block: 260)
        return code
    }

    @Test func `the call of the innermost loop is found, and none outside of loops`() {
        let code = nested
        for place in 64..<102 { #expect(code.place(around: place) == 219, "\(place)") }
        for place in Array(20..<64) + Array(102..<156) { #expect(code.place(around: place) == 279, "\(place)") }
        for place in Array(0..<20) + Array(156..<400) { #expect(code.place(around: place) == nil, "\(place)") }
    }

    @Test func `code that does not jump back to the same position is not a loop`() {
        var code = nested
        code.put(219, 0xe9, jumpingTo: 65)
        #expect(code.place(around: 80) == 279)
        // Too far from the check.
        code.putLoop(begin: 20, latch: 150, block: 260)
        code.put(279, 0x90, 0x90, 0x90, 0x90, 0x90)
        #expect(code.place(around: 80) == nil)
        // A forward jump is not the end of an iteration.
        var other = Code()
        other.putLoop(begin: 120, latch: 100, block: 200)
        #expect(other.place(around: 110) == nil)
    }

    @Test func `truncated code and random bytes are read without harm`() {
        let code = nested.bytes
        for count in 0..<code.count { _ = V8Loop.behindCall(Array(code.prefix(count)), around: 80) }
        #expect(V8Loop.behindCall(Array(code.prefix(223)), around: 80) == nil)
        #expect(V8Loop.behindCall([], around: 0) == nil)
        #expect(V8Loop.behindCall(code, around: .max / 2) == nil)
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let bytes = (0..<300).map { _ in
                [0x77, 0x0f, 0x84, 0xe9, 0xeb, UInt8.random(in: 0 ... .max, using: &random)].randomElement(using: &random)!
            }
            for place in stride(from: 0, to: 300, by: 7) {
                if let found = V8Loop.behindCall(bytes, around: place) { #expect((0..<300).contains(found)) }
            }
        }
    }
}
