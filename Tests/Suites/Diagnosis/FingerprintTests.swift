import Glibc
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

    @Test(arguments: [
        ("/src/shop/.build/checkouts/swift-crypto/Sources/CCryptoBoringSSL/crypto/ec.cc", false),
        ("/src/shop/.build-release/checkouts/libpng/png.c", false),
        ("/home/me/DerivedData/shop/SourcePackages/checkouts/libpng/png.c", false), ("/src/shop/Sources/Shop/png.c", true),
        ("/src/checkouts/shop/.build/checkouts/libpng/png.c", false), ("/src/checkouts/shop/png.c", true), ("png.c", true),
        ("", true), ("/usr/include/c++/12/bits/std_mutex.h", false),
        (
            "/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
            false
        ), ("/usr/src/rustc-1.63.0/library/std/src/sys/unix/net.rs", false), ("../shop/cart.cpp", true),
        ("/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h", false), ("/src/shop/include/png.h", true),
    ]) func `code inlined from elsewhere is recognised by its source file`(file: String, isInApp: Bool) {
        #expect(InAppRules().isInApp(modulePath: "/opt/shop/shop", symbol: "inflate_row", file: file) == isInApp)
    }

    /// A library of the toolchain that was linked in has no source file on the machine.
    @Test(arguments: [
        ("dispatch_orders", "/src/shop/Sources/CShop/orders.c", true), ("dispatch_orders", nil, true),
        ("dispatch_orders", "", true), ("dispatch_sync", nil, false), ("swift_shop.checkout", nil, true),
        ("swift_retain", nil, false),
        ("core::update_world", nil, true), ("core::slice::sort::quicksort", nil, false), ("clr_buffers", nil, true),
        ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", nil, false), ("<shop::Cart as core::fmt::Display>::fmt", nil, true),
        ("<&mut I as core::iter::Iterator>::next", nil, false),
        ("swift_transfer", "bank.c", true), ("swift_release", "/home/build/swift/stdlib/public/runtime/HeapObject.cpp", false),
        ("_dispatch_client_callout", "/home/build/swift-corelibs-libdispatch/src/init.c", false),
        ("std::sort", "/opt/gcc-14/include/c++/14.1.0/bits/stl_algo.h", false), ("std::sort", nil, false),
        ("core::Engine::step", "/src/game/core/engine.cc", true),
        ("core::fmt::write", "/rustc/90b35a6/library/core/src/fmt/mod.rs", false),
        ("cll_find", "/src/lagmonitor/Sources/CLagLinux/memory.c", false),
    ]) func `a function with the name of a library function is own code if it has a source file`(
        symbol: String,
        file: String?,
        isInApp: Bool
    ) {
        #expect(InAppRules().isInApp(modulePath: "/opt/shop/shop", symbol: symbol, file: file) == isInApp)
    }

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

struct InAppRulesTests {
    @Test(arguments: [
        "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/libpthread.so.0", "/lib64/ld-linux-x86-64.so.2",
        "/usr/lib/swift/linux/libswiftCore.so", "/usr/lib/swift/linux/libFoundation.so",
        "/usr/lib/swift/linux/lib_FoundationICU.so", "/usr/lib/libdispatch.so", "/lib/libgcc_s.so.1",
        "/usr/lib/libstdc++.so.6.0.30", "linux-vdso.so.1", "[vdso]", "/usr/lib/libunwind-x86_64.so.8", "/lib/libm.so.6",
    ])
    func `system libraries are not in app`(path: String) {
        #expect(!InAppRules().isInApp(modulePath: path, symbol: "f"))
        #expect(!InAppRules().isInApp(modulePath: path, symbol: nil))
    }

    @Test(arguments: [
        "LagRunLoop.ObservedRunLoop.run", "closure in LagMonitor.Watchdog.start", "LagActivity.ActivityBeacon.mark",
        "Swift.Array.sorted", "closure in Swift.stableSort", "_dispatch_main_queue_callback_4CF", "_start",
        "Foundation.RunLoop.run", "reabstraction thunk", "cll_run", "default argument of Swift.print", "std::vector::push_back",
        "closure in default argument of Foundation.Data.init", "outlined copy of App.Big", "destroy value witness for App.Big",
        "type metadata accessor for App.Box", "lazy protocol witness table accessor for type in Swift", "block_copy_helper",
        "__swift_instantiateConcreteTypeFromMangledName",
    ])
    func `system code in the program is not in app`(symbol: String) {
        #expect(!InAppRules().isInApp(modulePath: "/opt/app", symbol: symbol))
        #expect(!InAppRules().isInApp(modulePath: nil, symbol: symbol))
    }

