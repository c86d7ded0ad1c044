import CLagBeacon
import CLagLinux
import Dispatch
import Glibc
import Synchronization
import Testing

/// Whether a sample reports that a thread is in the kernel. Needs a fifth of a processor.
struct SampledPlaceTests {
    /// A thread that repeats the work until it is released.
    private final class Busy: Sendable {
        let tid = Atomic<Int32>(0)
        private let isOver = Atomic<Bool>(false)

        init(_ work: @escaping @Sendable () -> Void) {
            DispatchQueue(label: "busy").async {
                self.tid.store(cll_gettid(), ordering: .releasing)
                while !self.isOver.load(ordering: .relaxed) { work() }
            }
            while tid.load(ordering: .acquiring) == 0 { usleep(1000) }
        }

        func end() { isOver.store(true, ordering: .relaxed) }
    }

    /// Takes a sample: its place, or the errno.
    private static func sample(_ thread: Busy, _ snapshot: inout cll_snapshot) -> (error: Int32, place: Int32) {
        var place: Int32 = -1
        let error = cll_perf_sample(thread.tid.load(ordering: .relaxed), 0, 0, &snapshot, 2_000_000_000, &place)
        return (error, place)
    }

    private static func withSnapshot<Result>(_ body: (inout cll_snapshot) -> Result) -> Result {
        let room = 64 * 1024
        let stack = UnsafeMutablePointer<UInt8>.allocate(capacity: room)
        defer { stack.deallocate() }
        var snapshot = cll_snapshot()
        (snapshot.stack, snapshot.capacity) = (stack, UInt64(room))
        return body(&snapshot)
    }

    /// Whether this process may sample threads, also in the kernel. Any other failure does not count as a refusal.
    private static let isPermitted: Bool = {
        let busy = Busy { for number in 0..<100_000 { _ = next(number) } }
        defer { busy.end() }
        let first = withSnapshot { sample(busy, &$0) }
        return ![EACCES, EPERM, ENOSYS, ENOENT, EOPNOTSUPP].contains(first.error) && first.place != Int32(CLL_PERF_OWN_CODE_ALONE)
    }()

    /// How many of 40 samples found the thread at each place, and the system calls of the samples in the kernel.
    private static func places(of thread: Busy) -> (places: [Int32: Int], calls: Set<Int64>) {
        var (found, calls): ([Int32: Int], Set<Int64>) = ([:], [])
        withSnapshot { snapshot in
            for _ in 0..<40 {
                let (error, place) = sample(thread, &snapshot)
                guard error == 0 else { continue }
                found[place, default: 0] += 1
                if place == Int32(CLL_PERF_KERNEL) { calls.insert(cll_snapshot_call(getpid(), &snapshot)) }
            }
        }
        return (found, calls)
    }

    @Test(.enabled(if: isPermitted, "this process may not sample threads in the kernel"))
    func `samples find a thread in system calls in the kernel, and a computing thread in its code`() throws {
        try #require(cll_memory_prepare() == 0)
        let calling = Busy {
            let zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC)
            let bytes = UnsafeMutableRawPointer.allocate(byteCount: 1 << 20, alignment: 16)
            for _ in 0..<100 { _ = read(zeros, bytes, 1 << 20) }
            bytes.deallocate()
            close(zeros)
        }
        defer { calling.end() }
        let computing = Busy { for number in 0..<100_000 { _ = next(number) } }
        defer { computing.end() }
        let (inCalls, inCode) = (Self.places(of: calling), Self.places(of: computing))
        #expect(inCalls.places[Int32(CLL_PERF_KERNEL), default: 0] >= 20, "\(inCalls)")
        #expect(inCalls.calls.contains { $0 != Int64(CLL_CALL_NONE) }, "\(inCalls)")
        #expect(inCode.places[Int32(CLL_PERF_OWN_CODE), default: 0] >= 20, "\(inCode)")
    }
}

@inline(never) private func next(_ number: Int) -> Int { number &* 31 }
