import LagDiagnosis
import LagModel
import Testing

@testable import LagCapture
@testable import LagMonitor

/// Frames of functions that left by a jump, and so are on no stack.
struct TailCallTests {
    /// The lines of functions, by their starts.
    private struct Lines: LineSource {
        let functions: [UInt64: ResolvedFrame]
        let waitLimit = SharedDeadline()
        let hasOnlyFailed = false

        mutating func levels(for queries: [SymbolQuery]) -> [[ResolvedFrame]] {
            queries.map { query in functions[query.offset].map { [$0] } ?? [] }
        }

        mutating func close() {}
    }

    private static let module = ModuleInfo(path: "/srv/shop/app", buildID: "", bias: 0)
    private static let library = ModuleInfo(path: "/usr/lib/libc.so.6", buildID: "", bias: 0)
    private static let rules = InAppRules(program: ProgramFiles(executable: "/srv/shop/app"))
    private static let calledStart: UInt64 = 0x1200

    private static func function(_ name: String?, file: String? = nil, calls called: ResolvedFrame? = nil) -> ResolvedFrame {
        var function = ResolvedFrame(name: name, simplified: name, symbolOffset: 0, file: file)
        function.start = calledStart
        function.callees = called.map { [$0] } ?? []
        return function
    }

    /// The frames, the leaf's first, of functions in ``module``, or in a library if that is set.
    private func frames(
        _ functions: [ResolvedFrame],
        leafInLibrary: Bool = false,
        isWhole: Bool = true,
        line: ResolvedFrame? = nil
    ) throws -> [StallRecord.Frame] {
        let lines = Lines(functions: line.map { [Self.calledStart: $0] } ?? [:])
        var builder = FrameBuilder(modules: try #require(ModuleMap()), resolver: FrameResolver(lines: lines))
        let captured = functions.indices.map { FrameBuffer.Frame(language: 0, pc: UInt64($0 + 1)) }
        let modules = functions.indices.map { leafInLibrary && $0 == 0 ? Self.library : Self.module }
        let names = functions.map { [$0] }
        return builder.levels(captured, in: modules, named: names, Self.rules, withTailCalls: isWhole).flatMap { $0 }
    }

    /// `on_sync` has called `called`; the next frame is of `next`.
    private func tailCall(
        of called: ResolvedFrame? = TailCallTests.function("sync_log"),
        to next: String?,
        inLibrary: Bool = false
    ) throws -> StallRecord.Frame? {
        let stack = [Self.function(next), Self.function("on_sync", calls: called)]
        return try frames(stack, leafInLibrary: inLibrary).first { $0.tailCall == true }
    }

    @Test func `a called function is a frame if the next frame is another function's`() throws {
        let found = try tailCall(to: "write_all")
        let frame = try #require(found)
        #expect(frame.symbol == "sync_log" && frame.inlined == true && frame.inApp == true)
        // Only its caller's place is known.
        #expect(frame.pc == 2 && frame.symbolOffset == nil && frame.file == nil)
        // In the C library, even if it has no name there.
        #expect(try tailCall(to: nil, inLibrary: true)?.symbol == "sync_log")
    }

    @Test func `a called function that has a frame or may have one is no tail call`() throws {
        #expect(try tailCall(to: "sync_log") == nil)
        #expect(try tailCall(to: nil) == nil)
        #expect(try tailCall(of: nil, to: "write_all") == nil)
    }

    @Test(arguments: [CodeOrigin.packaged, .between])
    func `a tail call is the program's own code`(origin: CodeOrigin) throws {
        var called = Self.function("deflate")
        called.origin = origin
        #expect(try tailCall(of: called, to: "longest_match") == nil)
        #expect(try tailCall(of: Self.function("_start"), to: "main") == nil)
    }

    /// `parse` and `item` call each other: `item` is among the frames that are left out.
    @Test func `where frames of an overlong stack are left out, no function is added`() throws {
        let stack = [Self.function("parse"), Self.function("parse", calls: Self.function("item"))]
        // In a whole stack, `item` has left by a jump.
        #expect(try frames(stack).map(\.symbol) == ["parse", "item", "parse"])
        #expect(try frames(stack, isWhole: false).map(\.symbol) == ["parse", "parse"])
    }

    /// A library without lines was linked into a program with lines; its `compress` ends in a jump to `compress2`.
    @Test func `a called function without lines is no frame if its module has lines`() throws {
        var inner = Self.function("compress2")
        inner.lacksLines = true
        let stack = [inner, Self.function("main", file: "/src/shop.c", calls: Self.function("compress"))]
        var without = ResolvedFrame()
        without.lacksLines = true
        #expect(try frames(stack, line: without).map(\.symbol) == ["compress2", "main"])
        // Lines that were not read in time.
        #expect(try frames(stack).map(\.symbol) == ["compress2", "main"])
        let own = ResolvedFrame(file: "/src/compress.c", line: 3)
        #expect(try frames(stack, line: own).map(\.symbol) == ["compress2", "compress", "main"])
        // A header of a library.
        let header = ResolvedFrame(file: "/usr/include/zlib.h", line: 3)
        #expect(try frames(stack, line: header).map(\.symbol) == ["compress2", "main"])
    }

    @Test func `a function is called directly, by a pointer, or in a way that is not known`() throws {
        var work = Self.function("work")
        #expect(try frames([work, Self.function("main", calls: work)])[0].isCalledDirectly == true)
        #expect(try frames([work, Self.function("main")])[0].isCalledDirectly == nil)
        var loop = Self.function("main")
        loop.callsPointer = true
        #expect(try frames([work, loop])[0].isCalledDirectly == false)
        // The called function has left by a jump, which may be one to a pointer.
        work.start = 0x1300
        let found = try frames([work, Self.function("main", calls: Self.function("step"))])
        #expect(found.map(\.symbol) == ["work", "step", "main"] && found[0].isCalledDirectly == nil)
        #expect(found[1].isCalledDirectly == true)
    }
}
