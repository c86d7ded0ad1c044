internal import Glibc
internal import Testing

@testable internal import LagRemote

@Suite("A wait whose code path changes when the program starts threads")
struct WaitReturnTests {
    private static let program: UInt64 = 0x7000

    private func place(at stackPointer: UInt64, instruction: UInt64, rank: Int = 0, kind: Int32 = 2) -> RestPlace {
        RestPlace(call: nil, stackPointer: stackPointer, programCounter: Self.program + instruction, rank: rank, kind: kind)
    }

    /// Calls `check` with a stack of this process; `word` holds the return address of the call.
    private func withStack(_ check: (_ word: UnsafeMutablePointer<UInt64>, _ top: UInt64) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 64) { stack in
            stack.initialize(repeating: 0)
            guard let base = stack.baseAddress else { return }
            base[32] = 0x4711
            check(base + 32, UInt64(UInt(bitPattern: base + 32)))
        }
    }

    @Test func `a wait on another code path is the wait of the loop if its return address is the same`() {
        withStack { word, top in
            var waitReturn = WaitReturn(process: getpid())
            let fast = place(at: top, instruction: 0x30)
            let slow = place(at: top - 40, instruction: 0x6f)
            let loopsWord = word.pointee
            // It may have continued when it was first read.
            word.pointee = 0x4760
            waitReturn.record(fast, at: fast)
            word.pointee = loopsWord
            waitReturn.record(fast, at: fast)
            #expect(!waitReturn.isLoops(slow, at: fast))
            waitReturn.record(fast, at: fast)
            #expect(waitReturn.isLoops(slow, at: fast))
            // A handler that the loop's function called.
            word.pointee = 0x4760
            #expect(!waitReturn.isLoops(slow, at: fast))
        }
    }

    #if arch(x86_64)
        @Test func `a wait of the loop's function for fewer descriptors is a handler's if its return address differs`() {
            withStack { word, top in
                var waitReturn = WaitReturn(process: getpid())
                let (several, one) = (place(at: top, instruction: 0x30, rank: 1), place(at: top, instruction: 0x30))
                for _ in 0..<2 { waitReturn.record(several, at: several) }
                func isHandlers(_ found: RestPlace, at place: RestPlace, alone: Bool = true) -> Bool {
                    waitReturn.isHandlers(found, at: place) { _ in alone }
                }
                // All clients have left.
                #expect(!isHandlers(one, at: several))
                word.pointee = 0x4760
                #expect(isHandlers(one, at: several) && !isHandlers(one, at: several, alone: false))
                #expect(!isHandlers(several, at: several) && !isHandlers(several, at: one))
            }
        }

        /// Attached while a handler waited.
        @Test func `the return address is read again when the loop is first seen to wait for several descriptors`() {
            withStack { word, top in
                var waitReturn = WaitReturn(process: getpid())
                let (several, one) = (place(at: top, instruction: 0x30, rank: 1), place(at: top, instruction: 0x30))
                let loopsWord = word.pointee
                word.pointee = 0x4760
                for _ in 0..<2 { waitReturn.record(one, at: one) }
                word.pointee = loopsWord
                waitReturn.record(several, at: several)
                word.pointee = 0x4760
                for _ in 0..<2 { waitReturn.record(several, at: one) }
                #expect(!waitReturn.isHandlers(one, at: several) { _ in true })
                word.pointee = loopsWord
                waitReturn.record(several, at: several)
                #expect(!waitReturn.isHandlers(one, at: several) { _ in true })
                word.pointee = 0x4760
                #expect(waitReturn.isHandlers(one, at: several) { _ in true })
                // It may wait for fewer from now on.
                waitReturn.record(one, at: one)
                #expect(!waitReturn.isHandlers(one, at: several) { _ in true })
            }
        }
    #endif

    @Test func `a wait by the same instruction, another function or another call is a different wait`() {
        withStack { _, top in
            var waitReturn = WaitReturn(process: getpid())
            let fast = place(at: top, instruction: 0x30)
            for _ in 0..<2 { waitReturn.record(fast, at: fast) }
            #expect(!waitReturn.isLoops(place(at: top - 40, instruction: 0x30), at: fast))
            #expect(!waitReturn.isLoops(place(at: top - 40, instruction: 0x400), at: fast))
            #expect(!waitReturn.isLoops(place(at: top - 40, instruction: 0x6f, kind: 3), at: fast))
            #expect(!waitReturn.isLoops(place(at: top - 240, instruction: 0x6f), at: fast))
            #expect(!waitReturn.isLoops(place(at: top + 40, instruction: 0x6f), at: fast))
        }
    }
}
