internal import CLagBeacon
internal import CLagLinux
internal import Foundation
internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

private let pageBytes = 4096

/// Reading pages that are not in the page tables of a process.
struct RemoteMemoryTests {
    /// Two pages, of which the second is provided by a program: by this test, which does not.
    // Unchecked: only for tests, of which one thread at a time changes it.
    private final class Unprovided: @unchecked Sendable {
        private static let (registerAPI, register): (UInt, UInt) = (0xc018_aa3f, 0xc020_aa00)
        private static let (version, missing): (UInt64, UInt64) = (0xaa, 1)
        #if arch(x86_64)
            private static let call = 323
        #else
            private static let call = 282
        #endif

        let start: UInt64
        private let memory: UnsafeMutableRawPointer
        private let descriptor: Int32
        private var isOpen = true

        /// Nil if it is not permitted.
        init?() {
            guard let memory = cll_memory_map(2 * pageBytes) else { return nil }
            (self.memory, start) = (memory, UInt64(UInt(bitPattern: memory)))
            memset(memory, 7, pageBytes)
            typealias SystemCall = @convention(c) (Int, Int) -> Int
            let call = unsafeBitCast(dlsym(nil, "syscall"), to: SystemCall.self)
            descriptor = Int32(call(Self.call, Int(O_CLOEXEC)))
            var (api, range) = ([Self.version, 0, 0], [start + UInt64(pageBytes), UInt64(pageBytes), Self.missing, 0])
            guard descriptor >= 0, ioctl(descriptor, Self.registerAPI, &api) == 0, ioctl(descriptor, Self.register, &range) == 0
            else {
                if descriptor >= 0 { close(descriptor) }
                cll_memory_unmap(memory, 2 * pageBytes)
                return nil
            }
        }

        /// The kernel then provides it, with zeros.
        func provide() {
            if isOpen { close(descriptor) }
            isOpen = false
        }

        func end() {
            provide()
            cll_memory_unmap(memory, 2 * pageBytes)
        }
    }

    private static let mayLeavePagesOut = {
        guard MemoryCopyTests.showsPages, let pages = Unprovided() else { return false }
        pages.end()
        return true
    }()

    /// Without a limit, the reads wait until the page is provided.
    @Test(.enabled(if: RemoteMemoryTests.mayLeavePagesOut))
    func `a page that is not provided is not waited for without end`() throws {
        let pages = try #require(Unprovided())
        defer { pages.end() }
        let (there, absent) = (pages.start, pages.start + UInt64(pageBytes))
        let memory = RemoteMemory(process: getpid())
        let provider = Thread {
            sleep(20)
            pages.provide()
        }
        provider.start()
        #expect(memory.load(absent, as: UInt64.self) == nil)
        // Neither are other pages lost, nor further ones waited for.
        let begun = clb_now_ns()
        for _ in 0..<1000 { _ = memory.load(absent, as: UInt64.self) }
        #expect(clb_now_ns() - begun < 1000 * AbsentPages.waitNanoseconds / 10)
        #expect(memory.load(there, as: UInt8.self) == 7 && memory.bytes(there, pageBytes)?.count == pageBytes)
        #expect(memory.bytes(there, 2 * pageBytes) == nil && memory.text(there, limit: 2 * pageBytes) == nil)
        pages.provide()
        #expect(eventually { memory.load(absent, as: UInt64.self) == 0 && memory.bytes(there, 2 * pageBytes) != nil })
    }

    @Test func `pages that the process has not touched are read`() throws {
        let count = 40
        let pages = try #require(cll_memory_map(count * pageBytes))
        defer { cll_memory_unmap(pages, count * pageBytes) }
        for index in [0, 5, 30] { memset(pages + index * pageBytes, 9, pageBytes) }
        let (start, memory) = (UInt64(UInt(bitPattern: pages)), RemoteMemory(process: getpid()))
        #expect(memory.load(start + UInt64(7 * pageBytes), as: UInt64.self) == 0)
        // In more than one part.
        let bytes = try #require(memory.bytes(start, count * pageBytes))
        #expect(bytes.elementsEqual(UnsafeRawBufferPointer(start: pages, count: count * pageBytes)))
        #expect(memory.bytes(8, 8) == nil && memory.load(8, as: UInt8.self) == nil)
    }

    @Test func `words at several places are read together, or none of them`() {
        let words: [UInt64] = [11, 12, 13]
        words.withUnsafeBufferPointer { words in
            let start = UInt64(UInt(bitPattern: words.baseAddress))
            let memory = RemoteMemory(process: getpid())
            #expect(memory.words([start + 16, start]) == [13, 11])
            #expect(memory.words([start, 0]) == nil && memory.words([start, 16]) == nil)
        }
    }
}
