internal import Testing

@testable internal import LagRemote

struct PythonJumpsTests {
    private static let (nothing, call, jumpBack, extended, end): (UInt8, UInt8, UInt8, UInt8, UInt8) = (9, 171, 140, 144, 83)
    private static let jumpBackIf: UInt8 = 175
    /// The data of a call, with what would be a jump to the beginning if it were read as an instruction.
    private static let data: [UInt8] = [0, 0, jumpBack, 30, 0, 0, jumpBack, 30]
    private static let (first, second) = (1, 6)
    /// Two calls of CPython 3.11, of which one waits.
    private static let calls = [nothing, 0, call, 0] + data + [call, 1] + data

    private static func haveLoop(_ end: [UInt8], from count: Int = 0) -> Bool {
        let code =
            calls + [UInt8](repeating: 0, count: 2 * count).enumerated().map { $0.offset % 2 == 0 ? nothing : $0.element } + end
        var steps = PythonFlow.mostSteps
        guard let flow = PythonJumps(minor: 11)?.flow(code, within: &steps) else { return false }
        let found = flow.innermostLoop(around: first, contains: second, within: &steps)
        #expect(flow.innermostLoop(around: second, contains: first, within: &steps) == found)
        return found == true
    }

    @Test(arguments: PythonFunction.compiled)
    func `a handler is called in the innermost loop around the wait, wherever the compiler has put it`(_ function: PythonFunction)
        throws
    {
        var steps = PythonFlow.mostSteps
        let flow = try #require(PythonJumps(minor: function.minor)?.flow(function.bytes, within: &steps))
        func haveLoop(_ wait: Int, _ call: Int) -> Bool? {
            var steps = PythonFlow.mostSteps
            return flow.innermostLoop(around: wait, contains: call, within: &steps)
        }
        for call in function.inside { #expect(haveLoop(function.wait, call) == true, "\(call)") }
        for call in function.outside { #expect(haveLoop(function.wait, call) == false, "\(call)") }
        #expect(haveLoop(function.wait, function.wait) == false)
        #expect(flow.mayRepeat(function.wait, within: &steps))
        #expect(haveLoop(function.wait + 1, function.inside[0] + 1) == true, "in the data of the calls")
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
        var steps = PythonFlow.mostSteps
        let flow = try #require(jumps.flow(Self.calls + [Self.jumpBack, 6], within: &steps))
        let places = [Self.first, Self.second, 1000].map { flow.mayRepeat($0, within: &steps) }
        #expect(places == [false, true, true])
        // Too few steps.
        steps = 3
        #expect(flow.mayRepeat(Self.first, within: &steps))
    }

    /// Loops beside the wait, and one around all of it.
    @Test(arguments: [20, 1900]) func `what would take too many steps is not known`(length: Int) throws {
        let loops = 30
        let jumps = try #require(PythonJumps(minor: 11))
        let small: [UInt8] = [Self.nothing, 0, Self.jumpBackIf, 2]
        let begin = (0..<loops).flatMap { _ in small }
        let rest = (0..<length).flatMap { _ in [Self.nothing, 0] as [UInt8] }
        let units = (begin.count + Self.calls.count + rest.count) / 2 + 2
        let end = [Self.extended, UInt8(units >> 8), Self.jumpBack, UInt8(units & 0xff)]
        let code = begin + Self.calls + rest + end
        var steps = PythonFlow.mostSteps
        let flow = try #require(jumps.flow(code, within: &steps))
        #expect(flow.mayRepeat(2 * loops + Self.first, within: &steps))
        let found = flow.innermostLoop(around: 2 * loops + Self.first, contains: 2 * loops + Self.second, within: &steps)
        #expect(found == (length < 100 ? true : nil) && (found == nil) == (steps < 0) && steps > -code.count)
        if steps < 0 { #expect(jumps.flow(code, within: &steps) == nil) }
    }
}
