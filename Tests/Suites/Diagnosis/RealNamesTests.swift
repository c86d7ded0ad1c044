import Foundation
import LagDiagnosis
import TestSupport
import Testing

/// Names that this compiler writes for asynchronous and generic code.
struct RealNamesTests {
    static let source = """
        protocol Shape { associatedtype Extra; func draw(_ extra: Extra) async throws -> Int }
        struct Circle: Shape {
            func draw(_ extra: String) async throws -> Int {
                defer { print(extra) }
                async let later = work(3)
                let sum = try await withThrowingTaskGroup(of: Int.self) { group in
                    group.addTask { await work(1) }
                    var sum = 0
                    for try await one in group { sum += one }
                    return sum
                }
                return sum + (await later)
            }
        }
        @inline(never) func work(_ count: Int) async -> Int {
            await Task.yield()
            print(count)
            return count
        }
        enum Big { case one(String, [Int]), two([String: Int]) }
        @inline(never) func sorted(_ items: [Big]) -> [Int] {
            items.map { if case .one(_, let all) = $0 { all.count } else { 0 } }.sorted { $0 < $1 }
        }
        @main struct Program {
            static func main() async throws { print(try await Circle().draw("x"), sorted([.one("a", [1])])) }
        }
        """

    /// The simplified names of all functions in the program, by their name in its symbol table.
    private func names(_ level: String) throws -> [String: String] {
        let swiftc = try #require(Compiler.swift)
        let scratch = try ScratchDirectory()
        let source = try scratch.write(Array(Self.source.utf8), to: "names.swift")
        let options = ["-parse-as-library", "-module-name", "App", level, source, "-o", "names"]
        try Compiler.run(swiftc, options, in: scratch.path)
        let table = try Compiler.run("/usr/bin/env", ["nm", "--defined-only", "names"], in: scratch.path)
        let symbols = table.split(separator: "\n").compactMap { line -> (address: UInt64, name: String)? in
            let fields = line.split(separator: " ")
            guard fields.count == 3, fields[1] == "t" || fields[1] == "T" else { return nil }
            return UInt64(fields[0], radix: 16).map { ($0, String(fields[2])) }
        }
        var symbolizer = Symbolizer()
        let queries = symbols.map {
            SymbolQuery(modulePath: scratch.path + "/names", buildID: "", offset: $0.address, isReturnAddress: false)
        }
        return zip(symbols, symbolizer.resolve(queries)).reduce(into: [:]) { names, answer in
            if let resolved = answer.1 { names[resolved.mangled ?? resolved.name] = resolved.simplified }
        }
    }

    @Test(.enabled(if: Compiler.swift != nil, "needs swiftc on the PATH"), arguments: ["-Onone", "-O"])
    func `parts of an async function have the name of the function`(level: String) throws {
        let names = try names(level)
        let parts = names.filter { $0.key.contains(/T[QY]\d+_$/) }
        #expect(parts.count >= 8)
        let expected: Set = [
            "App.work", "App.Circle.draw", "App.Program.main", "App.Program.$main", "closure in App.Circle.draw", "async_Main",
            "reabstraction thunk",
        ]
        for (name, short) in parts { #expect(expected.contains(short), "\(name)") }
        #expect(parts.values.contains("App.Circle.draw") && parts.values.contains("closure in App.Circle.draw"))
    }

    @Test(.enabled(if: Compiler.swift != nil, "needs swiftc on the PATH"), arguments: ["-Onone", "-O"])
    func `shown names are those of functions and never of thunks`(level: String) throws {
        let names = try names(level)
        for (name, short) in names {
            let whole = short.hasPrefix("merged ") ? String(short.dropFirst(7)) : short
            // The number of a closure, which distinguishes it from the function's other closures.
            let plain = whole.hasPrefix("closure #") ? String(whole.dropFirst(9)) : whole
            for word in ["partial", "merged", "specializ", "->", "#", "forwarder", "protocol witness for", "suffix"] {
                #expect(!plain.contains(word), "\(name): \(short)")
            }
            let inApp = InAppRules().isInApp(modulePath: "/opt/app", symbol: short)
            if FrameRole(symbol: short) == .thunk { #expect(!inApp, "\(short)") }
            if inApp, short.contains(".") {
                #expect(plain.hasPrefix("App.") || short.contains(" App.") || !name.hasPrefix("$s"), "\(name): \(short)")
            }
        }
        let thunks = names.values.filter { FrameRole(symbol: $0) == .thunk }
        #expect(thunks.contains("reabstraction thunk"))
    }
}
