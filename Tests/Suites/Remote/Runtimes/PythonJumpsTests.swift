internal import Testing

@testable internal import LagRemote

struct PythonJumpsTests {
    private static let (nothing, call, jumpBack, extended, end): (UInt8, UInt8, UInt8, UInt8, UInt8) = (9, 171, 140, 144, 83)
    /// The data of a call, with what would be a jump to the beginning if it were read as an instruction.
    private static let data: [UInt8] = [0, 0, jumpBack, 30, 0, 0, jumpBack, 30]
    private static let (first, second) = (1, 6)
    /// Two calls of CPython 3.11, of which one waits.
    private static let calls = [nothing, 0, call, 0] + data + [call, 1] + data

    private static func haveLoop(_ end: [UInt8], from count: Int = 0) -> Bool {
        let code =
            calls + [UInt8](repeating: 0, count: 2 * count).enumerated().map { $0.offset % 2 == 0 ? nothing : $0.element } + end
        guard let flow = PythonJumps(minor: 11)?.flow(code) else { return false }
        let found = flow.innermostLoop(around: first, contains: second)
        #expect(flow.innermostLoop(around: second, contains: first) == found)
        return found
    }

    @Test(arguments: PythonFunction.compiled)
    func `a handler is called in the innermost loop around the wait, wherever the compiler has put it`(_ function: PythonFunction)
        throws
    {
        let flow = try #require(PythonJumps(minor: function.minor)?.flow(function.bytes))
        for call in function.inside { #expect(flow.innermostLoop(around: function.wait, contains: call), "\(call)") }
        for call in function.outside { #expect(!flow.innermostLoop(around: function.wait, contains: call), "\(call)") }
        #expect(!flow.innermostLoop(around: function.wait, contains: function.wait))
        #expect(flow.mayRepeat(function.wait))
        #expect(flow.innermostLoop(around: function.wait + 1, contains: function.inside[0] + 1), "in the data of the calls")
    }

    @Test func `two instructions are in one loop if a jump behind both leads to the first or before it`() {
        #expect(Self.haveLoop([Self.jumpBack, 11]))
        #expect(Self.haveLoop([Self.jumpBack, 12]))
        // A loop around the second call alone.
        #expect(!Self.haveLoop([Self.jumpBack, 6]))
        #expect(!Self.haveLoop([]))
        #expect(!Self.haveLoop([Self.end, 0, Self.jumpBack, 13]))
    }

    @Test func `a long way back has an argument of two bytes`() {
        // At 11 + 300, and its argument (312) begins before it.
        #expect(Self.haveLoop([Self.extended, 1, Self.jumpBack, 56], from: 300))
        #expect(!Self.haveLoop([Self.jumpBack, 255], from: 300))
    }

    @Test func `code with unknown instructions or places has no known loop`() {
        #expect(!Self.haveLoop([255, 0, Self.jumpBack, 13]))
        #expect(!Self.haveLoop([Self.jumpBack, 200]))
        // Into the data of the first call.
        #expect(!Self.haveLoop([Self.jumpBack, 9]))
        #expect(PythonJumps(minor: 10) == nil && PythonJumps(minor: 14) == nil)
    }

    @Test func `code that does not repeat the wait is no loop around it`() throws {
        let jumps = try #require(PythonJumps(minor: 11))
        let flow = try #require(jumps.flow(Self.calls + [Self.jumpBack, 6]))
        #expect(!flow.mayRepeat(Self.first) && flow.mayRepeat(Self.second) && flow.mayRepeat(1000))
    }
}
