import LagDiagnosis
import TestSupport
import Testing

/// Whose functions are in a program that was linked statically with its C library.
struct StaticLibraryTests {
    typealias Symbol = SyntheticELF.Symbol

    /// In the order of linkers: start-up code, the program, the math library, the C library, and what was specified after it.
    private static func functions(mainLast: Bool = false, startFunction: String = "__libc_start_main") -> [Symbol] {
        [
            Symbol(name: "msort_with_tmp", value: 0x1240, size: 16, binding: 0),
            Symbol(name: "__libc_csu_init", value: 0x1010, size: 16),
            Symbol(name: "main", value: mainLast ? 0x1300 : 0x1100, size: 16), Symbol(name: "load", value: 0x1140, size: 16),
            Symbol(name: "__shop_MOD_load", value: 0x1160, size: 16), Symbol(name: "sin", value: 0x1180, size: 16),
            Symbol(name: "__sin", value: 0x1180, size: 16), Symbol(name: startFunction, value: 0x1200, size: 16),
            Symbol(name: "fork", value: 0x1280, size: 16), Symbol(name: "__libc_fork", value: 0x1280, size: 16),
            Symbol(name: "qsort", value: 0x12c0, size: 16), Symbol(name: "_nl_unload_domain", value: 0x12d0, size: 16),
            Symbol(name: "shop_report", value: 0x12e0, size: 16),
        ]
    }

    /// Known by their names.
    private static let library: Set = ["sin", "__libc_start_main", "fork", "_nl_unload_domain"]

    private static func ofCLibrary(_ symbols: [Symbol], entry: UInt64 = 0x1000) throws -> Set<String> {
        let scratch = try ScratchDirectory()
        let path = try scratch.write(SyntheticELF(symbols: symbols, entry: entry).bytes(), to: "program")
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        let found = symbolizer.resolve(
            symbols.map {
                SymbolQuery(
                    modulePath: path,
                    buildID: SyntheticELF.buildID,
                    offset: $0.value + 4,
                    isReturnAddress: false
                )
            }
        )
        return Set(found.compactMap { $0 }.filter(\.isOfRuntime).map(\.name))
    }

    @Test func `functions between those known to be in the C library belong to it`() throws {
        let found = try Self.ofCLibrary(Self.functions())
        #expect(found.subtracting(["__libc_csu_init"]) == Self.library.union(["msort_with_tmp", "qsort"]))
    }

    /// lld links code of link-time optimisation after all libraries.
    @Test func `if main is after the C library, only names count`() throws {
        let found = try Self.ofCLibrary(Self.functions(mainLast: true))
        #expect(found.subtracting(["__libc_csu_init"]) == Self.library)
    }

    @Test func `a dynamically linked program and a program without C have no C library functions`() throws {
        #expect(try Self.ofCLibrary(Self.functions(), entry: 0).isEmpty)
        #expect(try Self.ofCLibrary(Self.functions(startFunction: "__libc_start")).isEmpty)
    }

    @Test func `functions of a language library are not own code`() throws {
        let own = ["_D4shop5orderFZv", "camlShop__order_82", "camlStreet__order_82", "shop__order", "P$SHOP_$$_ORDER"]
        let libraries = [
            "_D3std4sort4sortFZv", "_d_newclass", "caml_alloc", "unix_select", "camlStdlib__List__rev_12",
            "camlStr__search_forward_1188",
            "ada__text_io__put", "fpc_halt",
        ]
        let starts = ["_Dmain", "caml_start_program", "adainit", "PASCALMAIN"]
        let found = try Self.ofCLibrary(Self.row(own + libraries + starts), entry: 0)
        #expect(found.subtracting(starts).count == libraries.count, "\(found)")
        #expect(found.isDisjoint(with: own + ["shop.order"]), "\(found)")
    }

    private static func row(_ names: [String]) -> [Symbol] {
        names.enumerated().map { Symbol(name: $0.element, value: 0x1100 + UInt64($0.offset) * 16, size: 16) }
    }

    @Test(
        arguments: zip(
            ["_Dmain", "_Dmain", "_Dmain", "caml_start_program", "adainit", "PASCALMAIN", "NimMain", "NimMain"],
            ["_d_load", "_aaLoad", "gc_load", "caml_load", "system__load", "fpc_load", "nossleep", "sort__pureZalgorithm_12"]
        )
    )
    func `an ambiguous name is a library function only in a program of its language`(start: String, name: String) throws {
        // The last two are a Nim program's own.
        let all = ["_d_load", "caml_load", "system__load", "fpc_load", "load__shop_12", "newObject__shop_7"]
        let names = all.contains(name) ? all : all.filter { start != "_Dmain" || $0 != "_d_load" } + [name]
        #expect(try Self.ofCLibrary(Self.row(names + ["main"]), entry: 0).isEmpty)
        let found = try Self.ofCLibrary(Self.row(names + [start]), entry: 0).subtracting([start])
        // Names of Ada are shown with dots.
        #expect(found.map { $0.replacing(".", with: "__") } == [name])
        // Only the exact start function identifies the language.
        #expect(try Self.ofCLibrary(Self.row(names + [start + "s", "x" + start]), entry: 0).isEmpty)
    }

    @Test(
        arguments: [
            ("_D4shop6reportFZv", "shop.report"), ("_D2b26lockItFZ9__lambda1FNiZv", "b2.lockIt.__lambda1"),
            ("_D4core8internal6string__T7dstrcmpZQjFNaNbNiNeMxAaMxQdZi", "core.internal.string.dstrcmp"),
            ("_D3std5regex__T10RegexMatchTAyaZQr8popFrontMFNeZv", "std.regex.RegexMatch"),
            ("_D4core4sync5mutex5Mutex4lockMFNeZv", "core.sync.mutex.Mutex.lock"),
            ("_D4shop17__T5priceTiZ5priceFiZi", "shop.price"),
            ("_D4shopQf3runFZv", "shop.shop.run"),
        ]
    )
    func `names of D become paths`(name: String, path: String) throws {
        let scratch = try ScratchDirectory()
        let file = SyntheticELF(symbols: [Symbol(name: name, value: 0x1100, size: 16)])
        let place = try scratch.write(file.bytes(), to: "program")
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        let query = SymbolQuery(modulePath: place, buildID: SyntheticELF.buildID, offset: 0x1104, isReturnAddress: false)
        let symbol = try #require(symbolizer.resolve([query])[0])
        #expect(symbol.simplified == path && symbol.mangled == name, "\(symbol)")
    }

    @Test(arguments: ["_D", "_D9shop", "_DQ", "_D4shopQz", "_Dmain", "_D99999999999999999999a"])
    func `a name that is not from D is unchanged or shortened`(name: String) throws {
        let scratch = try ScratchDirectory()
        let file = SyntheticELF(symbols: [Symbol(name: name, value: 0x1100, size: 16)])
        let place = try scratch.write(file.bytes(), to: "program")
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        let query = SymbolQuery(modulePath: place, buildID: SyntheticELF.buildID, offset: 0x1104, isReturnAddress: false)
        let symbol = try #require(symbolizer.resolve([query])[0])
        #expect([name, "shop"].contains(symbol.simplified), "\(symbol)")
    }

    @Test func `a C library function is own code only if a prefix of the user matches`() {
        let program = ProgramFiles(executable: "/opt/shop/shop")
        let rules = InAppRules(inAppPrefixes: ["fork"], program: program)
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "qsort"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "qsort", isOfLibrary: true))
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "fork", isOfLibrary: true))
    }
}
