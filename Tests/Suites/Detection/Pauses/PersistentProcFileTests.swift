internal import CLagLinux
import Glibc
import TestSupport
import Testing

@testable import LagDetection

/// One after the other: they check descriptor numbers, which all tests of the process share.
@Suite(.serialized)
struct PersistentProcFileTests {
    private func text(_ file: PersistentProcFile) -> String? {
        var bytes = [UInt8](repeating: 0, count: 256)
        return bytes.withUnsafeMutableBytes { file.read(into: $0) }.map { String(decoding: bytes[..<$0], as: UTF8.self) }
    }

    /// A file that no other code in the process keeps open: `stat` of the test's thread.
    private func withThreadFile(_ body: (PersistentProcFile, _ path: String) throws -> Void) rethrows {
        let path = "/proc/self/task/\(cll_gettid())/stat"
        try body(PersistentProcFile(path: path), path)
    }

    /// The descriptors of this process that refer to the file.
    private func descriptors(of path: String) -> [Int32] {
        (0..<1_024).filter { descriptor in
            var buffer = [CChar](repeating: 0, count: 256)
            let length = readlink("/proc/self/fd/\(descriptor)", &buffer, buffer.count)
            let target = String(decoding: buffer[..<max(0, length)].map { UInt8(bitPattern: $0) }, as: UTF8.self)
            return target == path.replacingSelf
        }
    }

    @Test func `a file is read again each time through one descriptor`() {
        withThreadFile { file, path in
            let first = text(file)
            #expect(first?.hasPrefix("\(cll_gettid()) (") == true)
            let open = descriptors(of: path)
            #expect(open.count == 1)
            #expect(text(file) != nil)
            #expect(descriptors(of: path) == open)
            #expect(fcntl(open[0], F_GETFD) & FD_CLOEXEC != 0)
            file.close()
            #expect(descriptors(of: path).isEmpty)
            #expect(text(file) != nil)
        }
    }

    @Test func `a released file leaves no descriptor open`() {
        var path = ""
        withThreadFile { file, used in
            path = used
            _ = text(file)
            #expect(descriptors(of: path).count == 1)
        }
        #expect(descriptors(of: path).isEmpty)
    }

    @Test func `a descriptor number that the host has taken is neither read nor closed`() throws {
        try withThreadFile { file, path in
            _ = text(file)
            let number = try #require(descriptors(of: path).first)
            let foreign = open("/dev/zero", O_RDONLY)
            try #require(dup2(foreign, number) == number)  // closes ours and takes its number
            close(foreign)

            #expect(text(file)?.hasPrefix("\(cll_gettid()) (") == true)
            let again = descriptors(of: path)
            #expect(again.count == 1)
            #expect(again.first != number)
            file.close()
            #expect(fcntl(number, F_GETFD) >= 0)
            close(number)
        }
    }

    @Test func `closing a file does not close a descriptor of the host`() throws {
        try withThreadFile { file, path in
            _ = text(file)
            let number = try #require(descriptors(of: path).first)
            let foreign = open("/dev/zero", O_RDONLY)
            try #require(dup2(foreign, number) == number)
            close(foreign)
            file.close()
            #expect(fcntl(number, F_GETFD) >= 0)
            close(number)
        }
    }

    @Test func `a missing file is read as nil`() {
        #expect(text(PersistentProcFile(path: "/proc/self/task/0/stat")) == nil)
        #expect(text(PersistentProcFile(path: "")) == nil)
    }

    @Test func `the processor time of a thread grows as it computes`() {
        let file = PersistentProcFile(path: "/proc/self/task/\(cll_gettid())/schedstat")
        let first = ThreadTimes(file)
        var sum: UInt64 = 1
        let computed = eventually {
            for _ in 0..<1_000_000 { sum = sum &* 6_364_136_223_846_793_005 &+ 1 }
            guard let first, let present = ThreadTimes(file) else { return false }
            return present.since(first).cpuNanoseconds > 0
        }
        #expect(computed)
        #expect(sum != 0)
    }
}

extension String {
    /// The kernel shows the number instead of `self`.
    fileprivate var replacingSelf: String { "/proc/\(getpid())" + dropFirst("/proc/self".count) }
}
