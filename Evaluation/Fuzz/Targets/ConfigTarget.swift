internal import Foundation

/// The settings file, read by lagmond itself. An unknown key ensures that lagmond rejects it and never runs a command.
final class ConfigTarget: FuzzTarget {
    static let name = "config"
    private let surroundings: FuzzSurroundings
    private let lagmond: String
    let seeds = [
        #""monitor":{"preset":"standard","interval_ms":50,"timeouts":3,"rules":["callout","starvation"],"in_app_prefixes":["/opt"]}"#,
        #""output":{"path":"tcp:h:1","format":"ecs"},"http":{"listen":"127.0.0.1:9"},"service":{"name":"x"}"#,
        #""targets":[{"name":"a","command":["/bin/true"],"restart":"on-failure","environment":{"A":"b"}}],"command":{"on_hang":"restart"}"#,
        #""workload":{"steps":[{"kind":"cpu","at_ms":1,"for_ms":2}]},"output":"journald","truth":{"path":"t"}"#,
    ].map { Array($0.utf8) }
    let tokens = [
        #"""#, "\\", "{", "}", "[", "]", ",", ":", "null", "-1", "1e999", "0.5", "99999999999999999999", "\\ud800", "[[[[[[[[",
        #"{"a":"#,
    ]

    init(_ surroundings: FuzzSurroundings) throws {
        guard let lagmond = surroundings.lagmond else { throw NeedsLagmond() }
        (self.surroundings, self.lagmond) = (surroundings, lagmond)
    }

    func read(_ input: [UInt8]) throws {
        // The first key, so that no mutation can close the object before it.
        let path = try surroundings.write(Array(#"{"unknown":1,"#.utf8) + input + Array("}".utf8), to: "config.json")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: lagmond)
        process.arguments = ["run", "--config", path, "--duration", "0.01"]
        process.currentDirectoryURL = URL(fileURLWithPath: surroundings.folder)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.environment = ["SWIFT_BACKTRACE": "enable=no"]
        try process.run()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus != 0 else {
            throw FuzzError(
                "lagmond exits with \(process.terminationReason == .exit ? "status" : "signal") \(process.terminationStatus)"
            )
        }
    }
}
