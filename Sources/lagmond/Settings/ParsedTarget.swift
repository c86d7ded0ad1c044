internal import LagMonitor

/// One element of `targets` in the settings file, parsed and checked.
struct ParsedTarget {
    /// What the target watches.
    enum Kind: Equatable, Sendable {
        case command([String])
        case process(Int32)
        case processFile(String)
    }

    private(set) var name = ""
    private(set) var kind: Kind?
    /// Its settings, by the key's path.
    private(set) var values: [String: JSONValue] = [:]
    private(set) var errors: [ElementError] = []

    private static let kinds = ["command", "pid", "pid_file"]
    private static let policies = SettingKey.commandSettings.map { String($0.path.dropFirst(commandPrefix.count)) }
    static let members = ["name"] + kinds + ["monitor", "watch"] + policies
    static let allowed = "an object with name, one of \(kinds.joined(separator: ", ")), and settings of its own"

    static let commandPrefix = "command."
    /// It needs no escaping as a label, in a file name and in front of a message.
    private static let nameAllowed = "1 to 64 letters, digits, '.', '_' and '-'"

    init(_ value: JSONValue) {
        guard case .object(let given) = value else {
            reject("", "\(value.displayText) is not an object", Self.allowed)
            return
        }
        for (member, value) in given.sorted(by: { $0.key < $1.key }) {
            switch member {
            case "name": readName(value)
            case "command": readCommand(value)
            case "pid": readProcess(value)
            case "pid_file": readProcessFile(value)
            case "monitor": readSettings(value, member, SettingKey.monitorSettings)
            case "watch": readSettings(value, member, SettingKey.watchSettings)
            default:
                guard Self.policies.contains(member) else {
                    reject(member, "unknown key", Self.members.joined(separator: ", "))
                    continue
                }
                take(value, as: Self.commandPrefix + member, member)
            }
        }
        if given["name"] == nil { reject("name", "missing", Self.nameAllowed) }
        let present = Self.kinds.filter { given[$0] != nil }
        if present.count != 1 {
            let reason = present.isEmpty ? "names nothing to watch" : "has \(present.joined(separator: " and "))"
            reject("", reason, "one of \(Self.kinds.joined(separator: ", "))")
        }
        let ofCommands = given.keys.filter(Self.policies.contains).sorted()
        if given["command"] == nil, !ofCommands.isEmpty, present.count == 1 {
            for member in ofCommands { reject(member, "without effect on a process that already runs", "only with command") }
        }
    }

    private mutating func reject(_ member: String, _ reason: String, _ allowed: String) {
        errors.append(ElementError(member: member, reason: reason, allowed: allowed))
    }

    private mutating func readName(_ value: JSONValue) {
        guard case .string(let text) = value else {
            return reject("name", "\(value.displayText) is not a string", Self.nameAllowed)
        }
        let isGood = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
                || "._-".utf8.contains(byte)
        }
        guard isGood, (1...64).contains(text.utf8.count) else {
            return reject("name", "\"\(text)\" is not a target name", Self.nameAllowed)
        }
        name = text
    }

    private mutating func readCommand(_ value: JSONValue) {
        let allowed = "a list of texts: the program and its arguments"
        guard case .array(let elements) = value else { return reject("command", "\(value.displayText) is not a list", allowed) }
        var words: [String] = []
        for element in elements {
            guard case .string(let word) = element else {
                return reject("command", "\(element.displayText) is not a string", allowed)
            }
            guard !word.utf8.contains(0) else { return reject("command", "a string contains a zero byte", allowed) }
            words.append(word)
        }
        guard let program = words.first, !program.isEmpty else {
            return reject("command", words.isEmpty ? "the list is empty" : "the program's name is empty", allowed)
        }
        kind = .command(words)
    }

    private mutating func readProcess(_ value: JSONValue) {
        let allowed = "a process ID, from 1 to \(Int32.max)"
        guard case .int(let number) = value else { return reject("pid", "\(value.displayText) is not a whole number", allowed) }
        guard let pid = Int32(exactly: number), pid > 0 else { return reject("pid", "\(number) is out of bounds", allowed) }
        kind = .process(pid)
    }

    private mutating func readProcessFile(_ value: JSONValue) {
        let allowed = "the path of a file with a process ID in it"
        guard case .string(let path) = value else { return reject("pid_file", "\(value.displayText) is not a string", allowed) }
        guard !path.isEmpty, !path.utf8.contains(0) else {
            return reject("pid_file", "the path is empty or contains a zero byte", allowed)
        }
        kind = .processFile(path)
    }

    /// A member that is an object, like those of the file itself.
    private mutating func readSettings(_ value: JSONValue, _ member: String, _ known: [SettingKey]) {
        let prefix = member + "."
        let names = known.filter { $0.path.hasPrefix(prefix) }.map { String($0.path.dropFirst(prefix.count)) }
        guard case .object(let given) = value else {
            return reject(member, "\(value.displayText) is not an object", "an object with " + names.joined(separator: ", "))
        }
        for (name, value) in given.sorted(by: { $0.key < $1.key }) {
            guard names.contains(name) else {
                reject(prefix + name, "unknown key", names.joined(separator: ", "))
                continue
            }
            take(value, as: prefix + name, prefix + name)
        }
    }

    private mutating func take(_ value: JSONValue, as path: String, _ member: String) {
        guard let key = SettingKey.all.first(where: { $0.path == path }) else { return }
        if let reason = key.validationError(for: value) { reject(member, reason, key.allowed) } else { values[path] = value }
    }
}
