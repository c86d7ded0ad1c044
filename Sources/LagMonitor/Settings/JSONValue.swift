/// The value of a setting as its source gave it, so that a check can name exactly what it found.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// How a message shows this value.
    package var displayText: String {
        switch self {
        case .null: "null"
        case .bool(let bool): "\(bool)"
        case .int(let int): "\(int)"
        case .double(let double): "\(double)"
        case .string(let string): "\"\(string)\""
        case .array: "a list"
        case .object: "an object"
        }
    }
}
