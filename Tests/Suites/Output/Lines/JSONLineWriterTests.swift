import Foundation
import LagOutput
import Testing

struct JSONLineWriterTests {
    private func text(_ body: (inout JSONLineWriter) -> Void) -> String {
        var writer = JSONLineWriter()
        body(&writer)
        return writer.withBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func string(_ bytes: [UInt8], maxBytes: Int = .max, keepingEnd: Bool = false) -> String {
        text { writer in bytes.withUnsafeBufferPointer { writer.value(utf8: $0, maxBytes: maxBytes, keepingEnd: keepingEnd) } }
    }

    @Test func `commas are written only between elements`() {
        let line = text { writer in
            writer.beginObject()
            writer.key("a")
            writer.beginArray()
            writer.endArray()
            writer.key("b")
            writer.beginArray()
            writer.value(true)
            writer.beginObject()
            writer.endObject()
            writer.value(false)
            writer.endArray()
            writer.key("c")
            writer.value("x" as StaticString)
            writer.endObject()
            writer.endLine()
        }
        #expect(line == #"{"a":[],"b":[true,{},false],"c":"x"}"# + "\n")
    }

    @Test(arguments: [
        (0, "0.000"), (999, "0.000"), (1000, "0.001"), (1_000_000, "1.000"), (149_999_999, "149.999"), (150_000_000, "150.000"),
        (1_234_567_890, "1234.567"), (UInt64.max, "18446744073709.551"),
    ])
    func `milliseconds have three decimals and are rounded down`(nanoseconds: UInt64, expected: String) {
        #expect(text { $0.value(millisecondsOf: nanoseconds) } == expected)
    }

    @Test func `integers are exact`() {
        #expect(text { $0.value(UInt64.max) } == "18446744073709551615")
        #expect(text { $0.value(Int64.min) } == "-9223372036854775808")
        #expect(text { $0.value(Int64(0)) } == "0")
    }

    @Test(arguments: [(0, "0x0"), (15, "0xf"), (16, "0x10"), (0x1000, "0x1000"), (UInt64.max, "0xffffffffffffffff")])
    func `hexadecimal numbers have no leading zeros`(number: UInt64, expected: String) {
        #expect(text { $0.value(hex: number) } == "\"\(expected)\"")
    }

    @Test func `every ASCII character is read back unchanged`() throws {
        for byte in UInt8(1)...0x7f {
            let line = "[" + string([byte]) + "]"
            let parsed = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String])
            #expect(parsed == [String(Unicode.Scalar(byte))])
            // A raw newline would split the line.
            #expect(!line.utf8.contains { $0 < 0x20 })
        }
    }

    @Test func `characters with a short escape sequence use it`() {
        #expect(string(Array("\"\\\u{8}\u{c}\n\r\t\u{1}\u{1f}".utf8)) == #""\"\\\b\f\n\r\t\u0001\u001f""#)
    }

    @Test func `NUL becomes the replacement character`() { #expect(string([0x61, 0, 0x62]) == "\"a\u{fffd}b\"") }

    /// Cases of the Unicode standard (section 3.9, tables 3-8 to 3-11), where each maximal subpart becomes one U+FFFD.
    @Test(
        arguments: [
            ([0xc0, 0xaf], 2), ([0xed, 0xa0, 0x80], 3), ([0xf4, 0x90, 0x80, 0x80], 4), ([0xe1, 0x80], 1),
            ([0xf0, 0x90, 0x80], 1),
            ([0xe0, 0x80, 0x80], 3), ([0xff], 1), ([0x80], 1), ([0xf0, 0x80, 0x80, 0x80], 4), ([0xf1, 0x80, 0x41], 1),
        ] as [([UInt8], Int)]
    )
    func `ill-formed UTF-8 becomes replacement characters`(bytes: [UInt8], count: Int) throws {
        var writer = JSONLineWriter()
        bytes.withUnsafeBufferPointer { writer.value(utf8: $0) }
        // Not String(decoding:), which would repair invalid bytes from the writer.
        let line = try #require(writer.withBytes { String(validating: $0, as: UTF8.self) })
        #expect(line.unicodeScalars.filter { $0 == "\u{fffd}" }.count == count)
        // The standard library follows the same practice.
        #expect(line == "\"" + String(decoding: bytes, as: UTF8.self) + "\"")
    }

    @Test func `well-formed text is unchanged`() {
        let text = "Grüße 東京 🧵 \u{10ffff} \u{e000} \u{2010}"
        #expect(string(Array(text.utf8)) == "\"\(text)\"")
    }

    @Test func `terminal control characters are escaped`() {
        let text = "\u{7f}\u{9b}\u{61c}\u{200b}\u{202e}\u{2028}\u{2066}\u{feff}"
        #expect(string(Array(text.utf8)) == #""\u007f\u009b\u061c\u200b\u202e\u2028\u2066\ufeff""#)
    }

    @Test func `text is cut at a character boundary, with escapes counted`() {
        #expect(string(Array("abc".utf8), maxBytes: 3) == "\"abc\"")
        #expect(string(Array("abcd".utf8), maxBytes: 3) == "\"abc\"")
        #expect(string(Array("aé".utf8), maxBytes: 2) == "\"a\"")
        #expect(string(Array("a🧵".utf8), maxBytes: 4) == "\"a\"")
        #expect(string(Array("a🧵".utf8), maxBytes: 5) == "\"a🧵\"")
        #expect(string(Array("a\n".utf8), maxBytes: 2) == "\"a\"")
        #expect(string([0x61, 0x01], maxBytes: 6) == "\"a\"")
        #expect(string([0x61, 0x01], maxBytes: 7) == #""a\u0001""#)
        #expect(string([0xff], maxBytes: 2) == "\"\"")
        #expect(string(Array("abc".utf8), maxBytes: 0) == "\"\"")
    }

    @Test func `a shortened path keeps its end`() {
        #expect(string(Array("/usr/lib/x.so".utf8), maxBytes: 8, keepingEnd: true) == "\"lib/x.so\"")
        #expect(string(Array("é/x".utf8), maxBytes: 3, keepingEnd: true) == "\"/x\"")
        #expect(string(Array("/x".utf8), maxBytes: 8, keepingEnd: true) == "\"/x\"")
    }

    @Test func `a rollback discards elements and keeps the commas right`() {
        let line = text { writer in
            writer.beginArray()
            writer.value(UInt64(1))
            let mark = writer.mark
            writer.value(UInt64(2))
            writer.rollBack(to: mark)
            writer.value(UInt64(3))
            writer.endArray()
        }
        #expect(line == "[1,3]")
    }
}
