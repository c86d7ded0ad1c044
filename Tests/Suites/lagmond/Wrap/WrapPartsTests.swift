internal import CLagBeacon
internal import CLagRemote
internal import Foundation
internal import Testing

@testable internal import lagmond

@Suite("Parts of a wrapped run")
struct WrapPartsTests {
    private static func chars(_ text: String) -> [CChar] { text.utf8.map { CChar(bitPattern: $0) } }

    @Test func `the environment is passed on byte for byte`() {
        let strange: [CChar] = Self.chars("A=") + [-1, -2, 10]
        var environment = ChildEnvironment(entries: [strange, Self.chars("NOVALUE"), Self.chars("LD_PRELOAD=/a.so /b.so")])
        let isThere = environment.preload("/lib/p.so", loopTable: "/proc/1/fd/9")
        #expect(isThere)
        #expect(
            environment.entries == [
                strange, Self.chars("NOVALUE"), Self.chars("LD_PRELOAD=/a.so /b.so:/lib/p.so"),
                Self.chars("\(CLB_LOOP_TABLE_VARIABLE)=/proc/1/fd/9"), Self.chars("ASAN_OPTIONS=verify_asan_link_order=0"),
            ]
        )
    }

    @Test(arguments: [
        ("detect_leaks=0", "detect_leaks=0:verify_asan_link_order=0"), ("verify_asan_link_order=1:color=never", nil),
        ("", "verify_asan_link_order=0"),
    ])
    func `a program with AddressSanitizer starts, and the options of the user are kept`(options: String, changed: String?) {
        var environment = ChildEnvironment(entries: [Self.chars("ASAN_OPTIONS=\(options)")])
        let isThere = environment.preload("/lib/p.so", loopTable: "x")
        #expect(isThere && environment.value(of: "ASAN_OPTIONS") == Self.chars(changed ?? options))
    }

    @Test(arguments: ["/a b/p.so", "/a:b/p.so", "/$LIB/p.so"])
    func `a library path that the loader cannot take is refused`(path: String) {
        var environment = ChildEnvironment(entries: [])
        let isThere = environment.preload(path, loopTable: "x")
        #expect(!isThere && environment.entries.isEmpty)
    }

    @Test func `signals of the terminal and of the command are not forwarded`() {
        func forwards(_ signal: Int32, code: Int32, sender: pid_t) -> Bool {
            var relay = SignalRelay(child: 77)
            return relay.forwards(signal: signal, code: code, sender: sender)
        }
        for signal in [SIGINT, SIGQUIT, SIGHUP, SIGTSTP, SIGWINCH] {
            #expect(!forwards(signal, code: Int32(CLR_SIGNAL_OF_KERNEL), sender: 0))
            #expect(!forwards(signal, code: 0, sender: 77))
            #expect(forwards(signal, code: 0, sender: 78))
        }
        // The child's own change of state, and a signal sent by another process.
        #expect(!forwards(SIGCHLD, code: 1, sender: 77))
        #expect(forwards(SIGCHLD, code: 0, sender: 78))
    }

    @Test func `lagmond stops with the command if the terminal stopped it`() {
        var relay = SignalRelay(child: 77, now: { 1_000_000_000 })
        #expect(relay.stopSignal(childStoppedBy: SIGTSTP) == SIGTSTP && relay.stopSignal(childStoppedBy: SIGTTIN) == SIGTTIN)
        #expect(relay.stopSignal(childStoppedBy: SIGSTOP) == nil)
        // An editor that received ^Z, restored the screen and stopped itself.
        _ = relay.forwards(signal: SIGTSTP, code: 128, sender: 0)
        #expect(relay.stopSignal(childStoppedBy: SIGSTOP) == SIGSTOP)
    }

    @Test func `the terminal stops lagmond if the command is already stopped`() {
        var relay = SignalRelay(child: 77, now: { 1_000_000_000 })
        let kernel = Int32(CLR_SIGNAL_OF_KERNEL)
        #expect(!relay.stopsAlone(signal: SIGTSTP, code: kernel))
        // Both receive the terminal's signal, and the command stops.
        _ = relay.stopSignal(childStoppedBy: SIGTSTP)
        #expect(!relay.stopsAlone(signal: SIGTSTP, code: kernel))
        _ = relay.stopSignal(childStoppedBy: SIGSTOP)
        #expect(relay.stopsAlone(signal: SIGTSTP, code: kernel) && relay.stopsAlone(signal: SIGTTIN, code: kernel))
        // A signal of another process is forwarded.
        #expect(!relay.stopsAlone(signal: SIGTSTP, code: 0) && !relay.stopsAlone(signal: SIGTERM, code: kernel))
        relay.recordContinued()
        #expect(!relay.stopsAlone(signal: SIGTSTP, code: kernel))
    }

    @Test func `setuid and setgid programs are recognised`() throws {
        guard getuid() == 0 else {
            #expect(ProgramFile(path: "/usr/bin/passwd").obstacle() == .setuid)
            return
        }
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent("setuid-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: copy) }
        try FileManager.default.copyItem(atPath: "/bin/true", toPath: copy)
        #expect(ProgramFile(path: copy).obstacle() == nil)
        try #require(chown(copy, 65534, 65534) == 0 && chmod(copy, 0o4755) == 0)
        #expect(ProgramFile(path: copy).obstacle() == .setuid)
        try #require(chown(copy, 0, 65534) == 0 && chmod(copy, 0o2755) == 0)
        #expect(ProgramFile(path: copy).obstacle() == .setgid)
    }

    @Test func `programs that cannot load the library are recognised`() throws {
        #expect(ProgramFile(path: "/bin/sh").obstacle() == nil)
        // The loader itself has no loader.
        let loader = try #require(ElfHeader(path: "/bin/sh")?.loader)
        #expect(ProgramFile(path: loader).obstacle() == .staticallyLinked)
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("program-\(getpid())")
        defer { try? FileManager.default.removeItem(at: file) }
        // A script counts as its interpreter.
        try Data("#! \(loader) -x\n".utf8).write(to: file)
        #expect(ProgramFile(path: file.path).obstacle() == .staticallyLinked)
        var program = try Data(contentsOf: URL(fileURLWithPath: "/bin/sh"))
        program[4] = 1
        try program.write(to: file)
        #expect(ProgramFile(path: file.path).obstacle() == .anotherArchitecture)
        program[4] = 2
        program.replaceSubrange(
            try #require(program.range(of: Data(loader.utf8))),
            with: Data("/ld-musl".utf8) + Data(count: loader.utf8.count - 8)
        )
        try program.write(to: file)
        #expect(ProgramFile(path: file.path).obstacle() == .anotherLibrary(loader: "/ld-musl"))
        // Truncated headers, invalid data, an empty file.
        for damaged in [Data(program.prefix(70)), Data("\u{7f}ELF".utf8), Data()] {
            try damaged.write(to: file)
            _ = ProgramFile(path: file.path).obstacle()
        }
    }
}
