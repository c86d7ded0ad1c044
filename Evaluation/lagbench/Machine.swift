internal import Foundation

/// The machine of the measurement, which is needed to interpret the figures.
struct Machine {
    let facts: [(key: String, value: String)]

    /// `machine KEY VALUE`, a line for each fact.
    var lines: [String] { facts.map { "machine \($0.key) \($0.value)" } }

    var sentence: String { facts.map { "\($0.key.replacing("_", with: " ")) \($0.value)" }.joined(separator: ", ") }

    static func current() -> Machine {
        var name = utsname()
        uname(&name)
        let cpu = file("/proc/cpuinfo")
        var facts: [(String, String)] = []
        facts.append(("cpu", field("model name", in: cpu) ?? "unknown"))
        facts.append(("processors", "\(sysconf(Int32(_SC_NPROCESSORS_ONLN)))"))
        facts.append(("virtual", cpu.contains(" hypervisor") ? "yes" : "no"))
        facts.append(("memory", field("MemTotal", in: file("/proc/meminfo")) ?? "unknown"))
        facts.append(("kernel", "\(text(&name.sysname)) \(text(&name.release)) \(text(&name.machine))"))
        facts.append(("system", field("PRETTY_NAME", in: file("/etc/os-release"), separator: "=") ?? "unknown"))
        facts.append(("clocksource", trimmed(file("/sys/devices/system/clocksource/clocksource0/current_clocksource"))))
        #if DEBUG
            facts.append(("build", "debug: build with -c release to get valid figures"))
        #else
            facts.append(("build", "release"))
        #endif
        facts.append(("load_before", file("/proc/loadavg").split(separator: " ").prefix(3).joined(separator: " ")))
        return Machine(facts: facts)
    }

    private static func file(_ path: String) -> String { (try? String(contentsOfFile: path, encoding: .utf8)) ?? "" }

    private static func field(_ name: String, in text: String, separator: Character = ":") -> String? {
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: separator, maxSplits: 1)
            if parts.count == 2, trimmed(String(parts[0])) == name { return trimmed(String(parts[1])) }
        }
        return nil
    }

    private static func trimmed(_ text: String) -> String { text.trimmingCharacters(in: .whitespacesAndNewlines.union(["\""])) }

    private static func text<T>(_ field: inout T) -> String {
        withUnsafeBytes(of: &field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
