import Foundation
import LagDiagnosis
import TestSupport
import Testing

/// The rules for choosing a symbol, with synthetic files.
struct SymbolTableTests {
    typealias Symbol = SyntheticELF.Symbol

    private func resolve(
        _ symbols: [Symbol],
        at offsets: [UInt64],
        returnAddresses: Bool = false,
        tableType: UInt32 = 2,
        textFlags: UInt64 = 0
    ) throws -> [String?] {
        let scratch = try ScratchDirectory()
        let path = try scratch.write(
            SyntheticELF(symbols: symbols, tableType: tableType, textFlags: textFlags).bytes(),
            to: "module"
        )
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        return symbolizer.resolve(
            offsets.map {
                SymbolQuery(modulePath: path, buildID: SyntheticELF.buildID, offset: $0, isReturnAddress: returnAddresses)
            }
        ).map { $0.map { "\($0.name)+\($0.symbolOffset)" } }
    }

    @Test func `the size of a symbol bounds it on both sides`() throws {
        let names = try resolve([Symbol(name: "f", value: 0x1100, size: 0x10)], at: [0x10ff, 0x1100, 0x110f, 0x1110])
        #expect(names == [nil, "f+0", "f+15", nil])
    }

    @Test func `a return address belongs to the call before it`() throws {
        let symbols = [Symbol(name: "caller", value: 0x1100, size: 0x10), Symbol(name: "next", value: 0x1110, size: 0x10)]
        #expect(try resolve(symbols, at: [0x1110], returnAddresses: true) == ["caller+16"])
        #expect(try resolve(symbols, at: [0x1110]) == ["next+0"])
    }

    @Test func `a symbol without a size reaches to the next one or to the end of its section`() throws {
        let symbols = [Symbol(name: "asm", value: 0x1100, size: 0), Symbol(name: "next", value: 0x1200, size: 8)]
        #expect(try resolve(symbols, at: [0x11ff, 0x1204, 0x1208]) == ["asm+255", "next+4", nil])
        #expect(try resolve([symbols[0]], at: [0x1fff, 0x2000]) == ["asm+3839", nil])
    }

    @Test func `of two overlapping symbols the inner one is chosen, whatever the order`() throws {
        let symbols = [Symbol(name: "outer", value: 0x1100, size: 0x100), Symbol(name: "inner_part", value: 0x1140, size: 0x10)]
        for order in [symbols, symbols.reversed()] {
            #expect(try resolve(order, at: [0x113f, 0x1148, 0x1150]) == ["outer+63", "inner_part+8", "outer+80"])
        }
    }

    @Test func `a symbol in between ends one without a size, even where it does not reach`() throws {
        let symbols = [Symbol(name: "asm", value: 0x1100, size: 0), Symbol(name: "tiny", value: 0x1180, size: 4)]
        #expect(try resolve(symbols, at: [0x117f, 0x1190]) == ["asm+127", nil])
    }

    @Test func `a file that the kernel shows as deleted is not read`() throws {
        let scratch = try ScratchDirectory()
        let file = SyntheticELF(symbols: [Symbol(name: "f", value: 0x1100, size: 16)]).bytes()
        let path = try scratch.write(file, to: "module (deleted)")
        var symbolizer = Symbolizer(debugRoot: scratch.path)
        let query = SymbolQuery(modulePath: path, buildID: "", offset: 0x1100, isReturnAddress: false)
        #expect(symbolizer.resolve([query]) == [nil])
    }

    @Test func `a global symbol is preferred to a local one`() throws {
        let local = Symbol(name: "a", value: 0x1100, size: 16, binding: 0)
        let global = Symbol(name: "longer_global", value: 0x1100, size: 16)
        #expect(try resolve([local, global], at: [0x1101]) == ["longer_global+1"])
        #expect(try resolve([global, local], at: [0x1101]) == ["longer_global+1"])
    }

