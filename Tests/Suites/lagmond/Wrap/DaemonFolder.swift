internal import Foundation

/// A folder with a configuration of several targets, and their stalls.
struct DaemonFolder {
    let path: String

    static func with(_ body: (DaemonFolder) throws -> Void) throws { try withFolder { try body(DaemonFolder(path: $0)) } }

    /// A target whose loop iterates.
    static let turning = #"{"name": "a", "command": ["\#(ProbeRun.probe)", "turn"]}"#

    var configuration: String { path + "/c.json" }
    var stalls: String { text(of: path + "/stalls") }

    func write(_ targets: String, _ rest: String = "") throws {
        try write(text: #"{"output": {"path": "\#(path)/stalls"}\#(rest), "targets": [\#(targets)]}"#)
    }

    func write(text: String, to name: String = "c.json") throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path + "/" + name))
    }

    func start(environment: [String: String] = [:]) throws -> RunningProbe {
        try RunningProbe([ProbeRun.lagmond, "run", "--config", configuration], environment: environment)
    }
}
