import Testing

@testable import LagDiagnosis

/// C++ names that are too long for the demangler.
struct LongNameTests {
    /// A class template with many arguments.
    private static let row =
        "3RowIJ" + String(repeating: "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", count: 40) + "EE"

    @Test(arguments: [
        ("_ZSt25__unguarded_linear_insertIPROWEvT_S1_", "std::__unguarded_linear_insert"),
        ("_ZNK4shop5TableIROWE4sortEb", "shop::Table::sort"), ("_ZN4shop5TableIROWEC2ERKS1_", "shop::Table::Table"),
        ("_ZN4shop5TableIROWED0Ev", "shop::Table::~Table"), ("_ZN12_GLOBAL__N_14loadIROWEEvv", "(anonymous)::load"),
        ("_ZZN4shop4loadIROWEEvT_ENKUlRKS1_E_clES2_", "shop::load::lambda::operator()"),
        ("_ZN4shopeqIROWEEbT_S1_", "shop::operator=="), ("_ZStplIcSaIcEPROWEvT_", "std::operator+"),
        ("_ZN4shop3runIXadL_Z4workRKROWEEEEvv", "shop::run"), ("_ZN4shop3sumILi5ELb1EM1AFvvEA4_iROWEEvv", "shop::sum"),
    ])
    func `a long name is reduced to its path`(mangled: String, path: String) {
        let mangled = mangled.replacing("ROW", with: Self.row)
        let (name, language) = Demangler().demangle(mangled)
        #expect(mangled.utf8.count > 1024 && language == .cPlusPlus)
        #expect(SymbolSimplifier.simplify(name, language: language) == path)
        #expect(InAppRules().isInApp(modulePath: "/opt/shop", symbol: path) == !path.hasPrefix("std::"))
    }

    @Test func `a damaged long name gives the same path or none, and any depth is survived`() {
        let whole = "_ZN4shop5TableI\(Self.row)EC2ERKS1_"
        for end in 0..<whole.utf8.count {
            let path = ItaniumPathReader.path(of: String(whole.prefix(end)))
            #expect(path == nil || path == "shop::Table::Table", "\(end)")
        }
        for part in ["P", "N", "I1A", "Z1f", "F", "I", "J", "1AI", "Li"] {
            #expect(ItaniumPathReader.path(of: "_Z1fI" + String(repeating: part, count: 10_000)) == nil)
        }
        #expect(ItaniumPathReader.path(of: "_Z99999999999999999999999f") == nil)
        #expect(ItaniumPathReader.path(of: "_ZD1Ev") == nil)
    }
}