    @Test(arguments: [
        "App.Worker.render", "closure in App.f", "main", "LagRunLoopTests.f", "Swiftly.run", "App.Array.ext",
        "$defer in App.f", "default argument of App.f", "one-time initialization function for table", "async_Main", "run",
        "closure in variable initialization expression of App.table",
    ])
    func `own code of the program is in app`(symbol: String) {
        #expect(InAppRules().isInApp(modulePath: "/opt/app", symbol: symbol))
    }

    @Test func `specialization of the standard library is not in app`() {
        let full = "generic specialization <Swift.Int> of (extension in Swift):Swift.Sequence.sorted() -> [A.Element]"
        let symbol = SymbolSimplifier.simplify(full, language: .swift)
        #expect(!InAppRules().isInApp(modulePath: "/opt/app", symbol: symbol))
    }

    @Test func `a frame without a file and a symbol is not in app, but one with a file is`() {
        #expect(!InAppRules().isInApp(modulePath: nil, symbol: nil))
        #expect(InAppRules().isInApp(modulePath: "/opt/app (deleted)", symbol: nil))
    }

    @Test func `configured prefixes take precedence`() {
        let rules = InAppRules(
            inAppPrefixes: ["libswiftMine", "/opt/app/vendor/ours"],
            notInAppPrefixes: ["/opt/app/vendor/", "Vendor."]
        )
        #expect(rules.isInApp(modulePath: "/usr/lib/libswiftMine.so", symbol: nil))
        #expect(!rules.isInApp(modulePath: "/opt/app/vendor/x.so", symbol: "f"))
        #expect(rules.isInApp(modulePath: "/opt/app/vendor/ours.so", symbol: "f"))
        #expect(!rules.isInApp(modulePath: "/opt/app/main", symbol: "closure in Vendor.f"))
        #expect(InAppRules(inAppPrefixes: [""]).isInApp(modulePath: "/lib/libc.so.6", symbol: nil) == false)
    }
}

struct FileLocationTests {
    /// Any program may have such a name: one with a source file, outside the folders of interpreters, is the user's.
    @Test(
        arguments: [
            ("/srv/chain/node", "src/ledger.c", true), ("/srv/chain/node", nil, false), ("/opt/R", "model/fit.cc", true),
            ("/usr/bin/node", "../src/node.cc", false), ("/usr/local/bin/perl", "pp_hot.c", false),
            ("/bin/tclsh8.6", "tclBasic.c", false),
            ("/root/.nvm/versions/node/v20/bin/node", "src/node.cc", false), ("/srv/shop/noded", nil, true),
        ] as [(String, String?, Bool)]
    )
    func `an interpreter is recognised by its name and its place`(executable: String, file: String?, isInApp: Bool) {
        let rules = InAppRules(program: ProgramFiles(executable: executable))
        #expect(rules.isInApp(modulePath: executable, symbol: "compute", file: file) == isInApp)
    }

