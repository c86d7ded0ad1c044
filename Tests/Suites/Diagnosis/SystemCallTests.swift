import Foundation
import Glibc
import LagDiagnosis
import TestSupport
import Testing

struct SystemCallTests {
    static let x86Header = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"
    static let genericHeader = "/usr/include/asm-generic/unistd.h"

    /// Name and number of each `#define __NR_name 123` in a header.
    private func definitions(in header: String) throws -> [(name: String, number: Int64)] {
        let lines = try String(contentsOfFile: header, encoding: .utf8).split(separator: "\n")
        return lines.compactMap { line in
            let words = line.split(separator: " ", omittingEmptySubsequences: true)
            guard words.count >= 3, words[0] == "#define", let number = Int64(words[2]) else { return nil }
            for prefix in ["__NR_", "__NR3264_"] where words[1].hasPrefix(prefix) {
                return (String(words[1].dropFirst(prefix.count)), number)
            }
            return nil
        }
    }

    @Test(.enabled(if: access(x86Header, R_OK) == 0, "needs the kernel's header for x86-64"))
    func `every number of the x86 header has its name`() throws {
        let defined = try definitions(in: Self.x86Header)
        #expect(defined.count > 300)
        for (name, number) in defined { #expect(SystemCallName.name(number, on: .amd64) == name) }
    }

    @Test(.enabled(if: access(genericHeader, R_OK) == 0, "needs the kernel's generic header"))
    func `every number of the generic header has its name on aarch64`() throws {
        // Calls that the header defines for 32 bits, or with a different name.
        let onlyFor32Bits: ClosedRange<Int64> = 403...423
        let skipped: Set = ["syscalls", "arch_specific_syscall", "sync_file_range2"]
        let renamed = ["fstatat": "newfstatat"]
        let defined = try definitions(in: Self.genericHeader)
        #expect(defined.count > 250)
        for (name, number) in defined where !onlyFor32Bits.contains(number) && !skipped.contains(name) {
            #expect(SystemCallName.name(number, on: .arm64) == renamed[name] ?? name)
        }
    }

    @Test func `known numbers of both architectures have their names`() {
        #expect(SystemCallName.name(0, on: .amd64) == "read")
        #expect(SystemCallName.name(202, on: .amd64) == "futex")
        #expect(SystemCallName.name(334, on: .amd64) == "rseq")
        #expect(SystemCallName.name(63, on: .arm64) == "read")
        #expect(SystemCallName.name(98, on: .arm64) == "futex")
        #expect(SystemCallName.name(291, on: .arm64) == "statx")
        for architecture in SystemCallName.Architecture.allCases {
            #expect(SystemCallName.name(435, on: architecture) == "clone3")
            #expect(SystemCallName.name(462, on: architecture) == "mseal")
        }
    }

    @Test func `the system call of a sleeping process has its name`() throws {
        let child = try SleepingProcess()
        defer { child.end() }
        let path = "/proc/\(child.pid)/syscall"
        // It sleeps as soon as it has started; the limit protects against a hang.
        for _ in 0..<3000 {
            guard let line = try? String(contentsOfFile: path, encoding: .utf8) else { return }
            let name = line.split(separator: " ").first.flatMap { Int64($0) }.flatMap { SystemCallName.name($0) }
            if name == "clock_nanosleep" { return }
            usleep(10_000)
        }
        Issue.record("a sleeping process was never seen in clock_nanosleep")
    }

    @Test(arguments: [-1, 335, 423, 10_000, Int64.min, Int64.max])
    func `an unknown number has no name`(number: Int64) {
        #expect(SystemCallName.name(number, on: .amd64) == nil)
        #expect(SystemCallName.name(number, on: .arm64) == nil)
    }

    @Test func `no name occurs twice`() {
        for architecture in SystemCallName.Architecture.allCases {
            let names = SystemCallName.numbers(on: architecture).compactMap { SystemCallName.name($0, on: architecture) }
            #expect(Set(names).count == names.count)
        }
    }
}
