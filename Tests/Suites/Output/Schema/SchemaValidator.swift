import Foundation

/// Validates a JSON value against a JSON Schema (2020-12), with the keywords that the schema of the lines uses.
///
/// An unknown keyword is an error, so that no part of the schema is unchecked. Unlike a reader, it refuses members that the
/// schema does not name: everything that the writer writes must be in the schema.
final class SchemaValidator {
    /// A keyword or a reference that this validator cannot follow.
    struct UnknownKeyword: Error { let name: String }

    private let root: Node
    private let definitions: [String: Node]
    /// Members that were seen, by their place in the schema, to check that every declared member is written.
    private(set) var seenMembers: Set<String> = []
    /// Values of enumerations that were seen.
    private(set) var seenValues: Set<String> = []

    init(_ schema: [String: Any]) throws {
        definitions = try (schema["$defs"] as? [String: Any] ?? [:]).mapValues { try Node($0) }
        root = try Node(schema)
    }

    /// The errors in a line; empty if it is valid.
    func problems(of line: Data) -> [String] {
        guard let value = try? JSONSerialization.jsonObject(with: line, options: .fragmentsAllowed) else { return ["no JSON"] }
        return problems(of: value)
    }

    func problems(of value: Any) -> [String] {
        var found: [String] = []
        check(value, root, at: "", &found)
        if let object = value as? [String: Any] { checkNames(object, root, at: "", &found) }
        return found
    }

    /// Every member that the schema declares, in the form of ``seenMembers``.
    func declaredMembers() -> Set<String> {
        let all = [("", root)] + definitions.map { ("\($0.key).", $0.value) }
        return Set(all.flatMap { prefix, node in node.properties.keys.map { prefix + $0 } })
    }

    private func check(_ value: Any, _ node: Node, at path: String, name: String = "", _ found: inout [String]) {
        if let reference = node.reference {
            if let target = definitions[reference] {
                check(value, target, at: path, name: "\(reference).", &found)
                if let object = value as? [String: Any] { checkNames(object, target, at: path, &found) }
            } else {
                found.append("\(path): there is no definition \(reference)")
            }
        }
        if let type = node.type, !Self.isOf(type, value) { found.append("\(path): not of type \(type)") }
        if let allowed = node.allowed {
            if let text = value as? String, allowed.contains(text) {
                seenValues.insert("\(path.split(separator: "/").last ?? "")=\(text)")
            } else {
                found.append("\(path): not one of \(allowed)")
            }
        }
        if let text = value as? String, let pattern = node.pattern, !Self.matches(text, pattern) {
            found.append("\(path): \(text) has another form")
        }
        if let number = value as? NSNumber, !(value is String) {
            if let minimum = node.minimum, number.doubleValue < minimum { found.append("\(path): below \(minimum)") }
            if let maximum = node.maximum, number.doubleValue > maximum { found.append("\(path): above \(maximum)") }
        }
        if let array = value as? [Any] {
            if let least = node.minimumItems, array.count < least { found.append("\(path): fewer than \(least) elements") }
            if let items = node.items { for element in array { check(element, items, at: path, &found) } }
        }
        if let object = value as? [String: Any] {
            for member in node.required where object[member] == nil { found.append("\(path): no \(member)") }
            for (member, inner) in node.properties {
                guard let content = object[member] else { continue }
                seenMembers.insert(name + member)
                check(content, inner, at: "\(path)/\(member)", &found)
            }
            for (member, content) in object where node.properties[member] == nil {
                if let names = node.names { check(member, names, at: "\(path)/\(member)", &found) }
                if let other = node.otherProperties { check(content, other, at: "\(path)/\(member)", &found) }
            }
        }
        for inner in node.all { check(value, inner, at: path, &found) }
        if let any = node.any, !any.contains(where: { holds(value, $0) }) { found.append("\(path): none of several") }
        if let condition = node.condition, let consequence = node.consequence, holds(value, condition) {
            check(value, consequence, at: path, &found)
        }
    }

    private func holds(_ value: Any, _ node: Node) -> Bool {
        var found: [String] = []
        check(value, node, at: "", &found)
        return found.isEmpty
    }

    private func checkNames(_ object: [String: Any], _ node: Node, at path: String, _ found: inout [String]) {
        guard !node.properties.isEmpty else { return }
        for member in object.keys where node.properties[member] == nil { found.append("\(path): the schema has no \(member)") }
    }

    private static func isOf(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "object": value is [String: Any]
        case "array": value is [Any]
        case "string": value is String
        case "boolean": (value as? NSNumber).map { isBoolean($0) } ?? false
        case "number": (value as? NSNumber).map { !isBoolean($0) } ?? false
        case "integer": (value as? NSNumber).map { !isBoolean($0) && $0.doubleValue == $0.doubleValue.rounded() } ?? false
        default: false
        }
    }

    private static func matches(_ text: String, _ pattern: NSRegularExpression) -> Bool {
        pattern.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
    }

    private static func isBoolean(_ number: NSNumber) -> Bool { String(cString: number.objCType) == "c" }
}

extension SchemaValidator {
    /// A parsed schema.
    private final class Node {
        var reference: String?
        var type: String?
        var allowed: [String]?
        var pattern: NSRegularExpression?
        var minimum: Double?
        var maximum: Double?
        var minimumItems: Int?
        var items: Node?
        var required: [String] = []
        var properties: [String: Node] = [:]
        var names: Node?
        var otherProperties: Node?
        var all: [Node] = []
        var any: [Node]?
        var condition: Node?
        var consequence: Node?

        init(_ json: Any) throws {
            guard let json = json as? [String: Any] else { throw UnknownKeyword(name: "a schema that is no object") }
            for (keyword, value) in json {
                switch (keyword, value) {
                case ("$schema", _), ("$id", _), ("title", _), ("description", _), ("examples", _), ("$defs", _): break
                case ("$ref", let text as String) where text.hasPrefix("#/$defs/"): reference = String(text.dropFirst(8))
                case ("type", let text as String): type = text
                case ("const", let text as String): allowed = [text]
                case ("enum", let texts as [String]): allowed = texts
                case ("pattern", let text as String): pattern = try NSRegularExpression(pattern: text)
                case ("minimum", let number as NSNumber): minimum = number.doubleValue
                case ("maximum", let number as NSNumber): maximum = number.doubleValue
                case ("minItems", let number as NSNumber): minimumItems = number.intValue
                case ("items", _): items = try Node(value)
                case ("required", let names as [String]): required = names
                case ("properties", let members as [String: Any]): properties = try members.mapValues { try Node($0) }
                case ("propertyNames", _): names = try Node(value)
                case ("additionalProperties", _): otherProperties = try Node(value)
                case ("allOf", let schemas as [Any]): all = try schemas.map { try Node($0) }
                case ("anyOf", let schemas as [Any]): any = try schemas.map { try Node($0) }
                case ("if", _): condition = try Node(value)
                case ("then", _): consequence = try Node(value)
                default: throw UnknownKeyword(name: keyword)
                }
            }
        }
    }
}
