internal import Testing

@testable internal import LagRemote

/// The code of a function with two calls, one of which waits, as CPython 3.11 has it.
struct PythonJumpsTests {
    private static let (nothing, call, jumpBack, extended): (UInt8, UInt8, UInt8, UInt8) = (9, 171, 140, 144)
    /// The data of a call, with what would be a jump to the beginning if it were read as an instruction.
    private static let data: [UInt8] = [0, 0, jumpBack, 30, 0, 0, jumpBack, 30]
    private static let first = 1
    private static let second = 6
    private static let calls = [nothing, 0, call, 0] + data + [call, 1] + data

    private static func haveLoop(_ end: [UInt8], from count: Int = 0) throws -> Bool {
        let jumps = try #require(PythonJumps(minor: 11))
        let code =
            calls + [UInt8](repeating: 0, count: 2 * count).enumerated().map { $0.offset % 2 == 0 ? nothing : $0.element } + end
        let found = jumps.haveLoop(code, around: first, second)
        #expect(jumps.haveLoop(code, around: second, first) == found)
        return found
    }

    @Test func `two instructions are in one loop if a jump behind both leads to the first or before it`() throws {
        #expect(try Self.haveLoop([Self.jumpBack, 11]))
        #expect(try Self.haveLoop([Self.jumpBack, 12]))
        // A loop around the second call alone.
        #expect(try !Self.haveLoop([Self.jumpBack, 6]))
        #expect(try !Self.haveLoop([]))
        #expect(try !Self.haveLoop([Self.nothing, 12]))
    }

    @Test func `a long way back has an argument of two bytes`() throws {
        // At 11 + 300, and its argument's first byte before it.
        #expect(try Self.haveLoop([Self.extended, 1, Self.jumpBack, 312 - 256], from: 300))
        #expect(try !Self.haveLoop([Self.jumpBack, 255], from: 300))
    }

    @Test func `code with unknown instructions has no known loop`() throws {
        #expect(try !Self.haveLoop([255, 0, Self.jumpBack, 13]))
        #expect(PythonJumps(minor: 10) == nil && PythonJumps(minor: 14) == nil)
    }
}
