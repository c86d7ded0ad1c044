internal import Glibc
internal import Testing

@testable internal import LagRemote

/// Goroutines in this process's memory.
struct GoroutineTests {
    private static let words = 512

    /// A thread that runs on its own stack, in what `runtime.newstack` or `runtime.mcall` has called: no register has
    /// the goroutine.
    @Test(arguments: [-21, -1, 2]) func `the goroutine that a frame refers to is copied with it`(place: Int) throws {
        var stack = [UInt64](repeating: 0, count: 128)
        var heap = [UInt64](repeating: 0, count: Self.words)
        let memory = try #require(MemoryCopy(process: getpid()))
        heap.withUnsafeMutableBufferPointer { heap in
            let goroutine = UInt64(UInt(bitPattern: heap.baseAddress))
            // `stack`, `sched`: within its own stack.
            (heap[0], heap[1]) = (goroutine, goroutine + 8 * UInt64(Self.words))
            (heap[7], heap[8], heap[9]) = (goroutine + 1024, 0x40_1000, goroutine)
            stack.withUnsafeMutableBufferPointer { stack in
                let begin = UInt64(UInt(bitPattern: stack.baseAddress))
                stack[64 + place] = goroutine
                memory.open(nil, within: 1_000_000_000)
                memory.prefetch(begin, stack.count * 8)
                let named = Goroutine.copyNamed(inFrameBefore: begin + 64 * 8, from: begin + 8 * 8, memory)
                // It was preempted where it enters a function: the return address is below the caller's record.
                let (stackPointer, record) = (goroutine + 1024, goroutine + 1536)
                #expect(!memory.holds(stackPointer, 512))
                Goroutine.copyBelow(record, of: named, memory)
                memory.close(nil)
                #expect(named.map(\.address) == [goroutine] && memory.holds(stackPointer, 512))
                let found = Goroutine(memory, at: goroutine)
                #expect(found?.canGoOn == true && found?.programCounter == 0x40_1000)
            }
        }
    }
}
