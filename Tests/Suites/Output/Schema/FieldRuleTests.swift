import Foundation
import LagOutput
import LagReader
import Testing

/// The line check and the schema have the same rules for each member, so `lagmond check` and any validator agree.
struct FieldRuleTests {
    @Test func `check and schema accept the same lines and miss the same members`() throws {
        let (status, data) = try output(of: "MonitorProbe", ["lines", "200", "8000", "11"])
        #expect(status == 0)
        let validator = try SchemaValidator(SchemaFile.json())
        var check = LineCheck()
        var number = 0
        for line in lines(data) {
            #expect(validator.problems(of: line).isEmpty, "\(String(decoding: line, as: UTF8.self))")
            number += 1
            guard number % 20 == 0 else { continue }
            let whole = try #require(JSONSerialization.jsonObject(with: line) as? [String: Any])
            for name in whole.keys where name != "schema" {
                var less = whole
                less[name] = nil
                let data = try JSONSerialization.data(withJSONObject: less)
                let isMissed = data.withUnsafeBytes { check.validationErrors(in: $0) }.contains("\(name) is missing")
                let isRefused = validator.problems(of: data).contains { $0.contains(name) }
                #expect(isMissed == isRefused, "\(name) of \(whole["event"] ?? "?")")
            }
        }
    }
}
