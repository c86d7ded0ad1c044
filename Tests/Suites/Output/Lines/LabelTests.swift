import Foundation
import LagMonitorDelivery
import LagReader
import Testing

@testable import LagOutput

/// The operator's labels and the resource of the process, in every format.
struct LabelTests {
    private static let labels = ["team": "shop", "build-host": #"a "b" \ü"#]

    private static func context() throws -> ProcessContext {
        var context = Sample.context
        context.labels = try RecordLabels(labels)
        context.resource.namespaceName = "store"
        context.resource.podName = "shop-7d9c"
        context.resource.containerName = "web"
        context.resource.nodeName = "node-3"
        context.resource.containerID = String(repeating: "0a", count: 32)
        return context
    }

    @Test func `labels and resource are members of the native line`() throws {
        let line = try Sample.line(Sample.record(), context: Self.context())
        let id = String(repeating: "0a", count: 32)
        #expect(
            line.contains(
                #""host_name":"host-1","k8s_namespace_name":"store","k8s_pod_name":"shop-7d9c","k8s_container_name":"web","#
                    + #""k8s_node_name":"node-3","container_id":"\#(id)","labels":{"build-host":"a \"b\" \\ü","team":"shop"},"loop":"#
            )
        )
        for notice in try FormatTests.notices(.native, context: Self.context()) {
            let parsed = try Sample.parse(notice)
            #expect(parsed["labels"] as? [String: String] == Self.labels && parsed["k8s_pod_name"] as? String == "shop-7d9c")
        }
    }

    /// A record that the check accepts.
    private static var checked: StallRecord {
        var record = Sample.record()
        record.capture = .passive
        return record
    }

    @Test func `the check accepts labels and the scanner reads them`() throws {
        let line = Data(try Sample.line(Self.checked, context: Self.context()).dropLast().utf8)
        var check = LineCheck()
        let errors = line.withUnsafeBytes { check.validationErrors(in: $0) }
        #expect(errors.isEmpty, "\(errors)")
        let team = try RecordLabels(["team": "shop"])
        let other = try RecordLabels(["team": "shops"])
        var scanner = LineScanner()
        line.withUnsafeBytes { bytes in
            let failure = scanner.scan(bytes)
            let (labels, build) = (scanner.labels(), scanner.withLabel("build-host") { String(decoding: $0, as: UTF8.self) })
            let (unknown, hasTeam, hasOther) = (scanner.withLabel("shop") { _ in true }, scanner.has(team), scanner.has(other))
            #expect(failure == nil && labels.pairs.map(\.name) == ["build-host", "team"] && build == Self.labels["build-host"])
            #expect(unknown == nil && hasTeam && !hasOther)
        }
    }