    @Test(arguments: [
        ("/usr/bin/shop", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6"),
        ("/usr/bin/shop", "/lib/x86_64-linux-gnu/libz.so.1.2.13"),
        ("/opt/shop/bin/shop", "/opt/swift/usr/lib/swift/linux/libmine.so"),
        ("/opt/shop/bin/shop", "/var/lib/docker/overlay2/0f/merged/usr/lib/libpq.so.5"),
        ("/opt/shop/bin/shop", "/proc/71/root/lib/aarch64-linux-gnu/libcrypt.so.1"),
        ("/usr/bin/python3.11", "/home/a/venv/lib/python3.11/site-packages/numpy/core/_multiarray.so"),
        ("/usr/bin/node", "/srv/shop/node_modules/canvas/build/canvas.node"),
        ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/lib/libpqwalreceiver.so"),
        ("/usr/lib/jvm/bin/java", "/usr/lib/jvm/lib/server/libjvm.so"),
        ("/nix/store/h1-shop-1/bin/shop", "/nix/store/h2-glibc-2.39/lib/libm.so"),
        ("/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2"),
        ("/opt/shop/shop", "ery/long/merged/usr/lib/x86_64-linux-gnu/libz.so.1"),
        // Folders below the program's folder may be shared ones too.
        ("/opt/shop/bin/shop", "/opt/shop/usr/lib/libssl.so.3"), ("/snap/shop/12/bin/shop", "/snap/shop/12/lib/libssl.so.3"),
        ("/opt/bitnami/redis/bin/redis-server", "/opt/bitnami/common/lib/libssl.so.3"),
        ("/srv/app/worker", "/root/miniconda3/lib/libcrypto.so.3"), ("/srv/app/worker", "/data/envs/x/lib/libssl.so"),
        ("/opt/java/openjdk/bin/java", "/opt/java/openjdk/lib/server/libjvm.so"),
        ("/root/.pyenv/versions/3.11.7/bin/python3.11", "/root/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0"),
        ("/srv/app/worker", "/srv/app/libpython3.12.so.1.0"), ("/root/app", "/root/.dotnet/shared/x/libcoreclr.so"),
        ("/usr/bin/perl", "/usr/lib/x86_64-linux-gnu/perl/5.36/auto/Socket/Socket.so"),
        ("/usr/bin/php8.2", "/usr/lib/php/20220829/opcache.so"),
    ])
    func `libraries of the system and of package managers are not own code`(executable: String, path: String) {
        let rules = InAppRules(program: ProgramFiles(executable: executable))
        #expect(!rules.isInApp(modulePath: path, symbol: "deflate"))
        #expect(!rules.isInApp(modulePath: path, symbol: nil))
    }

    @Test(arguments: [
        ("/usr/bin/redis-server", "/usr/bin/redis-server"),
        ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/bin/postgres"),
        ("/opt/shop/shop", "/opt/shop/libcart.so"), ("/opt/shop/bin/shop", "/opt/shop/lib/libcart.so"),
        ("/usr/lib/shop/shop", "/usr/lib/shop/libcart.so"), ("/usr/bin/shop", "/usr/lib/x86_64-linux-gnu/shop/libcart.so"),
        ("/src/.build/x86_64-unknown-linux-gnu/debug/shop", "/src/.build/x86_64-unknown-linux-gnu/debug/libCart.so"),
        ("/nix/store/h1-shop-1/bin/shop", "/nix/store/h1-shop-1/lib/libcart.so"), ("/srv/shop (deleted)", "/srv/shop (deleted)"),
        ("/usr/bin/libtool", "/usr/bin/libtool"),
    ])
    func `the executable and libraries in other folders are own code`(executable: String, path: String) {
        #expect(InAppRules(program: ProgramFiles(executable: executable)).isInApp(modulePath: path, symbol: "work"))
    }

    @Test func `a toolchain library next to the executable is not own code`() {
        let rules = InAppRules(program: ProgramFiles(executable: "/opt/shop/shop"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/libswiftCore.so", symbol: "f"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/liblagmonitor-preload.so", symbol: "epoll_wait"))
    }

    @Test func `modules that the debug information shows as checked out are dependencies`() {
        let modules = SourceModules(dependencies: ["Fancy", "Logging"], own: ["Jobs", "Foundation"])
        let rules = InAppRules(program: ProgramFiles(executable: "/opt/shop/shop", modules: modules))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "closure in Fancy.Parser.parse"))
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "FancyShop.parse"))
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "parse"))
        // A module of the program with the name of a well-known package.
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "closure in Jobs.Queue.run"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "Logging.Logger.log"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "Foundation.Data.init"))
        #expect(
            !InAppRules(program: ProgramFiles(executable: "/opt/shop/shop")).isInApp(
                modulePath: "/opt/shop/shop",
                symbol: "Jobs.f"
            )
        )
    }

    @Test(arguments: ["FluentShop.Order.save", "GRPCGateway.serve", "OTelShop.flush", "alloc_buffer"])
    func `a name that only begins like the name of a package is own code`(symbol: String) {
        #expect(
            InAppRules(program: ProgramFiles(executable: "/opt/shop/shop")).isInApp(modulePath: "/opt/shop/shop", symbol: symbol)
        )
    }

    @Test(arguments: [
        "/rustc/90c5/library/core/src/slice/sort.rs", "/root/.cargo/registry/src/x/ring-0.17/src/lib.rs",
        "/rust/deps/hashbrown-0.16.1/src/map.rs", "/usr/lib/nim/lib/pure/algorithm.nim",
        "/usr/share/cargo/registry/regex-1.7.1/src/exec.rs",
    ])
    func `a library compiled into the program is recognised by its source file`(file: String) {
        let rules = InAppRules(program: ProgramFiles(executable: "/opt/shop/shop"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "sort", file: file))
    }

    @Test(arguments: ["/src/rust/deps/sort.rs", "/home/me/rustc/sort.rs"])
    func `a folder of the program may be named like a folder of Rust`(file: String) {
        let rules = InAppRules(program: ProgramFiles(executable: "/opt/shop/shop"))
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "sort", file: file))
    }

    /// This suite's own program is linked with a package that SwiftPM checked out.
    @Test func `the line tables of a program name its dependencies`() throws {
        let program = ProgramFiles.read(of: getpid(), after: nil)
        #expect(program.modules.dependencies.contains("ArgumentParser"), "\(program)")
        #expect(!program.modules.dependencies.contains("LagDiagnosis"), "\(program)")
        #expect(!program.modules.dependencies.contains("Sources") && !program.modules.own.contains("ArgumentParser"))
        #expect(program.modules.own.contains("LagReader"), "\(program)")
        #expect(ProgramFiles.read(of: getpid(), after: program) == program)
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

    @Test(
        arguments: [
            ("/usr/lib/python3.11/asyncio/events.py", "python", false),
            ("/usr/lib/python3/dist-packages/yaml/loader.py", "python", false),
            ("/srv/shop/.venv/lib/python3.12/site-packages/flask/app.py", "python", false), ("/srv/shop/app.py", "python", true),
            ("app.py", "python", true), ("<frozen importlib._bootstrap>", "python", false), ("<string>", "python", true),
            ("node:internal/timers", "javascript", false), ("/srv/shop/node_modules/express/lib/router.js", "javascript", false),
            ("/srv/shop/server.js", "javascript", true), ("/root/go/pkg/mod/github.com/x/y@v1.0.0/z.go", "go", false),
            ("/usr/lib/go-1.19/src/net/http/server.go", "go", false),
            ("/var/lib/gems/3.1.0/gems/rack-2.2.4/lib/rack.rb", "ruby", false), ("/usr/lib/ruby/3.1.0/json.rb", "ruby", false),
            // The same folder names in another language's program may be its own.
            ("/srv/shop/vendor/views.py", "python", true), ("/srv/shop/vendor/views.php", "php", false),
            ("/srv/game/gems/red.py", "python", true), ("/srv/shop/gems/a.js", "javascript", true),
            ("internal/worker.pl", "perl", true), ("internal/timers.js", "javascript", false),
            ("/srv/shop/vendor/orders.rb", "ruby", true), ("/srv/shop/vendor/bundle/rack.rb", "ruby", false),
            ("/srv/shop/vendor/a.lua", nil, true),
        ] as [(String, String?, Bool)]
    )
    func `libraries of languages are recognised by their folders`(file: String, language: String?, isInApp: Bool) {
        #expect(InAppRules().isInApp(languageFile: file, symbol: "f (x)", language: language, isLibrary: nil) == isInApp)
    }

    @Test func `prefixes of the user take precedence, then the runtime, then the file`() {
        let rules = InAppRules(inAppPrefixes: ["/usr/lib/python3/dist-packages/shop"], notInAppPrefixes: ["/srv/vendored/"])
        func isInApp(_ file: String?, isLibrary: Bool?) -> Bool? {
            rules.isInApp(languageFile: file, symbol: "f", language: "python", isLibrary: isLibrary)
        }
        #expect(isInApp("/usr/lib/python3/dist-packages/shop/a.py", isLibrary: true) == true)
        #expect(isInApp("/srv/vendored/a.py", isLibrary: false) == false && isInApp("/srv/shop/a.go", isLibrary: true) == false)
        // A file that could not be read decides nothing.
        #expect(isInApp(nil, isLibrary: nil) == nil && isInApp(nil, isLibrary: true) == false)
    }
}