    @Test func `the plainer name is preferred, whatever the order`() throws {
        let names = ["__nanosleep", "nanosleep", "nanosleep@@GLIBC_2.2.5", "nanosleep_compat"]
        let symbols = names.map { Symbol(name: $0, value: 0x1100, size: 16) }
        #expect(try resolve(symbols, at: [0x1100]) == ["nanosleep+0"])
        #expect(try resolve(symbols.reversed(), at: [0x1100]) == ["nanosleep+0"])
    }

    /// Functions that the linker folds into one (`--icf`), and functions with several names.
    @Test(
        arguments: [
            (["loadOrders", "loadUsers"], true), (["_ZN4Shop4loadEi", "_ZN4Shop4saveEi"], true),
            (["read", "__read", "__libc_read"], false), (["fopen", "_IO_new_fopen"], false),
            (["_ZN4ShopC1Ev", "_ZN4ShopC2Ev"], false), (["run", "run.localalias"], false),
            (["malloc@@V_2", "malloc@V_1"], false),
        ]
    )
    func `functions with several names at one place are folded, unless the names are aliases`(names: [String], isFolded: Bool)
        throws
    {
        for isLocal in [false, true] {
            let symbols = names.enumerated().map { index, name in
                Symbol(name: name, value: 0x1100, size: 16, binding: isLocal && index == 0 ? 0 : 1)
            }
            let scratch = try ScratchDirectory()
            let path = try scratch.write(SyntheticELF(symbols: symbols).bytes(), to: "module")
            var resolver = FrameResolver(symbolizer: Symbolizer(debugRoot: scratch.path))
            let query = SymbolQuery(
                modulePath: path,
                buildID: SyntheticELF.buildID,
                offset: 0x1104,
                isReturnAddress: false
            )
            let frame = try #require(resolver.frames(for: [query], withLines: false)[0].last)
            #expect(frame.isFolded == isFolded, "\(frame)")
            #expect(frame.symbol(inApp: true)?.hasPrefix("merged ") == isFolded, "\(frame)")
            #expect(frame.symbol(inApp: false)?.hasPrefix("merged ") == false, "\(frame)")
        }
    }

    @Test func `a label or a longer function at the same place does not count as folded`() throws {
        for size in [0, 32] as [UInt64] {
            let symbols = [
                Symbol(name: "local_part", value: 0x1100, size: size, binding: 0), Symbol(name: "run", value: 0x1100, size: 16),
            ]
            let scratch = try ScratchDirectory()
            let path = try scratch.write(SyntheticELF(symbols: symbols).bytes(), to: "module")
            var symbolizer = Symbolizer(debugRoot: scratch.path)
            let query = SymbolQuery(
                modulePath: path,
                buildID: SyntheticELF.buildID,
                offset: 0x1104,
                isReturnAddress: false
            )
            #expect(symbolizer.resolve([query])[0]?.isFolded == false)
        }
    }

    @Test func `local functions are found`() throws {
        #expect(try resolve([Symbol(name: "quiet", value: 0x1100, size: 16, binding: 0)], at: [0x1100]) == ["quiet+0"])
    }

    @Test func `indirect functions and untyped symbols with a size count`() throws {
        let symbols = [
            Symbol(name: "ifunc", value: 0x1100, size: 16, type: 10), Symbol(name: "untyped", value: 0x1200, size: 16, type: 0),
        ]
        #expect(try resolve(symbols, at: [0x1100, 0x1200]) == ["ifunc+0", "untyped+0"])
    }

    @Test func `data, undefined symbols and labels do not count`() throws {
        let symbols = [
            Symbol(name: "data", value: 0x1100, size: 16, type: 1),
            Symbol(name: "undefined", value: 0x1200, size: 16, section: 0),
            Symbol(name: "label", value: 0x1300, size: 0, type: 0),
        ]
        #expect(try resolve(symbols, at: [0x1100, 0x1200, 0x1300]) == [nil, nil, nil])
    }

