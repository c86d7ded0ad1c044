import LagDiagnosis
import Testing

struct SymbolSimplifierTests {
    /// On the left as the demangler of Swift 6.3 prints it, on the right as a record shows it.
    static let swiftNames: [(String, String)] = [
        ("App.Worker.render(fast: Swift.Bool) throws -> ()", "App.Worker.render"),
        ("static App.Worker.shared.getter : App.Worker", "App.Worker.shared.getter"),
        ("App.run<A where A: App.P>(A) -> (A) -> Swift.Int", "App.run"),
        ("App.Box<A>.put(A) -> ()", "App.Box.put"),
        ("App.Box.Inner<A><B>.put(A) -> ()", "App.Box.Inner.put"),
        ("App.Box.x.setter : Swift.Int", "App.Box.x.setter"),
        ("App.Box.x.modify : Swift.Int with unmangled suffix \".resume.0\"", "App.Box.x.modify"),
        ("App.Box.subscript.getter : (Swift.Int) -> Swift.Int", "App.Box.subscript.getter"),
        ("App.Box.init(x: Swift.Int) -> App.Box", "App.Box.init"),
        ("App.Box.__allocating_init() -> App.Box", "App.Box.__allocating_init"),
        ("App.Box.__deallocating_deinit", "App.Box.__deallocating_deinit"),
        ("App.globalThing.unsafeMutableAddressor : [Swift.Int]", "App.globalThing.unsafeMutableAddressor"),
        ("closure #1 (Swift.Int) -> () in App.f(x: Swift.Int) -> ()", "closure in App.f"),
        ("closure #2 @Sendable () -> () in closure #3 () -> Swift.Int in static App.f() -> ()", "closure #3.2 in App.f"),
        ("closure #1 () -> () in closure #12 () -> () in closure #1 () -> () in App.f() -> ()", "closure #1.12 in App.f"),
        ("closure #1 () -> () in closure #1 () -> () in closure #2 () -> () in App.f() -> ()", "closure #2 in App.f"),
        ("closure #4 () -> Swift.Int in m", "closure #4 in m"),
        ("implicit closure #1 () -> () in App.f() -> ()", "closure in App.f"),
        (
            "closure #1 () -> () in variable initialization expression of static App.Table.rows : [Swift.Int]",
            "closure in variable initialization expression of App.Table.rows"
        ),
        ("@objc closure #2 (Swift.Int32) -> () in static a.App.main() -> ()", "closure #2 in a.App.main"),
        ("partial apply forwarder for closure #1 () async -> () in App.f() -> ()", "closure in App.f"),
        ("(2) suspend resume partial function for closure #1 () async -> () in App.f() -> ()", "closure in App.f"),
        ("(13) await resume partial function for App.f() async -> ()", "App.f"),
        ("merged App.f() -> ()", "merged App.f"), ("merged merged App.f() -> ()", "merged App.f"),
        ("specialized App.f<A>(A) -> ()", "App.f"),
        ("partial apply for App.f", "App.f"),
        ("generic specialization <Swift.Int> of App.f<A>(A) -> ()", "App.f"),
        ("generic specialization <(Swift.Int) -> Swift.Int> of App.f<A>(A) -> ()", "App.f"),
        (
            "generic specialization <Swift.Int> of (extension in Swift):Swift.Sequence.sorted() -> [A.Element]",
            "Swift.Sequence.sorted"
        ),
        (
            "function signature specialization <Arg[0] = [Closure Propagated : $s2ao11globalThingSaySiGvpfiACyXEfU_,"
                + " Argument Types : []> of generic specialization <Swift.Int> of closure #1 (inout Swift.Foo<A>) -> ()"
                + " in Swift.stableSort<A>(by: (A, A) throws -> Swift.Bool) throws -> ()",
            "closure in Swift.stableSort"
        ),
        ("nested #1 (Swift.Int) -> () in static a.App.main() -> ()", "nested in a.App.main"),
        (
            "closure #1 (Swift.Int) -> () in q() -> () in Loc #1 in nested #1 (Swift.Int) -> () in static a.App.main() -> ()",
            "closure in q in Loc in nested in a.App.main"
        ),
        ("App.(secret in _EFF83A1F47B777EA672D48C97C71346F)([A]) -> A?", "App.secret"),
        ("App.(Hidden in _EFF83A1F47B777EA672D48C97C71346F).run() -> ()", "App.Hidden.run"),
        ("(extension in App):Swift.Array.ext() -> ()", "App.Array.ext"),
        ("(extension in App):Swift.Array<A where A == Swift.Int>.total.getter : Swift.Int", "App.Array.total.getter"),
        (
            "(extension in Swift):Swift.Task< where B == Swift.Never>.init(name: Swift.String?) -> Swift.Task<A, B>",
            "Swift.Task.init"
        ),
        ("static App.Foo.== infix(App.Foo<A>, App.Foo<A>) -> Swift.Bool", "App.Foo.=="),
        ("static App.Foo.< infix(App.Foo<A>, App.Foo<A>) -> Swift.Bool", "App.Foo.<"),
        ("static App.Foo...< infix(A, A) -> Swift.Range<A>", "App.Foo...<"),
        ("App.--> infix(Swift.Int, Swift.Int) -> Swift.Int", "App.-→"),
        ("App.- prefix(Swift.Int) -> Swift.Int", "App.-"),
        ("App.(<+> in _EFF83A1F) infix(Swift.Int, Swift.Int) -> Swift.Int", "App.<+>"),
        ("protocol witness for App.P.f() -> () in conformance App.Foo<A> : App.P in App", "App.Foo.f"),
        (
            "protocol witness for static Swift.Comparable.< infix(A, A) -> Swift.Bool in conformance App.Foo<A> : Swift.Comparable in App",
            "App.Foo.<"
        ),
        ("default argument 0 of App.f(Swift.Int) -> ()", "default argument of App.f"),
        ("closure #1 () -> Swift.Int in default argument 12 of App.f(Swift.Int) -> ()", "closure in default argument of App.f"),
        ("variable initialization expression of App.x : [Swift.Int]", "variable initialization expression of App.x"),
        ("one-time initialization function for globalThing", "one-time initialization function for globalThing"),
        (
            "reabstraction thunk helper <A where A: Swift.Sendable> from @escaping () -> (@out A) to @escaping () -> ()",
            "reabstraction thunk"
        ),
        ("generic specialization <()> of reabstraction thunk helper from @escaping () -> () to () -> ()", "reabstraction thunk"),
        ("(1) await resume partial function for static App.Program.main() async throws -> ()", "App.Program.main"),
        (
            "(1) await resume partial function for partial apply forwarder for closure #2 () async throws -> Swift.Int in closure #1"
                + " (inout Swift.ThrowingTaskGroup<Swift.Int, Swift.Error>) async throws -> Swift.Int in App.Circle.draw(Swift.String)"
                + " async throws -> Swift.Int",
            "closure #1.2 in App.Circle.draw"
        ),
        (
            "(10) suspend resume partial function for function signature specialization <Arg[0] = Dead> of static"
                + " App.Program.main() async throws -> ()",
            "App.Program.main"
        ),
        (
            "(1) await resume partial function for protocol witness for App.Shape.draw(A.Extra) async throws -> Swift.Int in"
                + " conformance App.Circle : App.Shape in App",
            "App.Circle.draw"
        ),
        (
            "(1) await resume partial function for partial apply forwarder for generic specialization <()> of reabstraction thunk"
                + " helper <A, B where A: Swift.Sendable> from @escaping @async () -> (@out A) to @escaping @async () -> ()",
            "reabstraction thunk"
        ),
        (
            "(1) await resume partial function for implicit closure #1 @Sendable () async -> Swift.Int in App.work() async -> ()",
            "closure in App.work"
        ),
        ("$defer #1 <A where A: Swift.Comparable>() -> () in App.Box.find(A) -> Swift.Int?", "$defer in App.Box.find"),
        ("merged initializeWithCopy value witness for App.Big", "merged initializeWithCopy value witness for App.Big"),
        ("dispatch thunk of App.Box.find(A) -> Swift.Int?", "App.Box.find"),
        ("type metadata accessor for App.Box", "type metadata accessor for App.Box"),
        ("outlined init with copy of App.Box<Swift.Int>", "outlined init with copy of App.Box"),
    ]

