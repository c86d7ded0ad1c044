import Foundation
import LagDiagnosis
import TestSupport
import Testing

/// Rust names in the v0 mangling, and whose code they are.
struct RustNamesTests {
    private static func simplified(_ name: String) -> String {
        let (name, language) = Demangler().demangle(name)
        return SymbolSimplifier.simplify(name, language: language)
    }

    /// From a program of Rust 1.95.
    @Test(
        arguments: zip(
            [
                "_RNvNtNtCsjrHSEGnQ3l9_3std6thread9functions5sleep",
                "_RNvXs1m_NtCslNYArtu3iFV_5alloc6stringNtB6_13FromUtf8ErrorNtNtCsgEmfK2I1SDS_4core3fmt5Debug3fmt",
                "_RNvMs4_NtCslNYArtu3iFV_5alloc7raw_vecNtB5_11RawVecInner11finish_growCsduwmD7cSIQq_5gimli",
                "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc3vec3VechEECsjrHSEGnQ3l9_3std",
                "_RNCNvNtCs1234_4shop4cart5totals_0B5_", "_RNvXCs1_4shopRShNtB2_5Price5price", "_RNvYjNtCs1_4shop5Price5price",
                "_RNvXCs1_4shopDNtB2_4ItemEL_NtB2_5Price5price", "_RNvMs3_NtCs1_5alloc3stre12to_lowercase",
                "_RNvMNtCs1_4core5sliceSh11copy_within",
            ],
            [
                "std::thread::functions::sleep", "<alloc::string::FromUtf8Error as core::fmt::Debug>::fmt",
                "alloc::raw_vec::RawVecInner::finish_grow", "core::ptr::drop_in_place", "shop::cart::total::{{closure}}",
                "<&[u8] as shop::Price>::price", "<usize as shop::Price>::price", "<dyn shop::Item as shop::Price>::price",
                "alloc::str::<impl str>::to_lowercase", "core::slice::<impl [u8]>::copy_within",
            ]
        )
    )
    func `names in the v0 mangling become paths`(name: String, path: String) { #expect(Self.simplified(name) == path) }

    @Test(
        arguments: [
            "_R", "_RN", "_RNv", "_R0NvC1a1b", "_RNvC1a9b", "_RNvB_1a", "_RNvC1aB0_", "_Report", "_RINvC1a1bKj", "_RNvMC1aB5_1b",
            String(repeating: "N", count: 90_000), "_RNvXC1aTTTTTTTTTTTTTTTTEEEEEEEEEEEEEEEE", "_RIB_B_B_B_E", "_RIC1aSB_SB_E",
            "_RC4_set_key",
        ]
    )
    func `a name that is not in the v0 mangling is unchanged`(name: String) { #expect(Self.simplified(name) == name) }

    /// Each argument contains the one before it twice: 2 to the 50th steps without a limit.
    @Test(.timeLimit(.minutes(1))) func `the cost of repetitions in a name is bounded`() {
        var name = "_RIC1aTjjE"
        var last = 4
        for _ in 0..<50 {
            let place = Self.base62(last - 1) + "_"
            last = name.utf8.count - 2
            name += "TB\(place)B\(place)E"
        }
        #expect(Self.simplified(name + "E") == name + "E")
    }

    private static func base62(_ number: Int) -> String {
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
        return (number >= 62 ? base62(number / 62) : "") + String(digits[number % 62])
    }

    @Test func `crates of a registry are not own code`() {
        let modules = SourceModules(crates: ["regex", "serde_json"])
        let rules = InAppRules(program: ProgramFiles(executable: "/srv/shop", modules: modules))
        func isOwn(_ symbol: String, file: String? = nil, isRust: Bool = true) -> Bool {
            rules.isInApp(modulePath: "/srv/shop", symbol: symbol, file: file, isRust: isRust)
        }
        #expect(!isOwn("regex::exec::ExecNoSync::find"))
        #expect(!isOwn("<serde_json::value::de::ValueVisitor as serde::de::Visitor>::visit_map"))
        #expect(isOwn("shop::find") && isOwn("regexes::find"))
        // A C++ namespace in the same program.
        #expect(isOwn("regex::find", isRust: false))
        #expect(!isOwn("hashbrown::map::HashMap::insert"))
    }

    /// A Rust program contains the paths of sources that can panic among its constants.
    @Test(.enabled(if: Compiler.c != nil)) func `paths among the constants of a program name its crates`() throws {
        let scratch = try ScratchDirectory()
        let registry = "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f"
        let paths = [
            "regex-syntax-0.6.27/src/lib.rs", "sha-1-0.10.0/src/a.rs", "time-1.0.0-rc.1/src/lib.rs", "shop/src/lib.rs", "cut-1.0",
        ]
        let installed = ["serde_json-1.0.87/src/de.rs", "rayon/src/lib.rs"].map { "/usr/share/cargo/registry/\($0)" }
        let constants = (paths.map { "\(registry)/\($0)" } + installed).map { "\"\($0)\"" }.joined(separator: ", ")
        let text =
            "#include <stdio.h>\nconst char *volatile paths[] = {\(constants)};\nint main(void) { return getchar() + !paths[0]; }\n"
        _ = try scratch.write(Array(text.utf8), to: "shop.c")
        try Compiler.run(try #require(Compiler.c), ["shop.c", "-o", "shop"], in: scratch.path)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: scratch.path + "/shop")
        process.standardInput = Pipe()
        try process.run()
        defer {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        var files = ProgramFiles(executable: nil)
        for _ in 0..<1000 where files.executable?.hasSuffix("/shop") != true {
            files = ProgramFiles.read(of: process.processIdentifier, after: nil)
            usleep(5000)
        }
        #expect(files.modules.crates == ["regex_syntax", "serde_json", "sha_1", "time"], "\(files)")
    }

    @Test func `crates with the names of Cxx libraries may be own code`() {
        let rules = InAppRules(program: ProgramFiles(executable: "/srv/shop"))
        for name in ["leveldb::open", "fmt::value::write", "toml::vendor::load"] {
            #expect(rules.isInApp(modulePath: "/srv/shop", symbol: name, isRust: true), "\(name)")
            #expect(!rules.isInApp(modulePath: "/srv/shop", symbol: name), "\(name)")
        }
        #expect(!rules.isInApp(modulePath: "/srv/shop", symbol: "core::fmt::write", isRust: true))
    }
}
