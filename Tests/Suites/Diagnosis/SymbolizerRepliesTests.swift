import Testing

@testable import LagDiagnosis
@testable import LagSymbols

struct SymbolizerRepliesTests {
    private static let text = "0x10\ninner\n/s/a.c:3:5\nouter\n/s/b.c:9:0\n\n0x20\n??\n??:0:0\n\n0xff\nf\n/s/c:d.c:0:0\n\n"

    @Test func `an object files name in the symbol table is no source`() {
        var replies = SymbolizerReplies(addresses: [1])
        let isTaken = replies.take(Array("0x1\nf\nshop.867b5c192e01640d-cgu.1:0:0\n\n".utf8))
        #expect(isTaken && replies.replies == [[.init(hasNoLocation: true)]])
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `replies come in pieces of any size`(size: Int) {
        var replies = SymbolizerReplies(addresses: [0x10, 0x20, 0xff])
        var rest = Array(Self.text.utf8)[...]
        while !rest.isEmpty {
            let isTaken = replies.take(rest.prefix(size))
            #expect(isTaken)
            rest = rest.dropFirst(size)
        }
        #expect(replies.isComplete)
        #expect(
            replies.replies == [
                [
                    .init(rawName: "inner", file: "/s/a.c", line: 3, column: 5),
                    .init(rawName: "outer", file: "/s/b.c", line: 9),
                ],
                [.init(hasNoLocation: true)],
                [.init(rawName: "f", file: "/s/c:d.c")],
            ]
        )
    }

    @Test func `a name without a place is of code without lines`() {
        var replies = SymbolizerReplies(addresses: [1, 2, 3])
        let isTaken = replies.take(
            Array("0x1\n_end\n??:0:0\n\n0x2\nread\nread.o:0:0\n\n0x3\ng\n<compiler-generated>:0:0\n\n".utf8)
        )
        #expect(isTaken)
        #expect(replies.replies == [[.init(hasNoLocation: true)], [.init(hasNoLocation: true)], []])
    }

    @Test func `compilers code has no file`() {
        var replies = SymbolizerReplies(addresses: [1])
        let isTaken = replies.take(Array("0x1\nf\n/s/a.c:1:1\ng\n/<compiler-generated>:0:0\n\n".utf8))
        #expect(isTaken)
        #expect(replies.replies == [[.init(rawName: "f", file: "/s/a.c", line: 1, column: 1), .init(rawName: "g")]])
    }

    @Test(arguments: ["0x2\nf\na:1:1\n\n", "f\na:1:1\n\n", "0x1\nf\n\n", "0x1\nf\na:1:1\n\nx", "\n\n"])
    func `what is no answer is refused`(text: String) {
        var replies = SymbolizerReplies(addresses: [1])
        let isTaken = replies.take(Array(text.utf8))
        #expect(!isTaken)
    }

    @Test func `an endless reply is refused`() {
        var replies = SymbolizerReplies(addresses: [1])
        let isTaken = replies.take(Array(repeating: UInt8(ascii: "x"), count: SymbolizerReplies.maximumReplyBytes + 1))
        #expect(!isTaken)
    }

    @Test func `of very deep inlining the last level is kept`() {
        var replies = SymbolizerReplies(addresses: [1])
        let levels = (0..<100).map { "f\($0)\n/a.c:\($0 + 1):1\n" }.joined()
        let isTaken = replies.take(Array("0x1\n\(levels)\n".utf8))
        #expect(isTaken)
        #expect(replies.replies[0].count == SymbolizerReplies.maximumLevels)
        #expect(replies.replies[0].first?.rawName == "f0")
        #expect(replies.replies[0].last?.rawName == "f99")
    }
}

struct RestartBudgetTests {
    @Test func `after three failures a minute must pass`() {
        var budget = RestartBudget()
        let second: UInt64 = 1_000_000_000
        for failure in 0..<3 {
            #expect(budget.allowsStart(at: UInt64(failure) * second))
            budget.recordFailure(at: UInt64(failure) * second)
        }
        #expect(!budget.allowsStart(at: 59 * second))
        #expect(budget.allowsStart(at: 60 * second))
        budget.recordFailure(at: 60 * second)
        #expect(!budget.allowsStart(at: 60 * second))
        #expect(budget.allowsStart(at: 61 * second))
    }
}

struct SymbolCacheTests {
    private func key(_ address: Int) -> SymbolCache<[ResolvedFrame]>.Key {
        .init(module: "m", address: UInt64(bitPattern: Int64(address)))
    }
    private let entry = [ResolvedFrame(name: String(repeating: "n", count: 1000))]

    @Test func `memory is bounded`() {
        var cache = SymbolCache<[ResolvedFrame]>(byteLimit: 100_000)
        for address in 0..<1000 { cache.insert(entry, for: key(address)) }
        #expect(cache.count > 20)
        #expect(cache.count < 100)
    }

    @Test func `what is in use stays`() {
        var cache = SymbolCache<[ResolvedFrame]>(byteLimit: 100_000)
        cache.insert(entry, for: key(-1))
        for address in 0..<1000 {
            cache.insert(entry, for: key(address))
            #expect(cache.value(for: key(-1)) == entry)
        }
        #expect(cache.value(for: key(0)) == nil)
    }

    @Test func `an entry that would fill the cache is not kept`() {
        var cache = SymbolCache<[ResolvedFrame]>(byteLimit: 1000)
        cache.insert(entry, for: key(1))
        #expect(cache.count == 0)
    }

    @Test func `entries are bounded as well`() {
        var cache = SymbolCache<[ResolvedFrame]>(byteLimit: .max, countLimit: 10)
        for address in 0..<100 { cache.insert([], for: key(address)) }
        #expect(cache.count <= 10)
        #expect(cache.value(for: key(99)) == [])
    }
}
