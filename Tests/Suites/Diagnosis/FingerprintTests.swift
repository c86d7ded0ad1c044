import LagDiagnosis
internal import LagModel
import Testing

extension Fingerprint {
    /// Of a stack during the whole stall.
    fileprivate init(_ frames: [StallRecord.Frame], orElse words: String = "") {
        self.init(frames: frames.map { ($0, true) }, orElse: words)
    }
}

struct FingerprintTests {
    private func frame(_ symbol: String?, inApp: Bool = true, id: String = "aa", offset: UInt64 = 1) -> StallRecord.Frame {
        StallRecord.Frame(pc: 0, module: "/opt/app", buildID: id, offset: offset, symbol: symbol, inApp: inApp)
    }

    private func text(_ symbols: String...) -> String { Fingerprint(symbols.map { frame($0) }).text }

    @Test func `a fingerprint has the form of a version and sixteen digits`() {
        // FNV-1a, 64 bits, of "a" and a zero byte: computed independently of the code under test.
        #expect(text("a") == "v1:089be207b544f1e4")
        #expect(Fingerprint([]).text == "v1:cbf29ce484222325")
        #expect(Fingerprint([]).stackHash == "cbf29ce484222325")
    }

    @Test func `stalls without a stack are distinguished by their other properties`() {
        let (one, other) = (Fingerprint([], orElse: "main lock"), Fingerprint([], orElse: "main cpu"))
        #expect(one.text != other.text)
        #expect(one.stackHash == other.stackHash)
        #expect(Fingerprint([frame("a")], orElse: "main lock").text == text("a"))
    }

    @Test func `only the five frames nearest to the leaf count`() {
        #expect(text("a", "b", "c", "d", "e", "f") == text("a", "b", "c", "d", "e", "g"))
        #expect(text("a", "b", "c", "d", "e") != text("a", "b", "c", "d", "x"))
    }

    @Test func `the order and the borders of frames count`() {
        #expect(text("a", "b") != text("b", "a"))
        #expect(text("ab", "c") != text("a", "bc"))
    }

    @Test func `recursion of any depth and period counts once`() {
        #expect(text("a", "a", "a", "m") == text("a", "m"))
        #expect(text("a", "b", "a", "b", "a", "b", "m") == text("a", "b", "m"))
    }

    @Test func `frames outside the app are skipped`() {
        let frames = [frame("usleep", inApp: false), frame("a"), frame("swift_x", inApp: false), frame("b")]
        #expect(Fingerprint(frames).text == text("a", "b"))
    }

    @Test func `without an app frame the nearest frames of any kind count`() {
        let frames = [frame("x", inApp: false), frame("y", inApp: false)]
        #expect(Fingerprint(frames).text == text("x", "y"))
    }

    @Test func `without a symbol the place counts`() {
        let one = Fingerprint([frame(nil, offset: 1)]).text
        #expect(one != Fingerprint([frame(nil, offset: 2)]).text)
        #expect(one != Fingerprint([frame(nil, id: "bb", offset: 1)]).text)
        #expect(one == Fingerprint([frame("", offset: 1)]).text)
    }

    @Test func `a frame present for less than half of the stall does not count`() {
        func text(_ symbols: [String], covering: Set<String>) -> String {
            Fingerprint(frames: symbols.map { (frame($0), covering.contains($0)) }).text
        }
        let steady: Set = ["handle", "serve"]
        let plain = text(["handle", "serve"], covering: steady)
        #expect(plain == text(["parse", "handle", "serve"], covering: steady))
        #expect(plain == text(["escape", "write", "handle", "serve"], covering: steady))
        #expect(plain != text(["parse", "handle", "serve"], covering: steady.union(["parse"])))
        #expect(text(["parse", "handle"], covering: []) == self.text("parse", "handle"))
    }

    @Test func `the stack hash covers the places of all frames`() {
        let frames = (0..<20).map { frame("s\($0)", inApp: $0 % 2 == 0, offset: UInt64($0)) }
        var renamed = frames
        for index in renamed.indices {
            renamed[index].symbol = nil
            renamed[index].module = "/elsewhere"
        }
        #expect(Fingerprint(frames).stackHash == Fingerprint(renamed).stackHash)
        var moved = frames
        moved[19].offset = 99
        #expect(Fingerprint(frames).stackHash != Fingerprint(moved).stackHash)
        #expect(Fingerprint(frames).text == Fingerprint(moved).text)
        #expect(Fingerprint(frames).stackHash != Fingerprint(frames.dropLast()).stackHash)
    }
}

/// Different functions with the same short name.
struct FunctionVariantTests {
    private func frame(_ name: String, inApp: Bool = true) -> StallRecord.Frame {
        let symbol = SymbolSimplifier.simplify(name, language: .cPlusPlus)
        let resolved = ResolvedFrame(name: name, simplified: symbol, mangled: "_Zx")
        var frame = StallRecord.Frame(pc: 0, module: "/opt/app", buildID: "aa", offset: 1, symbol: symbol, inApp: inApp)
        frame.variant = resolved.variant
        return frame
    }
    private func text(_ frames: StallRecord.Frame...) -> String { Fingerprint(frames + [frame("main")]).text }

