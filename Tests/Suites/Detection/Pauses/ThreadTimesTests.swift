internal import CLagLinux
import Glibc
import Testing

@testable import LagDetection

struct ThreadTimesTests {
    private func times(_ text: String) -> ThreadTimes? {
        Array(text.utf8).withUnsafeBytes { ThreadTimes(text: $0) }
    }

    @Test(arguments: [("12 345 6\n", 12, 345), ("0 0 1", 0, 0), ("1 2", 1, 2)] as [(String, UInt64, UInt64)])
    func `processor time and run delay are the first two numbers`(text: String, cpu: UInt64, delay: UInt64) {
        #expect(times(text) == ThreadTimes(cpuNanoseconds: cpu, runDelayNanoseconds: delay))
    }

    @Test(arguments: ["", "12", "12 ", "12 x 3", "x 1 2"])
    func `an unknown form gives no times`(text: String) {
        #expect(times(text) == nil)
    }

    @Test func `the difference is never negative`() {
        let (one, two) = (
            ThreadTimes(cpuNanoseconds: 5, runDelayNanoseconds: 9), ThreadTimes(cpuNanoseconds: 8, runDelayNanoseconds: 7)
        )
        #expect(two.since(one) == ThreadTimes(cpuNanoseconds: 3, runDelayNanoseconds: 0))
        #expect(one.since(two) == ThreadTimes(cpuNanoseconds: 0, runDelayNanoseconds: 2))
    }

    @Test func `the kernel provides the times by thread and by file`() throws {
        let tid = cll_gettid()
        let first = try #require(ThreadTimes(tid: tid))
        let file = PersistentProcFile(path: "/proc/self/task/\(tid)/schedstat")
        let second = try #require(ThreadTimes(file))
        #expect(second.cpuNanoseconds >= first.cpuNanoseconds && second.runDelayNanoseconds >= first.runDelayNanoseconds)
        #expect(ThreadTimes(tid: -1) == nil)
        #expect(ThreadTimes(PersistentProcFile(path: "/proc/self/task/0/schedstat")) == nil)
    }
}
