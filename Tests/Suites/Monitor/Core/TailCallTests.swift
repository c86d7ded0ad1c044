import LagDiagnosis
import Testing

@testable import LagCapture
@testable import LagMonitor

/// Frames of functions that left by a jump, and so are on no stack.
struct TailCallTests {
    private static let module = ModuleInfo(path: "/srv/shop/app", buildID: "", bias: 0)
    private static let rules = InAppRules(program: ProgramFiles(executable: "/srv/shop/app"))

    private func tailCall(
        of callee: ResolvedFrame? = ResolvedFrame(name: "sync_log", simplified: "sync_log"),
        to next: String?,
        in path: String = "/srv/shop/app"
    ) -> StallRecord.Frame? {
        var caller = ResolvedFrame(name: "on_sync", simplified: "on_sync")
        caller.callees = callee.map { [$0] } ?? []
        let captured = FrameBuffer.Frame(language: 0, pc: 1)
        return FrameBuilder.tailCall(captured, Self.module, from: caller, to: (path, next), Self.rules)
    }

    @Test func `a called function is a frame if the next frame is another function's`() {
        let frame = tailCall(to: "write_all")
        #expect(frame?.symbol == "sync_log" && frame?.inlined == true && frame?.tailCall == true && frame?.inApp == true)
        // In the C library, even if it has no name there.
        #expect(tailCall(to: nil, in: "/usr/lib/libc.so.6")?.symbol == "sync_log")
    }

    @Test func `a called function that has a frame or may have one is no tail call`() {
        #expect(tailCall(to: "sync_log") == nil && tailCall(to: nil) == nil)
        #expect(tailCall(of: nil, to: "write_all") == nil)
    }

    @Test(arguments: [CodeOrigin.packaged, .between])
    func `a tail call is the program's own code`(origin: CodeOrigin) {
        var callee = ResolvedFrame(name: "deflate", simplified: "deflate")
        callee.origin = origin
        #expect(tailCall(of: callee, to: "longest_match") == nil)
        #expect(tailCall(of: ResolvedFrame(name: "_start", simplified: "_start"), to: "main") == nil)
    }
}