    @Test(arguments: [
        ("routes()::{lambda()#1}::operator()() const", "routes()::{lambda()#2}::operator()() const"),
        ("long Exporter<Json>::run()", "long Exporter<Csv>::run()"),
        ("void each<int>(int)", "void each<long>(long)"),
        ("routes()::'lambda'()::operator()() const", "routes()::'lambda0'()::operator()() const"),
    ])
    func `lambdas of one function and instances of one template are distinguished`(one: String, other: String) {
        #expect(frame(one).symbol == frame(other).symbol)
        #expect(text(frame(one)) != text(frame(other)))
    }

    @Test(arguments: [
        "Cart::add(std::vector<int>)", "main", "Cart::operator<(Cart const&) const", "(anonymous namespace)::f(int)",
    ])
    func `arguments make no variant`(name: String) {
        #expect(ResolvedFrame(name: name, mangled: "_Zx").variant == nil)
        #expect(ResolvedFrame(name: "App.f<A>(A)", mangled: "$s3App1fyyxlF").variant == nil)
    }

    /// The optimiser has inlined the lambda into its caller.
    @Test func `a lambda is identified by the library template instantiated for it`() {
        func handler(_ closure: String) -> StallRecord.Frame {
            let arguments = "<void (), \(closure)>::_M_invoke(std::_Any_data const&)"
            return frame("std::_Function_handler" + arguments, inApp: false)
        }
        #expect(handler("routes(std::string const&)::{lambda()#2}").closure == "routes(std::string const&)::{lambda()#2}")
        #expect(text(handler("routes()::{lambda()#1}")) != text(handler("routes()::{lambda()#2}")))
        // All templates around it count as one.
        let direct = frame("void std::__invoke_impl<void, routes()::{lambda()#1}&>(std::__invoke_other)", inApp: false)
        #expect(text(direct, handler("routes()::{lambda()#1}")) == text(handler("routes()::{lambda()#1}")))
        // One within another, as named in debug information, and the names of all.
        let inner = TemplateClosure(in: "<void, Shop::open(int)::{lambda()#1}::operator()() const::{lambda(int)#2}&>")
        #expect(inner?.symbol == "Shop::open::lambda::operator()::lambda::operator()")
        #expect(inner?.owner == "Shop::open::lambda::operator()")
        let named = TemplateClosure(in: "__invoke_impl<void, routes()::<lambda()>&>")
        #expect(named?.symbol == "routes::lambda::operator()" && named?.owner == "routes")
        #expect(TemplateClosure(in: "std::vector<int>::push_back(int)") == nil)
        // A template made for a lambda may not be what calls it.
        let callers = [
            "std::_Function_handler::_M_invoke", "std::__invoke_impl", "boost::asio::detail::wait_handler::do_complete",
        ]
        #expect(callers.allSatisfy(TemplateClosure.isCalled))
        #expect(!TemplateClosure.isCalled(by: "std::_Rb_tree::_M_insert_unique") && !TemplateClosure.isCalled(by: "std::sort"))
        // The library's own lambdas do not identify the program's code.
        #expect(text(handler("std::thread::start()::{lambda()#1}")) == text())
        #expect(text(frame("std::vector<int>::push_back(int)", inApp: false)) == text())
    }
}

/// Stacks with frames of a language's runtime.
struct LanguageFingerprintTests {
    private func frame(_ symbol: String?, inApp: Bool = false, ofLanguage: Bool = true) -> StallRecord.Frame {
        ofLanguage
            ? StallRecord.Frame(pc: 0, symbol: symbol, file: "/app/shop.py", line: 1, language: "python", inApp: inApp)
            : StallRecord.Frame(pc: 0, module: "/usr/bin/python3", offset: 1, symbol: symbol, inApp: inApp)
    }

    @Test func `native frames around language frames do not count`() {
        let own = [frame("slow (shop.py)", inApp: true), frame("run (base_events.py)")]
        let one = Fingerprint([frame("clock_nanosleep", ofLanguage: false)] + own)
        let other = Fingerprint(
            [frame("time_sleep", ofLanguage: false), frame(nil, ofLanguage: false)] + own
        )
        #expect(one.text == other.text && one.stackHash != other.stackHash)
        #expect(one.text != Fingerprint([frame("fast (shop.py)", inApp: true)]).text)
    }

    @Test func `a language's function may be named like a merged one`() {
        let caller = frame("serve (shop.py)", inApp: true)
        #expect(Fingerprint([frame("merged (shop.py)", inApp: true), caller]).text != Fingerprint([caller]).text)
    }

    @Test func `without frames of the program those of the library count`() {
        let library = [frame("run (base_events.py)"), frame("<module> (tool.py)")]
        #expect(Fingerprint([frame("k_mul", ofLanguage: false)] + library).text == Fingerprint(library).text)
    }

    @Test func `native functions of the program called by language frames count`() {
        let handler = frame("handler (shop.py)", inApp: true)
        let start = frame("main", inApp: true, ofLanguage: false)
        let encode = frame("encode", inApp: true, ofLanguage: false)
        let resize = frame("resize", inApp: true, ofLanguage: false)
        #expect(Fingerprint([encode, handler]).text != Fingerprint([resize, handler]).text)
        #expect(Fingerprint([encode, handler]).text != Fingerprint([handler]).text)
        // The function that started the runtime does not count.
        #expect(Fingerprint([encode, handler, start]).text == Fingerprint([encode, handler]).text)
    }
}
