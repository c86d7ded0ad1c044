import Testing

@testable import lagmond

@Suite struct JSONParserTests {
    @Test func everyKindOfValueIsRead() throws {
        let text =
            #" {"a": [null, true, false, -1, 1.5, 2e3, 1.0], "b": {"c": "x\n\"\\\/\u00e9\ud83d\ude00é"}, "d": [], "e": {}} "#
        let expected: JSONValue = .object([
            "a": .array([.null, .bool(true), .bool(false), .int(-1), .double(1.5), .int(2000), .int(1)]),
            "b": .object(["c": .string("x\n\"\\/é😀é")]),
            "d": .array([]), "e": .object([:]),
        ])
        #expect(try JSONParser.parse(Array(text.utf8)) == expected)
    }

    @Test(
        arguments: [
            ("", 1, 1), ("{", 1, 2), ("[1,", 1, 4), ("[1,]", 1, 4), ("{\"a\":1,}", 1, 8), ("{\n\"a\": tru}", 2, 6),
            ("[01]", 1, 2),
            ("[1] x", 1, 5), ("\"a", 1, 1), ("\"\\x\"", 1, 2), ("\"\\ud800\"", 1, 2), ("\"\u{1}\"", 1, 2), ("[1 2]", 1, 4),
            ("[+1]", 1, 2),
            ("[.5]", 1, 2), ("{a:1}", 1, 2), ("['a']", 1, 2), ("\"\\u12G4\"", 1, 4), ("[NaN]", 1, 2),
        ]
    )
    func wrongTextIsToldByLineAndColumn(text: String, line: Int, column: Int) {
        let failure = #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(Array(text.utf8)) }
        #expect(failure?.line == line)
        #expect(failure?.column == column)
    }

    @Test func deepNestingIsRefusedInsteadOfOverflowing() {
        let text = String(repeating: "[", count: 100_000)
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse(Array(text.utf8)) }
    }

    @Test func bytesThatAreNoTextAreRefused() {
        #expect(throws: JSONParser.Failure.self) { try JSONParser.parse([0x22, 0xff, 0x22]) }
    }
}
