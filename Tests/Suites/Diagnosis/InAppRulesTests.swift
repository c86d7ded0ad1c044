import LagDiagnosis
import Testing

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
