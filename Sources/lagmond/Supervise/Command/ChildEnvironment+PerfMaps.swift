extension ChildEnvironment {
    /// Settings that make runtimes write `/tmp/perf-PID.map`. Sources: Node.js, "Diagnostics: Linux perf"; Python, "Python
    /// support for the Linux perf profiler"; .NET, "Runtime configuration options for debugging and profiling".
    private static let nodeOption = "--perf-basic-prof"
    private static let variables = [("PYTHONPERFSUPPORT", "1"), ("DOTNET_PerfMapEnabled", "1"), ("COMPlus_PerfMapEnabled", "1")]

    /// Applies to the runtimes of the command and of all its descendants. The user's own settings stay.
    func withPerfMaps() -> ChildEnvironment {
        var changed = self
        func bytes(_ text: String) -> [CChar] { text.utf8.map { CChar(bitPattern: $0) } }
        for (name, value) in Self.variables where self.value(of: name).isEmpty { changed.set(name, to: bytes(value)) }
        let present = value(of: "NODE_OPTIONS")
        changed.set("NODE_OPTIONS", to: present.isEmpty ? bytes(Self.nodeOption) : present + bytes(" " + Self.nodeOption))
        return changed
    }
}
