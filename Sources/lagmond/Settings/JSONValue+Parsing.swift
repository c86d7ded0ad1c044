internal import Foundation
internal import LagMonitor

/// A JSON document as it stands.
///
/// The JSON snapshot of swift-configuration refuses arrays of objects, and `workload.steps` is one; so Foundation reads
/// the document.
extension JSONValue {
    /// Why a text is not JSON, in Foundation's words.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// Reads a document (RFC 8259). Of two members with one name the last counts, as everywhere in Foundation.
    init(parsing bytes: [UInt8]) throws(Failure) {
        do {
            self.init(try JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed))
        } catch {
            let reason = (error as NSError).userInfo["NSDebugDescription"] as? String ?? error.localizedDescription
            throw Failure(description: reason.hasSuffix(".") ? String(reason.dropLast()) : reason)
        }
    }

    private init(_ value: Any) {
        switch value {
        // A number 1 passes for a Bool, too; Objective-C's type code tells them apart.
        case let number as NSNumber where String(cString: number.objCType) == "c": self = .bool(number.boolValue)
        case let int as Int: self = .int(int)
        case let double as Double: self = .double(double)
        case let string as String: self = .string(string)
        case let array as [Any]: self = .array(array.map(JSONValue.init))
        case let object as [String: Any]: self = .object(object.mapValues(JSONValue.init))
        default: self = .null
        }
    }
}
