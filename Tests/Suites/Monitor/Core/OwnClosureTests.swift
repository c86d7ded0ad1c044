import Foundation
import LagDiagnosis
import Testing

@testable import LagCapture
@testable import LagMonitor

/// C++ lambdas that the compiler has put into a library's template: whether they are the program's own.
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

    @Test func `a lambda belongs to the program, but not to a library on disk`() {
        #expect(holds(Self.called, "/srv/shop/app"))
        #expect(!holds(Self.called, "/usr/lib/libthird.so.1"))
    }

    @Test func `a rule that excludes a namespace also excludes its lambdas`() {
        #expect(!holds(Self.called.replacingOccurrences(of: "shop::", with: "third::"), "/srv/shop/app"))
    }

    /// A static program contains its libraries in its own file.
    @Test func `in a static program, code without lines is not own code if other code has lines`() {
        func origin(_ module: String, line: Bool = false, without: Bool = false) -> FrameBuilder.Origin {
            .init(module: module, hasLine: line, lacksLines: without)
        }
        let sleeping = [origin("app", without: true), nil, origin("app", line: true), origin("[vdso]", without: true)]
        #expect(FrameBuilder.framesWithoutLines(sleeping) == [0, 3])
        // Its C library is in another file.
        #expect(FrameBuilder.framesWithoutLines(sleeping + [origin("libc.so.6")]).isEmpty)
        // Lines that were not read in time, and a program without lines.
        #expect(FrameBuilder.framesWithoutLines([origin("app"), origin("app", line: true)]).isEmpty)
        #expect(FrameBuilder.framesWithoutLines([origin("app", without: true), origin("app", without: true)]).isEmpty)
    }

    /// Its C library is in another file, and other libraries are linked in.
    @Test func `code without lines is not own code if it may be of a packaged library`() {
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
        // Its name shows that it is not C.
        #expect(FrameBuilder.doubtfulFrames(origins(.unknown, named: false)).isEmpty)
        // No code has lines.
        let bare = origins(.between).prefix(1)
        #expect(FrameBuilder.framesWithoutLines(Array(bare)).isEmpty && FrameBuilder.doubtfulFrames(Array(bare)) == [0])
    }

    @Test func `a lambda in a template that does not call it is not own code`() {
        #expect(!holds(Self.called.replacingOccurrences(of: "_M_invoke", with: "_M_insert"), "/srv/shop/app"))
    }
}