    static let cPlusPlusNames: [(String, String)] = [
        ("render(int, char const*)", "render"),
        ("ns::Worker::render(int) const", "ns::Worker::render"),
        ("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back"),
        ("void ns::apply<int>(int)", "ns::apply"),
        ("std::map<int, long> ns::make<int>(int)", "ns::make"),
        ("(anonymous namespace)::work()", "(anonymous)::work"),
        ("ns::f(int)::{lambda(int)#1}::operator()(int) const", "ns::f::lambda::operator()"),
        ("ns::f(int) const::{lambda()#2}::operator()() const", "ns::f::lambda::operator()"),
        ("ns::f(int)::'lambda0'(int)::operator()(int) const", "ns::f::lambda::operator()"),
        ("ns::Pointer<int>::operator->() const", "ns::Pointer::operator→"),
        ("std::ostream& ns::operator<< <int>(std::ostream&, int)", "ns::operator<<"),
        ("ns::Wrapper::operator bool() const", "ns::Wrapper::operator bool"),
        ("operator new(unsigned long)", "operator new"),
        ("ns::~Worker()", "ns::~Worker"),
        ("non-virtual thunk to ns::Worker::run()", "ns::Worker::run"),
        ("ns::name[abi:cxx11](int)", "ns::name"),
        ("ns::run(int) [clone .cold]", "ns::run"),
        ("ns::operatorTable(int)", "ns::operatorTable"),
        (
            "std::__cxx11::basic_string<char> std::operator+<char, std::char_traits<char> >(char const*, std::string const&)",
            "std::operator+"
        ),
        ("bool std::operator==<char, int>(A<char> const&, int)", "std::operator=="), ("V operator*<int>(V, int)", "operator*"),
        ("std::complex<double>& std::complex<double>::operator*=<double>(double)", "std::complex::operator*="),
        ("A operator,<int, B>(A, B)", "operator,"), ("int A::operator->*<int, B>(B)", "A::operator→*"),
        ("auto ns::operator<=><int, B>(A, B)", "ns::operator<=>"), ("bool operator><int>(A, A)", "operator>"),
        ("bool operator< <int>(A, A)", "operator<"), ("A::operator int*() const", "A::operator int*"),
        ("decltype(auto) callAuto<int>(int)", "callAuto"), ("decltype ({parm#1}()) ns::callExpr<F>(F)", "ns::callExpr"),
        ("decltype (*({parm#1})) ns::at<F>(F)", "ns::at"), ("decltype ({parm#1}())::type& ns::of<F>(F)", "ns::of"),
        ("void (*pick<int>(int))(char)", "pick"), ("int (ns::A::*ns::member<int>(int))(char) const", "ns::member"),
        ("int (&row<int>(int))[3]", "row"),
        ("decltype(auto) std::apply<main::{lambda(int)#1}, std::tuple<int> >(main::{lambda(int)#1}&&)", "std::apply"),
        ("std::enable_if<((4)>(1)), B<A, (ns::endian)1>&>::type ns::B<A>::add<int>(int)", "ns::B::add"),
    ]

