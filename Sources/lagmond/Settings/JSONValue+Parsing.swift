internal import Foundation
internal import LagMonitor

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
        // A number 1 also casts to Bool; Objective-C's type code distinguishes them.
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
