internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

/// The readers of Perl's structures in memory with arbitrary pointers: they return soon, with or without a result.
struct HostilePerlTests {
    private let memory = RemoteMemory(process: getpid())

    @Test(arguments: 0..<40 as Range<UInt64>) func `reading random Perl calls terminates`(seed: UInt64) throws {
        let wild = WildMemory(seed: seed)
        let layout = PerlLayout.known[0]
        let copy = try #require(MemoryCopy(process: getpid()))
        for number in 0..<50 {
            let places = (0..<6).map { _ in wild.anyAddress & ~7 }
            let offsets = places.map { Int($0 - wild.address(0)) }
            guard let last = offsets.max(), last + 2048 <= WildMemory.bytes else { continue }
            let (interpreter, stack, code, body) = (offsets[0], offsets[1], offsets[2], offsets[3])
            wild.store(places[4], at: interpreter + Int(layout.currentStatement))
            wild.store(places[1], at: interpreter + Int(layout.currentStack))
            wild.store(places[2], at: interpreter + Int(layout.mainCode))
            wild.store(wild.address(0), at: stack + Int(layout.stackCalls))
            wild.store(number % 3 == 0 ? places[1] &+ 8 : 0, at: stack + Int(layout.stackPrevious))
            wild.store(UInt64(number) << 32 | UInt64(number), at: stack + Int(layout.stackIndex))
            wild.store(places[3], at: code)
            wild.store(13 << 32, at: code + 8)
            wild.store(0, at: body + 88)
            wild.store(wild.anyAddress, at: offsets[4] + Int(layout.statementFunction))
            copy.open(nil, within: 2_000_000)
            let perl = PerlStack(memory: copy, layout: layout, interpreter: places[0])
            perl.copy()
            let groups = perl.groups()
            copy.close(nil)
            #expect(groups.joined().count <= 1025)
            _ = perl.chain()
            let program = PerlProgram(layout: layout, interpreter: places[0], statementFunctions: [places[5]])
            for call in groups.joined() {
                guard let found = PerlFunction(program, at: call.function, read: { memory.bytes($0, $1) }) else { continue }
                for position: UInt64 in [found.position(of: call.counter) ?? 0, call.counter, 1, .max] {
                    _ = (found.label(), found.file(at: position), found.line(at: position), found.check(at: position))
                    _ = found.line(at: position, of: wild.anyAddress & ~7 | position & 1)
                }
            }
        }
    }

    @Test func `following cyclic Perl operations terminates`() {
        let wild = WildMemory(seed: 1)
        let layout = PerlLayout.known[0]
        // A statement, and one that is its own sibling and child.
        for (place, next) in [(0, 64), (64, 64)] {
            wild.store(wild.address(next), at: place + 8)
            wild.store(0x4_4000, at: place + 32)
            wild.store(wild.address(64), at: place + 40)
        }
        let operation = PerlOperation(layout) { memory.bytes($0, $1) }
        #expect(operation.statement(of: wild.address(4096), after: wild.address(0)) == nil)
    }
}
