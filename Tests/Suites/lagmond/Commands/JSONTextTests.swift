internal import LagReader
internal import Testing

@testable internal import lagmond

struct JSONTextTests {
    private func text(_ json: String) throws -> JSONText { try JSONText(Array(json.utf8)) }

    @Test func `the parts of a JSON text are accessible by key and index`() throws {
        let text = try text(#" {"a" : [1.50e+3, "x\n\u00e9\ud83d\ude00\/", true],"b":{}} "#)
        #expect(text.written(text.root).hasSuffix("{}}"))
        let elements = text.elements("a", of: text.root)
        #expect(text.number(elements[0]) == "1.50e+3")
        #expect(text.string(elements[1]) == "x\né😀/")
        #expect(text.isTrue(elements[2]))
        #expect(text.string(elements[0]) == nil)
        #expect(text.member("c", of: text.root) == nil)
    }

    @Test func `the last of several members with the same name counts`() throws {
        let text = try text(#"{"a":1,"a":2}"#)
        #expect(text.number(text.member("a", of: text.root)) == "2")
    }

    @Test func `a lone surrogate is replaced`() throws {
        let text = try text(#""\ud83dx""#)
        #expect(text.string(text.root) == "\u{FFFD}x")
    }

    @Test(arguments: [
        "", "{", "{}}", "[1,]", #"{"a"}"#, #"{"a":}"#, #"{a:1}"#, "01", "+1", "1.", ".5", "1e", "-", "tru", "nulll", "'a'",
        #""a"#, #""\x""#, #""\u12g4""#, "\"\n\"", "[1 2]", #"{"a":1 "b":2}"#, "1 2", "\u{FEFF}1",
    ])
    func `text that is not JSON is refused`(json: String) {
        #expect(throws: JSONCursor.Failure.self) { try text(json) }
    }

    @Test(arguments: ["0", "-0", "-0.0e-0", "123456789012345678901234567890", "null", "[]", "[[],{}]", #""""#])
    func `valid JSON is kept as written`(json: String) throws {
        let text = try text(json)
        #expect(text.written(text.root) == json)
    }

    @Test func `nesting depth is bounded`() throws {
        let limit = JSONCursor.maximumDepth
        _ = try text(String(repeating: "[", count: limit) + String(repeating: "]", count: limit))
        #expect(throws: JSONCursor.Failure.self) {
            try text(String(repeating: "[", count: limit + 1) + String(repeating: "]", count: limit + 1))
        }
        #expect(throws: JSONCursor.Failure.self) { try text(String(repeating: "[", count: 1_000_000)) }
    }

    @Test func `every truncated text is refused and no changed byte causes a crash`() {
        let bytes = Array(#"{"a":[1.5e3,"x\u00e9\n",true,null,{"b":{}}]}"#.utf8)
        for index in bytes.indices {
            #expect(throws: JSONCursor.Failure.self) { try JSONText(Array(bytes[..<index])) }
            for byte in [0, 0x22, 0x5c, 0x7b, 0x7d, 0x80, 0xff] as [UInt8] {
                var damaged = bytes
                damaged[index] = byte
                if let text = try? JSONText(damaged) { _ = text.string(text.elements("a", of: text.root).dropFirst().first) }
            }
        }
    }
}

struct LineSplitterTests {
    @Test func `lines keep their line endings`() {
        var splitter = LineSplitter()
        #expect(splitter.take(Array("a\nb".utf8)[...]) == [.line(Array("a\n".utf8))])
        #expect(splitter.take(Array("c\r\n\n".utf8)[...]) == [.line(Array("bc\r\n".utf8)), .line(Array("\n".utf8))])
        #expect(splitter.take(Array("rest".utf8)[...]) == [])
        #expect(splitter.finish() == .line(Array("rest".utf8)))
        #expect(splitter.finish() == nil)
    }

    @Test func `a line that is too long is returned in fragments`() {
        var splitter = LineSplitter(maximumBytes: 4)
        #expect(splitter.take(Array("12345".utf8)[...]) == [.fragment(Array("12345".utf8))])
        #expect(splitter.take(Array("6\nab\n".utf8)[...]) == [.fragment(Array("6\n".utf8)), .line(Array("ab\n".utf8))])
    }
}
