import Foundation
import LagOutput
import TestSupport
import Testing

/// The schema describes exactly what the writer writes.
struct SchemaTests {
    private let hostile: [[String: Any]]

    init() throws {
        hostile = try Self.lines.get().map { try #require(JSONSerialization.jsonObject(with: $0) as? [String: Any]) }
    }

    /// Created once for all tests.
    private static let lines = Result {
        let (status, data) = try output(of: "MonitorProbe", ["lines", "480", "8000", "7"])
        try #require(status == 0)
        let found = LagOutputTests.lines(data)
        try #require(found.count == 480)
        return found
    }

    @Test func `the document of the record contains the table of fields`() throws {
        let (status, data) = try output(of: "lagmond", ["schema", "--markdown"])
        #expect(status == 0)
        let table = String(decoding: data, as: UTF8.self)
        for field in StallField.allCases { #expect(table.contains("\n| `\(field.name)` |"), "\(field)") }
        let file = Repository.root.appendingPathComponent("docs/record.md")
        let document = try String(contentsOf: file, encoding: .utf8)
        let isContained = document.contains("<!-- lagmond schema --markdown -->\n" + table + "<!-- end -->\n")
        #expect(isContained, "put what `lagmond schema --markdown` prints between the marks of docs/record.md")
    }

    /// The page shows the members of a line: one that is misspelt there would be shown as one without a place.
    @Test func `the page of the report reads only members of the table`() throws {
        let file = Repository.root.appendingPathComponent("Sources/lagmond/ReportPage/Page/detail.js")
        let script = try String(contentsOf: file, encoding: .utf8)
        let read = Set(script.matches(of: /\bstall\.([a-z_]+)/).map { String($0.1) })
        #expect(read.count > 50 && read.subtracting(StallField.allCases.map(\.name)).isEmpty)
    }

    @Test func `lines with hostile values are valid`() throws {
        let validator = try SchemaValidator(SchemaFile.json())
        for line in hostile {
            let problems = validator.problems(of: line)
            #expect(problems.isEmpty, "\(problems) in \(line)")
        }
    }

    @Test func `every member of the schema is written by some line`() throws {
        let validator = try SchemaValidator(SchemaFile.json())
        for line in hostile { _ = validator.problems(of: line) }
        let missing = validator.declaredMembers().subtracting(validator.seenMembers)
        #expect(missing.isEmpty)
    }

    @Test func `a schema without one member refuses lines that contain it`() throws {
        let schema = try SchemaFile.json()
        let members = try #require(schema["properties"] as? [String: Any])
        for member in members.keys {
            var less = schema
            less["properties"] = members.filter { $0.key != member }
            #expect(try refuses(less), "without \(member)")
        }
        let definitions = try #require(schema["$defs"] as? [String: [String: Any]])
        for (name, definition) in definitions {
            guard let members = definition["properties"] as? [String: Any] else { continue }
            for member in members.keys {
                var less = schema
                var changed = definitions
                changed[name]?["properties"] = members.filter { $0.key != member }
                less["$defs"] = changed
                #expect(try refuses(less), "without \(member) of \(name)")
            }
        }
    }

    @Test func `a schema with another type for a member refuses lines that contain it`() throws {
        let schema = try SchemaFile.json()
        let members = try #require(schema["properties"] as? [String: Any])
        for member in members.keys {
            var changed = schema
            // No value in a line is null.
            changed["properties"] = members.merging([member: ["type": "null"]]) { $1 }
            #expect(try refuses(changed), "\(member)")
        }
    }

    @Test func `the required members are those that every line of an event has`() throws {
        let schema = try SchemaFile.json()
        let required = try #require(schema["required"] as? [String])
        let conditional = try #require(schema["allOf"] as? [[String: Any]])
        for rule in conditional {
            guard let then = rule["then"] as? [String: Any], let names = then["required"] as? [String] else { continue }
            let condition = (rule["if"] as? [String: Any])?["properties"] as? [String: [String: String]]
            let event = try #require(condition?["event"]?["const"])
            let of = hostile.filter { $0["event"] as? String == event }
            let always = of.map { Set($0.keys) }.reduce(Set(of.first?.keys.map { $0 } ?? [])) { $0.intersection($1) }
            #expect(Set(names + required) == always, "event \(event)")
        }
    }

    @Test func `the enumerations equal those of the code`() throws {
        let schema = try SchemaFile.json()
        let members = try #require(schema["properties"] as? [String: [String: Any]])
        func values(_ member: String) -> [String]? { members[member]?["enum"] as? [String] }
        #expect(values("phase") == StallRecord.Phase.allCases.map(\.rawValue))
        #expect(values("severity") == StallRecord.Severity.allCases.map(\.rawValue))
        #expect(values("cause") == StallRecord.Cause.allCases.map(\.rawValue))
        #expect(values("capture") == StallRecord.Capture.allCases.map(\.rawValue))
        #expect(values("lock_kind") == StallRecord.LockKind.allCases.map(\.rawValue))
        #expect(values("reason") == Notice.DropReason.allCases.map(\.rawValue))
        let definitions = try #require(schema["$defs"] as? [String: [String: Any]])
        #expect(definitions["rule"]?["enum"] as? [String] == StallRecord.Kind.allCases.map(\.rawValue))
        #expect(members["schema"]?["const"] as? String == "\(StallRecord.schema)")
    }

    private func refuses(_ schema: [String: Any]) throws -> Bool {
        let validator: SchemaValidator
        do { validator = try SchemaValidator(schema) } catch is SchemaValidator.UnknownKeyword { return true }
        return hostile.contains { !validator.problems(of: $0).isEmpty }
    }
}

/// Tests of the validator itself, with known results.
struct SchemaValidatorTests {
    private func problems(_ schema: String, _ value: String) throws -> Int {
        let schema = try #require(JSONSerialization.jsonObject(with: Data(schema.utf8)) as? [String: Any])
        return try SchemaValidator(schema).problems(of: Data(value.utf8)).count
    }

    @Test(arguments: [
        (#"{"type":"integer"}"#, "1", 0), (#"{"type":"integer"}"#, "1.0", 0), (#"{"type":"integer"}"#, "1.5", 1),
        (#"{"type":"integer"}"#, "true", 1), (#"{"type":"number"}"#, #""1""#, 1), (#"{"type":"boolean"}"#, "1", 1),
        (#"{"type":"boolean"}"#, "true", 0), (#"{"minimum":0}"#, "-1", 1), (#"{"maximum":1}"#, "1.001", 1),
        (#"{"pattern":"^[0-9]$"}"#, #""12""#, 1), (#"{"enum":["a","b"]}"#, #""c""#, 1), (#"{"const":"a"}"#, #""a""#, 0),
        (#"{"required":["a"]}"#, "{}", 1), (#"{"properties":{"a":{"type":"string"}}}"#, #"{"a":1}"#, 1),
        (#"{"properties":{"a":{}}}"#, #"{"b":1}"#, 1), (#"{"items":{"type":"string"}}"#, #"["a",1,2]"#, 2),
        (#"{"minItems":1}"#, "[]", 1), (##"{"$ref":"#/$defs/x","$defs":{"x":{"type":"string"}}}"##, "1", 1),
        (##"{"$ref":"#/$defs/y"}"##, "1", 1),
        (#"{"if":{"required":["a"]},"then":{"required":["b"]}}"#, #"{"a":1}"#, 1),
        (#"{"if":{"required":["a"]},"then":{"required":["b"]}}"#, #"{"c":1}"#, 0),
        (#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#, #"{"b":1}"#, 0),
        (#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#, #"{"c":1}"#, 1),
        (#"{"allOf":[{"required":["a"]},{"required":["b"]}]}"#, "{}", 2), ("{}", "{", 1),
        (#"{"propertyNames":{"pattern":"^[a-z]+$"}}"#, #"{"a b":1,"c":1}"#, 1),
        (#"{"additionalProperties":{"type":"string"}}"#, #"{"a":1,"c":"1"}"#, 1),
    ])
    func `each schema keyword finds its errors`(schema: String, value: String, count: Int) throws {
        #expect(try problems(schema, value) == count)
    }

    @Test func `an unknown keyword is an error`() throws {
        #expect(throws: SchemaValidator.UnknownKeyword.self) { try problems(#"{"maxLength":1}"#, #""a""#) }
    }
}
