internal import Glibc
internal import LagMonitor
internal import LagWorkload

/// The configuration file, read and checked: known keys with good values, the workload's steps, and the targets.
struct SettingsFile {
    /// Values by the key's path.
    private(set) var values: [String: JSONValue] = [:]
    private(set) var steps: [WorkloadStep] = []
    private(set) var targets: [TargetReading] = []
    private(set) var problems: [SettingProblem] = []
    /// As it was named; empty: there is no file.
    let path: String

    /// A file that says nothing.
    init() { path = "" }

    /// Reads `path`. What is wrong stands in ``problems``; nothing is thrown, so that all of it can be told at once.
    init(path: String) {
        self.path = path
        switch Self.contents(of: path) {
        case .success(let bytes): read(bytes)
        case .failure(let code):
            object("", "cannot be read: \(Diagnostics.reason(code.number))", "a readable file with a JSON object")
        }
    }

    private struct ErrorNumber: Error { let number: Int32 }

    private static func contents(of path: String) -> Result<[UInt8], ErrorNumber> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return .failure(ErrorNumber(number: errno)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return .success(bytes) }
            if count > 0 {
                bytes.append(contentsOf: buffer[..<count])
            } else if errno != EINTR {
                return .failure(ErrorNumber(number: errno))
            }
        }
    }

    /// Checks a document that is already in memory; `path` is for messages.
    init(path: String, bytes: [UInt8]) {
        self.path = path
        read(bytes)
    }

    private mutating func read(_ bytes: [UInt8]) {
        do {
            let document = try JSONValue(parsing: bytes)
            guard case .object(let members) = document else {
                object("", "the document is \(document.shown)", "an object")
                return
            }
            check(members, under: "")
        } catch {
            object("", "is not JSON: \(error)", "a JSON object")
        }
    }

    private mutating func object(_ key: String, _ wrong: String, _ allowed: String) {
        problems.append(SettingProblem(source: .file(path), key: key, wrong: wrong, allowed: allowed))
    }

    /// Walks the objects in the order of their keys, so that messages come in the same order every time.
    private mutating func check(_ members: [String: JSONValue], under prefix: String) {
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let key = prefix.isEmpty ? name : "\(prefix).\(name)"
            if name.contains(".") {
                // Would look like a key one level down.
                object(key, "unknown key", Self.children(of: prefix).joined(separator: ", "))
            } else if key == Self.stepsKey {
                checkSteps(value)
            } else if key == Self.targetsKey {
                checkTargets(value)
            } else if let known = SettingKey.all.first(where: { $0.inFile && $0.path == key }) {
                if let wrong = known.objection(to: value) {
                    object(key, wrong, known.allowed)
                } else {
                    values[key] = value
                }
            } else if key == Self.outputKey, case .string = value {
                // `"output": "journald"` is short for `"output": {"path": "journald"}`.
                if let wrong = SettingKey.output.objection(to: value) {
                    object(key, wrong, SettingKey.output.allowed)
                } else {
                    values[SettingKey.output.path] = value
                }
            } else if Self.children(of: key).isEmpty {
                object(key, "unknown key", Self.children(of: prefix).joined(separator: ", "))
            } else if case .object(let inner) = value {
                check(inner, under: key)
            } else {
                object(key, "\(value.shown) is not an object", "an object with " + Self.children(of: key).joined(separator: ", "))
            }
        }
    }

    private mutating func checkSteps(_ value: JSONValue) {
        guard case .array(let elements) = value else {
            object(Self.stepsKey, "\(value.shown) is not a list", "a list of steps")
            return
        }
        for (index, element) in elements.enumerated() {
            let (step, objections) = WorkloadStep.read(element)
            if let step { steps.append(step) }
            for objection in objections {
                let member = objection.member.isEmpty ? "" : ".\(objection.member)"
                object("\(Self.stepsKey)[\(index)]\(member)", objection.wrong, objection.allowed)
            }
        }
    }

    private mutating func checkTargets(_ value: JSONValue) {
        guard case .array(let elements) = value, !elements.isEmpty else {
            let wrong = if case .array = value { "the list is empty" } else { "\(value.shown) is not a list" }
            return object(Self.targetsKey, wrong, "a list of targets, each \(TargetReading.allowed)")
        }
        for (index, element) in elements.enumerated() {
            let place = "\(Self.targetsKey)[\(index)]"
            let target = TargetReading(element)
            for objection in target.objections {
                object(objection.member.isEmpty ? place : "\(place).\(objection.member)", objection.wrong, objection.allowed)
            }
            if !target.name.isEmpty, targets.contains(where: { $0.name == target.name }) {
                object("\(place).name", "\"\(target.name)\" stands there twice", "a name of its own for each target")
            }
            targets.append(target)
        }
    }

    private static let outputKey = "output"
    static let targetsKey = "targets"
    static let stepsKey = "workload.steps"

    /// The names that may stand in the object at `prefix`, in the order of the documentation.
    static func children(of prefix: String) -> [String] {
        let paths = SettingKey.all.filter(\.inFile).map(\.path) + [stepsKey, targetsKey]
        let start = prefix.isEmpty ? "" : prefix + "."
        var names: [String] = []
        for path in paths where path.hasPrefix(start) {
            let name = String(path.dropFirst(start.count).prefix { $0 != "." })
            if !names.contains(name) { names.append(name) }
        }
        return names
    }
}
