import Answers
import Dispatch
import Foundation
import LagMonitor

/// An asynchronous program: `main` suspends, and the main actor runs on changing threads, never on the process's main thread.
@main @MainActor enum MainActorApp {
    static func main() async throws {
        let monitor = StallMonitor(sinks: [try DescriptorSink(descriptor: STDOUT_FILENO, name: "stdout")])
        try monitor.start()
        // This main queue cannot be observed, so the monitor pings it. A ping without an answer after three intervals is a stall.
        var rules = StallRules.empty
        rules.ping = .init(interval: .milliseconds(50), timeouts: 3)
        try monitor.watch(PingedQueue(.main), rules: rules)

        for await line in Input.lines() { Answers.answer(line) }
        monitor.stop()
    }
}
