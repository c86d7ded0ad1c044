internal import CLagBeacon
internal import Foundation
internal import LagCapture
internal import LagModel
internal import TestSupport
internal import Testing

@testable internal import LagMonitorOTLP
@testable internal import LagRemote

#if arch(x86_64)
    /// The contexts that a program in Swift publishes (`OpenTelemetryContexts`), read from outside.
    struct SwiftWriterTests {
        @Test(arguments: ["sleeping", "computing"]) func `the synchronous context that a thread runs is published`(mode: String)
            throws
        {
            let program = try PublishingProgram(nil, [mode])
            let found = try #require(program.context())
            #expect(found.context.trace_high == 0x0af7_6519_16cd_43dd && found.context.trace_low == 0x8448_eb21_1c80_319c)
            #expect(found.context.span == 0xb7ad_6b71_6920_3331)
            // Without its attributes, which cannot be redacted.
            #expect(found.texts == ["GET /orders/:id"])
        }

        @Test(arguments: ["over", "task"]) func `an ended context or the context of a task is not published for the thread`(
            mode: String
        ) throws {
            let program = try PublishingProgram(nil, [mode])
            #expect(eventually { program.take().outcome.method == .passive })
            #expect(program.take().context == nil)
        }

        @Test func `the message contains the fields that readers need`() {
            var process = ProcessContext(pid: 7, processName: "ShopServer", hostName: "node-3", bootID: "", serviceVersion: "1.2")
            process.serviceName = String(repeating: "s", count: 200)
            let message = ProcessContextWriter.message(process)
            let read = ProcessContextMessage(message)
            // The schema that the profiler supports.
            #expect(read.schemaVersion == "tlsdesc_v1_dev" && read.keys == ["lagmonitor.context"])
            let resource = ProtobufFields(message[...]).first { $0.number == 1 }
            let pairs = ProtobufFields(resource?.bytes ?? []).map { entry in
                ProtobufFields(entry.bytes).map { field in
                    String(
                        decoding: field.number == 1 ? field.bytes : ProtobufFields(field.bytes).first { _ in true }?.bytes ?? [],
                        as: UTF8.self
                    )
                }
            }
            #expect(
                pairs == [
                    ["service.name", String(repeating: "s", count: 200)], ["service.version", "1.2"], ["host.name", "node-3"],
                    ["process.executable.name", "ShopServer"],
                ]
            )
        }

        @Test func `a process can publish its context only once`() throws {
            let outcome = try ProbeOutcome(of: "MonitorProbe", ["published", "twice"])
            #expect(outcome.text.contains("the process has published its context already"), "\(outcome.text)")
        }
    }
#endif
