internal import Foundation
internal import Glibc
internal import LagCapture
internal import TestSupport
internal import Testing

@testable internal import LagRemote

struct PerfMapTests {
    private func index(_ text: String) -> PerfMapIndex {
        var index = PerfMapIndex()
        let read = index.add(Array(text.utf8), at: 0)
        #expect(read == text.utf8.count)
        return index
    }

    private func name(_ text: String, at address: UInt64) -> String? {
        var index = self.index(text)
        return index.find(address).map { place in
            String(decoding: Array(text.utf8)[Int(place.offset)...].prefix(place.bytes), as: UTF8.self)
        }
    }

    @Test(
        arguments: [(0x1000, "one"), (0x10ff, "one"), (0x1100, nil), (0x2000, "two"), (0xfff, nil), (0x2fff, nil)]
            as [(UInt64, String?)]
    )
    func `an address has the name of the code that contains it`(address: UInt64, name: String?) {
        #expect(self.name("1000 100 one\n0x2000 0x10 two\n", at: address) == name)
    }

    @Test func `code of HotSpot itself gets no name`() throws {
        let path = NSTemporaryDirectory() + "perf-map-\(getpid())-hotspot.map"
        try "1000 100 Interpreter\n2000 100 void Shop.price(int)\n3000 100 StubRoutines (2)\n"
            .write(toFile: path, atomically: false, encoding: .utf8)
        defer { unlink(path) }
        func name(_ hotSpot: Int?, at address: UInt64) -> String? {
            let runtime = PerfMapRuntime(file: PerfMapFile(path: path, process: getpid()), hotSpot: hotSpot)
            return runtime.name(LanguageFrame(code: address, pc: address))?.function
        }
        #expect(name(3, at: 0x1000) == nil && name(3, at: 0x2000) == "Shop.price" && name(3, at: 0x3000) == nil)
        #expect(name(nil, at: 0x1000) == "Interpreter")
    }

    @Test func `for overlapping code the last entry in the file applies`() {
        let text = "3000 100 first\n1000 1000 large\n1800 10 small\n3000 40 again\n"
        #expect(name(text, at: 0x1805) == "small")
        #expect(name(text, at: 0x1900) == "large")
        #expect(name(text, at: 0x3010) == "again")
        #expect(name(text, at: 0x3050) == "first")
    }

    @Test func `malformed lines are not entries`() {
        let long = String(repeating: "f", count: 9000)
        let text =
            "\n1000\n1000 \n1000 10\nzz 10 a\n1000 0 a\nffffffffffffffff 10 a\n12345678901234567 1 a\n1000 fffffffff a\n\(long) 10 a\n"
        #expect(index(text).count == 0)
    }

    @Test func `a map with too many entries gives no names`() {
        var index = PerfMapIndex()
        var text = ""
        for number in 0..<1000 { text += "\(String(number + 1, radix: 16))000 10 name\n" }
        for _ in 0...PerfMapIndex.capacity / 1000 { _ = index.add(Array(text.utf8), at: 0) }
        let found = index.find(0x1000)
        #expect(index.isOverfull && found == nil)
    }

