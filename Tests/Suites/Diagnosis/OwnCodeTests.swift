import Foundation
import LagDiagnosis
import TestSupport
import Testing

/// LagMonitor's own frames on a host thread do not count as the host's.
struct OwnCodeTests {
    private static let prefixes = ["CLagBeacon": "clb_", "CLagLinux": "cll_", "CLagRemote": "clr_", "CLibunwind": "clu_"]

    /// Including static ones: a symbol table contains them nevertheless.
    @Test func `every C function has the prefix of its module`() throws {
        let definition = /^(?!extern|typedef|return|else)[a-z][\w *]*?[ *](\w+)\(/
        var found = 0
        for (module, prefix) in Self.prefixes {
            let folder = Repository.root.appendingPathComponent("Sources/\(module)")
            for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            where file.pathExtension == "c" {
                for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where line.contains(") {") {
                    guard let match = line.prefixMatch(of: definition) else { continue }
                    found += 1
                    #expect(match.1.hasPrefix(prefix), "\(match.1) in \(file.lastPathComponent)")
                }
            }
        }
        #expect(found > 150)
    }

    @Test func `no function of an adapter is in app`() throws {
        let folder = Repository.root.appendingPathComponent("Sources/Adapters")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(names.count > 10)
        for name in names {
            #expect(!InAppRules().isInApp(modulePath: "/opt/app", symbol: "LagMonitor\(name).Adapter.serve() -> ()"), "\(name)")
        }
    }

    @Test func `the start function of a thread is not in app`() {
        #expect(!InAppRules().isInApp(modulePath: "/opt/app", symbol: "cll_run"))
        #expect(InAppRules().isInApp(modulePath: "/opt/app", symbol: "run"))
    }
}

/// Names and files like the system's.
struct NamesakeTests {
    @Test(arguments: ["cll_sum", "clu_merge", "_start_batch", "__libc_shim", "_Unwind_orders", "operator new", "std::shop"])
    func `a source file makes a function with a system name own code`(symbol: String) {
        #expect(InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol, file: "/src/list.cc"))
        #expect(!InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol))
        #expect(!InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol, file: "/src/lag/Sources/CLagLinux/thread.c"))
    }

    @Test(arguments: [
        "__cxa_throw", "_Unwind_RaiseException", "uw_frame_state_for", "__gxx_personality_v0", "__dynamic_cast",
        "operator delete",
        "std::operator+", "std::operator==", "std::apply",
        "arma::auxlib::eig_sym_dc", "QVector::realloc", "YAML::Node::begin",
    ])
    func `functions of the runtime of Cxx are not in app`(symbol: String) {
        #expect(!InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol))
    }

    @Test(arguments: [
        "libutil.so", "libmonolith.so", "libnode_editor.so", "libc-client.so", "librt-core.so", "libswiftly.so", "libm-shop.so",
        "libdispatcher.so", "libpythonic.so", "libresolver.so",
    ])
    func `own libraries with names like system libraries are in app`(name: String) {
        #expect(InAppRules().isInApp(modulePath: "/opt/shop/lib/\(name)", symbol: "work"))
        #expect(!InAppRules.isRuntime(modulePath: "/opt/shop/lib/\(name)"))
    }

    @Test(arguments: [
        "libutil.so.1", "libutil-2.31.so", "libc-2.31.so", "libc.so.6", "librt.so.1", "libmonosgen-2.0.so.1", "libmono-native.so",
        "libnode.so.108", "libswiftCore.so", "libswift_Concurrency.so", "libdispatch.so", "libpthread-2.31.so", "libresolv.so.2",
        "libpython3.11.so.1.0", "libruby-3.1.so.3.1", "libstdc++.so.6",
    ])
    func `libraries of systems and toolchains are not in app`(name: String) {
        #expect(!InAppRules().isInApp(modulePath: "/opt/shop/lib/\(name)", symbol: "work"))
        #expect(InAppRules.isRuntime(modulePath: "/opt/shop/lib/\(name)"))
    }
}

/// Server packages are linked into the program, but are not its own code.
struct ServerPackagesTests {
    @Test(arguments: [
        "NIOCore.ChannelPipeline.fireChannelRead", "closure in NIOPosix.SelectableEventLoop.run", "NIOHTTP1.HTTPDecoder.decode",
        "Hummingbird.Router.respond", "HummingbirdCore.Server.run", "ServiceLifecycle.ServiceGroup.run",
        "GRPCCore.GRPCServer.serve", "closure in GRPCNIOTransportCore.CommonHTTP2ServerTransport.listen",
    ])
    func `packages are not in app`(symbol: String) { #expect(!InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol)) }

    @Test(arguments: [
        "NIOEchoExample.EchoHandler.channelRead", "HummingbirdShop.Cart.add", "LoggingShop.run", "NIO.run", "GRPCShop.Cart.add",
    ])
    func `other packages are in app`(symbol: String) { #expect(InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol)) }
}

struct FrameRoleTests {
    @Test(arguments: ["main", "App.Program.main", "App.Program.$main", "async_Main"])
    func `entry points are recognised`(symbol: String) { #expect(FrameRole(symbol: symbol) == .entry) }

    @Test(arguments: [
        "closure in App.Program.main", "App.mainly", "domain", "App.f", "cloneRepository", "$defer in App.f", "dispatch",
        "App.Clone.start_thread", "one-time initialization function for table", "variable initialization expression of App.x",
    ])
    func `functions of a program are code`(symbol: String) { #expect(FrameRole(symbol: symbol) == .code) }

    @Test(arguments: [
        "clone3", "start_thread", "cll_run", "LagRunLoop.ObservedRunLoop.run", "closure in LagRunLoop.ObservedRunLoop.run",
        "_dispatch_client_callout", "__CFRunLoopDoSources0", "NIOPosix.SelectableEventLoop.run",
    ])
    func `functions of run loops and runtimes are machinery`(symbol: String) { #expect(FrameRole(symbol: symbol) == .machinery) }

    @Test(arguments: [
        "reabstraction thunk", "outlined destroy of App.Box", "destroy value witness for App.Big", "block_destroy_helper.26",
        "key path getter for App.Box.observed", "type metadata accessor for App.Box",
        "associated type witness table accessor for App.P",
    ])
    func `functions generated by the compiler are thunks`(symbol: String) { #expect(FrameRole(symbol: symbol) == .thunk) }

    @Test(arguments: ["thread_start", "clone", "cll_sum", "start_thread"])
    func `a function with own source is code, whatever its name`(symbol: String) {
        #expect(FrameRole(symbol: symbol, hasOwnSource: true) == .code)
        #expect(FrameRole(symbol: symbol) == .machinery)
    }

    @Test func `a call operator without a name is not the culprit`() {
        #expect(FrameRole(symbol: "operator()") == .thunk)
        #expect(FrameRole(symbol: "taxes::lambda::operator()") == .code)
    }

    @Test func `a frame without a symbol is unnamed`() {
        #expect(FrameRole(symbol: nil) == .unnamed)
        #expect(FrameRole(symbol: "") == .unnamed)
    }
}