    static let cNames: [(String, String)] = [
        ("usleep", "usleep"), ("malloc@@GLIBC_2.2.5", "malloc"), ("run.cold", "run"), ("run.constprop.0.isra.1", "run"),
        ("__internal_syscall_cancel", "__internal_syscall_cancel"), (".hidden", ".hidden"),
        ("async_MainTQ0_", "async_Main"), ("async_MainTY12_", "async_Main"), ("TQ0_", "TQ0_"), ("a_TQ_", "a_TQ_"),
        ("FACTQ_", "FACTQ_"), ("state_0_", "state_0_"), ("_", "_"),
        ("run.part.0.cold", "run"), ("run.llvm.123", "run"), ("inner.0", "inner"), ("work._omp_fn.3", "work"),
        ("work.omp_outlined.1", "work"), (".omp_outlined.", ".omp_outlined"), ("f.cold@@V1", "f"),
        // Names of Zig and Go, and of OCaml; those of cgo without the hash of the package's files.
        ("main.price", "main.price"), ("main.part.cost", "main.part.cost"), ("main.work.func1", "main.work.func1"),
        ("camlShop.price_270", "camlShop.price_270"),
        ("_cgo_c41da742855b_Cfunc_add_all", "_cgo_Cfunc_add_all"), ("_cgoexp_c41da742855b_visit", "_cgoexp_visit"),
        ("_cgo_init", "_cgo_init"), ("_cgo_wait_runtime_init_done_x", "_cgo_wait_runtime_init_done_x"),
    ]

