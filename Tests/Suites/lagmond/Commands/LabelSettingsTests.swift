internal import Foundation
internal import LagModel
internal import LagMonitor
internal import TestSupport
internal import Testing

@testable internal import LagReader
@testable internal import lagmond

/// Labels from every source, and the messages for invalid ones.
@Suite struct LabelSettingsTests {
    private func load(
        file: String,
        environment: [String: String] = [:],
        commandLine: [String: JSONValue] = [:]
    ) throws -> Settings {
        try ScratchDirectory.with { directory in
            try directory.write(file, to: "c.json")
            let values = commandLine.merging(["config": .string(directory.file("c.json"))]) { $1 }
            return try Settings.load(commandLine: values, environment: environment)
        }
    }

    @Test func `labels of all sources are combined and the strongest source wins`() throws {
        let settings = try load(
            file: #"{"labels": {"team": "shop", "stage": "test", "zone": "a"}}"#,
            environment: ["LAGMONITOR_LABELS": "stage=prod, rack=7=b"],
            commandLine: ["labels": .array([.string("team=search,eu"), .string("run=4")])]
        )
        let expected = ["team": "search,eu", "stage": "prod", "zone": "a", "rack": "7=b", "run": "4"]
        #expect(settings.monitor.labels == expected)
        #expect(try load(file: "{}", environment: ["LAGMONITOR_LABELS": ""]).monitor.labels.isEmpty)
    }

    @Test func `targets inherit the labels`() throws {
        let settings = try load(
            file: #"{"labels": {"team": "shop"}, "targets": [{"name": "a", "command": ["true"]}]}"#,
            environment: ["LAGMONITOR_LABELS": "stage=prod"]
        )
        #expect(settings.targets.map(\.monitor.labels) == [["team": "shop", "stage": "prod"]])
    }

    @Test(arguments: [
        (#"{"labels": {"te am": "x"}}"#, #"F: labels: "te am" is not a valid label name; allowed: up to 16 pairs"#),
        (#"{"labels": {"team": 7}}"#, #"F: labels: the value of "team" is 7, not a string"#),
        (#"{"labels": 7}"#, "F: labels: 7 is neither an object nor a string"),
        (#"{"labels": ["team"]}"#, #"F: labels: "team" is not name=value"#),
        (#"{"labels": {"cause": "x"}}"#, #"F: labels: the name "cause" is reserved"#),
    ])
    func `an invalid label in a file is reported with what is allowed`(file: String, reason: String) {
        let problems = SettingsFile(path: "F", bytes: Array(file.utf8)).problems.map(\.description)
        #expect(problems.count == 1 && problems[0].hasPrefix(reason), "\(problems)")
    }

    @Test func `an invalid label in the environment or on the command line is refused`() {
        #expect(throws: SettingsError.self) {
            try Settings.load(commandLine: [:], environment: ["LAGMONITOR_LABELS": "team=a,team=b"])
        }
        #expect(throws: SettingsError.self) {
            try Settings.load(commandLine: ["labels": .array([.string("team")])], environment: [:])
        }
    }

    @Test func `labels that are too long for the line or not distinct are refused`() throws {
        var configuration = StallMonitorConfiguration()
        configuration.labels = ["team": String(repeating: "x", count: 110)]
        configuration.maxLineBytes = 1024
        #expect(throws: StallMonitorError.self) { try configuration.validate() }
        configuration.maxLineBytes = 8000
        try configuration.validate()
        configuration.labels = ["a-b": "x", "a_b": "y"]
        #expect(throws: StallMonitorError.self) { try configuration.validate() }
    }

    @Test func `every metric sample has the labels`() throws {
        let counts = StallCounts(places: [.init(loop: "main")])
        let page = MetricsPage(
            counts: counts.snapshot,
            lags: [.init(loop: "main"): 0],
            dropped: 0,
            labels: try RecordLabels(["team": #"a "shop""#, "build-host": "b"])
        )
        for line in page.text.split(separator: "\n") where !line.hasPrefix("#") {
            #expect(line.contains(#"build_host="b",team="a \"shop\"""#), "\(line)")
        }
        #expect(page.text.contains(#"lagmonitor_loop_lag_seconds{loop="main",build_host="b",team="a \"shop\""} 0"#))
    }

    @Test func `a profile separates stalls with different labels`() throws {
        var tree = CallTree()
        let path = StackPath(frames: [ExportFrame(name: "main"), ExportFrame(name: "render")], nanoseconds: 5)
        for team in ["shop", "search", "shop"] {
            var stall = ParsedStall()
            stall.labels = try RecordLabels(["team": team])
            tree.add(path, count: 1, labels: StackLabels(stall))
        }
        let counts = tree.samples.map { (tree.labels[$0.key.labels].own["team"] ?? "", $0.value.count) }
        #expect(Dictionary(uniqueKeysWithValues: counts) == ["shop": 2, "search": 1])
        #expect(Set(tree.samples.keys.map { tree.path(of: $0.node) }).count == 1)
        let text = String(decoding: PprofFile.bytes(tree, time: 0, nanoseconds: 0), as: UTF8.self)
        #expect(text.contains("team") && text.contains("search"))
    }
}