    @Test func `untyped global symbols in code are functions and end the previous one`() throws {
        let symbols = [
            Symbol(name: "checksum", value: 0x1100, size: 0), Symbol(name: "mix", value: 0x1110, size: 0, type: 0),
            Symbol(name: "label", value: 0x1118, size: 0, type: 0, binding: 0), Symbol(name: "sized", value: 0x1200, size: 16),
            Symbol(name: "inner", value: 0x1204, size: 0, type: 0), Symbol(name: "etext", value: 0x2000, size: 0, type: 0),
        ]
        let names = try resolve(symbols, at: [0x110f, 0x1110, 0x1120, 0x1208, 0x2000], textFlags: 4)
        #expect(names == ["checksum+15", "mix+0", "mix+16", "sized+8", nil])
    }

    /// SwiftPM's names.
    @Test(arguments: [false, true]) func `a main function that was compiled by another name is main`(isPartial: Bool) throws {
        let symbols = [
            Symbol(name: "Shop_main", value: 0x1100, size: 0x20), Symbol(name: "main", value: 0x1100, size: 0),
            Symbol(name: "ls_main", value: 0x1200, size: 0x20),
        ]
        let names = try resolve(symbols, at: [0x1100, 0x1110, 0x1210], tableType: isPartial ? 11 : 2, textFlags: 4)
        #expect(names == ["main+0", "main+16", "ls_main+16"])
    }

    @Test func `in a table of exported symbols one without a size is not used`() throws {
        let symbols = [Symbol(name: "crc", value: 0x1100, size: 0), Symbol(name: "next", value: 0x1200, size: 8)]
        #expect(try resolve(symbols, at: [0x1140, 0x1204], tableType: 11, textFlags: 4) == [nil, "next+4"])
    }

    @Test func `mapping symbols of ARM are ignored, Swift names are not`() throws {
        for name in ["$x", "$d", "$x.12", "$d.foo"] {
            #expect(try resolve([Symbol(name: name, value: 0x1100, size: 16)], at: [0x1100]) == [nil])
        }
        let names = try resolve([Symbol(name: "$s3App6WorkerC6renderyyF", value: 0x1100, size: 16)], at: [0x1100])
        #expect(names == ["App.Worker.render() -> ()+0"])
    }

    @Test func `the dynamic table is used if there is no other`() throws {
        #expect(try resolve([Symbol(name: "exported", value: 0x1100, size: 16)], at: [0x1100], tableType: 11) == ["exported+0"])
    }

    @Test func `broken Swift names are unchanged`() throws {
        let names = ["$s", "$s999999999999999999999", "_T", "$sSS$$$\u{7f}"]
        for name in names {
            #expect(try resolve([Symbol(name: name, value: 0x1100, size: 16)], at: [0x1100]) == ["\(name)+0"])
        }
    }

    @Test func `a truncated file gives no name or the right one`() throws {
        let scratch = try ScratchDirectory()
        let whole = SyntheticELF(symbols: [Symbol(name: "f", value: 0x1100, size: 16)]).bytes()
        var symbolizer = Symbolizer(debugRoot: scratch.path, cacheLimit: 1)
        for length in 0..<whole.count {
            let path = try scratch.write(Array(whole[..<length]), to: "cut\(length)")
            let query = SymbolQuery(modulePath: path, buildID: "", offset: 0x1100, isReturnAddress: false)
            let name = symbolizer.resolve([query])[0]?.name
            #expect(name == nil || name == "f")
        }
    }

    @Test func `a file with any byte set to an extreme value is survived`() throws {
        let scratch = try ScratchDirectory()
        let whole = SyntheticELF(symbols: [Symbol(name: "f", value: 0x1100, size: 16), Symbol(name: "g", value: 0x1200, size: 0)])
            .bytes()
        var symbolizer = Symbolizer(debugRoot: scratch.path, cacheLimit: 1)
        for place in whole.indices {
            for width in [1, 8] {
                for value: UInt8 in [0x00, 0x7f, 0xff] {
                    var damaged = whole
                    for index in place..<min(place + width, whole.count) { damaged[index] = value }
                    let path = try scratch.write(damaged, to: "damaged")
                    let queries = [0, 0x1100, 0x1201, UInt64.max].map {
                        SymbolQuery(modulePath: path, buildID: "", offset: $0, isReturnAddress: false)
                    }
                    #expect(symbolizer.resolve(queries).count == 4)
                }
            }
        }
    }
}
