internal import Foundation
internal import LagOutput

extension Verdict {
    /// One line of JSON: the expectation, the record as written, and the truth.
    var json: String {
        var object: [String: Any] = [
            "scenario": scenario.name,
            "expected_causes": scenario.causes.map(\.rawValue),
            "expected_culprits": scenario.culprits,
            "result": isSkipped ? "skipped" : isRight ? "ok" : "miss",
            "cause_ok": causeIsRight,
            "culprit_ok": culpritIsRight,
            "stack_holds_culprit": stackHoldsCulprit,
            "attempts": attempts,
        ]
        switch missingResult {
        case .skipped(let reason), .failed(let reason): object["reason"] = reason
        case nil: break
        }
        if let record { object["record"] = Self.object(Data(record.text.utf8)) }
        if let truth, let data = try? Self.encoder.encode(truth) { object["truth"] = Self.object(data) }
        guard let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }

    private static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        return encoder
    }

    private static func object(_ data: Data) -> Any { (try? JSONSerialization.jsonObject(with: data)) ?? NSNull() }
}
