internal import LagMonitor
internal import Testing

@testable internal import lagmond

@Suite struct JSONValueTests {
    @Test func `every kind of JSON value is read`() throws {
        let text =
            #" {"a": [null, true, false, 0, 1, -1, 1.5, 2e3], "b": {"c": "x\n\"\\\/\u00e9\ud83d\ude00é"}, "d": [], "e": {}} "#
        let expected: JSONValue = .object([
            "a": .array([.null, .bool(true), .bool(false), .int(0), .int(1), .int(-1), .double(1.5), .int(2000)]),
            "b": .object(["c": .string("x\n\"\\/é😀é")]),
            "d": .array([]), "e": .object([:]),
        ])
        #expect(try JSONValue(parsing: Array(text.utf8)) == expected)
    }

    @Test(arguments: ["", "{", "[1,", "[1] x", "\"a", "{a:1}", "['a']", "[NaN]"])
    func `what is not JSON is refused with a reason`(text: String) {
        let failure = #expect(throws: JSONValue.Failure.self) { try JSONValue(parsing: Array(text.utf8)) }
        #expect(failure?.description.isEmpty == false)
    }

    @Test func `a byte order mark is refused by its name`() {
        let failure = #expect(throws: JSONValue.Failure.self) { try JSONValue(parsing: [0xef, 0xbb, 0xbf] + Array("{}".utf8)) }
        #expect(failure?.description.contains("byte order mark") == true)
    }

    @Test(arguments: [(#"{"a": 1, "b": {}, "a": 1}"#, "a"), (#"{"a": [{}, {"b": 1, "\u0062": 2}]}"#, "a[1].b")])
    func `a member that appears twice is refused with its name`(text: String, name: String) {
        let failure = #expect(throws: JSONValue.Failure.self) { try JSONValue(parsing: Array(text.utf8)) }
        #expect(failure?.description == "\(name) appears twice")
    }

    @Test func `deep nesting is refused instead of overflowing`() {
        let text = String(repeating: "[", count: 100_000)
        #expect(throws: JSONValue.Failure.self) { try JSONValue(parsing: Array(text.utf8)) }
    }
}
