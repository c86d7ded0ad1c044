internal import Foundation
internal import LagModel
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// The text of a refusal: the kernel's reason, and what to grant.
@Suite struct AttachFactsTests {
    private func text(_ change: (inout AttachFacts) -> Void) -> String {
        var facts = AttachFacts()
        (facts.ourUser, facts.theirUsers) = (1000, [1000, 1000, 1000, 1000])
        change(&facts)
        return AttachRefusal.notPermitted(5, reason: facts.explanation.reason, remedy: facts.explanation.remedy).description
    }

    @Test func `each refusal states its reason and its remedy`() {
        #expect(text { $0.theirUsers[1] = 33 }.contains("runs as user 33, and lagmond as 1000: run lagmond as user 33, or"))
        let yama = text { $0.yamaScope = 1 }
        #expect(yama.contains("ptrace_scope is 1") && yama.contains("CAP_SYS_PTRACE") && yama.contains("lagmond run --"))
        #expect(text { $0.yamaScope = 2 }.contains("ptrace_scope is 2"))
        #expect(text { ($0.yamaScope, $0.hasCapability) = (3, true) }.contains("until the machine is rebooted"))
        #expect(text { $0.isDumpable = false }.contains("not dumpable"))
        #expect(text { $0.hasMoreRights = true }.contains("capabilities that lagmond lacks"))
        #expect(text { $0.canHaveCapability = false }.contains("docker run --cap-add SYS_PTRACE"))
        #expect(text { ($0.hasCapability, $0.isFiltered) = (true, true) }.contains("seccomp"))
        #expect(text { ($0.hasCapability, $0.sharesUserNamespace) = (true, false) }.contains("user namespace"))
        #expect(text { $0.hasCapability = true }.contains("security module"))
    }

    @Test func `attaching to a missing process or to lagmond itself is refused with that reason`() {
        #expect(throws: AttachRefusal.noProcess(Int32.max)) { try AttachPermission(process: .max).check(loops: []) }
        #expect(throws: AttachRefusal.itself) { try AttachPermission(process: getpid()).check(loops: []) }
    }

    /// Not even root may trace an exited process; a security module is not the cause.
    @Test func `a process that has exited is reported as ended`() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/true")
        try process.run()
        process.waitUntilExit()
        #expect(AttachPermission(process: process.processIdentifier).refusal() == .ended(process.processIdentifier))
    }

    @Test func `a 32-bit program is recognised by its file header`() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("format-\(getpid())")
        defer { try? FileManager.default.removeItem(at: file) }
        let program = try Data(#require(ProcFile.bytes(at: "/proc/self/exe", limit: 64)))
        try program.write(to: file)
        #expect(!ProgramFormat.is32Bit(file: file.path) && !ProgramFormat.is32Bit(getpid()))
        var narrow = Data(program)
        narrow[4] = 1
        try narrow.write(to: file)
        #expect(ProgramFormat.is32Bit(file: file.path))
        // Not an ELF file; a truncated header.
        for other in [Data([0x7f, 0x45, 0x4c, 0x45, 1]), Data(program.prefix(4))] {
            try other.write(to: file)
            #expect(!ProgramFormat.is32Bit(file: file.path))
        }
        #expect(!ProgramFormat.is32Bit(file: "/nowhere") && !ProgramFormat.is32Bit(.max))
        #expect("\(AttachRefusal.program32Bit(5))" == "process 5: a 32-bit program (allowed: a 64-bit program)")
    }
}
