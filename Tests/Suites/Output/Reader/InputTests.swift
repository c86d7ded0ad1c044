import Foundation
import TestSupport
import Testing

@testable import LagReader

struct InputTests {
    private func lines(
        _ text: String,
        step: Int = .max,
        part: Range<UInt64> = 0..<UInt64.max
    ) throws -> [String] {
        let isInside = part.lowerBound > 0
        let source = MemorySource(text.utf8.dropFirst(isInside ? Int(part.lowerBound) - 1 : 0), step: step)
        var lines: [String] = []
        try LineReader().read(source, part: part, isInside: isInside) { piece in
            switch piece {
            case .line(let line): lines.append(String(decoding: line, as: UTF8.self))
            case .overlong: lines.append("<overlong>")
            }
        }
        return lines
    }

    @Test(arguments: [1, 2, 3, 7, 100])
    func `lines do not depend on the size of the reads`(step: Int) throws {
        #expect(try lines("one\n\nthree\r\nlast", step: step) == ["one", "three\r", "last"])
        #expect(try lines("one\n", step: step) == ["one"])
        #expect(try lines("", step: step) == [])
        #expect(try lines(" \n\r\n", step: step) == [])
    }

    /// Each line is in exactly one part, for any cuts.
    @Test func `parts of a file together give all lines`() throws {
        let text = "a\nbb\n\nccc\ndddddddddd\ne\n\nlast one"
        let whole = try lines(text)
        let size = UInt64(text.utf8.count)
        for first in 1..<size {
            for second in first..<size {
                let cuts = [0, first, second, UInt64.max].sorted()
                let parts = try zip(cuts, cuts.dropFirst()).flatMap { try $0 < $1 ? lines(text, step: 3, part: $0..<$1) : [] }
                #expect(parts == whole, "cut at \(first) and \(second)")
            }
        }
    }

    @Test func `a line that is too long costs only itself`() throws {
        let long = String(repeating: "x", count: LineReader.maximumLineBytes + 1)
        let longest = String(repeating: "y", count: LineReader.maximumLineBytes)
        #expect(
            try lines("a\n\(long)\nb\n\(longest)\n\(long)\(long)\(long)\nc\n\(long)") == [
                "a", "<overlong>", "b", longest, "<overlong>", "c", "<overlong>",
            ]
        )
        // A part that begins inside a line leaves it to the previous part.
        let text = "\(long)\nb\n"
        #expect(try lines(text, part: 100..<UInt64.max) == ["b"])
        #expect(try lines(text, part: 0..<100) == ["<overlong>"])
        #expect(try lines(text, part: 100..<200) == [])
    }

    private func inflated(_ bytes: [UInt8], step: Int = .max) -> (text: String, inputError: InputError?) {
        let source = GzipSource(MemorySource(bytes, step: step), name: "f")
        var text: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1000, alignment: 1)
        defer { buffer.deallocate() }
        do throws(InputError) {
            while true {
                let count = try source.read(into: buffer)
                guard count > 0 else { return (String(decoding: text, as: UTF8.self), nil) }
                text += buffer[..<count]
            }
        } catch {
            return (String(decoding: text, as: UTF8.self), error)
        }
    }

    private static let text = (0..<3000).map { "line \($0 &* 2_654_435_761)\n" }.joined()
    private static let packed = Gzip.compressed(Array(text.utf8)) ?? []

    @Test(arguments: [1, 2, 1000, Int.max])
    func `gzip with several members and padding is decompressed`(step: Int) {
        #expect(inflated(Self.packed, step: step).text == Self.text)
        let joined = inflated(Self.packed + Self.packed + [0, 0, 0], step: step)
        #expect(joined.text == Self.text + Self.text)
        #expect(joined.inputError == nil)
        #expect(inflated([]).inputError == nil)
    }

    @Test func `truncated gzip gives its content up to the cut and an error`() throws {
        for length in stride(from: 1, to: Self.packed.count - 1, by: 97) {
            let (text, inputError) = inflated(Array(Self.packed.prefix(length)))
            #expect(Self.text.hasPrefix(text))
            #expect(try #require(inputError).description.contains("truncated"))
        }
        #expect(!inflated(Array(Self.packed.prefix(Self.packed.count / 2))).text.isEmpty)
    }

    @Test func `damaged gzip is reported`() throws {
        var bytes = Self.packed
        bytes[bytes.count / 2] ^= 0xff
        let damaged = inflated(bytes)
        #expect(damaged.text.hasPrefix("line 0\n"))
        #expect(try #require(damaged.inputError).isDamage)
        let junk = inflated(Self.packed + Array("junk".utf8))
        #expect(junk.text == Self.text)
        #expect(try #require(junk.inputError).description.contains("not gzip"))
    }

    @Test func `the kind of a file is detected by its first bytes, not by its name`() throws {
        try ScratchDirectory.with { scratch in
            let folder = URL(fileURLWithPath: scratch.path)
            try Data(Self.packed).write(to: folder.appending(path: "plain.jsonl"))
            try Data(Self.text.utf8).write(to: folder.appending(path: "lines.gz"))
            try Data([0x1f]).write(to: folder.appending(path: "one"))
            #expect(try InputFile(folder.appending(path: "plain.jsonl").path).content == .gzip)
            #expect(try InputFile(folder.appending(path: "lines.gz").path).content == .plain(bytes: UInt64(Self.text.utf8.count)))
            #expect(try InputFile(folder.appending(path: "one").path).content == .plain(bytes: 1))
            #expect(throws: InputError("missing", "cannot open", ENOENT)) { try InputFile("missing") }
            #expect(throws: InputError(folder.path, "cannot read", EISDIR)) { try InputFile(folder.path) }
        }
    }

    @Test func `a file is followed through growth, truncation and rotation`() throws {
        try ScratchDirectory.with { scratch in
            let folder = URL(fileURLWithPath: scratch.path)
            let path = folder.appending(path: "log").path
            let file = FollowedFile(path: path)
            var lines: [String] = []
            func read() {
                _ = file.readNew { if case .line(let line) = $0 { lines.append(String(decoding: line, as: UTF8.self)) } }
            }
            func append(_ text: String, to path: String) throws {
                let handle = try #require(fopen(path, "a"))
                fputs(text, handle)
                fclose(handle)
            }
            read()
            #expect(file.inputError != nil)
            try append("one\ntw", to: path)
            read()
            #expect(lines == ["one"])
            try append("o\n", to: path)
            read()
            #expect(lines == ["one", "two"])
            #expect(truncate(path, 0) == 0)
            try append("3\n", to: path)
            read()
            #expect(lines == ["one", "two", "3"])
            // The writer continues with the renamed file until it reopens the path.
            #expect(rename(path, path + ".1") == 0)
            try append("new\n", to: path)
            read()
            try append("late", to: path + ".1")
            read()
            read()
            #expect(lines == ["one", "two", "3", "late", "new"])
            #expect(unlink(path) == 0)
            for _ in 0..<3 { read() }
            try append("again\n", to: path)
            read()
            #expect(lines.last == "again")
        }
    }
}
