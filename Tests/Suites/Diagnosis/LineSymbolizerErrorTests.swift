import Foundation
import Glibc
internal import LagModel
import StallFixtures
import TestSupport
import Testing

@testable import LagDiagnosis
@testable import LagSymbols

/// Child processes that hang, crash, or answer nonsense, played by scripts.
struct LineSymbolizerErrorTests {
    private static let soon = Duration.milliseconds(200)
    private static let patience = Duration.seconds(60)

    /// Addresses in this program, which has line tables.
    private func queries(_ numbers: Range<UInt64>) throws -> [SymbolQuery] {
        let path = try #require(realpath("/proc/self/exe", nil).map { String(cString: $0) })
        return numbers.map { SymbolQuery(modulePath: path, buildID: "", offset: 0x1000 + $0, isReturnAddress: false) }
    }

    private func isGone(_ pid: Int32) -> Bool { kill(pid, 0) != 0 && errno == ESRCH }

    private func descriptors() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0 }

    private let answer = [ResolvedFrame(name: "f", simplified: "f", file: "/src/a.c", line: 7, column: 3)]

    @Test func `known addresses are not queried again`() throws {
        let fake = try FakeProgram.answering(first: "echo started >> $D/started")
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        defer { lines.close() }
        #expect(lines.levels(for: try queries(0..<30)) == Array(repeating: answer, count: 30))
        #expect(lines.questionCount == 30)
        #expect(lines.levels(for: try queries(5..<31)) == Array(repeating: answer, count: 26))
        #expect(lines.questionCount == 31)
        #expect(fake.lines(of: "started").count == 1)
    }

    @Test func `many queries do not block each other`() throws {
        let fake = try FakeProgram.answering()
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience, cacheBytes: 100_000)
        defer { lines.close() }
        // More than a socket's buffer holds, in both directions.
        let answers = lines.levels(for: try queries(0..<10_000))
        #expect(answers.allSatisfy { $0 == answer })
        #expect(lines.cachedCount < 1000)
    }

    @Test func `a hanging child is killed after a long silence`() throws {
        let fake = try FakeProgram("echo $$ >> $D/started; exec sleep 1000")
        var lines = LineSymbolizer(program: fake.path, deadline: Self.soon)
        #expect(lines.levels(for: try queries(0..<3)) == [[], [], []])
        #expect(lines.childPID != nil)
        // Its first answer may take longer than the deadline of the query.
        let end = Date().addingTimeInterval(60)
        while fake.lines(of: "started").isEmpty, Date() < end { usleep(1000) }
        lines.silenceNanoseconds = 0
        #expect(lines.levels(for: try queries(0..<1)) == [[]])
        #expect(lines.childPID == nil)
        let pid = try #require(fake.lines(of: "started").first.flatMap { Int32($0) })
        #expect(isGone(pid))
    }

    /// Like one that reads the DWARF of a large program: the first record is written without lines, later ones with lines.
    @Test func `a child that is slow at its first batch continues, and its answers are used`() throws {
        let fake = try FakeProgram.answering(first: "echo started >> $D/started; while [ ! -e $D/go ]; do sleep 0.01; done")
        var lines = LineSymbolizer(program: fake.path, deadline: Self.soon)
        defer { lines.close() }
        #expect(lines.levels(for: try queries(0..<3)) == [[], [], []])
        let pid = try #require(lines.childPID)
        // No queries are sent while it reads.
        #expect(lines.levels(for: try queries(0..<5)) == Array(repeating: [], count: 5))
        #expect(lines.questionCount == 3)
        _ = try fake.scratch.write([], to: "go")
        let end = Date().addingTimeInterval(60)
        while lines.levels(for: try queries(2..<3)) != [answer], Date() < end {}
        #expect(lines.levels(for: try queries(0..<3)) == Array(repeating: answer, count: 3))
        #expect(lines.questionCount == 3)
        #expect(lines.childPID == pid && fake.lines(of: "started").count == 1)
        while lines.levels(for: try queries(0..<5)) != Array(repeating: answer, count: 5), Date() < end {}
        #expect(lines.questionCount == 5)
    }

    @Test func `answers before the deadline are returned at once, and the others later`() throws {
        let reply = "printf '%s\\nf\\n/src/a.c:7:3\\n\\n' \"$address\""
        let fake = try FakeProgram(
            """
            read -r file address; \(reply); read -r file address; \(reply)
            while [ ! -e $D/go ]; do sleep 0.01; done; while read -r file address; do \(reply); done
            """
        )
        var lines = LineSymbolizer(program: fake.path, deadline: .seconds(1))
        defer { lines.close() }
        let end = Date().addingTimeInterval(60)
        // Its start may take longer than the deadline.
        while lines.levels(for: try queries(10..<11)) != [answer], Date() < end {}
        #expect(lines.levels(for: try queries(0..<3)) == [answer, [], []])
        _ = try fake.scratch.write([], to: "go")
        while lines.levels(for: try queries(0..<3)) != [answer, answer, answer], Date() < end {}
        #expect(lines.levels(for: try queries(0..<3)) == [answer, answer, answer])
        #expect(lines.questionCount == 4)
    }

    @Test func `a wait can be shortened from another thread`() throws {
        let fake = try FakeProgram("echo started >> $D/started; exec sleep 1000")
        var lines = LineSymbolizer(program: fake.path, deadline: .seconds(3600))
        defer { lines.close() }
        let (limit, started) = (lines.waitLimit, fake.scratch.path + "/started")
        Thread.detachNewThread {
            while access(started, F_OK) != 0 { usleep(1000) }
            limit.nanoseconds = 1
        }
        #expect(lines.levels(for: try queries(0..<3)) == [[], [], []])
        let questionCount = lines.questionCount
        #expect(lines.levels(for: try queries(10..<13)) == [[], [], []])
        #expect(lines.questionCount == questionCount, "there is no time for a query")
    }

    @Test func `a lifted time limit no longer applies`() throws {
        let fake = try FakeProgram.answering()
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        defer { lines.close() }
        lines.waitLimit.nanoseconds = 1
        #expect(lines.levels(for: try queries(0..<1)) == [[]])
        lines.waitLimit.nanoseconds = .max
        #expect(lines.levels(for: try queries(0..<1)) == [answer])
    }

    @Test func `a child that always fails is started at most three times a minute`() throws {
        let fake = try FakeProgram("echo started >> $D/started; exit 1")
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        for round in 0..<10 { #expect(lines.levels(for: try queries(UInt64(round)..<UInt64(round) + 1)) == [[]]) }
        #expect(fake.lines(of: "started").count == 3)
    }

    @Test func `a query that crashes the child does not affect the others`() throws {
        let fake = try FakeProgram(
            "while read -r file address; do case $address in *1002) exit 1;; esac; printf '%s\\nf\\n/src/a.c:7:3\\n\\n' \"$address\"; done"
        )
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        defer { lines.close() }
        let expected = [answer, answer, [], answer, answer]
        #expect(lines.levels(for: try queries(0..<5)) == expected)
        let questionCount = lines.questionCount
        #expect(lines.levels(for: try queries(0..<5)) == expected)
        #expect(lines.questionCount == questionCount, "a query that crashed it is not repeated")
    }

    @Test func `a child that died between two batches is replaced without a signal to the process`() throws {
        let fake = try FakeProgram("read -r file address; printf '%s\\nf\\n/src/a.c:7:3\\n\\n' \"$address\"; exit 0")
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        #expect(lines.levels(for: try queries(0..<1)) == [answer])
        let pid = try #require(lines.childPID)
        var status = "R"
        while status != "Z" {
            // A zombie until it is waited for: its number cannot be reused.
            let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
            status = String(try #require(text.split(separator: ")").last?.split(separator: " ").first))
        }
        // SIGPIPE would end this test.
        #expect(lines.levels(for: try queries(1..<2)).count == 1)
        #expect(isGone(pid))
        lines.close()
    }

    @Test(arguments: ["printf 'nonsense\\n\\n'", "yes", "printf '0x1\\nf\\n/a:1:1\\n\\n'"])
    func `an invalid answer is rejected`(script: String) throws {
        let fake = try FakeProgram("read -r question; \(script)")
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        #expect(lines.levels(for: try queries(0..<1)) == [[]])
        #expect(lines.childPID == nil)
    }

    @Test(arguments: ["/nonexistent/llvm-symbolizer", "/etc/passwd", "/"])
    func `without the program there are no lines`(path: String) throws {
        var lines = LineSymbolizer(program: path, deadline: Self.soon)
        #expect(lines.levels(for: try queries(0..<2)) == [[], []])
    }

    /// A script that starts the program instead of executing it in its own process.
    @Test(arguments: [true, false])
    func `a process started by a wrapper script ends with the script`(outlived: Bool) throws {
        let fake = try FakeProgram.answering(
            first: "sleep 1000 > /dev/null & echo $! >> $D/started" + (outlived ? "; read -r file address; exit 0" : "")
        )
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        #expect(lines.levels(for: try queries(0..<1)) == [outlived ? [] : answer])
        let pid = try #require(fake.lines(of: "started").first.flatMap { Int32($0) })
        lines.close()
        // The process that adopts it may wait for it later.
        let end = Date().addingTimeInterval(60)
        while !isGone(pid), stateOf(pid) != "Z", Date() < end { usleep(1000) }
        #expect(isGone(pid) || stateOf(pid) == "Z")
        kill(pid, SIGKILL)
    }

    private func stateOf(_ pid: Int32) -> String {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        return text.split(separator: ")").last?.split(separator: " ").first.map(String.init) ?? ""
    }

    @Test func `closing leaves no process and no descriptor behind`() throws {
        let fake = try FakeProgram.answering()
        let before = descriptors()
        for round in 0..<40 {
            var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
            #expect(lines.levels(for: try queries(0..<1)) == [answer])
            let pid = try #require(lines.childPID)
            // Odd ones are released without close.
            if round % 2 == 0 { lines.close() } else { lines = LineSymbolizer(program: fake.path) }
            #expect(isGone(pid))
        }
        // Other tests open files at the same time.
        #expect(descriptors() - before < 40)
    }

    @Test func `after closing, the next query starts another child`() throws {
        let fake = try FakeProgram.answering()
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        for round in 0..<6 {
            #expect(lines.levels(for: try queries(UInt64(round)..<UInt64(round) + 1)) == [answer])
            lines.close()
        }
    }

    @Test func `the child inherits no descriptors, signals or environment`() throws {
        // By the shell itself: it changes the mask while it waits for a program, and in a program that it starts.
        let signals = "while read -r line; do case $line in Sig[BI]*) echo \"$line\" >> $D/signals;; esac; done < /proc/$$/status"
        let fake = try FakeProgram.answering(first: signals + "; ls /proc/self/fd > $D/open; env > $D/env")
        let leaked = dup(STDIN_FILENO)
        #expect(leaked > 3)
        defer { close(leaked) }
        var mask = sigset_t()
        var old = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGUSR2)
        pthread_sigmask(SIG_BLOCK, &mask, &old)
        let previous = signal(SIGURG, SIG_IGN)
        defer {
            signal(SIGURG, previous)
            pthread_sigmask(SIG_SETMASK, &old, nil)
        }
        var lines = LineSymbolizer(program: fake.path, deadline: Self.patience)
        defer { lines.close() }
        #expect(lines.levels(for: try queries(0..<1)) == [answer])
        // Without 32 and 33, which glibc uses internally and a new process ignores.
        let sets = try fake.lines(of: "signals").map { try #require(UInt64($0.suffix(16), radix: 16)) & ~0x1_8000_0000 }
        #expect(sets == [0, 0])
        #expect(fake.lines(of: "open") == ["0", "1", "2", "3"], "3 is ls's own")
        #expect(!fake.lines(of: "env").contains { $0.hasPrefix("HOME=") || $0.hasPrefix("DEBUGINFOD") })
        #expect(getpgid(try #require(lines.childPID)) == lines.childPID)
    }
}
