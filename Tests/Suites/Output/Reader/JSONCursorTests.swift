import Foundation
import TestSupport
import Testing

@testable import LagReader

struct JSONCursorTests {
    private func failure(_ text: [UInt8]) -> JSONCursor.Failure? {
        text.withUnsafeBytes { bytes in
            var cursor = JSONCursor(bytes)
            cursor.skipSpaces()
            _ = cursor.value() != nil && cursor.isAtEndOfText()
            return cursor.failure
        }
    }

    @Test(arguments: [
        "{}", "[]", "0", "-0.5e+10", #""""#, " [1 , 2]\r\n", #"{"a":{"b":[{"c":null}]},"d":[[],{}]}"#, "true", "false", "null",
        #""0123456789abcde""#, #""0123456789abcdef""#, #""0123456789abcdef0\"1234567\\89\u00e9 ü""#, "1E5",
    ])
    func `valid JSON texts are accepted`(text: String) { #expect(failure(Array(text.utf8)) == nil) }

    @Test(arguments: [
        ("", "expected a value, found the end at byte 1"), ("{", "expected a string at byte 2"),
        ("[1,]", "expected a value at byte 4"),
        (#"{"a"}"#, "expected a colon after a member's name at byte 5"),
        (#"{"a":1 "b"}"#, "expected a comma or the end after a member at byte 8"),
        ("[1 2]", "expected a comma or the end after an element at byte 4"), ("01", "unexpected text after the end at byte 2"),
        ("\"a\nb\"", "a control character in a string at byte 3"), (#""\x""#, "an unknown escape at byte 3"),
        (#""\u12g4""#, "expected four hex digits at byte 6"), (#""0123456789abcdef"#, "unterminated string at byte 18"),
        ("tru", "expected a value at byte 1"), ("1.", "expected a value at byte 3"), ("+1", "expected a value at byte 1"),
        (#"{"a":1,}"#, "expected a string at byte 8"),
        ("1 2", "unexpected text after the end at byte 3"), ("'a'", "expected a value at byte 1"),
    ])
    func `an invalid JSON text is reported with its position`(text: String, expected: String) {
        #expect(failure(Array(text.utf8))?.description == expected)
    }

    @Test func `nesting depth is bounded`() {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(failure(nested(JSONCursor.maximumDepth)) == nil)
        #expect(failure(nested(JSONCursor.maximumDepth + 1))?.reason == "nested too deeply")
        #expect(failure(nested(1_000_000))?.reason == "nested too deeply")
        #expect(failure(Array(repeating: UInt8(ascii: "{"), count: 100_000)) != nil)
    }

    /// A quote, an escape and a control character at every position of a block of sixteen bytes.
    @Test func `characters at every position of a block are checked`() {
        for length in 0..<50 {
            let plain = String(repeating: "x", count: length)
            #expect(failure(Array("\"\(plain)\"".utf8)) == nil)
            #expect(failure(Array("\"\(plain)\\n\(plain)\"".utf8)) == nil)
            #expect(failure(Array("\"\(plain)\u{1}\(plain)\"".utf8))?.offset == length + 1)
            #expect(failure(Array("\"\(plain)\u{7f}é\(plain)\"".utf8)) == nil)
            #expect(failure(Array("\"\(plain)".utf8))?.offset == length + 1)
        }
    }

    /// Foundation accepts and refuses the same mutated texts, except for a trailing comma, which Foundation accepts but
    /// RFC 8259 does not.
    @Test(arguments: SeededGenerator.seeds(1, 2)) func `the cursor accepts the same texts as Foundation`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let alphabet = Array(#"{}[]",:\u0a1-.eE+ tfn"#.utf8)
        var refused = 0
        let rounds = 1500
        for _ in 0..<rounds {
            var text = Array(#"{"a":[1,-2.5e1,true,null,"x\n\u00e9"],"b":{"c":"d","e":false}}"#.utf8)
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                let place = Int.random(in: 0..<text.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text.remove(at: place)
                case 1: text.insert(alphabet.randomElement(using: &generator)!, at: place)
                default: text[place] = alphabet.randomElement(using: &generator)!
                }
            }
            let other = (try? JSONSerialization.jsonObject(with: Data(text), options: .fragmentsAllowed)) != nil
            let own = failure(text) == nil
            if !own { refused += 1 }
            // The grammar allows half a surrogate pair; Foundation refuses it.
            let shown = String(decoding: text, as: UTF8.self)
            if shown.contains("\\ud") || shown.contains("\\ue") || shown.contains("\\u0") && !other && own { continue }
            if other, !own, shown.contains(/,\s*[\]}]/) { continue }
            #expect(own == other, "\(shown)")
        }
        #expect((1..<rounds).contains(refused))
    }
}
