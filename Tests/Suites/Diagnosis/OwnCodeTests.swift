import Foundation
import LagDiagnosis
import TestSupport
import Testing

/// Our own frames, on a thread that belongs to the host, are not the host's.
struct OwnCodeTests {
    private static let prefixes = ["CLagBeacon": "clb_", "CLagLinux": "cll_", "CLagRemote": "clr_", "CLibunwind": "clu_"]

    /// Also those that no other file sees: a symbol table holds them all the same.
    @Test func `every c function carries the prefix`() throws {
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

    @Test func `a threads start function is not in app`() {
        #expect(!InAppRules().isInApp(modulePath: "/opt/app", symbol: "cll_run"))
        #expect(InAppRules().isInApp(modulePath: "/opt/app", symbol: "run"))
    }
}

/// Packages that servers are built on are linked into the program, and yet nobody's own.
struct ServerPackagesTests {
    @Test(arguments: [
        "NIOCore.ChannelPipeline.fireChannelRead", "closure in NIOPosix.SelectableEventLoop.run", "NIOHTTP1.HTTPDecoder.decode",
        "Hummingbird.Router.respond", "HummingbirdCore.Server.run", "ServiceLifecycle.ServiceGroup.run",
        "GRPCCore.GRPCServer.serve", "closure in GRPCNIOTransportCore.CommonHTTP2ServerTransport.listen",
    ])
    func `are not in app`(symbol: String) { #expect(!InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol)) }

    @Test(arguments: [
        "NIOEchoExample.EchoHandler.channelRead", "HummingbirdShop.Cart.add", "LoggingShop.run", "NIO.run", "GRPCShop.Cart.add",
    ])
    func `others of such names are`(symbol: String) { #expect(InAppRules().isInApp(modulePath: "/opt/shop", symbol: symbol)) }
}

struct FrameRoleTests {
    @Test(arguments: ["main", "App.Program.main", "App.Program.$main", "async_Main"])
    func `entry points are known`(symbol: String) { #expect(FrameRole(symbol: symbol) == .entry) }

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
    func `what the compiler makes is a thunk`(symbol: String) { #expect(FrameRole(symbol: symbol) == .thunk) }

    @Test func `frame without a symbol is unnamed`() {
        #expect(FrameRole(symbol: nil) == .unnamed)
        #expect(FrameRole(symbol: "") == .unnamed)
    }
}