    @Test func `a map that grows is read further, and a replaced map is read again`() throws {
        let path = NSTemporaryDirectory() + "perf-test-\(UUID().uuidString).map"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var file = PerfMapFile(path: path, process: getpid())
        func names() -> [String?] { [file.name(of: 0x1000), file.name(of: 0x2000)] }
        #expect(!file.exists && names() == [nil, nil])
        try Data("1000 10 one\n2000 10 tw".utf8).write(to: URL(fileURLWithPath: path))
        #expect(file.exists && names() == ["one", nil])
        try Data("1000 10 one\n2000 10 two\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(names() == ["one", "two"])
        try Data("1000 10 new\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(names() == ["new", nil])
    }

    @Test func `a map not written since the start of the process is ignored`() throws {
        let path = NSTemporaryDirectory() + "perf-test-\(UUID().uuidString).map"
        defer { unlink(path) }
        try Data("1000 10 old\n".utf8).write(to: URL(fileURLWithPath: path))
        usleep(150_000)
        let process = try SleepingProcess()
        defer { process.end() }
        var file = PerfMapFile(path: path, process: process.pid)
        let before = file.name(of: 0x1000)
        #expect(!file.exists && before == nil)
        try Data("1000 10 new\n".utf8).write(to: URL(fileURLWithPath: path))
        let after = file.name(of: 0x1000)
        #expect(file.exists && after == "new")
    }

    @Test func `a link, a directory and a pipe are not read as maps`() throws {
        let folder = NSTemporaryDirectory() + "perf-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("1000 10 one\n".utf8).write(to: URL(fileURLWithPath: folder + "/file"))
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: folder + "/file")
        mkfifo(folder + "/pipe", 0o600)
        for name in ["", "/link", "/pipe"] {
            var file = PerfMapFile(path: folder + name, process: getpid())
            let name = file.name(of: 0x1000)
            #expect(!file.exists && name == nil)
        }
    }

    @Test(
        arguments: [
            ("LazyCompile:*slow /app/server.js:10:14", "javascript", "slow", "/app/server.js", 10),
            ("JS:~ node:internal/main:1:1", "javascript", "<anonymous>", "node:internal/main", 1),
            ("JS:^get total file:///app/my shop/cart.mjs:7:3", "javascript", "get total", "/app/my shop/cart.mjs", 7),
            ("Script:~ /app/server.js:1:1", "javascript", "<anonymous>", "/app/server.js", 1),
            ("Function:~<anonymous> evalmachine.<anonymous>:3:4", "javascript", "<anonymous>", "evalmachine.<anonymous>", 3),
            ("Builtin:ArrayMap", "javascript", "Builtin:ArrayMap", nil, nil),
            ("py::Shop.checkout:/app/shop.py", "python", "Shop.checkout", "/app/shop.py", nil),
            ("void com.example.Shop.slow(int)", "java", "com.example.Shop.slow", nil, nil),
            ("int SelSort$$Lambda$4/0x0000000800c03000.compare(int)", "java", "SelSort$$Lambda$4.compare", nil, nil),
            ("Lcom/example/Shop;::slow", "java", "com.example.Shop.slow", nil, nil),
            ("instance void [shop] Shop.Cart::Slow(int32)[Tier0]", "dotnet", "Shop.Cart.Slow", nil, nil),
            ("Interpreter", nil, "Interpreter", nil, nil), ("TRACE_1::shop.lua:10", nil, "TRACE_1::shop.lua:10", nil, nil),
        ] as [(String, String?, String, String?, Int?)]
    )
    func `names in the formats of runtimes are parsed`(
        text: String,
        language: String?,
        function: String,
        file: String?,
        line: Int?
    ) {
        let name = PerfMapName.parse(text)
        #expect(name.language == language && name.function == function && name.file == file && name.line == line, "\(name)")
    }

    @Test(arguments: [
        "", " ", ":", "py::", "py:::", "py:::/shop.py", "L;::", "Lcom/example/Shop;::", "void (", "void ()", "void .()", "[ [::(",
    ])
    func `names in no known format are kept unchanged`(text: String) {
        let name = PerfMapName.parse(text)
        #expect(name.language == nil && name.function == text && name.file == nil && name.line == nil, "\(name)")
    }

    @Test(
        arguments: [
            ("JS:", "<anonymous>", nil), ("JS:*", "<anonymous>", nil),
            ("LazyCompile:*a b:99999999999999999999:", "a", "b:99999999999999999999:"),
        ] as [(String, String, String?)]
    )
    func `the name of a script may lack parts`(text: String, function: String, file: String?) {
        let name = PerfMapName.parse(text)
        #expect(name.language == "javascript" && name.function == function && name.file == file && name.line == nil, "\(name)")
    }
}