    @Test(arguments: [
        (#""labels":{"te am":"x"}"#, #"labels has a name "te am""#),
        (#""labels":{"team":7}"#, "labels.team is 7; allowed: a string"),
        (#""labels":["team"]"#, "labels is"), (#""labels":{"team":"x","later":"y"}"#, ""),
    ])
    func `the check refuses invalid labels`(member: String, reason: String) throws {
        let line = Data(try Sample.line(Self.checked).dropLast().replacing(#""loop":"#, with: member + #","loop":"#).utf8)
        var check = LineCheck()
        let errors = line.withUnsafeBytes { check.validationErrors(in: $0) }
        // A valid member gives no errors.
        #expect(errors.isEmpty == reason.isEmpty && errors.allSatisfy { $0.contains(reason) }, "\(errors)")
    }

    @Test func `labels and resource are resource attributes in OTLP`() throws {
        for line in [try FormatTests.line(Sample.record(), .otlp, context: Self.context())]
            + (try FormatTests.notices(.otlp, context: Self.context()))
        {
            let request = try Sample.parse(line)
            let resource = (request["resourceLogs"] as? [[String: Any]])?.first?["resource"] as? [String: Any]
            var values: [String: String] = [:]
            for attribute in resource?["attributes"] as? [[String: Any]] ?? [] {
                guard let key = attribute["key"] as? String else { continue }
                values[key] = (attribute["value"] as? [String: Any])?["stringValue"] as? String
            }
            #expect(values["team"] == "shop" && values["build-host"] == Self.labels["build-host"])
            #expect(values["k8s.namespace.name"] == "store" && values["k8s.pod.name"] == "shop-7d9c")
            #expect(values["k8s.container.name"] == "web" && values["k8s.node.name"] == "node-3")
            #expect(values["container.id"] == String(repeating: "0a", count: 32))
            #expect(!line.contains("lagmonitor.k8s") && !line.contains("lagmonitor.labels"))
        }
    }

    @Test func `labels and resource have the places of the ECS schema`() throws {
        let parsed = try Sample.parse(FormatTests.line(Sample.record(), .ecs, context: Self.context()))
        #expect(parsed["labels"] as? [String: String] == Self.labels)
        #expect((parsed["container"] as? [String: Any])?["id"] as? String == String(repeating: "0a", count: 32))
        let orchestrator = try #require(parsed["orchestrator"] as? [String: Any])
        #expect(orchestrator["type"] as? String == "kubernetes" && orchestrator["namespace"] as? String == "store")
        #expect(orchestrator["resource"] as? [String: String] == ["type": "pod", "name": "shop-7d9c"])
        let kubernetes = try #require(parsed["kubernetes"] as? [String: Any])
        #expect((kubernetes["node"] as? [String: String]) == ["name": "node-3"])
        #expect((parsed["lagmonitor"] as? [String: Any])?["k8s_pod_name"] == nil)
        let bare = try Sample.parse(FormatTests.line(Sample.record(), .ecs))
        for name in ["labels", "container", "orchestrator", "kubernetes"] { #expect(bare[name] == nil) }
    }

    @Test func `labels are tags in the Sentry format`() throws {
        let parsed = try Sample.parse(FormatTests.line(Sample.record(), .sentry, context: Self.context()))
        let tags = try #require(parsed["tags"] as? [String: String])
        #expect(tags["team"] == "shop" && tags["cause"] == "unknown")
        let own = (parsed["contexts"] as? [String: Any])?["lagmonitor"] as? [String: Any]
        #expect(own?["k8s_pod_name"] as? String == "shop-7d9c" && own?["container_id"] != nil)
    }

    /// With the longest labels that the configuration allows.
    @Test(arguments: RecordFormat.all) func `labels are kept when frames are removed`(format: RecordFormat) throws {
        var context = Sample.context
        context.labels = try RecordLabels(
            Dictionary(uniqueKeysWithValues: (0..<6).map { ("label\($0)", String(repeating: "v", count: 128)) })
        )
        #expect(context.labels.lineBytes <= 8000 / RecordLabels.shareOfLine)
        let line = try FormatTests.line(Sample.record(frames: 100), format, context: context)
        #expect(line.utf8.count <= 8000 && line.contains("label5") && line.contains("Shop.Frame0.run"))
    }

    @Test func `the computed length of labels equals their length in the line`() throws {
        let with = try Sample.line(Sample.record(), context: Self.context())
        var context = try Self.context()
        let bytes = context.labels.lineBytes
        context.labels = .none
        // The last pair has no comma.
        #expect(with.utf8.count - (try Sample.line(Sample.record(), context: context)).utf8.count == bytes - 1)
    }

    @Test(arguments: [
        (["": "x"], #""" is not a valid label name"#), (["1a": "x"], #""1a" is not a valid"#),
        (["a.b": "x"], #""a.b" is not a valid"#), (["ä": "x"], "is not a valid"),
        ([String(repeating: "a", count: 33): "x"], "is not a valid"),
        (["a": ""], #"the value of "a" is empty"#),
        (["a": String(repeating: "é", count: 65)], #"the value of "a" has 130 bytes"#),
        (["a": "x\ny"], #"the value of "a" contains a control character"#),
        (["loop": "x"], #"the name "loop" is reserved"#),
        (["stall-id": "x"], "is reserved"), (["release": "x"], "is reserved"),
        (["user": "x"], "is reserved"), (["a-b": "x", "a_b": "y"], #""a-b" and "a_b" have the same name in metrics"#),
        (Dictionary(uniqueKeysWithValues: (0...16).map { ("a\($0)", "x") }), "17 labels are too many"),
    ])
    func `an invalid label is refused with the reason`(values: [String: String], reason: String) {
        do throws(RecordLabels.ValidationError) {
            _ = try RecordLabels(values)
            Issue.record("taken: \(values)")
        } catch {
            #expect(error.reason.contains(reason), "\(error.reason)")
        }
    }

    @Test func `only valid labels of a claim are accepted`() {
        let claimed = RecordLabels(claimed: ["team": "shop", "a b": "x", "loop": "y", "empty": ""])
        #expect(claimed == (try? RecordLabels(["team": "shop"])))
        #expect(RecordLabels(claimed: Dictionary(uniqueKeysWithValues: (0..<99).map { ("a\($0)", "x") })).pairs.count == 16)
    }
}