    @Test(arguments: swiftNames) func `a Swift name is simplified`(full: String, short: String) {
        #expect(SymbolSimplifier.simplify(full, language: .swift) == short)
    }

    @Test(arguments: cPlusPlusNames) func `a C plus plus name is simplified`(full: String, short: String) {
        #expect(SymbolSimplifier.simplify(full, language: .cPlusPlus) == short)
    }

    @Test(arguments: cNames) func `a C name is simplified`(full: String, short: String) {
        #expect(SymbolSimplifier.simplify(full, language: .c) == short)
    }

    @Test func `damaged names are simplified without an arrow and without a crash`() {
        let names = (Self.swiftNames + Self.cPlusPlusNames).map(\.0)
        for name in names {
            for end in 0...name.utf8.count {
                for language in [SymbolLanguage.swift, .cPlusPlus, .c] {
                    let cut = String(decoding: name.utf8.prefix(end), as: UTF8.self)
                    let short = SymbolSimplifier.simplify(cut, language: language)
                    #expect(!short.contains("->"))
                    #expect(short.isEmpty == cut.isEmpty)
                }
            }
        }
    }

    @Test(arguments: [
        ("shop::resize::h47fc215f55c201d9", "shop::resize"), ("shop::resize::h4c7d171368e05d64", "shop::resize"),
        ("shop::rank_items::_$u7b$$u7b$closure$u7d$$u7d$::h47fc215f55c201d9", "shop::rank_items::{{closure}}"),
        (
            "_$LT$shop..Cart$u20$as$u20$core..fmt..Display$GT$::fmt::h0123456789abcdef",
            "<shop::Cart as core::fmt::Display>::fmt"
        ),
        (
            "core::ops::function::FnOnce::call_once$u7b$$u7b$vtable.shim$u7d$$u7d$::h0123456789abcdef",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}"
        ),
        // A C++ namespace.
        ("shop::h47fc215f55c201d9()", "shop::h47fc215f55c201d9"), ("shop::h47fc", "shop::h47fc"),
    ]) func `names of Rust are shown without the hash of the build`(demangled: String, short: String) {
        #expect(SymbolSimplifier.simplify(demangled, language: .cPlusPlus) == short)
    }

    @Test(arguments: [
        ("(1) await resume partial function for partial apply forwarder for closure #1 () async -> () in App.f() -> ()", true),
        ("(2) suspend resume partial function for reabstraction thunk helper from @escaping () -> () to () -> ()", true),
        ("protocol witness for App.P.find(Swift.Int) async -> () in conformance App.Disk : App.P in App", true),
        ("function signature specialization <Arg[0] = Dead> of dispatch thunk of App.P.find(Swift.Int) -> ()", true),
        ("(1) await resume partial function for closure #1 () async -> () in App.f() -> ()", false),
        ("App.forwarder(partial: Swift.Int) -> ()", false),
    ]) func `a function that the compiler generated to forward a call is recognised by its name`(name: String, forwards: Bool) {
        #expect(ResolvedFrame(name: name).isForwarder == forwards)
    }

    @Test func `a suffix added by link-time optimisation is removed from a name`() {
        let found = Demangler().demangle("_ZN4shop6resize17h47fc215f55c201d9E.llvm.16159844760554946847")
        #expect(SymbolSimplifier.simplify(found.name, language: found.language) == "shop::resize")
    }
}
