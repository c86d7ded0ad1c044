/// Decides which frames are the program's own. In this order:
///
/// 1. the user's prefixes;
/// 2. the file's location (``FileLocation``): the executable (unless its name and place are those of an interpreter) and the
///    files beside it are the program's; system, toolchain and package folders never are; other folders are;
/// 3. the file's name, for libraries of the system and the toolchain wherever they were copied;
/// 4. whether it belongs to the C library in a static program (``StaticLibrary``), to a language (``CompiledLibraries``) or to a
///    packaged library's object file (``ObjectFiles``); and the source file, if it is known: system headers and checked-out
///    dependencies are not the program's (``SourceModules``);
/// 5. the symbol, for system code and packages that were linked into the program: first the program's own debug information about
///    the symbol's module (or, for a name without a module, a source file that is none of the above), then lists of well-known
///    names.
///
/// Any thread; some microseconds a frame.
package struct InAppRules: Sendable, Equatable {
    /// Base names (beginnings) of libraries of the system and of the toolchain.
    package static let systemModules = [
        "ld-linux", "ld.so", "libc.so", "libc-2.", "libm.so", "libm-2.", "libmvec", "libdl.so", "libdl-2.", "librt.so",
        "librt-2.",
        "libpthread.so", "libpthread-2.", "libresolv.so", "libresolv-2.", "libnss_", "libanl.so", "libanl-2.", "libutil.so.1",
        "libutil-2.", "libgcc_s", "libstdc++", "libc++", "libunwind.so", "libunwind-",
        "liblagmonitor-preload", "libasan.so", "libtsan.so", "libubsan.so",
        "libswift_", "libswiftCore.", "libswiftDispatch.", "libswiftDistributed.", "libswiftGlibc.", "libswiftObservation.",
        "libswiftRegexBuilder.", "libswiftRemoteMirror.", "libswiftRuntime.", "libswiftSwiftOnoneSupport.",
        "libswiftSynchronization.", "lib_Swift", "lib_String", "lib_Internal", "libFoundation", "lib_Foundation",
        "libdispatch.so", "libBlocksRuntime", "libCoreFoundation", "linux-vdso", "linux-gate", "[vdso]", "[vsyscall]",
        "libnode.so", "libjvm.so", "libcoreclr.so", "libclrjit", "libhostfxr.so", "libhostpolicy.so",
        "libmono-", "libmonosgen-", "libmonoboehm-",
    ]

    /// Prefixes of the names of system code that is linked into the program: statically linked Swift libraries, generic code from
    /// them, and our own modules.
    package static let systemSymbols = [
        "Swift.", "_Concurrency.", "_StringProcessing.", "_RegexParser.", "Synchronization.", "Foundation.",
        "FoundationEssentials.", "FoundationInternationalization.", "FoundationNetworking.", "Dispatch.", "Glibc.",
        "CoreFoundation.",
        "LagModel.", "LagActivity.", "LagRunLoop.", "LagCapture.", "LagDetection.", "LagDiagnosis.", "LagOutput.", "LagMonitor.",
        "LagRemote.", "LagSymbols.", "LagMonitorConcurrency.", "LagMonitorConfiguration.", "LagMonitorDelivery.",
        "LagMonitorFoundation.", "LagMonitorLifecycle.", "LagMonitorLogging.", "LagMonitorMetrics.",
        "LagMonitorNIO.", "LagMonitorOTLP.", "LagMonitorTracing.", "LagMonitorHummingbird.", "LagMonitorGRPC.",
        "LagMonitorTestKit.",
    ]

    /// The same for names that a program's own functions and namespaces may have as well; those have a source file that is not a
    /// library's.
    package static let sharedNames = [
        "swift_", "_swift_", "__swift_", "_dispatch_", "__CFRunLoop", "__CFRUNLOOP_IS_", "CFRunLoopRun", "swift::", "std::",
        "__gnu_cxx::", "__cxxabiv1::",
        // Start-up code, and our own C modules.
        "_start", "__libc_", "clb_", "cll_", "clu_",
        // The C++ runtime, if it is linked in (`-static-libstdc++ -static-libgcc`).
        "__cxa_", "__gxx_personality_", "__dynamic_cast", "operator new", "operator delete", "_Unwind_", "uw_frame_state_for",
        "uw_update_context", "uw_init_context", "uw_install_context", "execute_cfa_program", "read_encoded_value_with_base",
        "linear_search_fdes", "classify_object_over_fdes", "get_cie_encoding",
        // Functions that call a program's function, or wait. (Any program may have a name such as `dispatch_orders`.)
        "dispatch_async", "dispatch_sync", "dispatch_after", "dispatch_apply", "dispatch_barrier_", "dispatch_block_",
        "dispatch_group_", "dispatch_main", "dispatch_once", "dispatch_queue_", "dispatch_semaphore_", "dispatch_source_",
        "dispatch_data_", "dispatch_io_", "dispatch_workloop_", "dispatch_release", "dispatch_resume", "dispatch_activate",
        // Rust's libraries, and their dependencies. (Any program may have a namespace `core`.)
        "hashbrown::", "addr2line::", "gimli::", "rustc_demangle::", "compiler_builtins::",
        "core::alloc::", "core::ascii::", "core::borrow::", "core::clone::", "core::core_arch::", "core::default::",
        "core::error::", "core::f32::", "core::f64::", "core::ffi::", "core::net::", "core::panic::", "alloc::ffi::",
        "core::any::", "core::array::", "core::cell::", "core::char::", "core::cmp::", "core::convert::", "core::fmt::",
        "core::future::", "core::hash::", "core::hint::", "core::intrinsics::", "core::iter::", "core::mem::", "core::num::",
        "core::ops::", "core::option::", "core::panicking::", "core::pin::", "core::ptr::", "core::result::", "core::slice::",
        "core::str::", "core::sync::", "core::time::", "core::unicode::", "alloc::alloc::", "alloc::borrow::", "alloc::boxed::",
        "alloc::collections::", "alloc::fmt::", "alloc::raw_vec::", "alloc::rc::", "alloc::slice::", "alloc::str::",
        "alloc::string::", "alloc::sync::", "alloc::task::", "alloc::vec::",
    ]

    /// The same for C++ code that is compiled into the program: templates and inline functions. In Rust such names are crates.
    package static let templateNames = [
        "boost::", "tbb::", "oneapi::tbb::", "fmt::v", "spdlog::", "asio::detail::", "Eigen::", "absl::", "folly::", "nlohmann::",
        "rapidjson::", "simdjson::", "google::protobuf::", "grpc::", "pybind11::", "websocketpp::", "moodycamel::", "QtPrivate::",
        "QtSharedPointer::", "QtConcurrent::", "testing::internal::",
        "QArrayData::", "QArrayDataPointer::", "QTypedArrayData::", "QList::", "QVector::", "QVarLengthArray::", "QMap::",
        "QMapData::", "QMapNode::", "QHash::", "QMultiHash::", "QMultiMap::", "QSet::", "QSharedPointer::", "QScopedPointer::",
        "arma::", "xsimd::", "ranges::v3::", "msgpack::v", "toml::v",
        "CryptoPP::", "Poco::", "pqxx::", "pugi::", "YAML::", "leveldb::", "rocksdb::", "re2::", "zmq::", "Xapian::",
    ]

    /// The same for packages that servers are built on, which are always linked in. A program's own module may have some of these
    /// names: its debug information takes precedence over this list.
    package static let packageSymbols = [
        "NIOCore.", "_NIOBase64.", "_NIODataStructures.", "NIOPosix.", "NIOConcurrencyHelpers.", "NIOEmbedded.",
        "NIOFoundationCompat.", "_NIOFileSystem.", "NIOFileSystem.", "NIOTLS.", "NIOSSL.", "NIOHTTP1.", "NIOHTTP2.", "NIOHPACK.",
        "NIOWebSocket.", "NIOExtras.", "NIOHTTPTypes.", "NIOHTTPTypesHTTP1.", "HTTPTypes.", "Hummingbird.", "HummingbirdCore.",
        "AsyncHTTPClient.", "ServiceLifecycle.", "UnixSignals.", "Logging.", "CoreMetrics.", "Metrics.", "ArgumentParser.",
        "NIOTransportServices.", "NIOHTTPCompression.", "NIOAsyncRuntime.", "NIOSSH.", "NIOCertificateReloading.", "AsyncKit.",
        "Vapor.", "RoutingKit.", "ConsoleKit.", "MultipartKit.", "WebSocketKit.", "Fluent.", "FluentKit.", "FluentSQL.",
        "FluentPostgresDriver.", "FluentMySQLDriver.", "FluentSQLiteDriver.", "SQLKit.", "Leaf.", "LeafKit.",
        "PostgresNIO.", "PostgresKit.", "MySQLNIO.", "MySQLKit.", "SQLiteNIO.", "SQLiteKit.", "RediStack.", "Valkey.",
        "MongoKitten.",
        "GRDB.", "SQLite.", "Yams.", "Crypto.", "CryptoExtras.", "_CryptoExtras.", "X509.", "SwiftASN1.", "JWTKit.", "Jobs.",
        "GRPC.", "GRPCCore.", "GRPCNIOTransport", "GRPCInProcessTransport.", "GRPCProtobuf.", "GRPCServiceLifecycle.",
        "GRPCHealthService.", "GRPCReflectionService.", "GRPCOTel", "SwiftProtobuf.", "Tracing.", "Instrumentation.",
        "ServiceContextModule.", "OTel.", "OTelCore.", "OTLPCore.", "OTLPGRPC.", "Prometheus.", "Atomics.",
        "Algorithms.", "AsyncAlgorithms.", "Collections.", "OrderedCollections.", "DequeModule.", "HeapModule.",
        "HashTreeCollections.",
        "Numerics.", "SystemPackage.", "Subprocess.", "Configuration.", "OpenAPIRuntime.", "OpenAPIAsyncHTTPClient.", "Mustache.",
        "CCryptoBoringSSL_", "CNIOBoringSSL_", "CNIOLLHTTP_", "c_nio_", "SotoCore.", "FlyingFox.", "FlyingSocks.", "Kitura.",
        "DistributedCluster.", "MQTTNIO.", "SwiftSoup.", "Alamofire.",
    ]

    /// The same for interpreters, which other libraries call.
    private static let interpreters = [
        "libpython2", "libpython3", "libruby.so", "libruby-", "libperl.so", "libphp.so", "libphp5", "libphp7", "libphp8",
        "liblua.so", "liblua5", "libluajit", "libtcl8", "libtcl9", "libguile-",
    ]

    private static let systemModulePrefixes = PrefixSet(systemModules + interpreters)
    private static let interpreterLibraries = PrefixSet(interpreters)
    private static let systemSymbolPrefixes = PrefixSet(systemSymbols)
    private static let sharedNamePrefixes = PrefixSet(sharedNames)
    private static let templateNamePrefixes = PrefixSet(templateNames)
    private static let packageSymbolPrefixes = PrefixSet(packageSymbols)

    /// Prefixes of paths, of base names or of symbols that are the program's own although the rules decide otherwise.
    package var inAppPrefixes: [String]
    /// Prefixes of paths, of base names or of symbols that are not the program's own, in addition to the rules.
    package var notInAppPrefixes: [String]
    /// The program of the frames.
    package var program: ProgramFiles

    package init(
        inAppPrefixes: [String] = [],
        notInAppPrefixes: [String] = [],
        program: ProgramFiles = ProgramFiles(executable: nil)
    ) {
        self.program = program
        self.inAppPrefixes = inAppPrefixes.filter { !$0.isEmpty }
        self.notInAppPrefixes = notInAppPrefixes.filter { !$0.isEmpty }
    }

    /// Whether a frame is the program's own. ``inAppPrefixes`` take precedence over ``notInAppPrefixes``, and both over the
    /// rules.
    /// - Parameters:
    ///   - modulePath: the file; without one (code generated at run time) only the symbol decides.
    ///   - symbol: the simplified name.
    ///   - file: the source file, if it is known.
    ///   - isOfLibrary: whether it belongs to the C library, a language or a packaged library in the same file.
    ///   - isRust: whether the name is a Rust name.
    package func isInApp(
        modulePath: String?,
        symbol: String?,
        file: String? = nil,
        isOfLibrary: Bool = false,
        isRust: Bool = false
    ) -> Bool {
        let base = modulePath.map(ModuleName.base)
        let owner = symbol.map(Self.owner)
        let names = names(modulePath, symbol)
        if Self.matches(names, inAppPrefixes) { return true }
        if isOfLibrary || Self.matches(names, notInAppPrefixes) { return false }
        // Compiler-generated code: it is in no source file, and another compiler generates something else.
        if let symbol, FrameRole.isThunk(symbol) { return false }
        guard let modulePath, let base else {
            return owner.map { isProgramSymbol($0, hasSource: false, isRust: isRust) } ?? false
        }
        switch FileLocation(modulePath, executable: program.executable) {
        case .system: return false
        // A program that was started through its loader, or by an interpreter.
        case .executable:
            if FileLocation.isInterpreter(modulePath, hasSource: file?.isEmpty == false) { return false }
            if ["ld-linux", "ld-musl", "ld.so"].contains(where: base.hasPrefix) { return false }
        case .program, .unknown: if Self.systemModulePrefixes.holdsPrefix(of: base) { return false }
        }
        if let file, FileLocation.isSystemSource(file) || SourceModules.holdsSource(file) { return false }
        return owner.map { isProgramSymbol($0, hasSource: file?.isEmpty == false, isRust: isRust) } ?? true
    }

    /// Whether ``inAppPrefixes`` match a frame.
    package func isNamedOwn(modulePath: String, symbol: String?) -> Bool {
        Self.matches(names(modulePath, symbol), inAppPrefixes)
    }

    /// The names of a frame that prefixes may match; also its module's name in the record.
    private func names(_ modulePath: String?, _ symbol: String?) -> [String] {
        [modulePath, modulePath.map(ModuleName.base), modulePath.map(program.name(ofModule:)), symbol.map(Self.owner)].compactMap
        { $0 }
    }

    /// Whether a file is the C library, the loader, a language's runtime or interpreter, or a part of CPython's own library.
    package static func isRuntime(modulePath: String?) -> Bool {
        guard let modulePath else { return false }
        let base = ModuleName.base(modulePath)
        return modulePath.contains("/lib-dynload/") || systemModulePrefixes.holdsPrefix(of: base)
            || FileLocation.isInterpreter(base)
    }

    /// Whether a file is an interpreter, or the library that contains one.
    package static func isInterpreter(modulePath: String?) -> Bool {
        guard let base = modulePath.map(ModuleName.base) else { return false }
        return FileLocation.isInterpreter(base) || interpreterLibraries.holdsPrefix(of: base)
    }

    /// Whether a name belongs to the C++ or Rust library or a toolchain, or is one that a program's own function may have as
    /// well.
    static func isShared(_ name: String, isRust: Bool = false) -> Bool {
        let path = RustNameReader.path(in: name)
        // A name of a Swift module has the module before a point: `swift_shop.checkout`.
        return (sharedNamePrefixes.holdsPrefix(of: path) || (!isRust && templateNamePrefixes.holdsPrefix(of: path)))
            && !isOfSwiftModule(name)
    }

    private static func isOfSwiftModule(_ name: String) -> Bool {
        name.utf8.first { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: " ") } == UInt8(ascii: ".")
    }

    private func isProgramSymbol(_ owner: String, hasSource: Bool, isRust: Bool) -> Bool {
        if Self.systemSymbolPrefixes.holdsPrefix(of: owner) { return false }
        if !hasSource, Self.isShared(owner, isRust: isRust) { return false }
        if isRust, !hasSource, program.modules.crates.contains(RustNameReader.crate(of: owner)) { return false }
        let module = owner.utf8.firstIndex(of: UInt8(ascii: ".")).map { String(owner[..<$0]) }
        if let module, program.modules.dependencies.contains(module) { return false }
        if let module, program.modules.own.contains(module) { return true }
        return !Self.packageSymbolPrefixes.holdsPrefix(of: owner)
    }

    static func matches(_ names: [String], _ prefixes: [String]) -> Bool {
        names.contains { name in prefixes.contains { name.hasPrefix($0) } }
    }

    /// The function or type to which code belongs: for `closure in default argument of App.f`, `App.f`.
    static func owner(_ symbol: String) -> String {
        // Most names contain no space, and the search compares characters.
        guard symbol.utf8.contains(UInt8(ascii: " ")) else { return symbol }
        var rest = symbol.hasPrefix(FrameRole.mergedPrefix) ? symbol.dropFirst(FrameRole.mergedPrefix.count) : Substring(symbol)
        for word in [" in ", " of ", " for "] {
            while let place = rest.firstRange(of: word) { rest = rest[place.upperBound...] }
        }
        return String(rest)
    }
}

/// Names of files.
enum ModuleName {
    /// The text after the last slash, without the kernel's mark of a deleted file.
    static func base(_ path: String) -> String {
        var name = withoutMark(path)
        if let slash = name.utf8.lastIndex(of: UInt8(ascii: "/")) { name = name[name.utf8.index(after: slash)...] }
        return String(name)
    }

    /// The path without the kernel's mark of a deleted file.
    static func withoutMark(_ path: String) -> Substring { path.hasSuffix(" (deleted)") ? path.dropLast(10) : path[...] }
}
