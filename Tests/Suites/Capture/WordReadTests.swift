import CLagLinux
import Glibc
import Testing

/// Reading the memory of other threads without their cooperation, at many places at once.
struct WordReadTests {
    @Test func `words at many addresses are read up to the first unreadable one`() {
        #expect(cll_memory_prepare() == 0)
        let values = UnsafeMutableBufferPointer<UInt64>.allocate(capacity: 20)
        defer { values.deallocate() }
        for index in values.indices { values.initializeElement(at: index, to: UInt64(index) * 7) }
        var addresses = values.indices.reversed().map { UInt64(UInt(bitPattern: values.baseAddress! + $0)) }
        var words = [UInt64](repeating: 1, count: 20)
        #expect(cll_memory_read_words(getpid(), addresses, &words, 20) == 20)
        #expect(words == values.indices.reversed().map { UInt64($0) * 7 })
        for bad in [0, 5, 8, 19] {
            let good = addresses[bad]
            addresses[bad] = 16
            #expect(cll_memory_read_words(getpid(), addresses, &words, 20) == bad)
            addresses[bad] = good
        }
    }

    @Test func `the thread ID is read from where glibc stores it`() {
        let address = cll_thread_tid_address(UInt64(pthread_self()))
        var tid: Int32 = 0
        #expect(cll_memory_read(getpid(), address, &tid, 4) == 4 && tid == cll_gettid())
        #expect(cll_thread_of_descriptor(getpid(), UInt64(pthread_self())) == cll_gettid())
    }

    @Test func `the processor time of other threads is known within bounds`() {
        let first = cll_cpu_of_others()
        let second = cll_cpu_of_others()
        #expect(first.at_least_ns <= first.at_most_ns && second.at_most_ns >= first.at_least_ns)
        #expect(cll_thread_count() >= 1)
    }
}
