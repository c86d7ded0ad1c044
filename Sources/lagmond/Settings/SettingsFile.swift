internal import Glibc
internal import LagMonitor

/// The configuration file, parsed and checked: known keys with valid values, the workload's steps, and the targets.
struct SettingsFile {
    /// Values by the key's path.
    private(set) var values: [String: JSONValue] = [:]
    /// Elements of `workload.steps`.
    private(set) var steps: [JSONValue] = []
    private(set) var targets: [ParsedTarget] = []
    private(set) var problems: [SettingValidationError] = []
    /// As the user wrote it; empty: no file.
    let path: String

    /// No file.
    init() { path = "" }

    /// Reads `path`. Errors go to ``problems``; nothing is thrown, so that all of them can be reported at once.
    init(path: String) {
        self.path = path
        switch Self.contents(of: path) {
        case .success(let bytes): read(bytes)
        case .failure(let failure):
            reject("", "cannot be read: \(failure.reason)", "a readable file with a JSON object")
        }
    }

    /// A larger file cannot be a configuration: it is a device, or the wrong file.
    private static let maximumMebibytes = 4
    /// The time limit for a pipe's writer, as with `--config <(…)`.
    private static let secondsToRead = 10

    private struct ReadFailure: Error {
        let reason: String
    }

    /// A pipe without a writer counts as empty; a slow writer is waited for.
    private static func contents(of path: String) -> Result<[UInt8], ReadFailure> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return .failure(ReadFailure(reason: Diagnostics.reason(errno))) }
        defer { close(descriptor) }
        let deadline = MonotonicTime.now + .seconds(secondsToRead)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            let code = errno
            if count == 0 { return .success(bytes) }
            if count > 0 {
                bytes.append(contentsOf: buffer[..<count])
                guard bytes.count <= maximumMebibytes << 20 else {
                    return .failure(ReadFailure(reason: "it has more than \(maximumMebibytes) MiB"))
                }
            } else if code == EAGAIN {
                guard isReadable(descriptor, until: deadline) else {
                    return .failure(ReadFailure(reason: "its end did not arrive within \(secondsToRead) s"))
                }
            } else if code != EINTR {
                return .failure(ReadFailure(reason: Diagnostics.reason(code)))
            }
        }
    }

    /// Waits; false: timed out.
    private static func isReadable(_ descriptor: Int32, until deadline: MonotonicTime) -> Bool {
        let milliseconds = (deadline - MonotonicTime.now) / .milliseconds(1)
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return milliseconds > 0 && poll(&entry, 1, Int32(milliseconds.rounded(.up))) != 0
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
                reject("", "the document is \(document.displayText)", "an object")
                return
            }
            check(members, under: "")
        } catch {
            reject("", "is not JSON: \(error)", "a JSON object")
        }
    }

    private mutating func reject(_ key: String, _ reason: String, _ allowed: String) {
        problems.append(SettingValidationError(source: .file(path), key: key, reason: reason, allowed: allowed))
    }

    private mutating func reject(_ element: String, _ errors: [ElementError]) {
        for error in errors { reject(error.member.isEmpty ? element : "\(element).\(error.member)", error.reason, error.allowed) }
    }

    /// Walks the objects in the order of their keys, so that messages come in the same order every time.
    private mutating func check(_ members: [String: JSONValue], under prefix: String) {
        for (name, value) in members.sorted(by: { $0.key < $1.key }) {
            let key = prefix.isEmpty ? name : "\(prefix).\(name)"
            if name.contains(".") {
                // It would look like a key one level down.
                reject(key, "unknown key", Self.children(of: prefix).joined(separator: ", "))
            } else if key == Self.stepsKey {
                checkSteps(value)
            } else if key == Self.targetsKey {
                checkTargets(value)
            } else if let known = SettingKey.all.first(where: { $0.inFile && $0.path == key }) {
                if let reason = known.validationError(for: value) {
                    reject(key, reason, known.allowed)
                } else {
                    values[key] = value
                }
            } else if key == Self.outputKey, case .string = value {
                // `"output": "journald"` is short for `"output": {"path": "journald"}`.
                if let reason = SettingKey.output.validationError(for: value) {
                    reject(key, reason, SettingKey.output.allowed)
                } else {
                    values[SettingKey.output.path] = value
                }
            } else if Self.children(of: key).isEmpty {
                reject(key, "unknown key", Self.children(of: prefix).joined(separator: ", "))
            } else if case .object(let inner) = value {
                check(inner, under: key)
            } else {
                reject(
                    key,
                    "\(value.displayText) is not an object",
                    "an object with " + Self.children(of: key).joined(separator: ", ")
                )
            }
        }
    }

    private mutating func checkSteps(_ value: JSONValue) {
        guard case .array(let elements) = value else {
            reject(Self.stepsKey, "\(value.displayText) is not a list", "a list of steps")
            return
        }
        for (index, element) in elements.enumerated() {
            reject("\(Self.stepsKey)[\(index)]", WorkloadStepSettings.errors(in: element))
            steps.append(element)
        }
    }

    private mutating func checkTargets(_ value: JSONValue) {
        guard case .array(let elements) = value, !elements.isEmpty else {
            let reason = if case .array = value { "the list is empty" } else { "\(value.displayText) is not a list" }
            return reject(Self.targetsKey, reason, "a list of targets, each \(ParsedTarget.allowed)")
        }
        for (index, element) in elements.enumerated() {
            let place = "\(Self.targetsKey)[\(index)]"
            let target = ParsedTarget(element)
            reject(place, target.errors)
            if !target.name.isEmpty, targets.contains(where: { $0.name == target.name }) {
                reject("\(place).name", "\"\(target.name)\" is used twice", "a different name for each target")
            }
            targets.append(target)
        }
    }

    private static let outputKey = "output"
    static let targetsKey = "targets"
    static let stepsKey = "workload.steps"

    /// The names that are allowed in the object at `prefix`, in the order of the documentation.
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
