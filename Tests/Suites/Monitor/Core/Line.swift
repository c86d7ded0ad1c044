import Foundation
import LagMonitor

/// A JSON line as a reader parses it.
struct Line {
    let text: String
    private let fields: [String: Any]

    init(_ text: String) {
        self.text = text
        fields = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [String: Any] ?? [:]
    }

    func string(_ key: String) -> String { fields[key] as? String ?? "" }
    func number(_ key: String) -> Double { (fields[key] as? NSNumber)?.doubleValue ?? .nan }
    func integer(_ key: String) -> Int { (fields[key] as? NSNumber)?.intValue ?? -1 }
    func strings(_ key: String) -> [String] { fields[key] as? [String] ?? [] }
    func object(_ key: String) -> [String: Any] { fields[key] as? [String: Any] ?? [:] }
    func objects(_ key: String) -> [[String: Any]] { fields[key] as? [[String: Any]] ?? [] }
    var phase: String { string("phase") }
    var symbols: [String] { ((fields["frames"] as? [[String: Any]]) ?? []).compactMap { $0["symbol"] as? String } }
    /// The symbols of the frames that are the program's own (`in_app`), or those that are not.
    func symbols(inApp: Bool) -> [String] {
        ((fields["frames"] as? [[String: Any]]) ?? []).filter { $0["in_app"] as? Bool == inApp }.compactMap {
            $0["symbol"] as? String
        }
    }
    func names(_ function: String) -> Bool { symbols.contains { $0.contains(function) } }
}

extension MemorySink {
    var records: [Line] { lines.map(Line.init).filter { $0.string("event") == "stall" } }
}
