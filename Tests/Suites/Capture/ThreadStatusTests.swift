import CLagLinux
import Glibc
import Testing

@Suite("A thread's status file")
struct ThreadStatusTests {
    /// 0 and the status, or an errno.
    private static func read(_ text: String) throws -> (error: Int32, status: cll_thread_status) {
        let file = try #require(tmpfile())
        defer { fclose(file) }
        try #require(fputs(text, file) >= 0 && fflush(file) == 0)
        rewind(file)
        var status = cll_thread_status()
        return (cll_status_read(fileno(file), &status), status)
    }

    private static func text(groups: String, end: String = "voluntary_ctxt_switches:\t7\nnonvoluntary_ctxt_switches:\t8\n")
        -> String
    {
        """
        Name:\tSigBlk:
        State:\tS (sleeping)
        Groups:\t\(groups)
        SigPnd:\t0000000000000200
        ShdPnd:\t0000000000000400
        SigBlk:\t0000000000010000
        SigCgt:\t0000000180000000
        \(end)
        """
    }

    /// The counts include some around the size of the read window.
    @Test(arguments: Array(0..<4) + Array(330..<380) + [4096, 65536])
    func `fields after a long list of groups are read`(groups: Int) throws {
        let (error, status) = try Self.read(Self.text(groups: String(repeating: "1234567890 ", count: groups)))
        #expect(error == 0 && status.state == CChar(UInt8(ascii: "S")))
        #expect(status.pending_signals == 0x600 && status.blocked_signals == 0x10000 && status.caught_signals == 0x1_8000_0000)
        #expect(status.voluntary_switches == 7 && status.involuntary_switches == 8)
    }

    @Test func `a missing field is an error and is not read as zero`() throws {
        for end in ["", "voluntary_ctxt_switches:\t7\n", "nonvoluntary_ctxt_switches:\t8\n"] {
            #expect(try Self.read(Self.text(groups: "1", end: end)).error == ENODATA)
        }
    }

    @Test func `the status file of the current thread is read completely`() {
        var status = cll_thread_status()
        #expect(cll_procfs_status(getpid(), cll_gettid(), &status) == 0 && status.state == CChar(UInt8(ascii: "R")))
    }
}
