import Foundation
import LagDiagnosis
import Testing

@testable import LagCapture
@testable import LagMonitor

/// Lambdas of C++ that the compiler has put into a library's template: whose they are.
struct OwnClosureTests {
    private static let called =
        "std::_Function_handler<void (), shop::setup(int)::{lambda()#1}>::_M_invoke(std::_Any_data const&)"
    private static let rules = InAppRules(notInAppPrefixes: ["third::"], program: ProgramFiles(executable: "/srv/shop/app"))

    private func holds(_ name: String, _ path: String) -> Bool {
        let frame = ResolvedFrame(
            name: name,
            simplified: String(name.prefix { $0 != "<" }) + "::" + (name.contains("_M_invoke") ? "_M_invoke" : "_M_insert"),
            mangled: "_ZNSt"
        )
        return FrameBuilder.holdsOwnClosure(frame, ModuleInfo(path: path, buildID: "", bias: 0), Self.rules)
    }

    @Test func `a library on disk has lambdas of its own`() {
        #expect(holds(Self.called, "/srv/shop/app"))
        #expect(!holds(Self.called, "/usr/lib/libthird.so.1"))
    }

    @Test func `whoever says what is not the program's says it of lambdas as well`() {
        #expect(!holds(Self.called.replacingOccurrences(of: "shop::", with: "third::"), "/srv/shop/app"))
    }

    /// A static program has its libraries in its own file.
    @Test func `code without lines is not own where own code has them`() {
        func origin(_ module: String, line: Bool = false, without: Bool = false) -> FrameBuilder.Origin {
            .init(module: module, hasLine: line, lacksLines: without)
        }
        let sleeping = [origin("app", without: true), nil, origin("app", line: true), origin("[vdso]", without: true)]
        #expect(FrameBuilder.framesWithoutLines(sleeping) == [0, 3])
        // It has its C library from elsewhere.
        #expect(FrameBuilder.framesWithoutLines(sleeping + [origin("libc.so.6")]).isEmpty)
        // Lines that did not come in time, and a program without any.
        #expect(FrameBuilder.framesWithoutLines([origin("app"), origin("app", line: true)]).isEmpty)
        #expect(FrameBuilder.framesWithoutLines([origin("app", without: true), origin("app", without: true)]).isEmpty)
    }

    /// Its C library is elsewhere, and other libraries are linked in.
    @Test func `code without lines is not own where a packaged library may be`() {
        func origins(_ code: CodeOrigin, named: Bool = true) -> [FrameBuilder.Origin?] {
            [
                .init(module: "app", hasLine: false, lacksLines: true, code: code, hasUnknownSource: named),
                .init(module: "app", hasLine: true, lacksLines: false),
                .init(module: "libc.so.6", hasLine: false, lacksLines: false),
            ]
        }
        #expect(FrameBuilder.framesWithoutLines(origins(.between)) == [0])
        #expect(
            FrameBuilder.framesWithoutLines(origins(.own)).isEmpty && FrameBuilder.framesWithoutLines(origins(.unknown)).isEmpty
        )
        #expect(FrameBuilder.doubtfulFrames(origins(.unknown)) == [0])
        #expect(FrameBuilder.doubtfulFrames(origins(.own)).isEmpty)
        // Its name says that it is not of C.
        #expect(FrameBuilder.doubtfulFrames(origins(.unknown, named: false)).isEmpty)
        // Nothing has lines.
        let bare = origins(.between).prefix(1)
        #expect(FrameBuilder.framesWithoutLines(Array(bare)).isEmpty && FrameBuilder.doubtfulFrames(Array(bare)) == [0])
    }

    @Test func `a template that does not call what it was made for`() {
        #expect(!holds(Self.called.replacingOccurrences(of: "_M_invoke", with: "_M_insert"), "/srv/shop/app"))
    }
}
